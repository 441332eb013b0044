import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { stopGarbageCollector } from "../../../cli/cluster/garbageCollector";
import { FIELD_MANAGER } from "../../../cli/local/installOperator";
import { buildCustomResourceDefinition } from "../../../components/manifests/customResourceDefinition";
import type { JsonObject, Manifest } from "../../../runtime/base/objects";
import { always, eventually } from "../../support/eventually";
import { type OwnCluster, startTestCluster } from "../support/cluster";
import { configMap, inNamespace, job } from "../support/manifests";
import { customResourceDefinitionOf } from "../support/testOperator";
import { answering, useOperator } from "../support/useOperator";

const GROUP = "versioned.example.com";
const CHILD_CRD = customResourceDefinitionOf({ name: "versioned-child" });

describe("without a garbage collector,", () => {
  // One of their own: no other suite should find the garbage collector stopped.
  let cluster: OwnCluster;
  const own = async () => cluster;
  before(async function () {
    this.timeout(0);
    cluster = await startTestCluster();
    await stopGarbageCollector(cluster.controlPlane);
  });
  after(() => cluster?.close());

  describe("an object that was deleted", function () {
    this.timeout(120_000);
    const bench = useOperator({ name: "former-test" }, {}, own);
    const here = (name: string, data = {}) => inNamespace(configMap(name, data), bench.namespace);

    it("leaves no children", async () => {
      const object = await bench.applied("gone", answering(configMap("its"), configMap("too")));
      await bench.api.delete(object);
      for (const name of ["its", "too"]) await eventually(() => bench.api.assertGone(here(name)));
    });
  });

  describe("when objects go while no runner leads", function () {
    this.timeout(120_000);
    const bench = useOperator({ name: "missed" }, {}, own);

    it("the next leader deletes their children, except those that are to stay", async () => {
      const apply = async (name: string) => {
        const object = await bench.applied(name, answering(configMap(name)));
        return { object, child: inNamespace(configMap(name), bench.namespace) };
      };
      const [missed, released, alive] = [
        await apply("missed"),
        await apply("released"),
        await apply("alive"),
      ];
      await bench.engine.stop();
      await bench.api.delete(missed.object);
      await bench.api.assertGone(missed.object);
      await bench.api.delete(released.object, "Orphan");
      // The collector's work: the children first, and then the finalizer by which it holds the object.
      await bench.api.patch(released.child, { metadata: { ownerReferences: null } });
      await bench.api.patch(released.object, { metadata: { finalizers: null } });
      await bench.api.assertGone(released.object);
      await bench.operator.start({ identity: "next" });
      await eventually(() => bench.api.assertGone(missed.child));
      await sleep(2_000);
      await bench.api.get(released.child);
      await bench.api.get(alive.child);
    });
  });

  describe("when a CRD moves on to another version", function () {
    this.timeout(120_000);
    const children = [
      { apiVersion: "v1", kind: "ConfigMap" },
      { apiVersion: "batch/v1", kind: "Job", update: "never" as const },
      { apiVersion: `${GROUP}/v1`, kind: "VersionedChild", plural: "versionedchilds" },
    ];
    // A garbage collector that looks for an owner in a version that is not served takes it for gone. Does the engine do so too?
    const bench = useOperator({ name: "versioned", finalize: true, children }, {}, async () => {
      await cluster.api.apply(CHILD_CRD, FIELD_MANAGER);
      return cluster;
    });

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
});
