import assert from "node:assert/strict";
import type { ChildStore } from "../../runtime/children/childStore";
import type { ChildWriter } from "../../runtime/children/childWriter";
import { ReconcileFailure } from "../../runtime/failure";
import type { DueSchedule, HandlerQuestion } from "../../runtime/handler/contract";
import { ApiError, ApiUnreachableError } from "../../runtime/kubernetes/errors";
import { conditionsIn, type KubernetesObject, type ObjectMeta } from "../../runtime/kubernetes/objects";
import { elsewhereFinalizerOf, finalizerOf } from "../../runtime/names";
import { StillListingError } from "../../runtime/reconcile/errors";
import { statusMemories } from "../../runtime/reconcile/memories";
import { memoryOf } from "../../runtime/reconcile/memory";
import type { Outcome } from "../../runtime/reconcile/outcome";
import { Reconcile, type ReconcileOptions } from "../../runtime/reconcile/reconcile";
import { Statuses } from "../../runtime/status/statuses";
import { StatusWriter } from "../../runtime/status/statusWriter";
import { NotLeadingError } from "../../runtime/term";
import type { TraceContext } from "../../runtime/traces/context";
import { childrenIn } from "./support/fakeChildren";
import { FakeCluster } from "./support/fakeCluster";
import {
  CLUSTER_ROLES,
  CONFIG_MAPS,
  configMap,
  IDENTITY,
  MANAGER,
  observed,
  operator,
  WIDGETS,
  widget,
} from "./support/objects";

const NAME = { namespace: "shop", name: "widget" };
const FINALIZER = finalizerOf(IDENTITY);
const ELSEWHERE = elsewhereFinalizerOf(IDENTITY);
const DELETED = "2026-01-01T00:00:00Z";

