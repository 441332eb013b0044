import assert from "node:assert/strict";
import { ObjectGoneError, ReconcileFailure } from "../../runtime/base/failure";
import { identityOf } from "../../runtime/base/names";
import { ApiError, ApiUnreachableError, apiErrorOf, isBusy } from "../../runtime/kubernetes/errors";
import { ownedManifest } from "../../runtime/observe/marks";
import { consequenceOf } from "../../runtime/reconcile/errors";
import type { WriteScope } from "../../runtime/write/childApplier";
import type { ChildWriter } from "../../runtime/write/childWriter";
import type { DesiredChild } from "../../runtime/write/desiredChildren";
import { childrenIn, retain } from "./support/fakeChildren";
import { FakeCluster } from "./support/fakeCluster";
import { CONFIG_MAPS, configMap, IDENTITY, widget } from "./support/objects";

const OWNER = widget();
const APPLY = "apply ConfigMap settings";
const DELETE = "delete ConfigMap settings";
/** As kube-aggregator answers for an API whose server is away. */
const AWAY = new ApiError(503, { message: "service unavailable" }, APPLY);
const UNASKED = new ApiError(
  500,
  {
    kind: "Status",
    reason: "InternalError",
    message: 'Internal error occurred: failed calling webhook "a.example.com": connection refused',
  },
  APPLY,
);
/** As a policy whose parameters are missing. */
const UNAPPLIED = apiErrorOf(
  422,
  {
    kind: "Status",
    reason: "Invalid",
    message:
      "configmaps \"settings\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: failed to configure " +
      "binding: no params found for policy binding with `Deny` parameterNotFoundAction",
  },
  APPLY,
);
/** As behind a proxy that cuts large requests. */
const CUT = new ApiUnreachableError(APPLY, new Error("socket hang up"));

