import assert from "node:assert/strict";
import type { Manifest } from "../../runtime/kubernetes/objects";
import type { ResyncOptions } from "../../runtime/pod/resync/resyncOnce";
import type { Reference } from "../../tools/objects";
import type { Api } from "./support/api";
import { INSTANCE_ID, submit } from "./support/argo";
import { configMap, inNamespace } from "./support/manifests";
import { type ResyncBench, useResyncs } from "./support/resyncs";
import type { ObjectPlan, TestOperator } from "./support/testOperator";
import { answering } from "./support/useOperator";

/** What Argo would write into a Workflow, the test does: the real one is tried by the e2e and the chaos run. */
describe("a resync of the form pod", () => {
  let bench: ResyncBench;
  let operator: TestOperator;
  let api: Api;
  let namespace: string;

  useResyncs("resynced", (begun) => {
    bench = begun;
    ({ operator, api, namespace } = bench);
  });

  const object = (name: string, plan?: ObjectPlan) => bench.object(name, plan);

  /** A resync, and what the pods of its runs would do. */
  async function resyncAll(more: Partial<ResyncOptions>): Promise<void> {
    await bench.resync(more);
    for (const { metadata } of await bench.workflows()) await bench.run(metadata.name);
  }

  it("submits a run for every object that is new, which that run then reconciles", async () => {
    for (const name of ["a", "b"]) await api.apply(object(name, answering(configMap(`of-${name}`))));
    assert.deepStrictEqual(await bench.resync(), { submitted: 2, running: 0, left: 0, failed: 0 });
    assert.deepStrictEqual(await bench.runs(), ["resynced-a", "resynced-b"]);
    const [first] = await bench.workflows();
    assert.ok(first);
    assert.match(first.metadata.name, /^resynced-a-[0-9a-f]{10}$/);
    assert.equal(first.metadata.labels?.["workflows.argoproj.io/controller-instanceid"], INSTANCE_ID);
    await bench.run(first.metadata.name);
    await api.get(inNamespace(configMap("of-a"), namespace) as Reference & Manifest);
  });

  it("has the children of a deleted object deleted that had the name before, and spares others'", async () => {
    const elsewhere = await api.newNamespace("resynced-elsewhere");
    const far = (name: string, data = {}) => inNamespace(configMap(name, data), elsewhere);
    const plan = (...names: string[]) => answering(...names.map((each) => far(each, { of: "former" })));
    for (const name of ["namesake", "neighbour"]) {
      await api.apply(object(name, plan(`${name}-kept`, `${name}-left`)));
      await bench.runFor(name);
    }
    // No owner reference reaches these children, so that the garbage collector never deletes any of them.
    await api.patch(object("namesake"), { metadata: { finalizers: null } });
    await api.delete(object("namesake"));
    await api.apply(object("namesake", answering(far("namesake-kept", { of: "later" }))));
    await bench.deleteWorkflows();
    // Argo's part: the runs that the resync submits.
    await resyncAll({ operator: { ...bench.withoutTurns, namespaces: [namespace, elsewhere] } });
    await api.assertGone(far("namesake-left"));
    assert.deepEqual((await api.get(far("namesake-kept")))["data"], { of: "later" });
    assert.equal((await bench.readyOf(object("namesake"))).status, "True");
    for (const name of ["neighbour-kept", "neighbour-left"]) await api.get(far(name));
    // Nothing is left, so nothing is to be done.
    await bench.deleteWorkflows();
    const again = await bench.resync({
      operator: { ...bench.withoutTurns, namespaces: [namespace, elsewhere] },
    });
    assert.deepEqual(again, { submitted: 0, running: 0, left: 0, failed: 0 });
  });

  it("submits none for an object that has one going on, nor for a paused one, nor one that others finalize", async () => {
    await api.apply(object("busy"));
    await submit(operator, "busy", { namespace, name: "busy" });
    const paused = object("paused");
    const annotations = { "argosy.dev/paused": "true" };
    await api.apply({ ...paused, metadata: { ...paused.metadata, annotations } });
    const foreign = object("foreign");
    await api.apply({ ...foreign, metadata: { ...foreign.metadata, finalizers: ["example.com/hold"] } });
    await api.delete(foreign);
    assert.deepStrictEqual(await bench.resync(), { submitted: 0, running: 1, left: 0, failed: 0 });
    await api.patch(foreign, { metadata: { finalizers: null } });
  });

  it("submits one for an object that is being deleted and has children where no owner reference reaches", async () => {
    const left = object("left");
    const finalizers = [operator.elsewhereFinalizer];
    await api.apply({ ...left, metadata: { ...left.metadata, finalizers } });
    await api.delete(left);
    assert.deepStrictEqual(await bench.resync(), { submitted: 1, running: 0, left: 0, failed: 0 });
    await api.patch(left, { metadata: { finalizers: null } });
  });

  it("has an object finalized that is deleted in a namespace that is no longer listed, and leaves the others", async () => {
    const there = await api.newNamespace("resynced-unlisted");
    const [goes, stays] = ["goes", "stays"].map((name) => operator.object(name, {}, there)) as [
      Manifest,
      Manifest,
    ];
    for (const each of [goes, stays])
      await api.apply({ ...each, metadata: { ...each.metadata, finalizers: [operator.finalizer] } });
    const narrow = { ...bench.withoutTurns, namespaces: [namespace] };
    assert.equal((await bench.resync({ operator: narrow })).submitted, 0);
    await api.delete(goes as Reference & Manifest);
    assert.equal((await bench.resync({ operator: narrow })).submitted, 1);
    for (const { metadata } of await bench.workflows()) await bench.run(metadata.name, { operator: narrow });
    await api.assertGone(goes as Reference & Manifest);
    assert.deepEqual(
      operator.calls("goes").map(({ event, children }) => [event, children]),
      [["finalize", []]],
    );
    await submit(operator, "by-hand", { namespace: there, name: "stays" });
    const { exitCode, message } = await bench.run("by-hand", { operator: narrow });
    assert.equal(exitCode, 1);
    assert.match(message, /handles no Resynced in namespace .*, only in /);
    assert.deepEqual(operator.calls("stays"), []);
    await api.patch(stays as Reference & Manifest, { metadata: { finalizers: null } });
    await api.delete(stays as Reference & Manifest);
  });

  it("submits one again where the former has ended", async () => {
    await api.apply(object("demo"));
    await bench.resync();
    const [former] = await bench.workflows();
    assert.ok(former);
    assert.equal((await bench.resync()).submitted, 0);
    const labels = { "workflows.argoproj.io/completed": "true" };
    await api.patch(bench.workflow(former.metadata.name), { metadata: { labels } });
    assert.equal((await bench.resync()).submitted, 1);
  });

  it("lets no more go on at once than the operator's concurrency, the urgent ones first", async () => {
    for (const name of ["a", "b", "c", "d"]) {
      await api.apply(object(name));
      await bench.runFor(name);
    }
    await api.apply(object("c", answering(configMap("new"))));
    for (const name of ["a", "b", "d"])
      await api.patch(object(name), { metadata: { labels: { team: "a" } } });
    await bench.deleteWorkflows();
    const narrow = { ...operator.operator, namespaces: [namespace], concurrency: 1 };
    assert.deepStrictEqual(await bench.resync({ operator: narrow }), {
      submitted: 1,
      running: 0,
      left: 3,
      failed: 0,
    });
    assert.deepStrictEqual(await bench.runs(), ["resynced-c"]);
  });

  it("spreads what is not urgent over its time, and leaves half of the room to others", async () => {
    for (const name of ["a", "b", "c"]) {
      await api.apply(object(name));
      await bench.runFor(name);
      await api.patch(object(name), { metadata: { labels: { team: "a" } } });
    }
    await bench.deleteWorkflows();
    const wide = { ...operator.operator, namespaces: [namespace], concurrency: 100 };
    const first = await bench.resync({ operator: wide, withinMs: 30_000, lookMs: 100_000 });
    assert.deepStrictEqual([first.submitted, first.left], [1, 2]);
    await bench.deleteWorkflows();
    const narrow = { ...operator.operator, namespaces: [namespace], concurrency: 4 };
    // So little time that all of them have had their turn: only the room is left as a limit.
    assert.deepStrictEqual(await bench.resync({ operator: narrow, withinMs: 1 }), {
      submitted: 2,
      running: 0,
      left: 1,
      failed: 0,
    });
  });
});
