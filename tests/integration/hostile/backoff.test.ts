import assert from "node:assert/strict";
import { always, eventually } from "../../support/eventually";
import { configMap, inNamespace } from "../support/manifests";
import { answering, useOperator } from "../support/useOperator";

const FAILS = { answer: { error: { message: "come back in an hour", retryAfterSeconds: 3_600 } } };

describe("an object in a long backoff", function () {
  this.timeout(60_000);
  const bench = useOperator({ name: "backing-off", resyncSeconds: 10 });
  const here = (name: string) => inNamespace(configMap(name), bench.namespace);

  it("is reconciled at the resync", async () => {
    const object = await bench.applyObject("waits", FAILS);
    await bench.failed(object, "HandlerError");
    bench.operator.plan("waits", answering(configMap("waits")));
    await eventually(() => bench.api.get(here("waits")));
    await bench.ready(object);
  });
});

describe("an object in a long backoff, long before a resync,", function () {
  this.timeout(60_000);
  const bench = useOperator({ name: "backing-off-long" });
  const here = (name: string) => inNamespace(configMap(name), bench.namespace);

  it("gets a child back at once that another client deletes", async () => {
    const object = await bench.applied("deleted", answering(configMap("deleted")));
    await bench.applyObject("deleted", FAILS);
    await bench.failed(object, "HandlerError");
    bench.operator.plan("deleted", answering(configMap("deleted")));
    await bench.api.delete(here("deleted"));
    await eventually(() => bench.api.get(here("deleted")));
  });

  it("is not reconciled more often than the backoff allows because its children report", async () => {
    const object = await bench.applied("reports", answering(configMap("reports")));
    await bench.applyObject("reports", { answer: { error: { message: "no", retryAfterSeconds: 600 } } });
    await bench.failed(object, "HandlerError");
    const calls = bench.operator.calls("reports").length;
    let times = 0;
    const report = () =>
      bench.api.apply(inNamespace(configMap("reports", { theirs: String(times++) }), bench.namespace));
    await always(
      async () => {
        await report();
        assert.ok(bench.operator.calls("reports").length <= calls + 2);
      },
      { forMs: 2_500 },
    );
  });
});
