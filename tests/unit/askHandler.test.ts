import assert from "node:assert/strict";
import { askHandler } from "../../runtime/handler/askHandler";
import { CONTRACT_VERSION, type ReconcileAnswer } from "../../runtime/handler/contract";
import { HandlerPool } from "../../runtime/handler/handlerPool";
import type { KubernetesObject } from "../../runtime/kubernetes/objects";
import { failureOf } from "./support/failures";
import { shellHandler } from "./support/handlers";

describe("askHandler, of a handler that echoes ids,", () => {
  let pool: HandlerPool;
  afterEach(() => pool.close());

  /** A process that gives one of these answers after another, whatever it is asked. */
  function start(...answers: readonly object[]): void {
    const lines = answers.map((answer) => `read -r line; echo '${JSON.stringify(answer)}'`);
    pool = new HandlerPool({
      transport: shellHandler([...lines, "read -r line"].join("\n")),
      timeoutMs: 10_000,
    });
  }

  function ask(id: string) {
    const object: KubernetesObject = {
      apiVersion: "shop.example.com/v1",
      kind: "Widget",
      metadata: { name: "one", uid: "u", resourceVersion: "1" },
    };
    const request = {
      apiVersion: CONTRACT_VERSION,
      id,
      event: "reconcile",
      object,
      children: [],
      attempt: 1,
    } as const;
    return askHandler<ReconcileAnswer>(pool, request, () => undefined);
  }

  it("takes answers that bear the request's, and tells nobody of it", async () => {
    start({ id: "a/1", children: [] }, { id: "b/1", children: [] });
    assert.deepStrictEqual((await ask("a/1")).answer, { children: [] });
    assert.deepStrictEqual((await ask("b/1")).answer, { children: [] });
    assert.equal(pool.size, 1);
  });

  it("refuses a late second answer to an earlier request, with that one's id or with none", async () => {
    for (const late of [{ id: "a/1", children: [] }, { children: [] }]) {
      start({ id: "a/1", children: [] }, late);
      await ask("a/1");
      const failure = await failureOf(() => ask("b/1"));
      assert.equal(failure.reason, "InvalidAnswer");
      assert.match(failure.message, /"id"/);
      assert.equal(pool.size, 0, "whatever else that process says is not to be taken for an answer");
      await pool.close();
    }
  });

  it("takes an error without one", async () => {
    start({ id: "a/1", children: [] }, { error: { message: "no luck" } });
    await ask("a/1");
    assert.equal((await failureOf(() => ask("b/1"))).reason, "HandlerError");
  });

  it("takes answers without any as long as there was none", async () => {
    start({ children: [] }, { children: [] }, { id: "c/1", children: [] });
    for (const id of ["a/1", "b/1", "c/1"]) await ask(id);
    assert.equal(pool.size, 1);
  });
});
