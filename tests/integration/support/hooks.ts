import { stopSharedCluster } from "./cluster";

/** Called by mocha once, after every test of the run (`require` in .mocharc.json). */
export async function mochaGlobalTeardown(): Promise<void> {
  await stopSharedCluster();
}
