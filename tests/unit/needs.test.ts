import assert from "node:assert/strict";
import { EVENT_LABEL } from "../../runtime/base/names";
import type { Condition, KubernetesObject } from "../../runtime/base/objects";
import {
  changeFingerprint,
  childrenFingerprint,
  configMapsOf,
  contentFingerprint,
  programFingerprint,
} from "../../runtime/engine/dispatch/footprint";
import {
  type Circumstances,
  FULL_LOOK_RESYNCS,
  type LeftByRun,
  Needs,
} from "../../runtime/engine/dispatch/needs";
import type { Child } from "../../runtime/observe/childStore";
import type { Operator } from "../../runtime/operator/definition";
import { intakeManagerOf } from "../../runtime/operator/eventMarks";
import { operator, WIDGETS, widget } from "./support/objects";

const OPERATOR = operator({ children: [] });
const VERDICT_AT = "2026-01-01T00:00:00Z";
const NOW = Date.parse("2026-01-01T00:01:00Z");

/** An object whose generation a run has seen. */
function seen(uid = "uid", more: Partial<KubernetesObject["metadata"]> = {}): KubernetesObject {
  const object = widget({ uid }, { status: { observedGeneration: 3 } });
  return { ...object, metadata: { ...object.metadata, ...more } };
}

/** What its last run left. */
function left(
  object: KubernetesObject,
  [status, reason, stalled]: [status: string, reason: string, stalled?: string] = ["True", "Reconciled"],
  memory: Partial<LeftByRun["memory"]> = {},
): LeftByRun {
  const condition = { message: "", lastTransitionTime: VERDICT_AT };
  return {
    memory: {
      kinds: [],
      created: [],
      content: contentFingerprint(object, OPERATOR),
      children: childrenFingerprint([], OPERATOR),
      ...memory,
    },
    conditions: [
      { ...condition, type: "Ready", status: status as "True", reason },
      { ...condition, type: "Stalled", status: (stalled ?? "False") as "True", reason: "Any" },
    ],
    verdictAt: VERDICT_AT,
  };
}

/** Circumstances in which nothing has happened since the run, and in which no object has its turn: it had a run in this resync. */
const calm = (more: Partial<Circumstances> = {}): Circumstances => ({
  children: [],
  used: undefined,
  program: undefined,
  isChildNews: false,
  isWoken: false,
  last: { at: NOW - 1_000, unready: 0, about: "" },
  since: 0,
  now: NOW,
  ...more,
});

/** The last run saw the object as it is. */
const ranFor = (object: KubernetesObject) => ({
  last: { at: NOW - 1_000, unready: 0, about: changeFingerprint(object, OPERATOR) },
});

const needs = (operator: Partial<Operator> = {}) => new Needs({ ...OPERATOR, ...operator }, WIDGETS);
const resource = { apiVersion: "v1", kind: "ConfigMap" };
const child = (isReady: boolean, follows: readonly string[] = []) =>
  ({ resource, namespace: "shop", name: "a", facts: { isReady, owned: "", follows } }) as unknown as Child;

