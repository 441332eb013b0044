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

interface Row {
  readonly error: unknown;
  readonly result: string;
  readonly isReported: boolean;
  readonly again: string;
}

const TABLE: Readonly<Record<string, Row>> = {
  "a failure in the handler's words": {
    error: new ReconcileFailure("HandlerError", "no plan"),
    result: "failed HandlerError",
    isReported: true,
    again: "failed",
  },
  "a failure that says when to try again": {
    error: new ReconcileFailure("HandlerError", "later", { retryAfterSeconds: 7 }),
    result: "failed HandlerError",
    isReported: true,
    again: "failed after 7000",
  },
  "a failure that wants to be tried again at once": {
    error: new ReconcileFailure("HandlerError", "now", { retryAfterSeconds: 0 }),
    result: "failed HandlerError",
    isReported: true,
    again: "failed after 1000",
  },
  "a failure for good": {
    error: new ReconcileFailure("InvalidAnswer", "no", { permanent: true }),
    result: "failed InvalidAnswer",
    isReported: true,
    again: "failed for good",
  },
  "the end of the term": {
    error: new NotLeadingError(),
    result: "skipped not the leader",
    isReported: false,
    again: "done",
  },
  "an object that is gone": {
    error: new ObjectGoneError(),
    result: "skipped gone",
    isReported: false,
    again: "done",
  },
  "a namespace that is being deleted": {
    error: refused(403, details({ causes: [{ reason: "NamespaceTerminating" }] })),
    result: "skipped gone",
    isReported: false,
    again: "done",
  },
  "a namespace that is gone": {
    error: refused(404, details({ kind: "namespaces", name: "shop" })),
    result: "skipped gone",
    isReported: false,
    again: "done",
  },
  "another namespace that is gone": {
    error: refused(404, details({ kind: "namespaces", name: "platform" })),
    result: "failed ApiError",
    isReported: true,
    again: "failed",
  },
  "an object or a child that moved on": {
    error: refused(409),
    result: "skipped changed during the run",
    isReported: false,
    again: "again",
  },
  "an object that is gone, of a watch that still shows it": {
    error: new WatchLateError(),
    result: "skipped changed during the run",
    isReported: false,
    again: "again",
  },
  "children that are being listed": {
    error: new StillListingError("ConfigMap"),
    result: "skipped not listed yet",
    isReported: false,
    again: "again soon",
  },
  "an API server that is busy and says until when": {
    error: refused(429, details({ retryAfterSeconds: 9 })),
    result: "skipped API server away",
    isReported: false,
    again: "again after 9000",
  },
  "an API server without its etcd": {
    error: refused(500, { message: "etcdserver: leader changed" }),
    result: "skipped API server away",
    isReported: false,
    again: "again soon",
  },
  "a load balancer without its API server": {
    error: refused(503),
    result: "skipped API server away",
    isReported: false,
    again: "again soon",
  },
  "an API server out of reach": {
    error: new ApiUnreachableError("GET /", new Error("connect ECONNREFUSED")),
    result: "skipped API server away",
    isReported: false,
    again: "again soon",
  },
  "another refusal": { error: refused(403), result: "failed ApiError", isReported: true, again: "failed" },
  "a fault of ours": {
    error: new TypeError("x"),
    result: "failed InternalError",
    isReported: true,
    again: "failed",
  },
  "something thrown that is no error": {
    error: "x",
    result: "failed InternalError",
    isReported: true,
    again: "failed",
  },
};

describe("consequenceOf", () => {
  for (const [what, { error, result, isReported, again }] of Object.entries(TABLE)) {
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
