import assert from "node:assert/strict";
import { ObjectGoneError, ReconcileFailure } from "../../runtime/base/failure";
import { conditionsIn } from "../../runtime/base/objects";
import { ApiError, type ApiStatus, ApiUnreachableError } from "../../runtime/kubernetes/errors";
import { NotLeadingError } from "../../runtime/leadership/term";
import { StillListingError } from "../../runtime/observe/kindWatch";
import { consequenceOf, WatchLateError } from "../../runtime/reconcile/errors";
import { CLUSTER_ROLES, configMap } from "./support/objects";
import { DELETED, FINALIZER, finalizing, ReconcileWorld } from "./support/reconcileWorld";

const UNREACHABLE = new ApiUnreachableError("PATCH", new Error("socket hang up"));

describe("Reconciler", () => {
  let world: ReconcileWorld;

  beforeEach(() => {
    world = new ReconcileWorld();
  });

  describe("of a child that is refused because another object holds what it needs,", () => {
    const full = new ApiError(
      403,
      { kind: "Status", message: "forbidden: exceeded quota: q, used: 1" },
      "PATCH",
    );
    const role = {
      apiVersion: CLUSTER_ROLES.apiVersion,
      kind: CLUSTER_ROLES.kind,
      metadata: { name: "old" },
    };
    const messageAfter = async (former: object) => {
      world.given();
      world.answer = { children: [former] };
      await world.reconcile();
      world.answer = { children: [configMap({ name: "new" })] };
      world.cluster.refusals.set("apply ConfigMap new", full);
      const { failure } = (await world.reconcile()).report;
      assert.equal(failure?.reason, "ChildRefused");
      return failure?.message ?? "";
    };

    it("names a former child of its kind, which may be in the way", async () => {
      const message = await messageAfter(configMap({ name: "old" }));
      assert.match(message, /If ConfigMap shop\/old, which .*, delete it by hand\.$/);
    });

    it("names no former child of another kind, which can hold nothing that it needs", async () => {
      assert.doesNotMatch(await messageAfter(role), /by hand/);
    });
  });

  describe("what the handler says of the object", () => {
    const backedUp = { type: "Normal", reason: "BackedUp", note: "to s3" };
    const loaded = { type: "DataReady", status: "True", reason: "Loaded", message: "3 tables" };
    const own = () => conditionsIn(world.status()).filter(({ type }) => type === "DataReady");

    it("stands next to the engine's conditions, and goes when it is no longer answered", async () => {
      world.given();
      world.answer = { children: [], conditions: [loaded] };
      await world.reconcile();
      assert.deepEqual(
        own().map(({ status, reason, observedGeneration }) => [status, reason, observedGeneration]),
        [["True", "Loaded", 3]],
      );
      world.answer = { children: [] };
      await world.reconcile();
      assert.deepEqual(own(), []);
    });

    it("is an Event once, however often it is answered, and again in a new generation", async () => {
      world.given();
      world.answer = { children: [], events: [backedUp] };
      assert.deepEqual((await world.reconcile()).events, [backedUp]);
      assert.deepEqual((await world.reconcile()).events, []);
      world.cluster.change(world.object(), { generation: 4 });
      assert.deepEqual((await world.reconcile()).events, [backedUp]);
    });

    it("is an Event also if the answer to the write of its status was lost: the handler may never say it again", async () => {
      world.given();
      // The handler sees in the status of the object what it has done, and says it no more.
      world.answer = { children: [], events: [backedUp], status: { backups: 1 } };
      world.cluster.lost.set("status", UNREACHABLE);
      const { report, events } = await world.reconcile();
      assert.deepEqual([report.skipped, events], ["API server away", [backedUp]]);
      assert.equal(world.status()["backups"], 1);
      world.cluster.lost.clear();
      world.answer = { children: [], status: { backups: 1 } };
      assert.deepEqual((await world.reconcileAgain()).events, []);
    });

    it("is an Event once more if the write of its status did not arrive", async () => {
      world.given();
      world.answer = { children: [], events: [backedUp] };
      world.cluster.refusals.set("status", UNREACHABLE);
      assert.deepEqual((await world.reconcile()).events, [backedUp]);
      world.cluster.refusals.clear();
      assert.deepEqual((await world.reconcileAgain()).events, [backedUp]);
      assert.deepEqual((await world.reconcileAgain()).events, []);
    });

    it("is not reported of an answer of which a child was refused, but when the answer is applied", async () => {
      world.given();
      world.answer = { children: [configMap()], conditions: [loaded], events: [backedUp] };
      world.cluster.refusals.set("apply ConfigMap settings", new ApiError(422, {}, "PATCH"));
      const { events, report } = await world.reconcile();
      assert.deepEqual([report.failure?.reason, events, own()], ["ChildRefused", [], []]);
      world.cluster.refusals.clear();
      assert.deepEqual((await world.reconcile()).events, [backedUp]);
      assert.equal(own().length, 1);
    });

    it("is said while the object is being deleted too, and with the last answer", async () => {
      world.given({ deletionTimestamp: DELETED, finalizers: [FINALIZER] });
      world.answer = { finalized: false, conditions: [loaded], events: [backedUp] };
      assert.deepEqual((await world.reconcile(finalizing)).events, [backedUp]);
      assert.equal(own().length, 1);
      assert.deepEqual((await world.reconcile(finalizing)).events, []);
      const done = { ...backedUp, note: "for good" };
      world.answer = { finalized: true, events: [backedUp, done] };
      assert.deepEqual((await world.reconcile(finalizing)).events, [done]);
    });
  });
});

