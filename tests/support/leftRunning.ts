import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";

/** How long what a file has begun may take to end after its last test. A variable sets it for the test of this. */
const LINGER_MS = Number(process.env.ARGOSY_TEST_LINGER_MS ?? 30_000);
const LOOK_MS = 50;

let before: readonly string[] = [];

/**
 * Called by mocha (`require` in .mocharc.json) around each file, or around all files where they run in one process:
 * what a file leaves running, such as a timer, a connection or a process, would disturb the next one.
 */
export const mochaHooks = {
  async beforeAll(): Promise<void> {
    // Each is a resource of its own from when it is first asked for.
    for (const stream of [process.stdin, process.stdout, process.stderr]) stream.fd;
    // By then mocha's own timer for an asynchronous hook runs, as it does below.
    await sleep(0);
    before = process.getActiveResourcesInfo();
  },
  async afterAll(this: Mocha.Context): Promise<void> {
    this.timeout(2 * LINGER_MS);
    const until = performance.now() + LINGER_MS;
    await sleep(0);
    while (leftRunning().length > 0 && performance.now() < until) await sleep(LOOK_MS);
    assert.deepEqual(leftRunning(), [], "is left running after the last test");
  },
};

/** The kinds of what keeps this process alive and did not before. */
function leftRunning(): string[] {
  const left = process.getActiveResourcesInfo();
  for (const kind of before) {
    const index = left.indexOf(kind);
    if (index >= 0) left.splice(index, 1);
  }
  return left;
}