describe("an object needs a run", () => {
  it("urgently, if no run has seen its generation, or none has left a verdict", () => {
    const object = seen();
    const older = { ...object, status: { observedGeneration: 2 } };
    assert.equal(needs().of(object, left(object), calm()), undefined);
    assert.equal(needs().of(older, left(older), calm()), "urgent");
    assert.equal(needs().of(object, { ...left(object), conditions: [] }, calm()), "urgent");
    assert.equal(needs().of(object, { ...left(object), verdictAt: undefined }, calm()), "urgent");
  });

  it("again after a failure, but after one for good only at its resync", () => {
    const object = seen();
    assert.equal(needs().of(object, left(object, ["False", "HandlerError"]), calm()), "retry");
    const stalled = left(object, ["False", "HandlerError", "True"]);
    assert.equal(needs().of(object, stalled, calm()), undefined);
    const rested = calm({ last: { at: NOW - 600_000, unready: 0, about: "" } });
    assert.equal(needs().of(object, stalled, rested), "routine");
  });

  it("if it still says that a run is awaited or was stopped", () => {
    const object = seen();
    const ready = left(object);
    for (const reason of ["AwaitingPod", "RunStopped"]) {
      const condition = { ...ready.conditions[0], type: "Reconciling", reason } as Condition;
      const said = { ...ready, conditions: [...ready.conditions, condition] };
      assert.equal(needs().of(object, said, calm()), "routine");
    }
  });

  it("when a schedule or a requeue is due, and says when that will be", () => {
    const object = seen();
    const requeued = left(object, undefined, { dueAt: "2026-01-01T00:02:00Z" });
    assert.equal(needs().of(object, requeued, calm()), undefined);
    assert.equal(needs().dueInMs(object, requeued.memory, NOW), 60_000);
    assert.equal(needs().of(object, requeued, calm({ now: NOW + 60_000 })), "due");
    const minutely = { cron: "* * * * *", timeZone: "UTC", spreadSeconds: 0 };
    const schedules = { minutely: { at: "2026-01-01T00:00:00Z", of: "* * * * * UTC" } };
    const scheduled = needs({ schedules: { minutely } });
    assert.equal(scheduled.of(object, left(object, undefined, { schedules }), calm()), "due");
    const going = seen("uid", { deletionTimestamp: VERDICT_AT, finalizers: ["argosy.dev/argosy.shop"] });
    const finalizing = left(going, ["False", "Finalizing"], { schedules });
    assert.equal(scheduled.of(going, finalizing, calm(ranFor(going))), undefined);
  });

  it("if nothing is left that its children's deletion in an order waits for, and its handler has finished", () => {
    const [order, handler] = ["order.argosy.dev/argosy.shop", "argosy.dev/argosy.shop"];
    const going = (...finalizers: string[]) => seen("uid", { deletionTimestamp: VERDICT_AT, finalizers });
    const need = (object: KubernetesObject, ...children: Child[]) =>
      needs().of(object, left(object, ["False", "Finalizing"]), calm({ children, ...ranFor(object) }));
    const follows = (name: string, other: string, deleting: boolean): Child => ({
      ...child(true, [`ConfigMap/shop/${other}`]),
      ...{ name, deleting },
    });
    assert.equal(need(going(order)), "routine");
    assert.equal(need(going(order, handler)), undefined);
    assert.equal(need(going(handler)), undefined);
    assert.equal(need(going(order), follows("b", "a", true)), undefined);
    assert.equal(need(going(order), follows("b", "a", false), follows("c", "b", true)), undefined);
    assert.equal(need(going(order), follows("b", "a", false), follows("c", "a", true)), "routine");
  });

  it("if a user asks for something by an annotation while it is being deleted", () => {
    const going = (annotations: Record<string, string>) =>
      seen("uid", { deletionTimestamp: VERDICT_AT, finalizers: ["argosy.dev/argosy.shop"], annotations });
    const before = going({});
    const need = (object: KubernetesObject, { last } = ranFor(before)) =>
      needs().of(object, left(before, ["False", "Finalizing"]), calm({ last, since: NOW }));
    assert.equal(need(before), undefined);
    for (const annotation of ["skip-finalize", "reconcile-at"])
      assert.equal(need(going({ [`argosy.dev/${annotation}`]: "true" })), "routine");
    const finalizing = left(before, ["False", "Finalizing"]);
    assert.equal(needs().of(before, finalizing, calm({ last: undefined, since: NOW })), "routine");
  });

  it("with growing pauses, if it has lasted long enough: by the clock of the run's machine it may not have", () => {
    const managedFields = [{ manager: intakeManagerOf(OPERATOR), operation: "Update" as const }];
    const { status: _, ...made } = seen("uid", {
      name: "made-1",
      labels: { [EVENT_LABEL]: "made" },
      managedFields,
      creationTimestamp: VERDICT_AT,
    });
    const ready = {
      type: "Ready",
      status: "True",
      reason: "Reconciled",
      message: "",
      lastTransitionTime: VERDICT_AT,
    };
    const object = { ...made, status: { observedGeneration: 3, conditions: [ready] } };
    const need = (ttl: number) => needs({ eventTtls: { made: ttl } }).of(object, left(object), calm());
    assert.deepEqual([need(61), need(60)], [undefined, "routine"]);
  });

  it("if it, its children, what it uses or the program is not as the last run left it", () => {
    const object = seen();
    const labelled = { ...object, metadata: { ...object.metadata, labels: { team: "a" } } };
    assert.equal(needs().of(labelled, left(object), calm()), "routine");
    const gone = left(object, undefined, { children: "other" });
    assert.equal(needs().of(object, gone, calm()), "routine");
    assert.equal(needs().of(object, left(object), calm({ used: "other" })), "routine");
    assert.equal(needs().of(object, left(object), calm({ program: "other" })), "routine");
    const retired = left(object, undefined, { kinds: ["v1/Secret"] });
    assert.equal(needs().of(object, retired, calm()), "routine");
    assert.equal(needs({ finalize: true }).of(object, left(object), calm()), "routine");
  });

  it("when another child is ready, and when a child has reported and its last run was a resync ago", () => {
    const object = seen();
    const children = [child(true), child(false)];
    const memory = { children: childrenFingerprint(children, OPERATOR) };
    const waiting = left(object, ["False", "ChildrenNotReady"], memory);
    const unreadyBefore = (unready: number) =>
      calm({ children, last: { at: NOW - 1_000, unready, about: "" } });
    assert.equal(needs().of(object, waiting, unreadyBefore(1)), undefined);
    assert.equal(needs().of(object, waiting, unreadyBefore(2)), "routine");
    const news = calm({ isChildNews: true });
    assert.equal(needs().of(object, left(object), news), undefined);
    const rested = { ...news, last: { at: NOW - 600_000, unready: 0, about: "" } };
    assert.equal(needs().of(object, left(object), rested), "routine");
    assert.equal(needs().of(object, left(object), { ...news, last: undefined, since: NOW }), undefined);
  });

  it("if its last run saw a child that was not ready, and the child became ready before the end of the run was noticed", () => {
    const object = seen();
    const children = [child(true)];
    const memory = { children: childrenFingerprint(children, OPERATOR) };
    const waiting = left(object, ["False", "ChildrenNotReady"], memory);
    const noticed = calm({ children, isChildNews: true, last: { at: NOW - 1_000, unready: 0, about: "" } });
    assert.equal(needs().of(object, waiting, noticed), "routine");
  });

  it("when an event from outside has named it, whatever else is the case, but not before a backoff ends", () => {
    const object = seen();
    const woken = calm({ isWoken: true });
    assert.equal(needs().of(object, left(object), woken), "due");
    assert.equal(needs().of(object, left(object, ["False", "InvalidAnswer", "True"]), woken), "due");
    assert.equal(needs().of(object, left(object, ["False", "HandlerFailed"]), woken), "retry");
  });

  it("if a user took away the finalizer for the order among its children", () => {
    const children = [child(true, ["ConfigMap/shop/b"])];
    const memory = { children: childrenFingerprint(children, OPERATOR) };
    const held = seen("uid", { finalizers: ["order.argosy.dev/argosy.shop"] });
    assert.equal(needs().of(held, left(held, undefined, memory), calm({ children })), undefined);
    assert.equal(needs().of(seen(), left(seen(), undefined, memory), calm({ children })), "routine");
  });

  it("that it was asked about is deleted without our finalizer needs none", () => {
    const going = (finalizers: string[]) => seen("uid", { deletionTimestamp: VERDICT_AT, finalizers });
    assert.ok(needs().isNotOurs(going(["example.com/hold"])));
    assert.ok(!needs().isNotOurs(going(["elsewhere.argosy.dev/argosy.shop"])));
    assert.ok(!needs().isNotOurs(seen()));
  });
});