function refused(code: number, details: NonNullable<ApiStatus["details"]> = {}, message = "no"): ApiError {
  return new ApiError(code, { message, details }, "PATCH /apis");
}

const ENDING = { reason: "NamespaceTerminating" };
const failing = (more: ConstructorParameters<typeof ReconcileFailure>[2] = {}) =>
  new ReconcileFailure("HandlerError", "no plan", more);

const ROWS: readonly (readonly [what: string, error: unknown, result: string, again: string])[] = [
  ["a failure in the handler's words", failing(), "failed HandlerError", "failed"],
  [
    "a failure to be tried again",
    failing({ retryAfterSeconds: 7 }),
    "failed HandlerError",
    "failed after 7000",
  ],
  [
    "one to be tried again at once",
    failing({ retryAfterSeconds: 0 }),
    "failed HandlerError",
    "failed after 1000",
  ],
  ["a failure for good", failing({ permanent: true }), "failed HandlerError", "failed for good"],
  ["the end of the term", new NotLeadingError(), "skipped not the leader", "done"],
  ["an object that is gone", new ObjectGoneError(), "skipped gone", "done"],
  ["a namespace that is being deleted", refused(403, { causes: [ENDING] }), "skipped gone", "done"],
  ["a namespace that is gone", refused(404, { kind: "namespaces", name: "shop" }), "skipped gone", "done"],
  [
    "another namespace that is gone",
    refused(404, { kind: "namespaces", name: "x" }),
    "failed ApiError",
    "failed",
  ],
  ["an object or a child that moved on", refused(409), "skipped changed during the run", "again"],
  [
    "an object that is gone, of a watch that still shows it",
    new WatchLateError(),
    "skipped changed during the run",
    "again",
  ],
  [
    "children that are being listed",
    new StillListingError("ConfigMap"),
    "skipped not listed yet",
    "again soon",
  ],
  [
    "an API server that is busy and says until when",
    refused(429, { retryAfterSeconds: 9 }),
    "skipped API server away",
    "again after 9000",
  ],
  ["a load balancer without its API server", refused(503), "skipped API server away", "again soon"],
  [
    "an API server out of reach",
    new ApiUnreachableError("GET /", new Error("connect ECONNREFUSED")),
    "skipped API server away",
    "again soon",
  ],
  ["another refusal", refused(403), "failed ApiError", "failed"],
  ["a fault of ours", new TypeError("x"), "failed InternalError", "failed"],
  ["something thrown that is no error", "x", "failed InternalError", "failed"],
];

describe("consequenceOf", () => {
  for (const [what, error, result, again] of ROWS) {
    const isReported = result.startsWith("failed");
    it(`${what}: ${result}, ${isReported ? "told" : "not told"}, ${again}`, () => {
      const consequence = consequenceOf(error, "shop");
      const { result: is, skipped, failure } = consequence.report;
      assert.equal([is, skipped ?? failure?.reason].join(" "), result);
      assert.equal(consequence.isReported, isReported);
      assert.equal(described(consequence.again), again);
    });
  }

  it("keeps the words, and the error itself", () => {
    const error = refused(403, {}, "not allowed");
    const { failure } = consequenceOf(error, "shop").report;
    assert.equal(failure?.message, "not allowed");
    assert.equal(failure?.cause, error);
  });

  it("says what to do if a right is missing", () => {
    const message = 'widgets "demo" is forbidden: User "runner" cannot patch resource "widgets"';
    const { failure } = consequenceOf(refused(403, {}, message), "shop").report;
    assert.match(failure?.message ?? "", /cannot patch resource "widgets"\. .*run `pulumi up --refresh`\.$/);
  });

  it("keeps the words of an API server that is away, which no failure has", () => {
    const { failure, problem } = consequenceOf(refused(503, {}, "overloaded"), "shop").report;
    assert.deepEqual([failure, problem], [undefined, "overloaded"]);
  });
});

function described(again: ReturnType<typeof consequenceOf>["again"]): string {
  if (again.kind === "failed") {
    if (again.permanent) return "failed for good";
    return again.retryAfterMs === undefined ? "failed" : `failed after ${again.retryAfterMs}`;
  }
  if (again.kind === "done" || again.afterMs === undefined) return again.kind;
  return again.afterMs >= 1_000 && again.afterMs <= 3_000 ? "again soon" : `again after ${again.afterMs}`;
}