describe("Reconcile", () => {
  let cluster: FakeCluster;
  let children: ChildStore;
  let writer: ChildWriter;
  /** What the handler answers. */
  let answer: Record<string, unknown>;
  /** What happens while the handler is asked. */
  let meanwhile: () => void;
  let questions: HandlerQuestion[];
  /** Whether an answer is a step too. */
  let tellsAnswer: boolean;
  /** Schedules that somebody starts. */
  let byHand: DueSchedule[];
  /** Whether the watch says that the object is gone. */
  let isGoing: boolean;
  let isLeading: boolean;
  let trace: TraceContext | undefined;
  let learned: KubernetesObject[];
  let invalidated: number;

  beforeEach(() => {
    cluster = new FakeCluster();
    [answer, questions, learned] = [{ children: [configMap()] }, [], []];
    byHand = [];
    trace = undefined;
    [tellsAnswer, isGoing, isLeading, invalidated] = [false, false, true, 0];
    meanwhile = () => {};
    ({ store: children, writer } = childrenIn(cluster));
  });

  /** Puts the custom resource there. */
  function given(metadata: Partial<ObjectMeta> = {}, content: object = {}): void {
    cluster.put(widget(metadata, content));
  }

  /** The one that has reconciled last. */
  let reconciling: Reconcile;

  async function reconcile(more: Partial<ReconcileOptions> = {}): Promise<Outcome> {
    const fence = () => {
      if (!isLeading) throw new NotLeadingError();
    };
    reconciling = new Reconcile({
      operator: operator(),
      resource: WIDGETS,
      childResources: [CONFIG_MAPS, CLUSTER_ROLES],
      pool: {
        ask: async (question) => {
          cluster.steps.push(`ask ${question.event}`);
          questions.push(question);
          meanwhile();
          return { answer, length: JSON.stringify(answer).length, log: "the handler's log" };
        },
      },
      objects: {
        read: async (name) => cluster.find("Widget", name),
        learn: (object) => void learned.push(object),
        invalidate: () => void invalidated++,
        isGoing: () => isGoing,
      },
      children,
      writer,
      memories: statusMemories(
        new Statuses({
          writer: new StatusWriter({ resource: WIDGETS, fieldManager: MANAGER }),
          read: async (name) => cluster.find("Widget", name),
          learn: (object) => void learned.push(object),
        }),
      ),
      ...more,
    });
    const onAnswer = () => void cluster.steps.push("leave");
    const client = cluster.client();
    return reconciling.reconcile(NAME, 1, {
      client,
      assert: fence,
      due: byHand,
      trace,
      ...(tellsAnswer && { onAnswer }),
    });
  }

  const object = () => cluster.find("Widget", NAME);
  const status = () => (object()?.["status"] ?? {}) as Record<string, unknown>;
  const finalizing = { operator: operator({ finalize: true }) };

  it("writes what is ready as soon as it exists with less haste, unless other children wait for that", async () => {
    given();
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
    answer = { children: kinds.map(([apiVersion, kind]) => ({ apiVersion, kind, metadata: { name: "a" } })) };
    const { report } = await reconcile({ operator: operator({ children: declared }), childResources });
    assert.equal(report.failure, undefined);
    const classOf = (kind: string) => cluster.classes.get(`apply ${kind} a`);
    assert.deepEqual(["ConfigMap", "Service", "Deployment"].map(classOf), ["work", "instant", "work"]);
    answer = { children: [configMap()] };
    await reconcile();
    assert.equal(cluster.classes.get("apply ConfigMap settings"), "instant");
  });

  it("masks the Secrets of its runs in what a handler writes beside them", async () => {
    given();
    const secret = observed("Secret", { data: { password: btoa("correct-horse") } });
    await reconcile({ used: async () => ({ used: {}, warnings: [], secrets: [secret] }) });
    assert.equal(reconciling.masked("late: <correct-horse>"), "late: <***>");
  });

  it("asks the handler, then writes the children, then the status with the verdict", async () => {
    given();
    answer = { children: [configMap()], status: { url: "x" } };
    const { report, verdict, again } = await reconcile();
    assert.deepEqual(cluster.steps, ["ask reconcile", "apply ConfigMap settings", "status"]);
    assert.equal(report.result, "succeeded");
    assert.deepEqual(report.changes, [
      { verb: "created", kind: "ConfigMap", namespace: "shop", name: "settings" },
    ]);
    assert.equal(report.log, "the handler's log");
    assert.deepEqual([verdict, again], [{ kind: "ready" }, { kind: "done" }]);
    assert.deepEqual(
      [status()["url"], status()["argosy"]],
      ["x", { kinds: ["v1/ConfigMap"], uid: "widget-uid" }],
    );
    assert.equal(conditionsIn(status())[0]?.status, "True");
    assert.equal(learned.length, 1);
  });

  it("notes how long each step took and which children it left as they were, and gives the handler its trace", async () => {
    given();
    await reconcile();
    const { report } = await reconcile();
    assert.equal(questions[0]?.trace, undefined);
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
    trace = { ...ids, isSampled: true };
    assert.equal((await reconcile()).report.traceId, ids.traceId);
    assert.equal(questions.at(-1)?.trace, `00-${ids.traceId}-${ids.handlerId}-01`);
    trace = { ...ids, isSampled: false };
    assert.equal((await reconcile()).report.traceId, undefined);
    assert.equal(questions.at(-1)?.trace, `00-${ids.traceId}-${ids.handlerId}-00`);
  });

  it("notes which child could not be written, and why", async () => {
    given();
    answer = { children: [configMap({ name: "a" }), configMap({ name: "b" })] };
    cluster.refusals.set("apply ConfigMap b", new ApiError(403, { message: "not you" }, "PATCH"));
    const { report } = await reconcile();
    assert.equal(report.result, "failed");
    const children = report.timing?.steps.filter(({ name }) => name === "child");
    assert.deepEqual(
      children
        ?.map(({ verb, child, error }) => [child?.name, verb, error?.includes("not you") ?? false])
        .sort(),
      [
        ["a", "created", false],
        ["b", undefined, true],
      ],
    );
  });

  it("says that the handler has answered before it writes, but of a large answer nothing", async () => {
    given();
    tellsAnswer = true;
    answer = { children: [configMap()] };
    await reconcile();
    assert.deepEqual(cluster.steps, ["ask reconcile", "leave", "apply ConfigMap settings", "status"]);
    cluster.steps.length = 0;
    answer = { children: [configMap()], status: { url: "x".repeat(70_000) } };
    await reconcile();
    assert.deepEqual(cluster.steps, ["ask reconcile", "status"]);
  });

  it("writes the verdict with the memory, and names the record that the run will have", async () => {
    given();
    const { verdict } = await reconcile({ recordOf: ({ name }) => `record-of-${name}` });
    assert.deepEqual(verdict, { kind: "ready" });
    const ready = conditionsIn(status()).find(({ type }) => type === "Ready");
    assert.equal(ready?.message, "every child is applied and ready (run record-of-widget)");
    assert.deepEqual(status()["argosy"], { kinds: ["v1/ConfigMap"], uid: "widget-uid" });
    assert.deepEqual(cluster.steps, ["ask reconcile", "apply ConfigMap settings", "status"]);
  });

  it("writes nothing if nothing has changed, and gives the handler the children as they are", async () => {
    given();
    await reconcile();
    cluster.steps.length = 0;
    const { report } = await reconcile();
    assert.deepEqual(cluster.steps, ["ask reconcile"]);
    assert.deepEqual(report.changes, []);
    assert.deepEqual(
      questions.map((question) => question.children.map(({ metadata }) => metadata.name)),
      [[], ["settings"]],
    );
    assert.equal(questions[1]?.children[0]?.metadata.managedFields, undefined);
  });

  it("deletes children that are answered no longer, after the others are written", async () => {
    given();
    answer = { children: [configMap(), configMap({ name: "old" })] };
    await reconcile();
    cluster.steps.length = 0;
    answer = { children: [configMap({ name: "new" })] };
    const { report } = await reconcile();
    assert.deepEqual(cluster.steps.slice(0, 2), ["ask reconcile", "apply ConfigMap new"]);
    assert.deepEqual(cluster.steps.slice(2).sort(), ["delete ConfigMap old", "delete ConfigMap settings"]);
    assert.deepEqual(
      report.changes.map(({ verb }) => verb),
      ["created", "deleted", "deleted"],
    );
  });

  describe("the finalizer", () => {
    it("is on the object before the handler is asked, if `finalize` is declared", async () => {
      given();
      await reconcile(finalizing);
      assert.deepEqual(cluster.steps.slice(0, 2), [`apply finalizers ${FINALIZER}`, "ask reconcile"]);
      assert.deepEqual(questions[0]?.object.metadata.finalizers, [FINALIZER]);
    });

    it("is there once: it is not written again", async () => {
      given({ finalizers: [FINALIZER] });
      await reconcile(finalizing);
      assert.equal(cluster.steps[0], "ask reconcile");
    });

    it("is on the object before the first child where no owner reference reaches", async () => {
      given();
      answer = { children: [configMap({ namespace: "elsewhere" })] };
      await reconcile();
      assert.deepEqual(cluster.steps, [
        "ask reconcile",
        `apply finalizers ${ELSEWHERE}`,
        "apply ConfigMap settings",
        "status",
      ]);
    });

    it("goes along with the namespaces of such children, also of those that are no longer listed", async () => {
      const namespaces = () => (status()["argosy"] as { namespaces?: string[] }).namespaces;
      given();
      answer = { children: [configMap({ namespace: "elsewhere" })] };
      await reconcile();
      assert.deepEqual(namespaces(), ["elsewhere"]);
      answer = { children: [configMap({ namespace: "shop" })] };
      await reconcile({ operator: operator({ namespaces: ["shop"] }) });
      assert.deepEqual(namespaces(), ["elsewhere"]);
      await reconcile();
      assert.equal(namespaces(), undefined);
    });

    it("stays while children may be left in a namespace that is no longer listed, unless nobody is to wait", async () => {
      const narrow = { operator: operator({ namespaces: ["shop"] }) };
      const argosy = { kinds: ["v1/ConfigMap"], namespaces: ["elsewhere"] };
      const gone = { deletionTimestamp: DELETED, finalizers: [ELSEWHERE] };
      cluster.put({
        apiVersion: "v1",
        kind: "Namespace",
        metadata: { name: "elsewhere", uid: "n", resourceVersion: "1" },
      });
      given(gone, { status: { argosy } });
      const { report } = await reconcile(narrow);
      assert.equal(report.failure?.reason, "NamespaceNotGranted");
      assert.match(report.failure?.message ?? "", /in namespace elsewhere/);
      given({ ...gone, annotations: { "argosy.dev/skip-finalize": "true" } }, { status: { argosy } });
      const { report: skipped, events } = await reconcile(narrow);
      assert.equal(skipped.result, "succeeded");
      assert.ok(events.some(({ note }) => note.includes("children in namespace elsewhere are left")));
    });

    it("is all that is looked after outside of the namespaces that are listed", async () => {
      const narrow = { operator: operator({ namespaces: ["other"], finalize: true }) };
      given({ finalizers: [FINALIZER] });
      assert.equal((await reconcile(narrow)).report.skipped, "gone");
      assert.deepEqual(cluster.steps, []);
      given({ finalizers: [FINALIZER], deletionTimestamp: DELETED });
      answer = { finalized: true };
      await reconcile(narrow);
      assert.deepEqual(cluster.steps, ["ask finalize", `remove ${FINALIZER}`]);
    });

    it("that cannot be put there since a policy refuses that is the object's failure: the handler is not asked", async () => {
      given();
      cluster.refusals.set(
        `apply finalizers ${FINALIZER}`,
        new ApiError(422, { message: "no team" }, "PATCH"),
      );
      const { report, verdict } = await reconcile(finalizing);
      assert.deepEqual(questions, []);
      assert.equal(report.failure?.reason, "ApiError");
      assert.equal(verdict?.kind, "failed");
    });

    it("that cannot be removed since a policy refuses that is the object's failure, after one try", async () => {
      given({ deletionTimestamp: DELETED, finalizers: [FINALIZER] });
      answer = { finalized: true };
      cluster.refusals.set(`remove ${FINALIZER}`, new ApiError(422, { message: "no team" }, "PATCH"));
      const { verdict } = await reconcile(finalizing);
      assert.equal(verdict?.kind, "failed");
      assert.deepEqual(cluster.steps, ["ask finalize", `remove ${FINALIZER}`]);
    });

    it("that cannot be put there since the object is gone ends the run: the handler is not asked", async () => {
      given();
      cluster.refusals.set(`apply finalizers ${FINALIZER}`, new ApiError(422, {}, "PATCH"));
      cluster.meanwhile = () => given({ deletionTimestamp: DELETED });
      const { report, verdict } = await reconcile(finalizing);
      assert.deepEqual(questions, []);
      assert.deepEqual([report.skipped, verdict], ["gone", undefined]);
    });
  });

  describe("applies nothing of an answer", () => {
    const answers: Readonly<Record<string, Record<string, unknown>>> = {
      "with an unknown key": { children: [configMap()], chidren: [] },
      "with a child of an undeclared kind": { children: [configMap(), { ...configMap(), kind: "Secret" }] },
      "with one child twice": { children: [configMap(), configMap()] },
      "that names another owner": {
        children: [configMap({ ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "x", uid: "y" }] })],
      },
      "that is a failure": { error: { message: "no plan" } },
    };
    for (const [what, given_] of Object.entries(answers)) {
      it(what, async () => {
        given();
        answer = given_;
        const { report, verdict, again } = await reconcile();
        assert.deepEqual(cluster.steps, ["ask reconcile"]);
        assert.equal(report.failure?.reason, "error" in given_ ? "HandlerError" : "InvalidAnswer");
        assert.deepEqual([verdict?.kind, again.kind], ["failed", "failed"]);
        assert.equal(report.log, "the handler's log");
      });
    }
  });

  it("remembers what was applied of an answer whose other part the API server refuses, and reports it", async () => {
    given();
    answer = { children: [configMap({ name: "good" }), configMap({ name: "bad" })] };
    cluster.refusals.set("apply ConfigMap bad", new ApiError(422, { message: "data is bad" }, "PATCH"));
    const { report, verdict } = await reconcile();
    assert.deepEqual([report.failure?.reason, verdict?.kind], ["ChildRefused", "failed"]);
    assert.deepEqual(
      report.changes.map(({ name }) => name),
      ["good"],
    );
    assert.deepEqual(status()["argosy"], { kinds: ["v1/ConfigMap"], uid: "widget-uid" });
    assert.equal(cluster.steps.at(-1), "status");
  });

  it("is done if a child that goes is written by somebody else all the time", async () => {
    given();
    answer = { children: [configMap(), configMap({ name: "hot" })] };
    await reconcile();
    answer = { children: [configMap()] };
    cluster.meanwhile = () =>
      cluster.put(cluster.find("ConfigMap", { namespace: "shop", name: "hot" }) as KubernetesObject);
    const { report, verdict } = await reconcile();
    assert.deepEqual([report.result, report.changes, verdict?.kind], ["succeeded", [], "ready"]);
  });

  it("ends after every deletion has ended, and reports what was deleted, even if one is refused", async () => {
    given();
    answer = { children: [configMap({ name: "a" }), configMap({ name: "b" }), configMap({ name: "c" })] };
    await reconcile();
    answer = { children: [] };
    cluster.refusals.set("delete ConfigMap a", new ApiError(403, { message: "no" }, "DELETE"));
    const { report } = await reconcile();
    assert.equal(report.result, "failed");
    assert.deepEqual(
      report.changes.map(({ verb, name }) => `${verb} ${name}`),
      ["deleted b", "deleted c"],
    );
  });

  it("deletes nothing if a child could not be written", async () => {
    given();
    await reconcile();
    answer = { children: [configMap({ name: "bad" })] };
    cluster.refusals.set("apply ConfigMap bad", new ApiError(422, {}, "PATCH"));
    await reconcile();
    assert.ok(cluster.find("ConfigMap", { namespace: "shop", name: "settings" }));
  });

  it("writes nothing for an object that goes while the handler is asked", async () => {
    given();
    meanwhile = () => {
      isGoing = true;
    };
    const { report, verdict, again } = await reconcile();
    assert.deepEqual(cluster.steps, ["ask reconcile"]);
    assert.deepEqual([report.skipped, verdict, again], ["gone", undefined, { kind: "done" }]);
    assert.equal(invalidated, 1);
  });

  it("writes nothing after the end of the term", async () => {
    given();
    meanwhile = () => {
      isLeading = false;
    };
    const { report, verdict } = await reconcile();
    assert.deepEqual(cluster.steps, ["ask reconcile"]);
    assert.deepEqual([report.skipped, verdict], ["not the leader", undefined]);
  });

  it("says nothing of an API server that is away, and tries again", async () => {
    given();
    cluster.refusals.set("apply ConfigMap settings", new ApiUnreachableError("PATCH", new Error("refused")));
    const { verdict, again } = await reconcile();
    assert.deepEqual([verdict, again.kind, invalidated], [undefined, "again", 1]);
  });

  it("does nothing for an object that is gone or paused", async () => {
    assert.equal((await reconcile()).report.skipped, "gone");
    given({ annotations: { "argosy.dev/paused": "true" } });
    assert.equal((await reconcile()).report.skipped, "paused");
    assert.deepEqual(cluster.steps, []);
  });

  it("does nothing for an object whose children are not known, and says why", async () => {
    given();
    const failure = new ReconcileFailure("KindMissing", "there is no such kind");
    const { verdict } = await reconcile({ whyNot: () => failure });
    assert.deepEqual(cluster.steps, []);
    assert.deepEqual(verdict, { kind: "failed", failure });
  });

  it("asks no handler to finalize with a part of the children, unless nobody is to be asked", async () => {
    given({ finalizers: [FINALIZER], deletionTimestamp: DELETED });
    const whyNot = (event: string) => (event === "finalize" ? new StillListingError("Secret") : undefined);
    const { report } = await reconcile({ ...finalizing, whyNot });
    assert.deepEqual([report.skipped, cluster.steps], ["not listed yet", []]);
    given({
      finalizers: [FINALIZER],
      deletionTimestamp: DELETED,
      annotations: { "argosy.dev/skip-finalize": "true" },
    });
    assert.equal((await reconcile({ ...finalizing, whyNot })).report.result, "succeeded");
  });

  it("is due again when the handler asks for that, but not at once", async () => {
    given();
    answer = { children: [], requeueAfterSeconds: 30 };
    assert.deepEqual((await reconcile()).again, { kind: "done", againAfterMs: 30_000 });
    answer = { children: [], requeueAfterSeconds: 0 };
    assert.deepEqual((await reconcile()).again, { kind: "done", againAfterMs: 1_000 });
  });

  describe("a schedule", () => {
    const nightly = { cron: "0 3 * * *", timeZone: "UTC", spreadSeconds: 0 };
    const scheduled = { operator: operator({ schedules: { nightly } }) };
    const at = (text: string) => ({ ...scheduled, now: () => Date.parse(text) });
    const remembered = () => memoryOf(object() ?? widget()).schedules?.["nightly"]?.at;
    const dueLast = () => questions.at(-1)?.due;

    it("is remembered at the first look, before the handler is asked, and wakes the object", async () => {
      given();
      const { again, nextLook } = await reconcile(at("2026-01-05T02:00:00Z"));
      assert.deepEqual(cluster.steps.slice(0, 2), ["status", "ask reconcile"]);
      assert.deepEqual([dueLast(), remembered()], [[], "2026-01-05T02:00:00Z"]);
      assert.deepEqual([again, nextLook], [{ kind: "done" }, Date.parse("2026-01-05T03:00:00Z")]);
    });

    it("wakes the object whatever came of the last reconcile, but not one that is paused, goes or is gone", async () => {
      const three = Date.parse("2026-01-05T03:00:00Z");
      const looks = async (more: Partial<ReconcileOptions> = {}) =>
        (await reconcile({ ...at("2026-01-05T02:00:00Z"), ...more })).nextLook;
      assert.equal(await looks(), undefined);
      given();
      answer = { error: { message: "no such plan", permanent: true } };
      assert.equal(await looks(), three);
      assert.equal(await looks({ whyNot: () => new StillListingError("Secret") }), three);
      answer = { children: [configMap({ name: "bad" })] };
      cluster.refusals.set("apply ConfigMap bad", new ApiUnreachableError("PATCH", new Error("refused")));
      assert.equal(await looks(), three);
      given({ annotations: { "argosy.dev/paused": "true" } });
      assert.equal(await looks(), undefined);
      given({ deletionTimestamp: DELETED, finalizers: [FINALIZER] });
      assert.equal(await looks(finalizing), undefined);
    });

    it("is due until the handler has answered, and then done", async () => {
      given();
      await reconcile(at("2026-01-05T02:00:00Z"));
      answer = { error: { message: "no bucket" } };
      const { again } = await reconcile(at("2026-01-05T03:00:00Z"));
      assert.deepEqual(
        [dueLast(), again.kind],
        [[{ name: "nightly", at: "2026-01-05T03:00:00Z" }], "failed"],
      );
      assert.equal(remembered(), "2026-01-05T02:00:00Z");
      answer = { children: [] };
      const { report } = await reconcile(at("2026-01-05T03:02:00Z"));
      assert.deepEqual(dueLast(), [{ name: "nightly", at: "2026-01-05T03:00:00Z" }]);
      assert.deepEqual([report.due, remembered()], [["nightly"], "2026-01-05T03:00:00Z"]);
      await reconcile(at("2026-01-05T03:04:00Z"));
      assert.deepEqual(dueLast(), []);
    });

    it("is still due if a part of the answer was refused, or the memory could not be written", async () => {
      given();
      await reconcile(at("2026-01-05T02:00:00Z"));
      answer = { children: [configMap({ name: "bad" })] };
      cluster.refusals.set("apply ConfigMap bad", new ApiError(422, {}, "PATCH"));
      await reconcile(at("2026-01-05T03:00:00Z"));
      cluster.refusals.clear();
      cluster.refusals.set("status", new ApiUnreachableError("PATCH", new Error("refused")));
      await reconcile(at("2026-01-05T03:01:00Z"));
      cluster.refusals.clear();
      await reconcile(at("2026-01-05T03:02:00Z"));
      assert.deepEqual(
        questions.map(({ due }) => due.map((each) => each.at)),
        [[], ["2026-01-05T03:00:00Z"], ["2026-01-05T03:00:00Z"], ["2026-01-05T03:00:00Z"]],
      );
    });

    it("is not asked of an object whose first look cannot be remembered", async () => {
      given();
      cluster.refusals.set("status", new ApiUnreachableError("PATCH", new Error("refused")));
      await reconcile(at("2026-01-05T02:00:00Z"));
      assert.deepEqual(questions, []);
    });

    it("does not put off what the handler asks for, and is put off by nothing that comes later", async () => {
      given();
      for (const seconds of [60, 7_200]) {
        answer = { children: [], requeueAfterSeconds: seconds };
        const { again, nextLook, report } = await reconcile(at("2026-01-05T02:30:00Z"));
        assert.deepEqual(again, { kind: "done", againAfterMs: seconds * 1000 });
        assert.equal(report.againAfterMs, seconds * 1000);
        assert.equal(nextLook, Date.parse("2026-01-05T03:00:00Z"));
      }
    });

    it("can be started by hand, without becoming done for its own time", async () => {
      given();
      await reconcile(at("2026-01-05T02:00:00Z"));
      byHand = [{ name: "nightly", at: "2026-01-05T02:30:07Z" }];
      await reconcile(at("2026-01-05T02:30:09Z"));
      assert.deepEqual([dueLast(), remembered()], [byHand, "2026-01-05T02:00:00Z"]);
      await reconcile(at("2026-01-05T03:00:00Z"));
      assert.deepEqual(dueLast(), [{ name: "nightly", at: "2026-01-05T03:00:00Z" }]);
    });

    it("is nothing for an object that is being deleted, and forgotten with its definition", async () => {
      given();
      await reconcile(at("2026-01-05T02:00:00Z"));
      await reconcile();
      assert.equal(remembered(), undefined);
      given({ deletionTimestamp: DELETED, finalizers: [FINALIZER] });
      answer = { finalized: true };
      await reconcile({
        ...at("2026-01-05T04:00:00Z"),
        operator: operator({ finalize: true, schedules: { nightly } }),
      });
      assert.deepEqual(questions.at(-1)?.due, []);
    });
  });

  describe("what the handler says of the object", () => {
    const backedUp = { type: "Normal", reason: "BackedUp", note: "to s3" };
    const loaded = { type: "DataReady", status: "True", reason: "Loaded", message: "3 tables" };
    const own = () => conditionsIn(status()).filter(({ type }) => type === "DataReady");

    it("stands beside the engine's conditions, and goes when it is not answered any more", async () => {
      given();
      answer = { children: [], conditions: [loaded] };
      await reconcile();
      assert.deepEqual(
        own().map(({ status, reason, observedGeneration }) => [status, reason, observedGeneration]),
        [["True", "Loaded", 3]],
      );
      answer = { children: [] };
      await reconcile();
      assert.deepEqual(own(), []);
    });

    it("is an Event once, however often it is answered, and again in a new generation", async () => {
      given();
      answer = { children: [], events: [backedUp] };
      assert.deepEqual((await reconcile()).events, [backedUp]);
      assert.deepEqual((await reconcile()).events, []);
      const there = object();
      assert.ok(there);
      cluster.put({ ...there, metadata: { ...there.metadata, generation: 4 } });
      assert.deepEqual((await reconcile()).events, [backedUp]);
    });

    it("is not reported of an answer of which a child was refused, but when the answer is applied", async () => {
      given();
      answer = { children: [configMap()], conditions: [loaded], events: [backedUp] };
      cluster.refusals.set("apply ConfigMap settings", new ApiError(422, {}, "PATCH"));
      const { events, report } = await reconcile();
      assert.deepEqual([report.failure?.reason, events, own()], ["ChildRefused", [], []]);
      cluster.refusals.clear();
      assert.deepEqual((await reconcile()).events, [backedUp]);
      assert.equal(own().length, 1);
    });

    it("is said while the object is being deleted too, and with the last answer", async () => {
      given({ deletionTimestamp: DELETED, finalizers: [FINALIZER] });
      answer = { finalized: false, conditions: [loaded], events: [backedUp] };
      assert.deepEqual((await reconcile(finalizing)).events, [backedUp]);
      assert.equal(own().length, 1);
      assert.deepEqual((await reconcile(finalizing)).events, []);
      const done = { ...backedUp, note: "for good" };
      answer = { finalized: true, events: [backedUp, done] };
      assert.deepEqual((await reconcile(finalizing)).events, [done]);
    });
  });

  it("says that an object has a finalizer of another operator of ours: it may be a former name of this one", async () => {
    given({ finalizers: ["argosy.dev/argosy.former", "theirs.example.com/x"] });
    const { events } = await reconcile();
    assert.deepEqual(
      events.map(({ reason }) => reason),
      ["ForeignFinalizer"],
    );
  });

  describe("an object that is being deleted", () => {
    it("is nothing to do for us without a finalizer of ours", async () => {
      given({ deletionTimestamp: DELETED, finalizers: ["theirs.example.com/x"] });
      assert.equal((await reconcile(finalizing)).report.skipped, "gone");
      assert.deepEqual(cluster.steps, []);
    });

    it("keeps its finalizer until the handler has finished, which is asked again", async () => {
      given({ deletionTimestamp: DELETED, finalizers: [FINALIZER] });
      answer = { finalized: false, requeueAfterSeconds: 10, status: { left: 2 } };
      const { verdict, again } = await reconcile(finalizing);
      assert.deepEqual(cluster.steps, ["ask finalize", "status"]);
      assert.deepEqual([verdict, again], [{ kind: "finalizing" }, { kind: "done", againAfterMs: 10_000 }]);
      assert.equal(status()["left"], 2);
      cluster.steps.length = 0;
      answer = { finalized: true };
      await reconcile(finalizing);
      assert.deepEqual(cluster.steps, ["ask finalize", `remove ${FINALIZER}`]);
    });

    it("keeps it also if the handler fails", async () => {
      given({ deletionTimestamp: DELETED, finalizers: [FINALIZER] });
      answer = { error: { message: "not now" } };
      assert.equal((await reconcile(finalizing)).verdict?.kind, "failed");
      assert.deepEqual(object()?.metadata.finalizers, [FINALIZER]);
    });

    it("goes without the handler if that is asked for, and says so", async () => {
      const annotations = { "argosy.dev/skip-finalize": "true" };
      given({ deletionTimestamp: DELETED, finalizers: [FINALIZER], annotations });
      const { events } = await reconcile(finalizing);
      assert.deepEqual(cluster.steps, [`remove ${FINALIZER}`]);
      assert.deepEqual(
        events.map(({ reason }) => reason),
        ["FinalizeSkipped"],
      );
    });

    it("goes after its children where no owner reference reaches, which are looked up", async () => {
      given();
      answer = { children: [configMap({ namespace: "elsewhere" }), configMap({ name: "near" })] };
      await reconcile();
      const there = object();
      assert.ok(there);
      cluster.put({ ...there, metadata: { ...there.metadata, deletionTimestamp: DELETED } });
      cluster.steps.length = 0;
      await reconcile();
      assert.deepEqual(cluster.steps, ["delete ConfigMap settings", `remove ${ELSEWHERE}`]);
    });
  });
});
