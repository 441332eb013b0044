import assert from "node:assert/strict";
import type { JsonObject, Manifest } from "../../runtime/base/objects";
import { always, eventually } from "../support/eventually";
import { configMap, inNamespace } from "./support/manifests";
import type { ObjectPlan } from "./support/testOperator";
import { answering, conditionOf, useOperator } from "./support/useOperator";

function following(names: string, name: string, data: Record<string, string> = {}): Manifest {
  return configMap(name, data, { annotations: { "argosy.dev/after": names } });
}

/** A Job that does nothing: no node runs its pods here, a test writes its status. */
function job(name: string, more: Record<string, string> = {}, fields: JsonObject = {}): Manifest {
  const containers = [{ name: "main", image: "busybox:1.37" }];
  const spec = { suspend: true, template: { spec: { restartPolicy: "Never", containers } }, ...fields };
  return { apiVersion: "batch/v1", kind: "Job", metadata: { name, annotations: more }, spec };
}

const ONCE = { "argosy.dev/once": "true" };

describe("the engine applies children in order", function () {
  this.timeout(60_000);
  const bench = useOperator({
    name: "order-test",
    children: ["v1/ConfigMap", "batch/v1/Job"],
  });
  const plan = (...children: Manifest[]): ObjectPlan => answering(...children);
  const there = (manifest: Manifest) => bench.api.get(inNamespace(manifest, bench.namespace));
  const absent = (manifest: Manifest) => bench.api.assertGone(inNamespace(manifest, bench.namespace));

  /** Writes what the controller of Jobs does. */
  async function complete(name: string): Promise<void> {
    const now = new Date().toISOString().replace(/\.\d+/, "");
    const condition = (type: string): JsonObject => ({
      type,
      status: "True",
      reason: "CompletionsReached",
      message: "",
      lastTransitionTime: now,
    });
    await bench.api.applyStatus(inNamespace(job(name), bench.namespace), {
      startTime: now,
      completionTime: now,
      succeeded: 1,
      conditions: [condition("SuccessCriteriaMet"), condition("Complete")],
    });
  }

  it("a child after its Job, and a changed one after the next Job", async () => {
    const app = (version: string) => following(`Job/migrate-${version}`, "app", { version });
    const object = await bench.applyObject("upgrade", plan(app("1"), job("migrate-1")));
    const { message } = await bench.failed(object, "ChildrenNotReady");
    assert.equal(message, "Job migrate-1 is running; ConfigMap app waits for Job migrate-1");
    await absent(app("1"));
    await complete("migrate-1");
    await bench.ready(object);
    const first = await there(app("1"));
    assert.equal(first.metadata.annotations, undefined);

    await bench.applyObject("upgrade", plan(app("2"), job("migrate-2")));
    await bench.failed(object, "ChildrenNotReady");
    await always(async () => assert.deepEqual((await there(app("1")))["data"], { version: "1" }));
    await complete("migrate-2");
    await bench.ready(object);
    assert.deepEqual((await there(app("2")))["data"], { version: "2" });
    assert.equal((await there(app("2"))).metadata.uid, first.metadata.uid);
  });

  it("without a Job that is created once, in whatever order its handler writes the keys of the Job", async () => {
    const reversed = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(reversed);
      if (typeof value !== "object" || value === null) return value;
      const entries = Object.entries(value).reverse();
      return Object.fromEntries(entries.map(([key, each]) => [key, reversed(each)]));
    };
    const first = job("unordered", ONCE);
    const second = reversed(first) as Manifest;
    assert.notEqual(JSON.stringify(first["spec"]), JSON.stringify(second["spec"]));
    // The API server would put the keys in order.
    bench.operator.plan("unordered", plan(following("Job/unordered", "late"), first));
    const object = await bench.applyObject("unordered");
    await bench.failed(object, "ChildrenNotReady");
    await complete("unordered");
    await bench.ready(object);
    bench.operator.plan("unordered", plan(following("Job/unordered", "late"), second));
    await bench.api.delete(inNamespace(first, bench.namespace));
    await bench.reconcileAgain(object);
    await bench.ready(object);
    await absent(first);
  });

  it("a child after a Job that is created once and goes as soon as it is complete", async () => {
    const brief = job("brief", ONCE, { ttlSecondsAfterFinished: 0 });
    const object = await bench.applyObject("brief", plan(following("Job/brief", "after"), brief));
    await bench.failed(object, "ChildrenNotReady");
    await there(brief);
    await complete("brief");
    await bench.ready(object);
    await there(configMap("after"));
    await always(() => absent(brief));
  });

  it("a child after a Job that is answered again after it had gone, and after an answer without it", async () => {
    const upgrade = (version: string) =>
      plan(following(`Job/to-${version}`, "used"), job(`to-${version}`, ONCE));
    const object = await bench.applyObject("rollback", upgrade("16"));
    await bench.failed(object, "ChildrenNotReady");
    await complete("to-16");
    await bench.ready(object);
    await bench.api.delete(inNamespace(job("to-16"), bench.namespace));
    await bench.idle();
    await absent(job("to-16"));
    await bench.applyObject("rollback", upgrade("17"));
    await eventually(() => there(job("to-17")));
    await complete("to-17");
    await bench.ready(object);
    await bench.applyObject("rollback", upgrade("16"));
    await eventually(() => there(job("to-16")));
  });

  it("without a Job that is created once and that its time to live has removed, also under another leader", async () => {
    const answer = (version: string) =>
      plan(following("Job/migrate", "app", { version }), job("migrate", ONCE));
    const object = await bench.applyObject("kept", answer("1"));
    await bench.failed(object, "ChildrenNotReady");
    await complete("migrate");
    await bench.ready(object);
    await bench.api.delete(inNamespace(job("migrate"), bench.namespace));
    await bench.idle();
    await absent(job("migrate"));
    const standby = await bench.operator.start({ identity: "two" });
    await bench.engine.stop();
    await eventually(() => assert.ok(standby.reportsOf("kept").length > 0));
    await bench.applied("kept", answer("2"));
    await absent(job("migrate"));
    assert.deepEqual((await there(configMap("app")))["data"], { version: "2" });
    await standby.stop();
  });
});

describe("the engine refuses an order that cannot be kept", function () {
  this.timeout(60_000);
  const bench = useOperator({ name: "disorder-test" });

  it("and applies nothing of the answer", async () => {
    const round = [following("ConfigMap/b", "a"), following("ConfigMap/a", "b")];
    const object = await bench.applyObject("round", answering(...round, configMap("other")));
    const { message } = await bench.failed(object, "InvalidAnswer");
    assert.match(message, /wait for each other by argosy\.dev\/after: ConfigMap a after ConfigMap b/);
    await bench.applyObject("round", answering(following("Job/migrate", "a"), configMap("other")));
    await eventually(async () =>
      assert.match(
        conditionOf(await bench.api.get(object), "Ready").message,
        /names "Job\/migrate", which is not a child in this answer/,
      ),
    );
    await bench.api.assertGone(inNamespace(configMap("other"), bench.namespace));
  });
});
