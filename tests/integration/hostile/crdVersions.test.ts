import assert from "node:assert/strict";
import { stopGarbageCollector } from "../../../cli/cluster/garbageCollector";
import { FIELD_MANAGER } from "../../../cli/local/installOperator";
import { buildCustomResourceDefinition } from "../../../components/manifests/customResourceDefinition";
import type { JsonObject, Manifest } from "../../../runtime/base/objects";
import { always, eventually } from "../../support/eventually";
import { type OwnCluster, startTestCluster } from "../support/cluster";
import { configMap, inNamespace, job } from "../support/manifests";
import { customResourceDefinitionOf } from "../support/testOperator";
import { answering, statusOf, useOperator } from "../support/useOperator";

const GROUP = "versioned.example.com";
const CHILD_CRD = customResourceDefinitionOf({ name: "versioned-child" });

describe("when a CRD moves on to another version", function () {
  this.timeout(120_000);
  const children = [
    { apiVersion: "v1", kind: "ConfigMap" },
    { apiVersion: "batch/v1", kind: "Job", update: "never" as const },
    { apiVersion: `${GROUP}/v1`, kind: "VersionedChild", plural: "versionedchilds" },
  ];
  // Its own, without a garbage collector: if the collector looks for an owner in a version that is not served, it takes the owner
  // for gone. This is no concern of these tests, which ask whether the engine does so too.
  let cluster: OwnCluster;
  const bench = useOperator({ name: "versioned", finalize: true, children }, {}, async () => {
    cluster = await startTestCluster();
    await stopGarbageCollector(cluster.controlPlane);
    await cluster.api.apply(CHILD_CRD, FIELD_MANAGER);
    return cluster;
  });
  after(() => cluster?.close());

  it("its objects are served, also after their version was not, and lose no child", async () => {
    const elsewhere = await bench.api.newNamespace("versioned-elsewhere");
    const near = inNamespace(configMap("near"), bench.namespace);
    const far = inNamespace(configMap("far"), elsewhere);
    const uids = () =>
      Promise.all([near, far].map(async (child) => (await bench.api.get(child)).metadata.uid));
    const object = await bench.applied("object", answering(near, far));
    const before = await uids();
    await serveOwn({ v1: true });
    await bench.applied("object", { ...answering(near, far), log: "stored as v2" });
    await stopServing();
    const plan = answering(near, far, configMap("new"));
    const changed = bench.operator.object("object", plan, bench.namespace);
    await bench.api.apply({ ...changed, apiVersion: `${GROUP}/v2` });
    await serveOwn({ v1: true });
    await bench.ready(object);
    assert.deepEqual(await uids(), before);
    await bench.api.get(inNamespace(configMap("new"), bench.namespace));
  });

  it("no child is created while its owner's version is not served: the garbage collector would delete the child, again and again", async () => {
    const child = inNamespace(configMap("child"), bench.namespace);
    await serveOwn({ v1: true });
    const object = await bench.applied("waiting", answering(child));
    await stopServing();
    await bench.api.delete(child);
    await eventually(async () => {
      const reasons = (await bench.eventsOf(object)).map(({ reason }) => reason);
      assert.ok(reasons.includes("KindMissing"), "the Events do not say why");
    });
    await always(() => bench.api.assertGone(child));
    await serveOwn({ v1: true });
    await eventually(() => bench.api.get(child));
    await bench.ready(object);
  });

  it("of children, they stay, and the object soon says that their version is missing, and later is ready", async () => {
    const manifest = { apiVersion: `${GROUP}/v1`, kind: "VersionedChild", metadata: { name: "child" } };
    const child = inNamespace(manifest, bench.namespace);
    const object = await bench.applied("parent", answering(child));
    const { uid } = (await bench.api.get(child)).metadata;
    await serve("versionedchilds", CHILD_CRD, { v1: false });
    await bench.failed(object, "KindMissing");
    const notice = bench.engine.notices.find((text) => text.startsWith("watch of VersionedChild: 404"));
    // The objects say what to do. To deploy the operator again would not help.
    assert.doesNotMatch(notice ?? assert.fail("no notice"), /deploy the operator again/);
    await bench.applied("other", answering(configMap("other")));
    await serve("versionedchilds", CHILD_CRD, { v1: true });
    await bench.ready(object);
    assert.equal((await bench.api.get(child)).metadata.uid, uid);
  });

  it("and so does its operator, the children stay, and their owner references name the new version", async () => {
    const child = inNamespace(configMap("moved"), bench.namespace);
    const once = inNamespace(job("once", "example.com/worker:1"), bench.namespace);
    const states = () =>
      Promise.all(
        [child, once].map(async (each) => {
          const { uid, ownerReferences = [] } = (await bench.api.get(each)).metadata;
          return { uid, versions: ownerReferences.map(({ apiVersion }) => apiVersion) };
        }),
      );
    await serveOwn({ v1: true });
    const object = await bench.applied("moved", answering(child));
    await bench.applyObject("moves-once", answering(once));
    const before = await eventually(states);
    await bench.engine.stop();
    const { operator } = bench.operator;
    const customResource = { ...operator.customResource, version: "v2" };
    await bench.operator.start({ operator: { ...operator, customResource }, identity: "moved" });
    const moved = before.map(({ uid }) => ({ uid, versions: [`${GROUP}/v2`] }));
    await eventually(async () => assert.deepEqual(await states(), moved));
    await serveOwn({ v1: false });
    await bench.api.delete(child);
    await eventually(() => bench.api.get(child));
    await bench.ready({ ...object, apiVersion: `${GROUP}/v2` });
  });

  /** Stops serving v1, and waits until the engine says so. */
  async function stopServing(): Promise<void> {
    const { notices } = bench.engine;
    const before = notices.length;
    await serveOwn({ v1: false });
    await eventually(() =>
      assert.match(
        notices.slice(before).join("\n"),
        /watch of Versioned: 404.* does not serve .*: serve it again in/,
      ),
    );
  }

  function serveOwn(versions: { v1: boolean }): Promise<void> {
    const { operator } = bench.operator;
    return serve(
      operator.customResource.plural,
      buildCustomResourceDefinition(operator) as Manifest,
      versions,
    );
  }

  /** Stores a kind as v2, and waits until v1 is served, or not. */
  async function serve(plural: string, crd: Manifest, { v1: served }: { v1: boolean }): Promise<void> {
    const spec = crd["spec"] as JsonObject;
    const [v1] = spec["versions"] as JsonObject[];
    const versions = [
      { ...v1, served, storage: false },
      { ...v1, name: "v2", served: true, storage: true },
    ];
    await bench.api.apply({ ...crd, spec: { ...spec, versions } }, FIELD_MANAGER);
    const answered = (version: string) =>
      bench.api.client.read(`/apis/${GROUP}/${version}/${plural}`).then(
        () => 200,
        ({ code }) => code,
      );
    await eventually(async () =>
      assert.deepEqual([await answered("v1"), await answered("v2")], [served ? 200 : 404, 200]),
    );
  }
});

