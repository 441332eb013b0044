import assert from "node:assert/strict";
import { DeadlineError, until } from "../../cli/common/until";

const WHAT = { what: "it exists", pollMs: 1 };

describe("waiting until something is so", () => {
  it("gives the first answer that is neither undefined nor false, such as 0", async () => {
    const answers = [undefined, false, 0, 1] as const;
    let asked = 0;
    assert.equal(await until(() => answers[asked++], { ...WHAT, deadlineMs: 10_000 }), 0);
    assert.equal(asked, 3);
  });

  it("asks again soon at first, and then ever less often, if it is told so", async () => {
    const soon = { what: "it exists", firstPollMs: 1, pollMs: 600_000, deadlineMs: 600_000 };
    let asked = 0;
    assert.equal(await until(() => ++asked === 5, soon), true);
    assert.equal(asked, 5);
    const seldom = { what: "it exists", firstPollMs: 1, pollMs: 2, deadlineMs: 600_000 };
    assert.equal(await until(() => ++asked === 50, seldom), true);
  });

  it("ends at the deadline with what was missing at last", async () => {
    let asked = 0;
    const what = () => `${asked} exist`;
    await assert.rejects(
      until(() => ++asked > 1_000_000, { ...WHAT, what, deadlineMs: 20 }),
      (error) => {
        assert.ok(error instanceof DeadlineError);
        assert.equal(error.what, `${asked} exist`);
        return asked > 1;
      },
    );
  });

  it("ends at once with the signal's reason, in the middle of a pause", async () => {
    const abort = new AbortController();
    const waiting = until(() => false, {
      what: "",
      deadlineMs: 60_000,
      pollMs: 60_000,
      signal: abort.signal,
    });
    setImmediate(() => abort.abort(new Error("enough")));
    await assert.rejects(waiting, /^Error: enough$/);
  });

  it("ends with the error of the one who is asked", async () => {
    const fail = () => Promise.reject(new Error("it has ended"));
    await assert.rejects(until(fail, { ...WHAT, deadlineMs: 60_000 }), /^Error: it has ended$/);
  });
});
