import { stopSharedCluster } from "./cluster";

/** Called by mocha once, after every test of the run (`require` in .mocharc.json). */
export async function mochaGlobalTeardown(): Promise<void> {
  await stopSharedCluster();
  // Nothing is left running when this fires. Without it Node 20 now and then never comes to the end of its own clean-up,
  // with one core busy: seen after the tests that break many connections.
  process.once("beforeExit", () => process.exit());
}
