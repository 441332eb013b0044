import assert from "node:assert/strict";
import { ObjectGoneError, ReconcileFailure } from "../../runtime/base/failure";
import { ApiError, type ApiStatus, ApiUnreachableError } from "../../runtime/kubernetes/errors";
import { NotLeadingError } from "../../runtime/leadership/term";
import { StillListingError } from "../../runtime/observe/kindWatch";
import { consequenceOf, WatchLateError } from "../../runtime/reconcile/errors";

function refused(code: number, status: ApiStatus = {}): ApiError {
  return new ApiError(code, status, "PATCH /apis");
}

const details = (more: ApiStatus["details"]): ApiStatus => ({ details: more ?? {} });

const ROWS: readonly (readonly [what: string, error: unknown, result: string, again: string])[] = [
  [
    "a failure in the handler's words",
    new ReconcileFailure("HandlerError", "no plan"),
    "failed HandlerError",
    "failed",
  ],
  [
    "a failure that says when to try again",
    new ReconcileFailure("HandlerError", "later", { retryAfterSeconds: 7 }),
    "failed HandlerError",
    "failed after 7000",
  ],
  [
    "a failure that wants to be tried again at once",
    new ReconcileFailure("HandlerError", "now", { retryAfterSeconds: 0 }),
    "failed HandlerError",
    "failed after 1000",
  ],
  [
    "a failure for good",
    new ReconcileFailure("InvalidAnswer", "no", { permanent: true }),
    "failed InvalidAnswer",
    "failed for good",
  ],
  ["the end of the term", new NotLeadingError(), "skipped not the leader", "done"],
  ["an object that is gone", new ObjectGoneError(), "skipped gone", "done"],
  [
    "a namespace that is being deleted",
    refused(403, details({ causes: [{ reason: "NamespaceTerminating" }] })),
    "skipped gone",
    "done",
  ],
  [
    "a namespace that is gone",
    refused(404, details({ kind: "namespaces", name: "shop" })),
    "skipped gone",
    "done",
  ],
  [
    "another namespace that is gone",
    refused(404, details({ kind: "namespaces", name: "platform" })),
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
    refused(429, details({ retryAfterSeconds: 9 })),
    "skipped API server away",
    "again after 9000",
  ],
  [
    "an API server without its etcd",
    refused(500, { message: "etcdserver: leader changed" }),
    "skipped API server away",
    "again soon",
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
    const error = refused(403, { message: "not allowed" });
    const { failure } = consequenceOf(error, "shop").report;
    assert.equal(failure?.message, "not allowed");
    assert.equal(failure?.cause, error);
  });

  it("says what to do if a right is missing", () => {
    const message = 'widgets "demo" is forbidden: User "runner" cannot patch resource "widgets"';
    const { failure } = consequenceOf(refused(403, { message }), "shop").report;
    assert.match(failure?.message ?? "", /cannot patch resource "widgets"\. .*run `pulumi up --refresh`\.$/);
  });

  it("keeps the words of an API server that is away, which no failure has", () => {
    const { failure, problem } = consequenceOf(refused(503, { message: "overloaded" }), "shop").report;
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
