import assert from "node:assert/strict";
import { ReconcileFailure } from "../../runtime/base/failure";
import { EVENT_LABEL, identityOf } from "../../runtime/base/names";
import { conditionsIn, type KubernetesObject } from "../../runtime/base/objects";
import { kindKey } from "../../runtime/base/resource";
import { ApiError, ApiUnreachableError } from "../../runtime/kubernetes/errors";
import { ownedManifest } from "../../runtime/observe/marks";
import { intakeManagerOf } from "../../runtime/operator/eventMarks";
import type { StatusChange } from "../../runtime/remember/composeStatus";
import { memoryOf, NOTHING } from "../../runtime/remember/memory";
import {
  applied,
  CLUSTER_ROLES,
  CONFIG_MAPS,
  configMap,
  IDENTITY,
  MANAGER,
  observed,
  operator,
  widget,
} from "./support/objects";
import { DELETED, FINALIZER, finalizing, ReconcileWorld, reading } from "./support/reconcileWorld";

describe("Reconciler", () => {
  let world: ReconcileWorld;

  beforeEach(() => {
    world = new ReconcileWorld();
  });

  it("writes what is ready as soon as it exists with less haste, unless other children wait for that", async () => {
    world.given();
    const kinds = [
      ["v1", "ConfigMap"],
      ["v1", "Service"],
      ["apps/v1", "Deployment"],
    ] as const;
    const childResources = kinds.map(([apiVersion, kind]) => ({
      apiVersion,
      kind,
      plural: `${kind.toLowerCase()}s`,
      namespaced: true,
    }));
    const declared = childResources.map((resource) => ({ ...resource, update: "apply" as const }));
    world.answer = {
      children: kinds.map(([apiVersion, kind]) => ({ apiVersion, kind, metadata: { name: "a" } })),
    };
    const { report } = await world.reconcile({ operator: operator({ children: declared }), childResources });
    assert.equal(report.failure, undefined);
    const classOf = (kind: string) => world.cluster.classes.get(`apply ${kind} a`);
    assert.deepEqual(["ConfigMap", "Service", "Deployment"].map(classOf), ["work", "later", "work"]);
    world.answer = { children: [configMap()] };
    await world.reconcile();
    assert.equal(world.cluster.classes.get("apply ConfigMap settings"), "later");
  });

  it("masks its runs' Secrets in what a handler writes outside of a run", async () => {
    world.given();
    const secret = observed("Secret", { data: { password: btoa("correct-horse") } });
    await world.reconcile({ used: async () => ({ used: {}, warnings: [], secrets: [secret] }) });
    assert.equal(world.reconciling.masked("late: <correct-horse>"), "late: <***>");
  });

  const term = {
    what: "the term has ended",
    skipped: "not the leader",
    end: () => (world.isLeading = false),
  };
  const gone = { what: "the object has gone", skipped: "gone", end: () => (world.isGoing = true) };
  for (const [event, { what, skipped, end }] of [
    ["reconcile", term],
    ["finalize", term],
    ["reconcile", gone],
  ] as const)
    for (const when of ["used objects are read", "question waits", "handler is asked"] as const)
      it(`does nothing more to ${event} if ${what} while the ${when}`, async () => {
        world.given(event === "finalize" ? { deletionTimestamp: DELETED, finalizers: [FINALIZER] } : {});
        if (event === "finalize") world.answer = { finalized: true };
        if (when === "question waits") world.whileWaiting = end;
        if (when === "handler is asked") world.whileAsking = end;
        const used = async () => {
          if (when === "used objects are read") end();
          return { used: {}, warnings: [], secrets: [] };
        };
        const outcome = await world.reconcile({ ...(event === "finalize" && finalizing), used });
        assert.deepEqual(world.cluster.steps, when === "handler is asked" ? [`ask ${event}`] : []);
        const { report, verdict, again } = outcome;
        assert.deepEqual([report.skipped, verdict, again], [skipped, undefined, { kind: "done" }]);
        if (skipped === "gone") assert.equal(world.invalidated, 1);
      });

  it("asks the handler, then writes the children, then the status with the verdict, which names the record that the run will have", async () => {
    world.given();
    world.answer = { children: [configMap()], status: { url: "x" } };
    const { report, verdict, again } = await world.reconcile({ recordOf: ({ name }) => `record-of-${name}` });
    assert.deepEqual(world.cluster.steps, ["ask reconcile", "apply ConfigMap settings", "status"]);
    assert.equal(report.result, "succeeded");
    assert.deepEqual(report.changes, [
      { verb: "created", apiVersion: "v1", kind: "ConfigMap", namespace: "shop", name: "settings" },
    ]);
    assert.equal(report.log, "the handler's log");
    assert.deepEqual([verdict, again], [{ kind: "ready" }, { kind: "done" }]);
    assert.deepEqual(
      [world.status()["url"], world.status()["argosy"]],
      ["x", { kinds: ["v1/ConfigMap"], uid: "widget-uid" }],
    );
    const [ready] = conditionsIn(world.status());
    assert.deepEqual(
      [ready?.type, ready?.status, ready?.message],
      ["Ready", "True", "every child is applied and ready (run record-of-widget)"],
    );
    assert.equal(world.learned.length, 1);
  });

  it("notes how long each step took and which children it left as they were, and gives the handler its trace", async () => {
    world.given();
    await world.reconcile();
    const { report } = await world.reconcile();
    assert.equal(world.questions[0]?.trace, undefined);
    assert.equal(report.traceId, undefined);
    const steps = report.timing?.steps ?? [];
    assert.deepEqual(
      steps.map(({ name, verb, child }) => [name, verb, child?.name]),
      [
        ["read", undefined, undefined],
        ["handler", undefined, undefined],
        ["child", "unchanged", "settings"],
        ["status", undefined, undefined],
      ],
    );
    const { from = 0, to = 0 } = report.timing ?? {};
    for (const step of steps) assert.ok(from <= step.from && step.from <= step.to && step.to <= to);
    const ids = { traceId: "a".repeat(32), rootId: "b".repeat(16), handlerId: "c".repeat(16) };
    world.trace = { ...ids, isSampled: true };
    assert.equal((await world.reconcile()).report.traceId, ids.traceId);
    assert.equal(world.questions.at(-1)?.trace, `00-${ids.traceId}-${ids.handlerId}-01`);
    world.trace = { ...ids, isSampled: false };
    assert.equal((await world.reconcile()).report.traceId, undefined);
    assert.equal(world.questions.at(-1)?.trace, `00-${ids.traceId}-${ids.handlerId}-00`);
  });

  it("says that the handler has answered before it writes, but of a large answer nothing", async () => {
    world.given();
    world.tellsAnswer = true;
    world.answer = { children: [configMap()] };
    await world.reconcile();
    assert.deepEqual(world.cluster.steps, ["ask reconcile", "leave", "apply ConfigMap settings", "status"]);
    world.cluster.steps.length = 0;
    world.answer = { children: [configMap()], status: { url: "x".repeat(70_000) } };
    await world.reconcile();
    assert.deepEqual(world.cluster.steps, ["ask reconcile", "status"]);
  });

  it("writes nothing if nothing has changed, and gives the handler the children as they are", async () => {
    world.given();
    await world.reconcile();
    world.cluster.steps.length = 0;
    const { report } = await world.reconcile();
    assert.deepEqual(world.cluster.steps, ["ask reconcile"]);
    assert.deepEqual(report.changes, []);
    assert.deepEqual(
      world.questions.map((question) => question.children.map(({ metadata }) => metadata.name)),
      [[], ["settings"]],
    );
    assert.equal(world.questions[1]?.children[0]?.metadata.managedFields, undefined);
  });

  it("deletes children that are answered no longer, after the others are written", async () => {
    world.given();
    world.answer = { children: [configMap(), configMap({ name: "old" })] };
    await world.reconcile();
    world.cluster.steps.length = 0;
    world.answer = { children: [configMap({ name: "new" })] };
    const { report } = await world.reconcile();
    assert.deepEqual(world.cluster.steps.slice(0, 2), ["ask reconcile", "apply ConfigMap new"]);
    assert.deepEqual(world.cluster.steps.slice(2).sort(), [
      "delete ConfigMap old",
      "delete ConfigMap settings",
    ]);
    assert.deepEqual(
      report.changes.map(({ verb }) => verb),
      ["created", "deleted", "deleted"],
    );
  });

  describe("where an earlier object of its name left a child in another namespace", () => {
    const b = { metadata: { name: "left", namespace: "b" } };
    const left = () => world.cluster.find("ConfigMap", b.metadata) !== undefined;
    let isFollowed: boolean;
    const reconcile = () =>
      world.reconcile({ isFollowed: ({ namespace }) => namespace !== "b" || isFollowed });

    beforeEach(() => {
      const former = widget({ uid: "former-uid" });
      const manifest = ownedManifest({ ...configMap(), ...b }, former, CONFIG_MAPS, identityOf(IDENTITY));
      world.given();
      world.cluster.put(applied(manifest, MANAGER));
      world.seeChildren([CONFIG_MAPS]);
    });

    it("deletes it before its own children are written", async () => {
      isFollowed = true;
      const { report } = await reconcile();
      assert.deepEqual(world.cluster.steps.slice(1, 3), [
        "delete ConfigMap left",
        "apply ConfigMap settings",
      ]);
      assert.deepEqual([report.result, left()], ["succeeded", false]);
    });

    for (const isShown of [false, true])
      it(`is not ready if the object itself is gone then, ${isShown ? "and tries again while its watch still shows it" : "and does nothing more"}`, async () => {
        world.whileAsking = () => world.cluster.remove("Widget", widget().metadata);
        [isFollowed, world.isShown] = [true, isShown];
        const { report, again } = await reconcile();
        assert.deepEqual([again.kind, left()], [isShown ? "again" : "done", true]);
        assert.equal(report.skipped, isShown ? "changed during the run" : "gone");
      });

    it("does without it while no watch follows it, and deletes it as soon as one does", async () => {
      isFollowed = false;
      world.cluster.readRefusals.set("get ConfigMap", new ApiError(403, {}, "GET"));
      const { report } = await reconcile();
      assert.deepEqual([report.failure?.message, report.result, left()], [undefined, "succeeded", true]);
      isFollowed = true;
      world.cluster.readRefusals.clear();
      await reconcile();
      assert.equal(left(), false);
    });
  });

  describe("applies nothing of an answer", () => {
    const answers: Readonly<Record<string, Record<string, unknown>>> = {
      "with an unknown key": { children: [configMap()], chidren: [] },
      "with a child of an undeclared kind": { children: [configMap(), { ...configMap(), kind: "Secret" }] },
      "that names another owner": {
        children: [configMap({ ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "x", uid: "y" }] })],
      },
      "that is a failure": { error: { message: "no plan" } },
    };
    for (const [what, given_] of Object.entries(answers)) {
      it(what, async () => {
        world.given();
        world.answer = given_;
        const { report, verdict, again } = await world.reconcile();
        assert.deepEqual(world.cluster.steps, ["ask reconcile"]);
        assert.equal(report.failure?.reason, "error" in given_ ? "HandlerError" : "InvalidAnswer");
        assert.deepEqual([verdict?.kind, again.kind], ["failed", "failed"]);
        assert.equal(report.log, "the handler's log");
      });
    }
  });

  it("remembers what was applied of an answer whose other part the API server refuses, reports it, and notes which child that was", async () => {
    world.given();
    world.answer = { children: [configMap({ name: "good" }), configMap({ name: "bad" })] };
    world.cluster.refusals.set("apply ConfigMap bad", new ApiError(422, { message: "data is bad" }, "PATCH"));
    const { report, verdict } = await world.reconcile();
    assert.deepEqual([report.failure?.reason, verdict?.kind], ["ChildRefused", "failed"]);
    assert.deepEqual(
      report.changes.map(({ name }) => name),
      ["good"],
    );
    assert.deepEqual(world.status()["argosy"], { kinds: ["v1/ConfigMap"], uid: "widget-uid" });
    assert.equal(world.cluster.steps.at(-1), "status");
    const children = report.timing?.steps.filter(({ name }) => name === "child") ?? [];
    assert.deepEqual(
      children
        .map(({ verb, child, error }) => [child?.name, verb, error?.includes("data is bad") ?? false])
        .sort(),
      [
        ["bad", undefined, true],
        ["good", "created", false],
      ],
    );
  });

  it("remembers what was applied if the children cannot be judged afterwards", async () => {
    // Only one child is kept. The others are read to be judged.
    world = new ReconcileWorld({ mostKept: 0 });
    world.given();
    const { apiVersion, kind } = CLUSTER_ROLES;
    const names = ["one", "two"];
    world.answer = { children: names.map((name) => ({ apiVersion, kind, metadata: { name } })) };
    world.cluster.readRefusals.set("get ClusterRole", new ApiUnreachableError("GET", new Error("cut")));
    const { report } = await world.reconcile();
    assert.equal(report.skipped, "API server away");
    assert.equal(report.changes.length, 2);
    const { created = [], kinds } = memoryOf(world.object() as KubernetesObject);
    assert.deepEqual(
      [[...created].sort(), kinds],
      [names.map((name) => `rbac.authorization.k8s.io/ClusterRole/${name}`), [kindKey(CLUSTER_ROLES)]],
    );
  });

  it("is done although another client keeps writing a child that is to be deleted", async () => {
    world.given();
    world.answer = { children: [configMap(), configMap({ name: "hot" })] };
    await world.reconcile();
    world.answer = { children: [configMap()] };
    world.cluster.beforeRequest = () =>
      world.cluster.put(
        world.cluster.find("ConfigMap", { namespace: "shop", name: "hot" }) as KubernetesObject,
      );
    const { report, verdict } = await world.reconcile();
    assert.deepEqual([report.result, report.changes, verdict?.kind], ["succeeded", [], "ready"]);
  });

  it("ends after every deletion has ended, and reports what was deleted, even if one is refused", async () => {
    world.given();
    world.answer = {
      children: [configMap({ name: "a" }), configMap({ name: "b" }), configMap({ name: "c" })],
    };
    await world.reconcile();
    world.answer = { children: [] };
    world.cluster.refusals.set("delete ConfigMap a", new ApiError(403, { message: "no" }, "DELETE"));
    const { report } = await world.reconcile();
    assert.equal(report.result, "failed");
    assert.deepEqual(
      report.changes.map(({ verb, name }) => `${verb} ${name}`),
      ["deleted b", "deleted c"],
    );
  });

  it("deletes nothing if a child could not be written", async () => {
    world.given();
    await world.reconcile();
    world.answer = { children: [configMap({ name: "bad" })] };
    world.cluster.refusals.set("apply ConfigMap bad", new ApiError(422, {}, "PATCH"));
    await world.reconcile();
    assert.ok(world.cluster.find("ConfigMap", { namespace: "shop", name: "settings" }));
  });

  for (const step of ["apply ConfigMap settings", "status"])
    it(`says nothing of an API server that is away, not that the object is ready either, and tries again: ${step}`, async () => {
      world.given();
      world.cluster.refusals.set(step, new ApiUnreachableError("PATCH", new Error("refused")));
      const { report, verdict, again } = await world.reconcile();
      assert.deepEqual([report.skipped, verdict, again.kind], ["API server away", undefined, "again"]);
      assert.equal(world.invalidated, 1);
    });

  for (const [what, code, message] of [
    ["the API server refuses", 422, "status.phase: odd"],
    ["a webhook denies", 403, 'admission webhook "x" denied the request: odd'],
  ] as const) {
    it(`remembers what was applied of an answer whose status ${what}`, async () => {
      world.given();
      const { apiVersion, kind } = CLUSTER_ROLES;
      world.answer = {
        children: [{ apiVersion, kind, metadata: { name: "once" } }],
        status: { phase: "odd" },
      };
      let refusals = 1;
      world.cluster.beforeRequest = (step) => {
        if (step === "status" && refusals-- > 0)
          throw new ApiError(code, { kind: "Status", message }, "PATCH");
      };
      const { verdict, report } = await world.reconcile();
      assert.deepEqual([verdict?.kind, report.failure?.reason], ["failed", "StatusRefused"]);
      const { created, kinds } = memoryOf(world.object() as KubernetesObject);
      assert.deepEqual(
        [created, kinds],
        [["rbac.authorization.k8s.io/ClusterRole/once"], [kindKey(CLUSTER_ROLES)]],
      );
      assert.equal(world.status()["phase"], undefined);
    });
  }

  it("loses nothing that a newer engine remembers of the object", async () => {
    const later = { promised: { a: [1, null] } };
    const remembers = async (
      answer: Record<string, unknown>,
      more: Parameters<typeof world.reconcile>[0],
    ) => {
      world.answer = answer;
      const { report } = await world.reconcile(more);
      const { promised, ...known } = world.status()["argosy"] as Record<string, unknown>;
      assert.deepEqual({ promised }, later);
      return [report.result, known["kinds"]];
    };
    world.given({ finalizers: [FINALIZER] }, { status: { argosy: { ...later, uid: "widget-uid" } } });
    world.cluster.refusals.set("apply ConfigMap bad", new ApiError(422, {}, "PATCH"));
    const parts = { children: [configMap(), configMap({ name: "bad" })] };
    assert.deepEqual(await remembers(parts, finalizing), ["failed", ["v1/ConfigMap"]]);
    assert.deepEqual(await remembers({ children: [] }, finalizing), ["succeeded", []]);
    world.cluster.change(world.object(), { deletionTimestamp: DELETED });
    const events = [{ type: "Normal", reason: "Saving", note: "to s3" }];
    assert.deepEqual(await remembers({ finalized: false, events }, finalizing), ["succeeded", []]);
  });

  it("remembers where children may be left of a kind that the runner may list no longer", async () => {
    const before = { kinds: ["v1/Secret"], namespaces: ["far"], elsewhere: true, uid: "widget-uid" };
    world.given({}, { status: { argosy: before } });
    world.cluster.readRefusals.set("list Secret", new ApiError(403, { message: "no right" }, "GET"));
    await world.reconcile();
    assert.deepEqual(world.status()["argosy"], { ...before, kinds: ["v1/ConfigMap", "v1/Secret"] });
  });

  it("remembers nothing else of an answer of whose status the API server only dropped a part", async () => {
    world.given();
    const written: StatusChange[] = [];
    const write = async (_client: unknown, _object: unknown, change: StatusChange) => {
      written.push(change);
      throw new ReconcileFailure("StatusRefused", "the API server dropped status.phase");
    };
    const { verdict } = await world.reconcile({ memories: { of: async () => NOTHING, write } });
    assert.deepEqual([verdict?.kind, written.length], ["failed", 1]);
  });

  it("reads an object again if it may not remember the part of an answer that was applied", async () => {
    world.given();
    world.answer = { children: [configMap(), configMap({ name: "bad" })] };
    world.cluster.refusals.set("apply ConfigMap bad", new ApiError(422, {}, "PATCH"));
    world.cluster.lost.set("status", new ApiUnreachableError("PATCH", new Error("cut")));
    const { verdict } = await world.reconcile();
    assert.deepEqual([verdict?.kind, world.invalidated], ["failed", 1]);
  });

  it("does nothing for an object that is gone or paused", async () => {
    assert.equal((await world.reconcile()).report.skipped, "gone");
    world.given({ annotations: { "argosy.dev/paused": "true" } });
    assert.equal((await world.reconcile()).report.skipped, "paused");
    assert.deepEqual(world.cluster.steps, []);
  });

  it("tries again soon if a read does not find an object that its watch still shows", async () => {
    world.isShown = true;
    const { report, again } = await world.reconcile();
    assert.deepEqual([report.skipped, again], ["changed during the run", { kind: "again" }]);
    world.given();
    assert.equal((await world.reconcileAgain()).report.result, "succeeded");
  });

  it("does nothing for an object whose children are not known, and says why", async () => {
    world.given();
    const failure = new ReconcileFailure("KindMissing", "there is no such kind");
    const { verdict } = await world.reconcile({ whyNot: () => failure });
    assert.deepEqual(world.cluster.steps, []);
    assert.deepEqual(verdict, { kind: "failed", failure });
  });

  it("deletes what was made of an event when it has lasted long enough by the API server's clock too", async () => {
    const lastTransitionTime = "2026-01-01T00:00:00Z";
    const ready = { type: "Ready", status: "True", reason: "Reconciled", message: "", lastTransitionTime };
    const made = {
      ...{ name: "made-1", labels: { [EVENT_LABEL]: "made" }, creationTimestamp: lastTransitionTime },
      managedFields: [{ manager: intakeManagerOf(IDENTITY), operation: "Update" as const }],
    };
    world.given(made, { status: { observedGeneration: 3, conditions: [ready] } });
    const day = 24 * 3600;
    const object = () => world.cluster.find("Widget", { namespace: "shop", name: "made-1" });
    const lasting = {
      objects: reading(async () => object()),
      operator: { ...operator(), eventTtls: { made: day } },
      machineNow: () => Date.parse("2126-01-01T00:00:00Z"),
    };
    assert.equal((await world.reconcile(lasting)).report.result, "succeeded");
    assert.equal(world.questions.length, 1);
    world.cluster.time += day * 1000;
    await world.reconcile(lasting);
    assert.equal(object(), undefined);
    assert.equal(world.questions.length, 1);
  });

  describe("an answer with a child of a kind that the API server has not told of", () => {
    const BUSY = new ApiError(503, { message: "service unavailable" }, "GET");
    const unknown = {
      childResources: [],
      whyUnknown: () => new ReconcileFailure("KindNotListed", "service unavailable"),
    };

    it("is the object's failure, in the API server's words, and not that the kind is missing", async () => {
      world.given();
      const { report } = await world.reconcile(unknown);
      assert.equal(report.failure?.reason, "KindNotListed");
      assert.equal((await world.reconcile({ childResources: [] })).report.failure?.reason, "KindMissing");
    });

    it("is no failure as long as the API server does not answer for the object either", async () => {
      world.given();
      world.cluster.readRefusals.set("get Widget", BUSY);
      const { report, verdict } = await world.reconcile(unknown);
      assert.deepEqual([report.skipped, verdict], ["API server away", undefined]);
    });
  });
});
