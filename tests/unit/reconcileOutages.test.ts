import assert from "node:assert/strict";
import type { ObjectMeta } from "../../runtime/base/objects";
import { ApiError, ApiUnreachableError } from "../../runtime/kubernetes/errors";
import type { ReconcileReport } from "../../runtime/reconcile/report";
import type { ReconcilerOptions } from "../../runtime/reconcile/run";
import { Outages } from "../../runtime/write/outages";
import { configMap } from "./support/objects";
import { DELETED, FINALIZER, finalizing, ReconcileWorld, reading } from "./support/reconcileWorld";

describe("Reconciler, of an object for which the API server does not answer every request", () => {
  let world: ReconcileWorld;

  let now: number;
  let outages: Outages;

  beforeEach(() => {
    world = new ReconcileWorld();
    now = 0;
    outages = new Outages("ApiError", () => now);
  });

  /** What each of these reconciles reports, at these times in milliseconds. */
  async function reports(more: Partial<ReconcilerOptions> = {}, times = [0, 10_000, 30_000]) {
    const all: ReconcileReport[] = [];
    for (now of times) all.push((await world.reconcile({ outages, ...more })).report);
    return all;
  }

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
      world.given(metadata);
      world.answer = "deletionTimestamp" in metadata ? { finalized: true } : { children: [configMap()] };
      world.cluster.refusals.set(step, new ApiUnreachableError("PATCH /it", new Error("socket hang up")));
      const [first, second, third] = await reports(finalizing);
      assert.deepEqual([first?.skipped, second?.skipped], ["API server away", "API server away"]);
      assert.equal(third?.failure?.reason, "ApiError");
      assert.match(
        third?.failure?.message ?? "",
        /has failed to answer PATCH \/it, although it answers other requests: .*socket hang up.*large request/,
      );
      assert.equal(world.invalidated, 3);
      // The API server is away again.
      world.cluster.readRefusals.set("get Widget", new ApiUnreachableError("GET", new Error("cut")));
      assert.equal((await reports(finalizing, [30_000]))[0]?.skipped, "API server away");
    });

  it("says nothing of an object that has gone by then, as the watch says", async () => {
    world.given();
    world.cluster.refusals.set("status", new ApiUnreachableError("PATCH /it", new Error("socket hang up")));
    world.cluster.beforeRequest = (step) => {
      if (step === "status" && now === 30_000) world.isGoing = true;
    };
    assert.deepEqual(
      (await reports()).map(({ skipped }) => skipped),
      ["API server away", "API server away", "gone"],
    );
  });

  for (const [what, problem, third] of [
    ["and its kind can be listed", undefined, "ApiError"],
    ["and nothing else is answered either", new ApiError(503, {}, "GET /all"), undefined],
  ] as const)
    it(`says of an object that it cannot be read, if that lasts ${what}: ${third ?? "no"}`, async () => {
      const cut = new ApiUnreachableError("GET /it", new Error("no answer within 65 s"));
      const objects = reading(() => Promise.reject(cut), true);
      if (problem) world.cluster.readRefusals.set("list Widget in shop", problem);
      const failures = (await reports({ objects })).map(({ failure }) => failure);
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
    const cut = new ApiUnreachableError("PATCH /it", new Error("socket hang up"));
    const objects = reading(async () => {
      if (now === 1_000) throw cut;
      return world.object();
    });
    world.given();
    world.cluster.refusals.set("status", cut);
    assert.deepEqual(
      (await reports({ objects }, [0, 1_000, 60_000, 62_000])).map(({ skipped }) => skipped),
      Array(4).fill("API server away"),
    );
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
      const fail = async () => {
        world.cluster.refusals.set("status", new ApiUnreachableError("PATCH /it", new Error("cut")));
        return (await world.reconcile({ outages })).report.skipped;
      };
      world.given();
      await fail();
      now = 10_000;
      await fail();
      await between({ outages });
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
      world.given({}, { status: { argosy: { kinds: ["v1/Secret"], uid: "widget-uid" } } });
      world.cluster.readRefusals.set("list Secret", error);
      const results = await reports();
      assert.deepEqual(
        results.map(({ failure }) => failure?.reason),
        [undefined, undefined, "ApiError"],
      );
      assert.match(results[2]?.failure?.message ?? "", /has failed to answer GET \/secrets, although/);
    });
});