describe("when a CRD loses a version", function () {
  this.timeout(60_000);
  const bench = useOperator({ name: "lessversions" });

  it("that is left in managedFields, the object says what to do, and its status is written after that", async () => {
    const { name, namespace } = (await bench.applied("left", answering(configMap("left")))).metadata;
    const object = bench.operator.object("left", {}, namespace);
    const crd = buildCustomResourceDefinition(bench.operator.operator) as Manifest;
    const spec = crd["spec"] as JsonObject;
    const [v1] = spec["versions"] as JsonObject[];
    const v2 = { ...v1, name: "v2", storage: false };
    await bench.api.apply({ ...crd, spec: { ...spec, versions: [{ ...v1 }, v2] } }, FIELD_MANAGER);
    const labelled = { name, namespace: namespace as string, labels: { team: "shop" } };
    const later = { apiVersion: "lessversions.example.com/v2", kind: object.kind, metadata: labelled };
    // By another manager: without its spec, the same manager would remove the spec, and the engine would reconcile the object.
    await eventually(() => bench.api.apply(later, "labeller"));
    await bench.api.apply(crd, FIELD_MANAGER);
    // For a moment the API server may still know the version. A write in that moment may remove the version from managedFields.
    const probe = { ...object, spec: {} };
    await eventually(() => assert.rejects(bench.api.tryApply(probe), /invalid group\/version: .*v2/));
    const status = { phase: "later" };
    bench.operator.plan("left", { answer: { ...answering(configMap("left")).answer, status } });
    await bench.api.delete(inNamespace(configMap("left"), bench.namespace));
    await eventually(async () => {
      const [event] = (await bench.eventsOf(object)).filter(({ reason }) => reason === "StatusRefused");
      assert.match(event?.note ?? "", /invalid group\/version: .*v2: .*managedFields.* Annotate/);
    });
    await bench.api.annotate(object, { "argosy.dev/reconcile-at": "1" });
    await eventually(async () => assert.equal(statusOf(await bench.api.get(object))["phase"], "later"));
    await bench.ready(object);
  });
});
