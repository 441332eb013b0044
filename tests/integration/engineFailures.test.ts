import assert from "node:assert/strict";
import { always, eventually } from "../support/eventually";
import { configMap, inNamespace } from "./support/manifests";
import type { Plan } from "./support/testOperator";
import { answering, conditionOf, useOperator } from "./support/useOperator";

describe("the engine takes a failure for what it is", function () {
  this.timeout(60_000);
  const bench = useOperator({ name: "failure-test", timeoutSeconds: 4 });
  const here = (name: string) => inNamespace(configMap(name), bench.namespace);
  const error = (fields: object): Plan => ({ answer: { error: { message: "no luck", ...fields } } });

  for (const [what, plan, reason, message] of [
    ["an error in the handler's own words", error({}), "HandlerError", /^no luck$/],
    ["a handler that crashes", { exitCode: 7 }, "HandlerCrashed", /exit code 7/],
    ["a handler that hangs", { hang: true }, "HandlerTimedOut", /no answer within 4 s/],
    ["an answer that is not JSON", { raw: "oh no" }, "InvalidAnswer", /not JSON: "?oh no/],
    [
      "an answer that does not echo the id",
      { raw: '{"children":[]}' },
      "InvalidAnswer",
      /no "id".*Echo the request's id/,
    ],
    ["an answer of 10 MB", { bytes: 10_000_000 }, "InvalidAnswer", /longer than 4 MiB/],
    ["an answer without children", { raw: '{"id":"$ID"}' }, "InvalidAnswer", /"children" must be a list/],
    ["an answer with an unknown key", { raw: '{"id":"$ID","childern":[]}' }, "InvalidAnswer", /childern/],
    ["an answer to another event", { raw: '{"id":"$ID","finalized":true}' }, "InvalidAnswer", /finalized/],
  ] as [string, Plan, string, RegExp][]) {
    it(`${what}: it changes nothing, the object says why, and it is tried again until it goes well`, async () => {
      const object = await bench.applied("good", answering(configMap("good", { version: "1" })));
      const before = await bench.api.get(here("good"));
      await bench.applyObject("good", plan);
      const failed = await bench.failed(object, reason);
      assert.match(failed.message, message);
      assert.equal(conditionOf(await bench.api.get(object), "Stalled").status, "False");
      assert.deepEqual(await bench.api.get(before), before);
      bench.operator.plan("good", answering(configMap("good", { version: "2" })));
      try {
        await bench.ready(object);
      } finally {
        bench.operator.unplan("good");
      }
    });
  }

  it("and shows the end of the handler's standard error in the report", async () => {
    await bench.applyObject("logs", { log: "Traceback: it broke", exitCode: 1 });
    const [report] = await eventually(() => {
      const reports = bench.engine.reportsOf("logs");
      assert.ok(reports.length > 0);
      return reports;
    });
    assert.match(report?.log ?? "", /Traceback: it broke/);
  });

  it("and counts the attempts since the last success", async () => {
    const object = await bench.applied("counts", answering());
    const attempts = () => bench.operator.calls("counts").map(({ attempt }) => attempt);
    const before = attempts().length;
    bench.operator.plan("counts", error({ retryAfterSeconds: 1 }));
    await bench.api.annotate(object, { "argosy.dev/reconcile-at": "now" });
    await eventually(() => assert.deepEqual(attempts().slice(before, before + 2), [1, 2]));
    bench.operator.plan("counts", answering());
    await bench.ready(object);
    await bench.reconcileAgain(object);
    assert.equal(attempts().at(-1), 1);
  });

  it("retryAfterSeconds: it is tried again then, and not before", async () => {
    // The handler says by itself when it was asked: to look for that takes time too.
    await bench.applyObject("later", error({ retryAfterSeconds: 3 }));
    const times = () => bench.operator.calls("later").map(({ askedAt }) => askedAt);
    const [first = 0, second = 0] = await eventually(() => {
      assert.ok(times().length >= 2);
      return times();
    });
    assert.ok(second - first >= 2_950, `tried again after ${second - first} ms`);
  });

  it("permanent: it is Stalled, and not tried again until the object changes", async () => {
    const object = await bench.applyObject("stalled", error({ permanent: true }));
    await bench.failed(object, "HandlerError");
    const stalled = await bench.api.get(object);
    assert.equal(conditionOf(stalled, "Stalled").status, "True");
    assert.equal(conditionOf(stalled, "Reconciling").status, "False");
    await always(() => assert.equal(bench.operator.calls("stalled").length, 1), { forMs: 2_000 });
    await bench.applied("stalled", answering());
  });

  it("and a new generation is tried at once, whatever the backoff", async () => {
    const object = await bench.applyObject("hurried", error({ retryAfterSeconds: 3_600 }));
    await bench.failed(object, "HandlerError");
    await bench.applied("hurried", answering());
  });

  it("and handlers that hang or crash hold up no other object", async () => {
    const bad = [{ hang: true }, { exitCode: 1 }, { hang: true }] as const;
    await Promise.all(bad.map((plan, index) => bench.applyObject(`bad-${index}`, plan)));
    await bench.applied("unimpressed", answering(configMap("unimpressed")));
  });
});