describe("A child that the API server cannot write", () => {
  let cluster: FakeCluster;
  let writer: ChildWriter;
  let store: ReturnType<typeof childrenIn>["store"];
  let now: number;
  /** What comes of the look at the owner. */
  let look: () => void;
  let looks: number;

  beforeEach(() => {
    cluster = new FakeCluster();
    [now, looks] = [0, 0];
    look = () => {};
    ({ store, writer } = childrenIn(cluster, { now: () => now }));
  });

  const scope = (): WriteScope => ({
    client: cluster.client(),
    namespace: "shop",
    masked: (text) => text.replaceAll("refused", "***"),
    confirmOwner: async () => {
      looks++;
      look();
    },
  });

  const child = (data: Record<string, string> = { key: "1" }): DesiredChild => ({
    resource: CONFIG_MAPS,
    update: "apply",
    manifest: ownedManifest(configMap({}, { data }), OWNER, CONFIG_MAPS, identityOf(IDENTITY)),
    ownerUid: OWNER.metadata.uid,
  });

  /** What each of three tries comes to, the last one after 30 seconds. */
  async function tries(write: () => Promise<unknown>): Promise<unknown[]> {
    const results: unknown[] = [];
    for (const time of [0, 10_000, 30_000]) {
      now = time;
      results.push(await write().catch((error: unknown) => error));
    }
    return results;
  }

  const apply = () => writer.apply(child(), scope());

  for (const error of [AWAY, UNASKED, UNAPPLIED, CUT])
    it(`is no failure at first, and is told if that lasts while others are answered: ${error.message}`, async () => {
      cluster.refusals.set(APPLY, error);
      const [first, second, third] = await tries(apply);
      for (const each of [first, second]) {
        const { report, isReported } = consequenceOf(each, "shop");
        assert.deepEqual([report.skipped, isReported], ["API server away", false]);
      }
      assert.ok(third instanceof ReconcileFailure, String(third));
      assert.equal(third.reason, "ChildRefused");
      assert.match(
        third.message,
        /^since \S+Z the API server has failed to write ConfigMap shop\/settings, although it answers/,
      );
      assert.ok(third.message.includes(error.message.replaceAll("refused", "***")), third.message);
      assert.equal(/the API server panics/.test(third.message), error === CUT);
      assert.deepEqual([third.retryAfterSeconds, third.permanent, looks], [10, false, 1]);
    });

  it("says the same at each further try, and begins anew after a write", async () => {
    cluster.refusals.set(APPLY, AWAY);
    const [, , third] = await tries(apply);
    now += 10_000;
    await assert.rejects(apply(), { message: (third as Error).message });
    cluster.refusals.clear();
    await apply();
    cluster.refusals.set(APPLY, AWAY);
    await assert.rejects(writer.apply(child({ key: "2" }), scope()), (error) => isBusy(error));
  });

  it("is no failure as long as the API server does not answer for its owner either", async () => {
    cluster.refusals.set(APPLY, AWAY);
    for (const problem of [AWAY, new ApiUnreachableError("GET", new Error("refused"))]) {
      look = () => {
        throw problem;
      };
      assert.ok((await tries(apply)).every(isBusy));
    }
  });

  it("is no failure at first after the API server was away", async () => {
    cluster.refusals.set(APPLY, AWAY);
    look = () => {
      throw AWAY;
    };
    await tries(apply);
    look = () => {};
    now += 1_000;
    await assert.rejects(apply(), (error) => isBusy(error));
  });

  it("is no failure at first after a request for it could not even be sent", async () => {
    const unsent = new ApiUnreachableError(APPLY, new Error("no connection within 10 s"), false);
    const errors = [CUT, CUT, unsent, CUT];
    for (const [index, error] of errors.entries()) {
      now = index * 10_000;
      cluster.refusals.set(APPLY, error);
      await assert.rejects(apply(), error);
    }
    assert.equal(looks, 0);
  });

  it("is no failure if its owner has gone between the tries", async () => {
    cluster.refusals.set(APPLY, AWAY);
    look = () => {
      throw new ObjectGoneError();
    };
    const [, , third] = await tries(apply);
    assert.ok(third instanceof ObjectGoneError, String(third));
  });

  for (const error of [
    new ApiError(429, { message: "too many requests" }, APPLY),
    new ApiError(401, { message: "Unauthorized" }, APPLY),
    new ApiError(302, { message: "HTTP 302" }, APPLY),
  ])
    it(`is no failure for two minutes if our requests may be too many: ${error.message}`, async () => {
      cluster.refusals.set(APPLY, error);
      assert.ok((await tries(apply)).every(isBusy));
      assert.equal(looks, 0);
      now = 120_000;
      await assert.rejects(apply(), { name: "ReconcileFailure", reason: "ChildRefused" });
    });

  const there = () => {
    const found = cluster.find("ConfigMap", { namespace: "shop", name: "settings" });
    assert.ok(found);
    return found;
  };

  it("was written if a later look finds it as desired: the next outage is another one", async () => {
    cluster.lost.set(APPLY, AWAY);
    await assert.rejects(apply(), (error) => isBusy(error));
    // The watch brings it.
    store.learn(CONFIG_MAPS, [there()]);
    assert.equal(await apply(), undefined);
    now = 300_000;
    const change = () => writer.apply(child({ key: "2" }), scope());
    for (let attempt = 0; attempt < 3; attempt++) await assert.rejects(change(), (error) => isBusy(error));
    assert.equal(looks, 0);
  });

  it("is another one than a child of its name whose deletion was not answered", async () => {
    await apply();
    cluster.lost.set(DELETE, AWAY);
    const first = store.find(CONFIG_MAPS, there().metadata);
    assert.ok(first);
    await assert.rejects(writer.delete(first, scope()), (error) => isBusy(error));
    retain(store, []);
    now = 300_000;
    cluster.refusals.set(APPLY, AWAY);
    for (let attempt = 0; attempt < 3; attempt++) await assert.rejects(apply(), (error) => isBusy(error));
    assert.equal(looks, 0);
  });

  it("is told too if it cannot be deleted", async () => {
    await apply();
    const known = store.find(CONFIG_MAPS, { namespace: "shop", name: "settings" });
    assert.ok(known);
    cluster.refusals.set(DELETE, AWAY);
    const [first, , third] = await tries(() => writer.delete(known, scope()));
    assert.ok(isBusy(first));
    assert.ok(third instanceof ReconcileFailure, String(third));
    assert.match(
      third.message,
      /the API server has failed to delete ConfigMap shop\/settings, although it answers/,
    );
  });
});
