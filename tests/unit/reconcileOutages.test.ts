import assert from "node:assert/strict";
import type { ObjectMeta } from "../../runtime/base/objects";
import { ApiError, ApiUnreachableError } from "../../runtime/kubernetes/errors";
import { Outages } from "../../runtime/write/outages";
import { configMap } from "./support/objects";
import { DELETED, FINALIZER, finalizing, ReconcileWorld } from "./support/reconcileWorld";

describe("Reconciler, of an object for which the API server does not answer every request", () => {
  let world: ReconcileWorld;

  beforeEach(() => {
    world = new ReconcileWorld();
  });

  for (const [what, step, metadata] of [
    ["its status", "status", {}],
    ["a finalizer", `apply finalizers ${FINALIZER}`, {}],
    [
      "the removal of a finalizer",
      `remove ${FINALIZER}`,
      { finalizers: [FINALIZER], deletionTimestamp: DELETED },
    ],
  ] as [string, string, Partial<ObjectMeta>][])
    it(`says of an object that a write of ${what} is cut again and again, although the API server answers for the object`, async () => {
      let now = 0;
      const options = { ...finalizing, outages: new Outages("ApiError", () => now) };
      world.given(metadata);
      world.answer = "deletionTimestamp" in metadata ? { finalized: true } : { children: [configMap()] };
      world.cluster.refusals.set(step, new ApiUnreachableError("PATCH /it", new Error("socket hang up")));
      const results = [];
      for (now of [0, 10_000, 30_000]) results.push((await world.reconcile(options)).report);
      const [first, second, third] = results;
      assert.deepEqual([first?.skipped, second?.skipped], ["API server away", "API server away"]);
      assert.equal(third?.failure?.reason, "ApiError");
      assert.match(
        third?.failure?.message ?? "",
        /has failed to answer PATCH \/it, although it answers other requests: .*socket hang up.*large request/,
      );
      assert.equal(world.invalidated, 3);
      // The API server is away again.
      world.cluster.readRefusals.set("get Widget", new ApiUnreachableError("GET", new Error("cut")));
      assert.equal((await world.reconcile(options)).report.skipped, "API server away");
    });

  it("says nothing of an object that has gone by then, as the watch says", async () => {
    let now = 0;
    const options = { outages: new Outages("ApiError", () => now) };
    world.given();
    world.cluster.refusals.set("status", new ApiUnreachableError("PATCH /it", new Error("socket hang up")));
    const skipped = [];
    for (now of [0, 10_000, 30_000]) {
      if (now === 30_000)
        world.cluster.beforeRequest = (step) => {
          if (step === "status") world.isGoing = true;
        };
      skipped.push((await world.reconcile(options)).report.skipped);
    }
    assert.deepEqual(skipped, ["API server away", "API server away", "gone"]);
  });

  for (const [what, problem, third] of [
    ["and its kind can be listed", undefined, "ApiError"],
    ["and nothing else is answered either", new ApiError(503, {}, "GET /all"), undefined],
  ] as const)
    it(`says of an object that it cannot be read, if that lasts ${what}: ${third ?? "no"}`, async () => {
      let now = 0;
      const outages = new Outages("ApiError", () => now);
      const cut = new ApiUnreachableError("GET /it", new Error("no answer within 65 s"));
      const readToReconcile = async () => {
        throw cut;
      };
      const objects = {
        readToReconcile,
        learn: () => {},
        invalidate: () => {},
        isGoing: () => false,
        isShown: () => true,
      };
      if (problem) world.cluster.readRefusals.set("list Widget in shop", problem);
      const failures = [];
      for (now of [0, 10_000, 30_000])
        failures.push((await world.reconcile({ outages, objects })).report.failure);
      assert.deepEqual(
        failures.map((failure) => failure?.reason),
        [undefined, undefined, third],
      );
      if (!failures[2]) return;
      assert.match(failures[2].message, /has failed to answer GET \/it, although it answers other requests/);
      // Nothing is known of the object but its name.
      const about = { namespace: "shop", name: "widget", attempt: 1, uid: "1", generation: 1 };
      const { report, again } = world.reconciling.fault(failures[2], about);
      assert.deepEqual([report.failure?.reason, again.kind], ["ApiError", "failed"]);
    });

  it("says nothing soon after the API server was away, although a request had failed before", async () => {
    let now = 0;
    const outages = new Outages("ApiError", () => now);
    const cut = new ApiUnreachableError("PATCH /it", new Error("socket hang up"));
    const readToReconcile = async () => {
      if (now === 1_000) throw cut;
      return world.object();
    };
    const objects = {
      readToReconcile,
      learn: () => {},
      invalidate: () => {},
      isGoing: () => false,
      isShown: () => false,
    };
    world.given();
    world.cluster.refusals.set("status", cut);
    const skipped = [];
    for (now of [0, 1_000, 60_000, 62_000])
      skipped.push((await world.reconcile({ outages, objects })).report.skipped);
    assert.deepEqual(skipped, Array(4).fill("API server away"));
  });

  for (const [what, between] of [
    [
      "it was reconciled between the failures",
      async (options: object) => {
        world.cluster.refusals.clear();
        await world.reconcile(options);
      },
    ],
    [
      "it was gone between the failures",
      async () => world.reconciling.forgetObject({ namespace: "shop", name: "widget" }),
    ],
  ] as const)
    it(`begins to count failed requests again if ${what}`, async () => {
      let now = 0;
      const options = { outages: new Outages("ApiError", () => now) };
      const fail = async () => {
        world.cluster.refusals.set("status", new ApiUnreachableError("PATCH /it", new Error("cut")));
        return (await world.reconcile(options)).report.skipped;
      };
      world.given();
      await fail();
      now = 10_000;
      await fail();
      await between(options);
      const skipped = [];
      world.answer = { children: [], status: { other: "1" } };
      for (now of [20_000, 30_000]) skipped.push(await fail());
      assert.deepEqual(skipped, ["API server away", "API server away"]);
    });

  for (const error of [
    new ApiError(503, { message: "service unavailable" }, "GET /secrets"),
    new ApiError(429, { message: "storage is (re)initializing" }, "GET /secrets"),
  ])
    it(`says that a kind taken out of children cannot be listed, if that lasts: ${error.message}`, async () => {
      let now = 0;
      const outages = new Outages("ApiError", () => now);
      world.given({}, { status: { argosy: { kinds: ["v1/Secret"], uid: "widget-uid" } } });
      world.cluster.readRefusals.set("list Secret", error);
      const results = [];
      for (now of [0, 10_000, 30_000]) results.push((await world.reconcile({ outages })).report);
      assert.deepEqual(
        results.map(({ failure }) => failure?.reason),
        [undefined, undefined, "ApiError"],
      );
      assert.match(results[2]?.failure?.message ?? "", /has failed to answer GET \/secrets, although/);
    });
});