describe("an object that needs no run", () => {
  /** Which of these resyncs give a run to an object that is as its last run left it. */
  function turnsOf(uid: string, resyncs: readonly number[]): number[] {
    const object = seen(uid);
    return resyncs.filter((resync) => {
      const now = resync * 1000 * OPERATOR.resyncSeconds;
      return needs().of(object, left(object), calm({ now, last: undefined, since: now })) !== undefined;
    });
  }
  const uids = Array.from({ length: 100 }, (_, index) => `uid-${index}`);

  it("gets one all the same in one of each ten resyncs, and not all objects get it in the same one", () => {
    const resyncs = Array.from({ length: 10 * FULL_LOOK_RESYNCS }, (_, index) => index);
    for (const uid of uids) {
      const rounds = turnsOf(uid, resyncs).map((resync) => Math.floor(resync / FULL_LOOK_RESYNCS));
      assert.deepEqual(rounds, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], uid);
    }
    const first = new Set(uids.map((uid) => turnsOf(uid, resyncs)[0]));
    assert.equal(first.size, FULL_LOOK_RESYNCS);
  });

  it("gets it once in that resync", () => {
    const object = seen(uids[0]);
    const [turn = 0] = turnsOf(uids[0] ?? "", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    const now = turn * 600_000 + 300_000;
    const ran = calm({ now, since: 0, last: { at: now - 1_000, unready: 0, about: "" } });
    assert.equal(needs().of(object, left(object), ran), undefined);
  });
});

