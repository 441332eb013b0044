import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { cacheDirectory, programPaths } from "../../cli/controlPlane/cache";
import { conditionsIn, type JsonObject } from "../../runtime/base/objects";
import { always, eventually } from "../support/eventually";
import { configMap, job } from "./support/manifests";
import { askForCluster } from "./support/sharedCluster";
import { saying, useWatching } from "./support/useWatching";

describe("an operator that watches a kind that others own", function () {
  this.timeout(90_000);
  const bench = useWatching();
  const here = (name: string, data = {}) => bench.configMap(name, data);

  it("has children, remembers its state, and writes nothing on the object", async () => {
    const operator = await bench.install();
    operator.plan("web", saying([configMap("web-note", { a: "1" })], { seen: 1 }));
    await bench.leading(operator);
    const object = await bench.watched(operator, "web");
    const kept = await bench.settled(operator, object);
    assert.deepEqual(kept.memory, { kinds: ["v1/ConfigMap"], state: { seen: 1 } });
    const child = await bench.api.get(here("web-note"));
    assert.deepEqual(child.metadata.ownerReferences, [
      { apiVersion: "apps/v1", kind: "Deployment", name: "web", uid: object.metadata.uid },
    ]);
    assert.equal(child.metadata.labels?.["argosy.dev/owner-uid"], object.metadata.uid);
    const now = await bench.api.get(object);
    assert.equal(now.metadata.finalizers, undefined);
    assert.ok(!now.metadata.managedFields?.some(({ manager = "" }) => manager.startsWith("argosy")));
    // The Deployment still controls its ReplicaSet, and no controller of Deployments takes our child.
    await eventually(async () => {
      const sets = await bench.api.list({ apiVersion: "apps/v1", kind: "ReplicaSet" }, bench.namespace);
      assert.equal(sets[0]?.metadata.ownerReferences?.[0]?.controller, true);
    });

    operator.plan("web", saying([configMap("web-note", { a: "2" })]));
    await bench.api.annotate(object, { "example.com/commit": "abc" });
    await eventually(async () =>
      assert.deepEqual((await bench.api.get(here("web-note")))["data"], { a: "2" }),
    );
    const last = operator.calls("web").at(-1);
    assert.deepEqual(last?.state, { seen: 1 });
    // A handler that answers no state keeps the one that it has.
    assert.deepEqual((await bench.memory(operator, object)).memory["state"], { seen: 1 });
  });

  it("takes the children away when the object leaves the selector, and brings them back", async () => {
    const operator = await bench.install();
    operator.plan("leaves", saying([configMap("its-a"), configMap("its-b")], { seen: 1 }));
    await bench.leading(operator);
    const object = await bench.watched(operator, "leaves");
    await bench.settled(operator, object);
    await bench.unlabel(operator, object);
    for (const name of ["its-a", "its-b"]) await eventually(() => bench.api.assertGone(here(name)));
    await eventually(() => bench.api.assertGone(operator.memoryOf(object)));
    await bench.api.get(object);
    await bench.watched(operator, "leaves");
    await bench.settled(operator, object);
    await bench.api.get(here("its-a"));
    assert.equal(operator.calls("leaves").at(-1)?.state, undefined);
  });

  it("finds out what left while it was away, and what was deleted", async () => {
    const operator = await bench.install();
    for (const name of ["left", "deleted", "stays"])
      operator.plan(name, saying([configMap(`of-${name}`)], { name }));
    const running = await bench.leading(operator);
    const [left, deleted, stays] = await Promise.all(
      ["left", "deleted", "stays"].map((name) => bench.watched(operator, name)),
    );
    assert.ok(left && deleted && stays);
    for (const object of [left, deleted, stays]) await bench.settled(operator, object);
    await running.stop();
    await bench.unlabel(operator, left);
    await bench.api.delete(deleted);
    await bench.leading(operator);
    await eventually(() => bench.api.assertGone(here("of-left")));
    for (const object of [left, deleted])
      await eventually(() => bench.api.assertGone(operator.memoryOf(object)));
    await bench.api.get(here("of-stays"));
    await bench.api.get(operator.memoryOf(stays));
  });

  it("lets go of everything when its definition selects other labels, as before it is removed", async () => {
    const operator = await bench.install();
    operator.plan("released", saying([configMap("of-released")], { seen: 1 }));
    const running = await bench.leading(operator);
    const object = await bench.watched(operator, "released");
    await bench.settled(operator, object);
    await running.stop();
    const watch = { apiVersion: "apps/v1", kind: "Deployment", labels: { "example.com/none": "true" } };
    const none = await bench.install({ name: operator.operator.name, watch });
    await bench.leading(none);
    await eventually(() => bench.api.assertGone(here("of-released")));
    await eventually(() => bench.api.assertGone(operator.memoryOf(object)));
    await bench.api.get(object);
  });

  it("writes nothing after a restart if nothing has changed", async () => {
    const operator = await bench.install();
    operator.plan("calm", saying([configMap("of-calm")], { b: 1, a: { d: 1, c: [1] } }));
    const running = await bench.leading(operator);
    const object = await bench.watched(operator, "calm");
    await bench.settled(operator, object);
    const versions = async () =>
      Promise.all(
        [operator.memoryOf(object), here("of-calm")].map(
          async (each) => (await bench.api.get(each)).metadata.resourceVersion,
        ),
      );
    await running.stop();
    const before = await versions();
    const asked = operator.calls("calm").length;
    await bench.leading(operator);
    await eventually(() => assert.ok(operator.calls("calm").length > asked));
    await always(async () => assert.deepEqual(await versions(), before), { forMs: 1_500 });
  });

  it("lets kubectl wait for it, however often its memory was written", async () => {
    const operator = await bench.install();
    operator.plan("awaited", saying([], { seen: 1 }));
    const running = await bench.leading(operator);
    const object = await bench.watched(operator, "awaited");
    await bench.settled(operator, object);
    for (const seen of [2, 3, 4, 5]) {
      operator.plan("awaited", saying([], { seen }));
      running.controller.hint(object.metadata);
      await eventually(async () =>
        assert.deepEqual((await bench.memory(operator, object)).memory["state"], { seen }),
      );
    }
    const { apiVersion, metadata } = await bench.memory(operator, object);
    // A condition of an earlier generation than its object's does not count for kubectl.
    const { generation = 1 } = (await bench.api.get(object)).metadata;
    assert.ok((metadata.generation ?? 0) > generation, "the memory's own generation is no higher");
    const [group] = apiVersion.split("/");
    const waits = async (condition: string) => {
      const what = [`memories.${group}/${metadata.name}`, "--namespace", metadata.namespace ?? ""];
      const how = ["--kubeconfig", await askForCluster(), "--timeout", "3s"];
      const { kubectl } = programPaths(cacheDirectory());
      return promisify(execFile)(kubectl, ["wait", `--for=condition=${condition}`, ...what, ...how]);
    };
    await waits("Ready");
    await waits("Stalled=False");
    await assert.rejects(waits("Stalled"), /timed out/);
  });

  it("uses what a part of the object names that does not count as a change", async () => {
    const settings = (name: string, value: string) => bench.api.apply(here(name, { value }));
    const name = "spec.template.metadata.annotations.settings";
    const labels = { "example.com/uses": "quietly" };
    const operator = await bench.install({
      watch: { apiVersion: "apps/v1", kind: "Deployment", labels, on: ["labels"] },
      uses: { settings: { apiVersion: "v1", kind: "ConfigMap", name } },
    });
    await settings("first", "1");
    await settings("second", "2");
    await bench.leading(operator);
    const object = await bench.watched(operator, "quiet");
    await bench.settled(operator, object);
    const settingNow = () =>
      (operator.calls("quiet").at(-1)?.used["settings"] as { data?: { value: string } } | null)?.data?.value;
    const naming = (settings: string) =>
      bench.api.patch(object, { spec: { template: { metadata: { annotations: { settings } } } } });
    for (const used of ["first", "second"]) {
      await naming(used);
      // A change of what the object used before, or does not use yet, asks no handler.
      await always(() => assert.notEqual(settingNow(), used), { forMs: 500 });
      await settings(used, `of ${used}`);
      await eventually(() => assert.equal(settingNow(), `of ${used}`));
    }
  });

  it("is asked when a schedule is due, once for all that was missed, and keeps its state", async () => {
    const operator = await bench.install({
      schedules: { yearly: { cron: "0 0 1 1 *", timeZone: "UTC", spreadSeconds: 0 } },
    });
    operator.plan("report", saying([configMap("of-report")], { seen: 1 }));
    const running = await bench.leading(operator);
    const object = await bench.watched(operator, "report");
    const kept = await bench.settled(operator, object);
    const { yearly } = kept.memory["schedules"] as { yearly: JsonObject };
    assert.equal(yearly["of"], "0 0 1 1 * UTC");
    await running.stop();
    // As if no operator had run for three years.
    const at = "2023-06-01T00:00:00Z";
    await bench.api.patch(kept, { memory: { schedules: { yearly: { ...yearly, at } } } });
    operator.plan("report", { answer: { error: { message: "not yet", retryAfterSeconds: 1 } } });
    await bench.leading(operator);
    const asked = () => operator.calls("report").filter(({ due }) => due.length > 0);
    await eventually(() => assert.ok(asked().length >= 2));
    assert.deepEqual(asked().at(-1)?.state, { seen: 1 });
    operator.plan("report", saying([configMap("of-report")]));
    await bench.settled(operator, object);
    const instant = `${new Date().getUTCFullYear()}-01-01T00:00:00Z`;
    assert.deepEqual(
      new Set(asked().flatMap(({ due }) => due.map(({ name, at }) => `${name} ${at}`))),
      new Set([`yearly ${instant}`]),
    );
    const before = asked().length;
    const calls = operator.calls("report").length;
    await bench.api.annotate(object, { "example.com/again": "1" });
    await eventually(() => assert.ok(operator.calls("report").length > calls));
    assert.equal(asked().length, before);
    assert.deepEqual((await bench.memory(operator, object)).memory["state"], { seen: 1 });
  });

  it("applies each child after those that it waits for, and creates none again that is created once", async () => {
    const after = configMap("app", {}, { annotations: { "argosy.dev/after": "Job/migrate" } });
    const migrate = bench.here({
      ...job("migrate", "example.com/worker:1"),
      metadata: { name: "migrate", annotations: { "argosy.dev/once": "true" } },
    });
    (migrate["spec"] as JsonObject)["suspend"] = true;
    const operator = await bench.install({ children: ["v1/ConfigMap", "batch/v1/Job"] });
    operator.plan("db", saying([after, migrate]));
    const running = await bench.leading(operator);
    const object = await bench.watched(operator, "db");
    await eventually(async () => {
      const [ready] = conditionsIn((await bench.memory(operator, object))["status"]);
      assert.equal(ready?.message, "Job migrate is running; ConfigMap app waits for Job migrate");
    });
    await bench.api.assertGone(here("app"));
    const now = new Date().toISOString().replace(/\.\d+/, "");
    const condition = (type: string): JsonObject => ({ type, status: "True", lastTransitionTime: now });
    await bench.api.applyStatus(migrate, {
      startTime: now,
      completionTime: now,
      succeeded: 1,
      conditions: [condition("SuccessCriteriaMet"), condition("Complete")],
    });
    await bench.settled(operator, object);
    const app = await bench.api.get(here("app"));
    assert.deepEqual(Object.keys(app.metadata.annotations ?? {}), ["argosy.dev/follows"]);
    await bench.api.delete(migrate);
    await eventually(() => bench.api.assertGone(migrate));
    // The next leader knows it too.
    await running.stop();
    await bench.leading(operator);
    const asked = operator.calls("db").length;
    await bench.api.annotate(object, { "example.com/again": "1" });
    await eventually(() => assert.ok(operator.calls("db").length > asked));
    await bench.settled(operator, object);
    await always(() => bench.api.assertGone(migrate));
    await bench.unlabel(operator, object);
    await eventually(() => bench.api.assertGone(here("app")));
    await eventually(() => bench.api.assertGone(operator.memoryOf(object)));
  });
});
