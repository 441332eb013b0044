import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { cacheDirectory, programPaths } from "../../cli/controlPlane/cache";
import { conditionsIn, type JsonObject } from "../../runtime/base/objects";
import { always, eventually } from "../support/eventually";
import { configMap, inNamespace } from "./support/manifests";
import { askForCluster } from "./support/sharedCluster";
import { saying, useWatching } from "./support/useWatching";

describe("an operator that watches a kind that others own", function () {
  this.timeout(90_000);
  const bench = useWatching();
  const answer = saying;
  const here = (name: string, data = {}) => bench.configMap(name, data);

  it("has children, remembers its state, and writes nothing on the object", async () => {
    const operator = await bench.install();
    operator.plan("web", answer([configMap("web-note", { a: "1" })], { seen: 1 }));
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

    operator.plan("web", answer([configMap("web-note", { a: "2" })]));
    await bench.api.annotate(object, { "example.com/commit": "abc" });
    await eventually(async () =>
      assert.deepEqual((await bench.api.get(here("web-note")))["data"], { a: "2" }),
    );
    const last = operator.calls("web").at(-1);
    assert.deepEqual(last?.state, { seen: 1 });
    // A handler that answers no state keeps the one that it has.
    assert.deepEqual((await bench.memory(operator, object)).memory["state"], { seen: 1 });
  });

  it("takes a child away with its object, and what it remembered", async () => {
    const operator = await bench.install();
    operator.plan("gone", answer([configMap("its")]));
    await bench.leading(operator);
    const object = await bench.watched(operator, "gone");
    await bench.settled(operator, object);
    await bench.api.delete(object);
    await eventually(() => bench.api.assertGone(here("its")));
    await eventually(() => bench.api.assertGone(operator.memoryOf(object)));
  });

  it("takes the children away when the object leaves the selector, and brings them back", async () => {
    const operator = await bench.install();
    operator.plan("leaves", answer([configMap("its-a"), configMap("its-b")], { seen: 1 }));
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
      operator.plan(name, answer([configMap(`of-${name}`)], { name }));
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
    operator.plan("released", answer([configMap("of-released")], { seen: 1 }));
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
    operator.plan("calm", answer([configMap("of-calm")], { b: 1, a: { d: 1, c: [1] } }));
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

  it("counts only the parts of an object that it names", async () => {
    const operator = await bench.install({
      watch: {
        apiVersion: "v1",
        kind: "ConfigMap",
        labels: { "example.com/by": "parts" },
        on: ["labels"],
      },
      children: [],
    });
    await bench.leading(operator);
    const labels = { "example.com/by": "parts" };
    const object = await bench.api.apply(inNamespace(configMap("parts", {}, { labels }), bench.namespace));
    await bench.settled(operator, object);
    const asked = () => operator.calls("parts").length;
    const before = asked();
    await bench.api.patch(object, { data: { a: "1" } });
    await always(() => assert.equal(asked(), before), { forMs: 1_000 });
    await bench.api.annotate(object, { "example.com/a": "1" });
    await eventually(() => assert.ok(asked() > before));
  });

  it("reports a failure by an Event and its memory, and forgets no state", async () => {
    const operator = await bench.install();
    operator.plan("fails", answer([configMap("of-fails")], { seen: 1 }));
    await bench.leading(operator);
    const object = await bench.watched(operator, "fails");
    await bench.settled(operator, object);
    operator.plan("fails", { answer: { error: { message: "no luck" } } });
    await bench.api.annotate(object, { "example.com/again": "1" });
    await eventually(async () => {
      const [ready] = conditionsIn((await bench.memory(operator, object))["status"]);
      assert.deepEqual([ready?.status, ready?.reason, ready?.message], ["False", "HandlerError", "no luck"]);
      const events = await bench.api.list({ apiVersion: "events.k8s.io/v1", kind: "Event" }, bench.namespace);
      assert.ok(events.some((event) => event["note"] === "no luck" && event["type"] === "Warning"));
    });
    assert.deepEqual((await bench.memory(operator, object)).memory["state"], { seen: 1 });
    await bench.api.get(here("of-fails"));
  });

  it("lets kubectl wait for it, however often its memory was written", async () => {
    const operator = await bench.install();
    operator.plan("awaited", answer([], { seen: 1 }));
    const running = await bench.leading(operator);
    const object = await bench.watched(operator, "awaited");
    await bench.settled(operator, object);
    for (const seen of [2, 3, 4, 5]) {
      operator.plan("awaited", answer([], { seen }));
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

  it("refuses an answer that the object has no place for", async () => {
    const operator = await bench.install();
    const refused: readonly [JsonObject, RegExp][] = [
      [{ children: [], status: { a: 1 } }, /the operator may not write on a watched object.*"state"/],
      [{ children: [], state: [] }, /"state" must be an object/],
      [{ children: [], state: { long: "x".repeat(70_000) } }, /"state" has 70011 bytes, more than the 65536/],
    ];
    const running = await bench.leading(operator);
    for (const [index, [given, expected]] of refused.entries()) {
      const name = `refused-${index}`;
      operator.plan(name, { answer: given });
      await bench.watched(operator, name);
      await eventually(() => assert.match(running.reportsOf(name)[0]?.failure?.message ?? "", expected));
    }
  });
});