const OBJECT = {
  apiVersion: "shop.example.com/v1",
  kind: "Shop",
  metadata: { name: "demo", uid: "1", resourceVersion: "1", generation: 1, labels: { team: "a" } },
  spec: { size: 1 },
};

/** An operator of custom resources of its own. */
const OWN = {};

/** The `spec` of a WorkflowTemplate with one container. */
function template(container: object, configMap = "engine-1") {
  const volumes = [
    { name: "engine", configMap: { name: configMap } },
    { name: "handler-shell", emptyDir: {} },
  ];
  return { templates: [{ name: "reconcile", volumes, containerSet: { containers: [container] } }] };
}

describe("the footprint of a run", () => {
  it("differs with what a handler sees of its object, and with nothing else", () => {
    const before = contentFingerprint(OBJECT, OWN);
    const { metadata } = OBJECT;
    const counted = { ...metadata, resourceVersion: "2", generation: 2, finalizers: ["example.com/hold"] };
    assert.equal(
      contentFingerprint({ ...OBJECT, metadata: counted, status: { phase: "Ready" } }, OWN),
      before,
    );
    // A default that was added to the CustomResourceDefinition counts no generation.
    assert.notEqual(contentFingerprint({ ...OBJECT, spec: { size: 1, port: 80 } }, OWN), before);
    assert.notEqual(contentFingerprint({ ...OBJECT, metadata: { ...metadata, labels: {} } }, OWN), before);
    assert.notEqual(
      contentFingerprint({ ...OBJECT, metadata: { ...metadata, annotations: { a: "b" } } }, OWN),
      before,
    );
  });

  it("is one of an object of 9,000 levels too, whoever made it", () => {
    const deep = (innermost: number) =>
      JSON.parse(`${'{"a":'.repeat(9_000)}${innermost}${"}".repeat(9_000)}`);
    for (const operator of [OWN, { watch: { on: ["spec" as const] } }]) {
      const of = (spec: object) => contentFingerprint({ ...OBJECT, spec }, operator as never);
      assert.equal(of(deep(1)), of(deep(1)));
      assert.notEqual(of(deep(1)), of(deep(2)));
    }
  });

  it("differs with the program, however Argo writes it down", () => {
    const secret = { key: "token", name: "shop" };
    const container = { name: "main", image: "node:1", command: ["node"], env: [{ name: "A", value: "1" }] };
    const before = programFingerprint(template(container));
    const asArgo = { resources: {}, ...container };
    assert.equal(programFingerprint(template(asArgo)), before);
    for (const other of [{ image: "node:2" }, { command: ["deno"] }, { env: [{ name: "A", value: "2" }] }]) {
      assert.notEqual(programFingerprint(template({ ...container, ...other })), before);
    }
    assert.notEqual(programFingerprint(template(container, "engine-2")), before);
    const env = (secretKeyRef: object) => [{ name: "A", valueFrom: { secretKeyRef } }];
    assert.equal(
      programFingerprint(template({ ...container, env: env(secret) })),
      programFingerprint(template({ ...container, env: env({ name: "shop", key: "token" }) })),
    );
    // Argo leaves out an empty text.
    assert.equal(
      programFingerprint(template({ ...container, env: [{ name: "A" }] })),
      programFingerprint(template({ ...container, env: [{ name: "A", value: "" }] })),
    );
  });

  it("differs with the files of the handler, wherever they are mounted from", () => {
    const spec = (volume: object) => ({
      templates: [{ containerSet: { containers: [{}] }, volumes: [volume] }],
    });
    const inImage = (reference: string) =>
      spec({ name: "handler", image: { reference, pullPolicy: "IfNotPresent" } });
    const inMany = (...names: string[]) =>
      spec({
        name: "handler",
        projected: {
          sources: [...names.map((name) => ({ configMap: { name } })), { serviceAccountToken: {} }],
        },
      });
    const seen = [
      spec({ name: "handler", configMap: { name: "files-1" } }),
      inImage("example.com/files:1"),
      inImage("example.com/files:2"),
      inMany("files-1", "files-2"),
      inMany("files-1", "files-3"),
    ].map(programFingerprint);
    assert.equal(new Set(seen).size, seen.length);
    assert.deepEqual([...configMapsOf(inMany("files-1", "files-3"))], ["files-1", "files-3"]);
  });

  it("says nothing of a program that no engine reports", () => {
    assert.equal(programFingerprint(undefined), undefined);
  });
});
