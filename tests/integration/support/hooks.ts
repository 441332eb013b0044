import { offerCluster } from "./sharedCluster";

let withdraw: (() => void) | undefined;
let running: typeof import("./runSharedCluster") | undefined;

/** Called by mocha (`require` in .mocharc.json) before the first test of a run, in the process that starts the others. */
export async function mochaGlobalSetup(): Promise<void> {
  withdraw = await offerCluster(async () => {
    // Only here: every process of mocha loads this file, and to load all that a control plane needs takes half a second.
    running = require("./runSharedCluster") as typeof import("./runSharedCluster");
    return running.startSharedCluster();
  });
}

/** Called by mocha after the last test of a run. */
export async function mochaGlobalTeardown(): Promise<void> {
  withdraw?.();
  await running?.stopSharedCluster();
}
