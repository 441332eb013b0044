import assert from "node:assert/strict";
import { always, eventually } from "../support/eventually";
import { configMap, inNamespace } from "./support/manifests";
import { answering, useOperator } from "./support/useOperator";

describe("the engine reconciles again", function () {
  this.timeout(60_000);
  const bench = useOperator({ name: "trigger-test" });
  const calls = (name: string) => bench.operator.calls(name).length;
  const here = (name: string) => inNamespace(configMap(name), bench.namespace);

  it("after requeueAfterSeconds", async () => {
    await bench.applied("again", { answer: { children: [], requeueAfterSeconds: 1 } });
    await eventually(() => assert.ok(calls("again") >= 3));
  });

  it("at each new value of the annotation argosy.dev/reconcile-at, and at no status that another client writes", async () => {
    const object = await bench.applied("annotated", answering());
    await bench.api.annotate(object, { "argosy.dev/reconcile-at": "2024-01-01T00:00:00Z" });
    await eventually(() => assert.equal(calls("annotated"), 2));
    await bench.api.annotate(object, { "argosy.dev/reconcile-at": "2024-01-02T00:00:00Z" });
    await eventually(() => assert.equal(calls("annotated"), 3));
    await bench.api.applyStatus(object, { foreign: "field" });
    await always(() => assert.equal(calls("annotated"), 3));
  });

  it("when a child is changed or deleted by others, many changes at once", async () => {
    await bench.applied("watched", { ...answering(configMap("watched")), delayMs: 1_000 });
    const before = calls("watched");
    const begun = performance.now();
    await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        bench.api.patch(here("watched"), { data: { [`key${index}`]: "1" } }),
      ),
    );
    await eventually(() => {
      const child = bench.operator.calls("watched").at(-1)?.children[0];
      assert.equal(Object.keys(child?.["data"] ?? {}).length, 20);
    });
    // One run at a time, a second each.
    const most = 2 + (performance.now() - begun) / 1_000;
    assert.ok(calls("watched") - before <= most, "changes are not coalesced");
  });

  it("but not for its own writes to children", async () => {
    const object = await bench.applied("own", answering(configMap("own-a"), configMap("own-b")));
    await bench.applied("own", answering(configMap("own-a", { changed: "1" })));
    await always(() => assert.equal(calls("own"), 2));
    await bench.api.get(object);
  });
});

describe("the engine of an operator with resyncSeconds", function () {
  this.timeout(60_000);
  const bench = useOperator({ name: "resync-test", resyncSeconds: 10 });
  const calls = () => bench.operator.calls("resynced").length;
  const here = (name: string) => inNamespace(configMap(name), bench.namespace);

  it("reconciles every object once in that time, and writes nothing where all is in order", async () => {
    const object = await bench.applied("resynced", answering(configMap("resynced")));
    const child = await bench.api.get(here("resynced"));
    const before = calls();
    await eventually(() => assert.ok(calls() >= before + 2));
    assert.deepEqual(await bench.api.get(object), object);
    assert.deepEqual(await bench.api.get(child), child);
  });
});

describe("the engine, when it starts", function () {
  this.timeout(60_000);
  const bench = useOperator({ name: "startup-test" });
  const here = (name: string) => inNamespace(configMap(name), bench.namespace);

  it("finds what has happened while it was down: drift, new objects, new generations, deletions", async () => {
    const { api, operator, namespace } = bench;
    const first = await operator.start({ identity: "first" });
    const drifted = await bench.applied("drifted", answering(configMap("drifted", { a: "1" })));
    const changed = await bench.applied("changed", answering(configMap("changed", { a: "1" })));
    const far = inNamespace(configMap("far"), await api.newNamespace("elsewhere"));
    const deleted = await bench.applied("deleted", answering(far));
    await bench.engine.stop();
    await first.stop();

    await api.patch(here("drifted"), { data: { a: "edited" } });
    await api.delete(here("changed"));
    await bench.applyObject("changed", answering(configMap("changed", { a: "2" })));
    await api.delete(deleted);
    const created = await bench.applyObject("created", answering(configMap("created")));

    await operator.start({ identity: "second" });
    await eventually(async () => assert.deepEqual((await api.get(here("drifted")))["data"], { a: "1" }));
    await bench.ready(drifted);
    await bench.ready(changed);
    assert.deepEqual((await api.get(here("changed")))["data"], { a: "2" });
    await bench.ready(created);
    await eventually(() => api.assertGone(deleted));
    await api.assertGone(far);
    assert.deepEqual(
      (await api.list({ apiVersion: "v1", kind: "ConfigMap" }, namespace)).filter(
        ({ metadata }) => metadata.name === "deleted",
      ),
      [],
    );
  });
});

describe("the engine, when the handler's files have changed", function () {
  this.timeout(60_000);
  const bench = useOperator({ name: "renew-test" });

  it("ends the running work with the old ones and shows every object the new", async () => {
    const object = await bench.applied("renewed", { ...answering(configMap("renewed")), delayMs: 300 });
    const child = inNamespace(configMap("renewed"), bench.namespace);
    await bench.api.annotate(object, { "argosy.dev/reconcile-at": "now" });
    await eventually(() => assert.equal(bench.operator.calls("renewed").length, 2));
    const children = JSON.stringify([configMap("renewed", { by: "the new handler" })]);
    bench.operator.rewriteHandler(
      `require("node:readline").createInterface({ input: process.stdin }).on("line", (line) =>
        console.log(JSON.stringify({ id: JSON.parse(line).id, children: ${children} })));`,
    );
    bench.engine.controller.renewHandler();
    await eventually(async () => {
      assert.deepEqual((await bench.api.get(child))["data"], { by: "the new handler" });
    });
    assert.deepEqual(bench.failuresOf("renewed"), []);
  });
});
