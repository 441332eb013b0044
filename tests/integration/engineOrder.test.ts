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

describe("the engine deletes children in the reverse order of after", function () {
  this.timeout(60_000);
  const bench = useOperator({ name: "reverse-test", children: ["v1/ConfigMap"] });
  const HOLD = ["example.com/hold"];
  const here = (name: string) => inNamespace(configMap(name), bench.namespace);
  const finalizers = (name: string, list: string[] | null) =>
    bench.api.patch(here(name), { metadata: { finalizers: list } });
  const isGoing = async (name: string) =>
    (await bench.api.find(here(name)))?.metadata.deletionTimestamp !== undefined;
  const isThere = async (name: string) => (await bench.api.find(here(name))) !== undefined;

  /** An object with three children, one after the other, of which the last one is held. */
  async function held(name: string) {
    const names = ["a", "b", "c"].map((each) => `${name}-${each}`);
    const [a = "", b = "", c = ""] = names;
    const chain = [configMap(a), following(`ConfigMap/${a}`, b), following(`ConfigMap/${b}`, c)];
    const object = await bench.applied(name, answering(...chain));
    assert.deepEqual(object.metadata.finalizers, ["order.argosy.dev/argosy.reverse-test"]);
    await finalizers(c, HOLD);
    return { object, a, b, c };
  }

  it("each when what follows it is gone, and the object names what holds them up", async () => {
    const { object, a, b, c } = await held("background");
    await bench.api.delete(object);
    await eventually(async () => assert.ok(await isGoing(c)));
    await eventually(async () =>
      assert.match(
        conditionOf(await bench.api.get(object), "Ready").message,
        new RegExp(
          `ConfigMap ${c} is being deleted and is held by the finalizer example.com/hold; then ConfigMap ${b}`,
        ),
      ),
    );
    await always(async () => assert.deepEqual([await isGoing(a), await isGoing(b)], [false, false]));
    await finalizers(b, HOLD);
    await finalizers(c, null);
    await eventually(async () => assert.ok(await isGoing(b)));
    assert.deepEqual([await isThere(c), await isThere(a), await isGoing(a)], [false, true, false]);
    await finalizers(b, null);
    await eventually(() => bench.api.assertGone(object));
    await eventually(() => bench.api.assertGone(here(a)));
  });

  it("with what each of them owns", async () => {
    const { object, b, c } = await held("owners");
    const { uid } = (await bench.api.get(here(c))).metadata;
    const reference = { apiVersion: "v1", kind: "ConfigMap", name: c, uid, blockOwnerDeletion: true };
    await bench.api.apply(here("owned"));
    await bench.api.patch(here("owned"), { metadata: { ownerReferences: [reference], finalizers: HOLD } });
    await finalizers(c, null);
    await bench.api.delete(object);
    await eventually(async () => assert.ok(await isGoing("owned")));
    await always(async () => assert.deepEqual([await isGoing(c), await isGoing(b)], [true, false]));
    await finalizers("owned", null);
    await eventually(() => bench.api.assertGone(object));
    await eventually(() => bench.api.assertGone(here(b)));
  });

  it("not in a foreground deletion, in which Kubernetes deletes them itself; the object waits for all the same", async () => {
    const { object, a, b, c } = await held("foreground");
    await bench.api.delete(object, "Foreground");
    await eventually(async () => assert.deepEqual([await isThere(a), await isThere(b)], [false, false]));
    assert.ok(await isGoing(c));
    assert.ok(await bench.api.find(object));
    await finalizers(c, null);
    await eventually(() => bench.api.assertGone(object));
  });
});

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
    assert.deepEqual(first.metadata.annotations, {
      "argosy.dev/follows": `batch/Job/${bench.namespace}/migrate-1`,
    });

    await bench.applyObject("upgrade", plan(app("2"), job("migrate-2")));
    await bench.failed(object, "ChildrenNotReady");
    await always(async () => assert.deepEqual((await there(app("1")))["data"], { version: "1" }));
    await complete("migrate-2");
    await bench.ready(object);
    assert.deepEqual((await there(app("2")))["data"], { version: "2" });
    assert.equal((await there(app("2"))).metadata.uid, first.metadata.uid);
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
