import assert from "node:assert/strict";
import type { JsonObject, Manifest } from "../../runtime/base/objects";
import { always, eventually } from "../support/eventually";
import { configMap, inNamespace } from "./support/manifests";
import type { ObjectPlan } from "./support/testOperator";
import { conditionOf, statusOf, useOperator } from "./support/useOperator";

const LOADED = { type: "DataReady", status: "True", reason: "Loaded", message: "3 tables" };
const BACKED_UP = { type: "Normal", reason: "BackedUp", note: "to s3" };

function saying(more: JsonObject, ...children: Manifest[]): ObjectPlan {
  return { answer: { children: children as unknown as JsonObject[], ...more } };
}

describe("the engine reports what a handler says of its object", function () {
  this.timeout(60_000);
  const bench = useOperator({
    name: "reports-test",
    finalize: true,
  });
  const typesOf = (object: Parameters<typeof statusOf>[0]) =>
    (statusOf(object)["conditions"] as { type: string }[]).map(({ type }) => type);

  it("as conditions next to its own, which go when they are not answered any more", async () => {
    const object = await bench.applied("conditions", saying({ conditions: [LOADED] }));
    const { lastTransitionTime: _, ...written } = conditionOf(object, "DataReady");
    assert.deepEqual(written, { ...LOADED, observedGeneration: object.metadata.generation });
    const later = await bench.applied("conditions", saying({ status: { size: 1 } }));
    assert.deepEqual(typesOf(later), ["Ready", "Reconciling", "Stalled"]);
  });

  it("and leaves the conditions of others, and refuses to write its own for it", async () => {
    const object = await bench.applied("shared", saying({ conditions: [LOADED] }));
    const theirs = { ...LOADED, type: "Theirs", lastTransitionTime: "2024-01-01T00:00:00Z" };
    await bench.api.applyStatus(object, { conditions: [theirs] });
    const forged = { ...LOADED, type: "Ready", message: "believe me" };
    await bench.applyObject("shared", saying({ conditions: [forged] }, configMap("unwanted")));
    const { message } = await bench.failed(object, "InvalidAnswer");
    assert.match(message, /conditions\[0\]\.type is "Ready", which is Argosy's own/);
    await bench.api.assertGone(inNamespace(configMap("unwanted"), bench.namespace));
    const failed = await bench.api.get(object);
    assert.deepEqual(typesOf(failed).sort(), ["DataReady", "Ready", "Reconciling", "Stalled", "Theirs"]);
  });

  it("as an Event, once, however often it is answered, also by another leader", async () => {
    const object = await bench.applied("once", saying({ events: [BACKED_UP] }));
    const events = async () =>
      (await bench.eventsOf(object)).filter(({ reason }) => reason === BACKED_UP.reason);
    await eventually(async () => assert.equal((await events()).length, 1));
    await bench.reconcileAgain(object);
    await bench.reconcileAgain(object);
    bench.operator.plan("once", saying({ events: [{ ...BACKED_UP, type: "Warning", note: "again" }] }));
    await bench.reconcileAgain(object);
    await eventually(async () =>
      assert.deepEqual((await events()).map(({ type, note }) => `${type} ${note}`).sort(), [
        "Normal to s3",
        "Warning again",
      ]),
    );
    const series = await bench.eventsOf(object);
    assert.ok(
      series.every((event) => !("series" in event) || event.series == null),
      "an Event was counted twice",
    );
    // Another leader knows of them by the object alone.
    const standby = await bench.operator.start({ identity: "two" });
    await bench.engine.stop();
    await eventually(() => assert.ok(standby.reportsOf("once").length > 0));
    await always(async () => assert.equal((await events()).length, 2));
  });
});

describe("the engine reports what a handler says while its object is being deleted", function () {
  this.timeout(60_000);
  const bench = useOperator({ name: "farewell-test", finalize: true });

  it("as conditions and as Events, the last ones too", async () => {
    const unfinished = {
      finalized: false,
      requeueAfterSeconds: 1,
      conditions: [LOADED],
      events: [BACKED_UP],
    };
    const object = await bench.applied("farewell", {
      answer: { children: [] },
      finalize: { answer: unfinished },
    });
    await bench.api.delete(object);
    await eventually(async () =>
      assert.equal(conditionOf(await bench.api.get(object), "DataReady").status, "True"),
    );
    const gone = { type: "Warning", reason: "DataGone", note: "for good" };
    bench.operator.plan("farewell", {
      answer: { children: [] },
      finalize: { answer: { finalized: true, events: [BACKED_UP, gone] } },
    });
    await eventually(() => bench.api.assertGone(object));
    await eventually(async () => {
      const reasons = (await bench.eventsOf(object)).map(({ reason }) => reason);
      assert.deepEqual(reasons.filter((reason) => reason === "BackedUp").length, 1);
      assert.ok(reasons.includes("DataGone"));
    });
  });
});
