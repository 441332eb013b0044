import assert from "node:assert/strict";
import { ReconcileFailure } from "../../runtime/failure";
import type { HandlerEvent } from "../../runtime/handler/contract";
import { UnknownKindError } from "../../runtime/kubernetes/discovery";
import { ApiError, ApiUnreachableError } from "../../runtime/kubernetes/errors";
import { Completeness } from "../../runtime/reconcile/completeness";
import { type NotSynced, StillListingError } from "../../runtime/watch/scopes";
import { SoughtKinds } from "../../runtime/watch/soughtKinds";
import { CONFIG_MAPS, widget } from "./support/objects";

const THING = { apiVersion: "example.com/v1", kind: "Thing" };
const REMEMBERED = ["v1/ConfigMap", "example.com/v1/Thing"];
const FORBIDDEN = new ApiError(403, { message: "forbidden" }, "GET");
const BROKEN = new ApiError(500, { message: "conversion webhook failed" }, "GET");

describe("Completeness", () => {
  let now: number;
  let sought: SoughtKinds;
  let notSynced: NotSynced[];

  beforeEach(() => {
    [now, notSynced] = [0, []];
    sought = new SoughtKinds(() => now);
  });

  function readiness(): Completeness {
    const none = { notSynced: () => [] };
    const children = { notSynced: () => notSynced };
    return new Completeness({ sought, objects: none, children, memories: undefined });
  }

  function whyNot(event: HandlerEvent, kinds: readonly string[] = REMEMBERED): string | undefined {
    const why = readiness().whyNot(event, widget(), kinds, false);
    if (why instanceof ReconcileFailure) return why.reason;
    return why instanceof StillListingError ? "listing" : undefined;
  }

  it("waits for each list in progress, to finalize too: the object may have children of that kind", () => {
    notSynced = [{ resource: CONFIG_MAPS, namespace: undefined, problem: undefined }];
    for (const kinds of [REMEMBERED, []])
      assert.deepEqual([whyNot("reconcile", kinds), whyNot("finalize", kinds)], ["listing", "listing"]);
  });

  it("waits for a kind that it looks for, but not for one that the cluster does not serve unless it is needed", () => {
    sought.seek(THING);
    assert.deepEqual([whyNot("reconcile", []), whyNot("finalize", [])], ["listing", "listing"]);
    sought.failed(THING, new UnknownKindError(THING.apiVersion, THING.kind));
    assert.deepEqual([whyNot("reconcile", []), whyNot("finalize", [])], [undefined, undefined]);
    assert.deepEqual([whyNot("reconcile"), whyNot("finalize")], ["KindMissing", undefined]);
    sought.ended(THING);
    assert.deepEqual([whyNot("reconcile"), whyNot("finalize")], [undefined, undefined]);
  });

  it("blames no kind for an API server that is away or busy for a moment", () => {
    sought.seek(THING);
    sought.failed(THING, BROKEN);
    assert.equal(whyNot("reconcile"), "listing");
    now = 60_000;
    assert.deepEqual([whyNot("reconcile"), whyNot("reconcile", [])], ["KindNotListed", undefined]);
    sought.failed(THING, new ApiUnreachableError("GET", new Error("refused")));
    assert.equal(whyNot("reconcile"), "listing");
  });

  it("does not say that a kind is missing of which the API server has not said so", () => {
    const whyUnknown = () => {
      const why = readiness().whyUnknown(THING);
      return why instanceof ReconcileFailure ? `${why.reason}: ${why.message}` : why?.name;
    };
    assert.equal(whyUnknown(), undefined);
    sought.seek(THING);
    assert.equal(whyUnknown(), "StillListingError");
    sought.failed(THING, new ApiError(503, { message: "service unavailable" }, "GET"));
    now = 60_000;
    assert.match(whyUnknown() ?? "", /^KindNotListed: .*example.com\/v1\/Thing: service unavailable\./);
    sought.failed(THING, new UnknownKindError(THING.apiVersion, THING.kind));
    assert.equal(whyUnknown(), undefined);
  });

  it("waits for nothing of a retired kind that the cluster does not serve", () => {
    const retired = { ...THING, retired: true };
    sought.seek(retired);
    sought.failed(retired, new UnknownKindError(THING.apiVersion, THING.kind));
    assert.equal(whyNot("reconcile"), undefined);
  });

  it("follows no child of a kind that is missing, or that may not be listed where the child was", () => {
    const child = { resource: CONFIG_MAPS, namespace: "shop" };
    const isFollowed = (...not: NotSynced[]) => {
      notSynced = not;
      return readiness().isFollowed(child);
    };
    const [resource, namespace] = [CONFIG_MAPS, "shop"];
    assert.equal(isFollowed(), true);
    assert.equal(isFollowed({ resource, namespace, problem: undefined }), true);
    assert.equal(isFollowed({ resource, namespace, problem: BROKEN }), true);
    assert.equal(isFollowed({ resource: THING, namespace, problem: FORBIDDEN }), true);
    assert.equal(isFollowed({ resource, namespace, problem: FORBIDDEN }), false);
    assert.equal(isFollowed({ resource, namespace, problem: new ApiError(404, {}, "GET") }), false);
  });

  it("finalizes without what it may not list, and not without what it may list and cannot", () => {
    for (const [problem, reason, finalizing] of [
      [FORBIDDEN, "KindNotListed", undefined],
      [BROKEN, "KindNotListed", "KindNotListed"],
    ] as const) {
      notSynced = [{ resource: CONFIG_MAPS, namespace: undefined, problem }];
      assert.deepEqual([whyNot("reconcile"), whyNot("finalize")], [reason, finalizing]);
      assert.deepEqual([whyNot("reconcile", []), whyNot("finalize", [])], [undefined, undefined]);
    }
  });
});
