import assert from "node:assert/strict";
import type { ReconcileAnswer } from "../../runtime/handler/contract";
import { HandlerPool } from "../../runtime/handler/handlerPool";
import { askHandler } from "../../runtime/reconcile/ask";
import { failureOf } from "./support/failures";
import { question, SHELL, shellHandler } from "./support/handlers";

describe("askHandler", () => {
  let pool: HandlerPool;
  afterEach(() => pool.close());

  /** A process that gives these answers one after another, each with the id of its request. */
  function start(...answers: readonly object[]): void {
    const lines = answers.map(
      (answer) =>
        `next; echo log >&2; echo '{"id":"'"$id"'",''${JSON.stringify(answer).slice(1)}'; sleep 0.02`,
    );
    pool = new HandlerPool({
      transport: shellHandler([SHELL, ...lines, "next"].join("\n")),
      timeoutMs: 10_000,
    });
  }

  const ask = () => askHandler<ReconcileAnswer>(pool, question(), () => undefined);

  it("gives the answer without its id, its length, and the log", async () => {
    start({ children: [], status: { a: 1 } });
    const { length, ...reply } = await ask();
    assert.deepStrictEqual(reply, { answer: { children: [], status: { a: 1 } }, log: "log\n" });
    assert.ok(length > 60 && length < 100, `${length}`);
  });

  it("fails by an error in the handler's own words, with the log", async () => {
    start({ error: { message: "no luck", permanent: true, retryAfterSeconds: 3 } });
    const failure = await failureOf(() => ask());
    assert.deepStrictEqual(
      [failure.reason, failure.message, failure.permanent, failure.retryAfterSeconds, failure.log],
      ["HandlerError", "no luck", true, 3, "log\n"],
    );
  });

  it("refuses a broken answer to its own request, with the log, and goes on with the process", async () => {
    start({ childs: [] }, { children: [] });
    const failure = await failureOf(() => ask());
    assert.deepStrictEqual([failure.reason, failure.log], ["InvalidAnswer", "log\n"]);
    assert.deepStrictEqual((await ask()).answer, { children: [] });
    assert.equal(pool.size, 1);
  });
});
