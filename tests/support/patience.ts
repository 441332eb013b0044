import Mocha from "mocha";
import { SLOWER } from "./eventually";

// A test or a hook may also set its limit while it runs.
const { timeout } = Mocha.Context.prototype;
Mocha.Context.prototype.timeout = function (this: Mocha.Context, ms?: string | number) {
  return ms === undefined ? this.runnable().timeout() : timeout.call(this, Number(ms) * SLOWER);
} as typeof timeout;

/** What mocha's types do not report a suite: its hooks. */
interface WithHooks {
  readonly _beforeAll: readonly Mocha.Runnable[];
  readonly _beforeEach: readonly Mocha.Runnable[];
  readonly _afterEach: readonly Mocha.Runnable[];
  readonly _afterAll: readonly Mocha.Runnable[];
}

/** Called by mocha (`require` in .mocharc.json) before the tests of a file, or of all files where they run in one process. */
export const mochaHooks = {
  beforeAll(this: Mocha.Context): void {
    // Not those that every file has: to change the time of one that has ended begins it again.
    for (const suite of this.test?.parent?.suites ?? []) giveMoreTime(suite);
  },
};

function giveMoreTime(suite: Mocha.Suite): void {
  const { _beforeAll, _beforeEach, _afterEach, _afterAll } = suite as unknown as WithHooks;
  for (const each of [...suite.tests, ..._beforeAll, ..._beforeEach, ..._afterEach, ..._afterAll])
    each.timeout(each.timeout() * SLOWER);
  for (const inner of suite.suites) giveMoreTime(inner);
}
