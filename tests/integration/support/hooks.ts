import path from "node:path";
import Mocha from "mocha";
import { PACKAGE_FOLDER } from "../../../cli/project";
import { testFilesIn } from "../../../tools/testArguments";
import { loadAnnouncing, offerSharedCluster } from "./cluster";

let stopSharedCluster: (() => Promise<void>) | undefined;

/** Called by mocha (`require` in .mocharc.json) before the first test of a run, in the process that starts the others. */
export async function mochaGlobalSetup(): Promise<void> {
  stopSharedCluster = await offerSharedCluster(announceKindsOfAll);
}

/** Called by mocha after the last test of a run. */
export async function mochaGlobalTeardown(): Promise<void> {
  await stopSharedCluster?.();
}

/**
 * Loads every file of integration tests, none of which is run: each announces its kinds when it is loaded. Where files
 * run side by side nobody else loads all of them.
 */
async function announceKindsOfAll(): Promise<void> {
  for (const file of testFilesIn("tests/integration")) {
    const mocha = new Mocha();
    mocha.files = [path.join(PACKAGE_FOLDER, file)];
    await loadAnnouncing(file, () => mocha.loadFilesAsync());
  }
}
