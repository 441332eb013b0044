import assert from "node:assert/strict";
import { ReconcileFailure } from "../../runtime/base/failure";
import { OWNER_UID_LABEL } from "../../runtime/base/names";
import type { HandlerEvent } from "../../runtime/handler/contract";
import { UnknownKindError } from "../../runtime/kubernetes/discovery";
import { ApiError } from "../../runtime/kubernetes/errors";
import { type NotSynced, StillListingError } from "../../runtime/observe/kindWatch";
import type { CycleSource } from "../../runtime/reconcile/completeness";
import { Completeness } from "../../runtime/reconcile/completeness";
import { MOST_NAMESPACES, NOTHING } from "../../runtime/remember/memory";
import { CONFIG_MAPS, globalWidget, WIDGETS, widget } from "./support/objects";

const THING = { apiVersion: "example.com/v1", kind: "Thing" };
const REMEMBERED = ["v1/ConfigMap", "example.com/v1/Thing"];
const MISSING = new UnknownKindError(THING.apiVersion, THING.kind);
const FORBIDDEN = new ApiError(403, { message: "forbidden" }, "GET");
const BROKEN = new ApiError(500, { message: "conversion webhook failed" }, "GET");

describe("Completeness", () => {
  let notFound: NotSynced[];
  let notSynced: NotSynced[];
  /** Of the objects themselves. */
  let unseen: NotSynced[];

  beforeEach(() => {
    [notFound, notSynced, unseen] = [[], [], []];
  });

  /** A kind is looked for, and was not found. @param problem undefined: it is unknown whether the cluster serves the kind */
  function seek(problem?: Error): void {
    notFound = [{ resource: THING, namespace: undefined, problem }];
  }

  function readiness(cycles?: CycleSource): Completeness {
    const objects = { notSynced: () => unseen };
    const children = { notSynced: () => notSynced, notFound: () => notFound };
    return new Completeness({ resource: WIDGETS, objects, children, memories: undefined, cycles });
  }

  function whyNot(event: HandlerEvent, kinds: readonly string[] = REMEMBERED): string | undefined {
    const why = readiness().whyNot(event, widget(), { kinds }, false);
    if (why instanceof ReconcileFailure) return why.reason;
    return why instanceof StillListingError ? "listing" : undefined;
  }

  it("waits for each list in progress, to finalize too: the object may have children of that kind", () => {
    notSynced = [{ resource: CONFIG_MAPS, namespace: undefined, problem: undefined }];
    for (const kinds of [REMEMBERED, []])
      assert.deepEqual([whyNot("reconcile", kinds), whyNot("finalize", kinds)], ["listing", "listing"]);
  });

  it("waits for a kind that it looks for, but not for one that the cluster does not serve unless it is needed", () => {
    seek();
    assert.deepEqual([whyNot("reconcile", []), whyNot("finalize", [])], ["listing", "listing"]);
    seek(MISSING);
    assert.deepEqual([whyNot("reconcile", []), whyNot("finalize", [])], [undefined, undefined]);
    assert.deepEqual([whyNot("reconcile"), whyNot("finalize")], ["KindMissing", undefined]);
    notFound = [];
    assert.deepEqual([whyNot("reconcile"), whyNot("finalize")], [undefined, undefined]);
  });

  it("waits if the objects' own kind has another scope than at the beginning, and says what to do", () => {
    for (const event of ["reconcile", "finalize"] as const) {
      const why = readiness().whyNot(event, globalWidget(), NOTHING, false);
      assert.match(why?.message ?? "", /Widget had the scope Namespaced .*Deploy the operator again\./);
    }
  });

  it("needs the memories, and blames no namespace of the operator's if it may not list them", () => {
    const resource = { apiVersion: "argosy.dev/v1", kind: "Memory" };
    const memories = { notSynced: () => [{ resource, namespace: "argosy", problem: FORBIDDEN }] };
    const nothing = { notSynced: () => [], notFound: () => [] };
    const known = { resource: WIDGETS, objects: nothing, children: nothing, memories, cycles: undefined };
    assert.throws(
      () => new Completeness(known).assertRemembers(),
      ({ reason, message }: ReconcileFailure) =>
        reason === "KindNotListed" && /may not list argosy.dev\/v1\/Memory: .*role.*pulumi up/.test(message),
    );
  });

  it("refuses a watched object that comes from the operator's own children too many times in a row", () => {
    const whyRefused = (rounds: number) => {
      let left = rounds;
      const owner = { namespace: "shop", name: "widget", uid: "widget-uid" };
      const cycles = { ownerOf: () => (left-- > 0 ? owner : undefined), madeOf: () => ["child-uid"] };
      const found = widget({ labels: { [OWNER_UID_LABEL]: "child-uid" } });
      return readiness(cycles).whyNot("reconcile", found, NOTHING, false);
    };
    assert.equal(whyRefused(5), undefined);
    const why = whyRefused(6);
    assert.ok(why instanceof ReconcileFailure && why.reason === "WatchCycle" && why.permanent);
  });

  it("waits if the objects' own kind is not served, to finalize too, but not if it may only not be listed", () => {
    const own = { resource: THING, namespace: undefined };
    unseen = [{ ...own, problem: new ApiError(404, { message: "page not found" }, "GET") }];
    assert.deepEqual([whyNot("reconcile", []), whyNot("finalize", [])], ["KindMissing", "KindMissing"]);
    for (const problem of [undefined, FORBIDDEN, BROKEN]) {
      unseen = [{ ...own, problem }];
      assert.equal(whyNot("reconcile", []), undefined);
    }
  });

  it("holds up only objects that need a kind of which the API server has not said for long whether it serves the kind", () => {
    seek(BROKEN);
    assert.deepEqual([whyNot("reconcile"), whyNot("reconcile", [])], ["KindNotListed", undefined]);
  });

  it("does not say that a kind is missing of which the API server has not said so", () => {
    const whyUnknown = () => {
      const why = readiness().whyUnknown(THING);
      return why instanceof ReconcileFailure ? `${why.reason}: ${why.message}` : why?.name;
    };
    assert.equal(whyUnknown(), undefined);
    seek();
    assert.equal(whyUnknown(), "StillListingError");
    seek(new ApiError(503, { message: "service unavailable" }, "GET"));
    assert.match(
      whyUnknown() ?? "",
      /^KindNotListed: example.com\/v1\/Thing cannot be listed: service unavailable\./,
    );
    seek(MISSING);
    assert.equal(whyUnknown(), undefined);
  });

  it("follows no child of a kind that is missing, or that may not be listed where the child was", () => {
    const child = { resource: CONFIG_MAPS, namespace: "shop", name: "settings" };
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

  it("needs a namespace that it may not list only for objects that are in it, or have had children in it", () => {
    notSynced = [{ resource: CONFIG_MAPS, namespace: "gone", problem: FORBIDDEN }];
    const whyNotOf = (namespaces: readonly string[] | undefined, namespace = "shop") =>
      readiness().whyNot("reconcile", widget({ namespace }), { kinds: REMEMBERED, namespaces }, true)?.name;
    const most = Array.from({ length: MOST_NAMESPACES }, (_, index) => `far-${index}`);
    assert.deepEqual([whyNotOf(["far"]), whyNotOf(most.slice(1))], [undefined, undefined]);
    for (const needed of [
      whyNotOf(most),
      whyNotOf(["far", "gone"]),
      whyNotOf(["far"], "gone"),
      whyNotOf([]),
      whyNotOf(undefined),
    ])
      assert.equal(needed, "ReconcileFailure");
    notSynced = [{ resource: CONFIG_MAPS, namespace: "gone", problem: undefined }];
    assert.equal(whyNotOf(["far"]), "StillListingError");
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
