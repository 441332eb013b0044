import assert from "node:assert/strict";
import { ReconcileFailure } from "../../runtime/base/failure";
import type { KubernetesObject } from "../../runtime/base/objects";
import { ApiError } from "../../runtime/kubernetes/errors";
import { CustomResources } from "../../runtime/observe/customResources";
import { StillListingError } from "../../runtime/observe/kindWatch";
import type { RememberedPlaces } from "../../runtime/observe/ownership";
import { Finalizers } from "../../runtime/write/finalizers";
import { configMap, namespace, operator, WIDGETS } from "./support/objects";
import { DELETED, ELSEWHERE, FINALIZER, finalizing, ORDER, ReconcileWorld } from "./support/reconcileWorld";

describe("Reconciler", () => {
  let world: ReconcileWorld;

  beforeEach(() => {
    world = new ReconcileWorld();
  });

  describe("the finalizer", () => {
    it("is on the object before the handler is asked, if `finalize` is declared, and is written once", async () => {
      world.given();
      await world.reconcile(finalizing);
      assert.deepEqual(world.cluster.steps.slice(0, 2), [`apply finalizers ${FINALIZER}`, "ask reconcile"]);
      assert.deepEqual(world.questions[0]?.object.metadata.finalizers, [FINALIZER]);
      world.cluster.steps.length = 0;
      await world.reconcile(finalizing);
      assert.deepEqual(world.cluster.steps, ["ask reconcile"]);
    });

    it("is on the object before the first child where no owner reference reaches", async () => {
      world.given();
      world.answer = { children: [configMap({ namespace: "elsewhere" })] };
      await world.reconcile();
      assert.deepEqual(world.cluster.steps, [
        "ask reconcile",
        `apply finalizers ${ELSEWHERE}`,
        "apply ConfigMap settings",
        "status",
      ]);
    });

    for (const late of [FINALIZER, ELSEWHERE, ORDER])
      it(`stays if a former leader's write of ${late} comes late`, async () => {
        world.given();
        const before = world.object() as KubernetesObject;
        const finalizers = new Finalizers(WIDGETS, operator());
        const ensure = (object: KubernetesObject, ...wanted: string[]) =>
          finalizers.ensure(world.cluster.client(), object, {
            handler: wanted.includes(FINALIZER),
            elsewhere: wanted.includes(ELSEWHERE),
            order: wanted.includes(ORDER),
          });
        const all = [FINALIZER, ELSEWHERE, ORDER];
        await ensure(await ensure(before, FINALIZER), ...all);
        await ensure(before, late);
        assert.deepEqual([...(world.object()?.metadata.finalizers ?? [])].sort(), [...all].sort());
      });

    it("goes along with the namespaces of such children, also of those that are no longer listed", async () => {
      const namespaces = () => (world.status()["argosy"] as { namespaces?: string[] }).namespaces;
      world.given();
      world.answer = { children: [configMap({ namespace: "elsewhere" })] };
      await world.reconcile();
      assert.deepEqual(namespaces(), ["elsewhere"]);
      world.answer = { children: [configMap({ namespace: "shop" })] };
      await world.reconcile({ operator: operator({ namespaces: ["shop"] }) });
      assert.deepEqual(namespaces(), ["elsewhere"]);
      await world.reconcile();
      assert.equal(namespaces(), undefined);
    });

    it("stays while children may be left in a namespace that is no longer listed, unless the object has argosy.dev/skip-finalize", async () => {
      const narrow = { operator: operator({ namespaces: ["shop"] }) };
      const argosy = { uid: "widget-uid", kinds: ["v1/ConfigMap"], namespaces: ["elsewhere"] };
      const gone = { deletionTimestamp: DELETED, finalizers: [ELSEWHERE] };
      world.cluster.put(namespace("elsewhere"));
      world.given(gone, { status: { argosy } });
      const { report } = await world.reconcile(narrow);
      assert.equal(report.failure?.reason, "NamespaceNotGranted");
      assert.match(report.failure?.message ?? "", /in namespace elsewhere/);
      world.given({ ...gone, annotations: { "argosy.dev/skip-finalize": "true" } }, { status: { argosy } });
      const { report: skipped, events } = await world.reconcile(narrow);
      assert.equal(skipped.result, "succeeded");
      assert.ok(events.some(({ note }) => /are left, .* in namespace elsewhere/.test(note)));
      assert.ok(!world.children.wasEmptied("widget-uid"));
    });

    it("is all that is looked after outside of the namespaces that are listed", async () => {
      const narrow = { operator: operator({ namespaces: ["other"], finalize: true }) };
      world.given({ finalizers: [FINALIZER] });
      assert.equal((await world.reconcile(narrow)).report.skipped, "gone");
      assert.deepEqual(world.cluster.steps, []);
      world.given({ finalizers: [FINALIZER], deletionTimestamp: DELETED });
      world.answer = { finalized: true };
      await world.reconcile(narrow);
      assert.deepEqual(world.cluster.steps, ["ask finalize", `remove ${FINALIZER}`]);
    });

    it("is removed once: the handler is not asked again before a watch shows that", async () => {
      const objects = new CustomResources({
        client: world.cluster.client(),
        resource: WIDGETS,
        emit: () => {},
      });
      world.given({ deletionTimestamp: DELETED, finalizers: [FINALIZER, "example.com/other"] });
      objects.sink(undefined).set(world.object() as KubernetesObject, false);
      world.answer = { finalized: true };
      for (const skipped of [undefined, "gone"]) {
        const { report } = await world.reconcile({ ...finalizing, objects });
        assert.deepEqual([report.skipped, world.questions.length], [skipped, 1]);
      }
    });

    const going = { deletionTimestamp: DELETED, finalizers: [FINALIZER] };
    for (const [what, step, metadata, asked] of [
      ["put there", `apply finalizers ${FINALIZER}`, {}, []],
      ["removed", `remove ${FINALIZER}`, going, ["ask finalize"]],
    ] as const)
      it(`that cannot be ${what} since a policy refuses that is the object's failure, after one try`, async () => {
        world.given({ ...metadata });
        world.answer = { finalized: true };
        world.cluster.refusals.set(step, new ApiError(422, { message: "no team" }, "PATCH"));
        const { report, verdict } = await world.reconcile(finalizing);
        assert.deepEqual(world.cluster.steps, [...asked, step]);
        assert.deepEqual([report.failure?.reason, verdict?.kind], ["ApiError", "failed"]);
      });

    it("that cannot be put there since the object is gone ends the run: the handler is not asked", async () => {
      world.given();
      world.cluster.refusals.set(`apply finalizers ${FINALIZER}`, new ApiError(422, {}, "PATCH"));
      world.cluster.beforeRequest = () => world.given({ deletionTimestamp: DELETED });
      const { report, verdict } = await world.reconcile(finalizing);
      assert.deepEqual(world.questions, []);
      assert.deepEqual([report.skipped, verdict], ["gone", undefined]);
    });
  });

  it("asks no handler to finalize with a part of the children, and goes on with argosy.dev/skip-finalize", async () => {
    world.given({ finalizers: [FINALIZER], deletionTimestamp: DELETED });
    const whyNot = (event: string) => (event === "finalize" ? new StillListingError("Secret") : undefined);
    const { report } = await world.reconcile({ ...finalizing, whyNot });
    assert.deepEqual([report.skipped, world.cluster.steps], ["not listed yet", []]);
    world.given({
      finalizers: [FINALIZER],
      deletionTimestamp: DELETED,
      annotations: { "argosy.dev/skip-finalize": "true" },
    });
    assert.equal((await world.reconcile({ ...finalizing, whyNot })).report.result, "succeeded");
  });

  it("says why it looks for no children elsewhere: a kind of children cannot be listed", async () => {
    world.given({ finalizers: [ELSEWHERE], deletionTimestamp: DELETED });
    const whyNot = (event: string, _: object, { kinds }: RememberedPlaces) =>
      event === "finalize" && kinds.includes("v1/ConfigMap")
        ? new ReconcileFailure("KindNotListed", "the server of the kind is away")
        : undefined;
    world.cluster.readRefusals.set("list ConfigMap", new ApiError(503, { message: "away" }, "GET"));
    const { report } = await world.reconcile({ whyNot });
    assert.equal(report.failure?.reason, "KindNotListed");
  });

  it("says that an object has a finalizer of another operator of ours: it may be a former name of this one", async () => {
    world.given({ finalizers: ["argosy.dev/argosy.former", "theirs.example.com/x"] });
    const { events } = await world.reconcile();
    assert.deepEqual(
      events.map(({ reason }) => reason),
      ["ForeignFinalizer"],
    );
    assert.match(events[0]?.note ?? "", /add that to "formerNames".* still runs, stop one of the two/);
  });

  describe("an object that is being deleted", () => {
    it("keeps its finalizer until the handler has finished, which is asked again", async () => {
      world.given({ deletionTimestamp: DELETED, finalizers: [FINALIZER] });
      world.answer = { finalized: false, requeueAfterSeconds: 10, status: { left: 2 } };
      const { verdict, again } = await world.reconcile(finalizing);
      assert.deepEqual(world.cluster.steps, ["ask finalize", "status"]);
      assert.deepEqual([verdict, again], [{ kind: "finalizing" }, { kind: "done", againAfterMs: 10_000 }]);
      assert.equal(world.status()["left"], 2);
      world.cluster.steps.length = 0;
      world.answer = { finalized: true };
      await world.reconcile(finalizing);
      assert.deepEqual(world.cluster.steps, ["ask finalize", `remove ${FINALIZER}`]);
    });

    it("keeps it even if the handler fails", async () => {
      world.given({ deletionTimestamp: DELETED, finalizers: [FINALIZER] });
      world.answer = { error: { message: "not now" } };
      assert.equal((await world.reconcile(finalizing)).verdict?.kind, "failed");
      assert.deepEqual(world.object()?.metadata.finalizers, [FINALIZER]);
    });

    it("goes without the handler if that is asked for, and says so", async () => {
      const annotations = { "argosy.dev/skip-finalize": "true" };
      world.given({ deletionTimestamp: DELETED, finalizers: [FINALIZER], annotations });
      const { events } = await world.reconcile(finalizing);
      assert.deepEqual(world.cluster.steps, [`remove ${FINALIZER}`]);
      assert.deepEqual(
        events.map(({ reason }) => reason),
        ["FinalizeSkipped"],
      );
    });

    it("goes after its children where no owner reference reaches, which are looked up", async () => {
      world.given();
      world.answer = { children: [configMap({ namespace: "elsewhere" }), configMap({ name: "near" })] };
      await world.reconcile();
      world.cluster.change(world.object(), { deletionTimestamp: DELETED });
      world.cluster.steps.length = 0;
      await world.reconcile();
      assert.deepEqual(world.cluster.steps, ["delete ConfigMap settings", `remove ${ELSEWHERE}`]);
      assert.ok(world.children.wasEmptied("widget-uid"));
    });
  });
});
