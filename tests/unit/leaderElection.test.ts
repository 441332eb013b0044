import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import type { KubernetesObject } from "../../runtime/kubernetes/objects";
import { LeaderElection, NotLeadingError } from "../../runtime/leaderElection";
import { eventually } from "./support/eventually";
import { json, refuse, TestApiServer } from "./support/testApiServer";

type Lease = KubernetesObject & { spec: Record<string, string | number> };

const LEASE_SECONDS = 0.9;

describe("LeaderElection", () => {
  let api: TestApiServer;
  let client: KubernetesClient;
  let elections: LeaderElection[];
  let told: string[];
  /** The Lease as the API server has it. */
  let lease: Lease | undefined;
  let version: number;

  beforeEach(async () => {
    [elections, told, lease, version] = [[], [], undefined, 0];
    api = await TestApiServer.start(({ method, body }, response) => {
      if (method === "GET") return lease ? json(response, lease) : refuse(response, 404);
      const given = body as Lease;
      if (method === "POST" && lease) return refuse(response, 409, { reason: "AlreadyExists" });
      if (method === "PUT" && !lease) return refuse(response, 404);
      if (method === "PUT" && given.metadata.resourceVersion !== lease?.metadata.resourceVersion) {
        return refuse(response, 409, { reason: "Conflict" });
      }
      store(given);
      json(response, lease);
    });
    client = api.client();
  });
  afterEach(async () => {
    await Promise.all(elections.map((election) => election.stop()));
    client.close();
    await api.stop();
  });

  function store(given: Pick<Lease, "spec">): void {
    const metadata = { name: "argosy-shop", uid: "lease", resourceVersion: String(++version) };
    lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", spec: given.spec, metadata };
  }

  function stand(identity: string): LeaderElection {
    const election = new LeaderElection({
      client,
      identity,
      namespace: "argosy",
      name: "argosy-shop",
      leaseSeconds: LEASE_SECONDS,
      onLeading: () => void told.push(`${identity} leads`),
      onLost: () => void told.push(`${identity} lost`),
      onError: (error) => void told.push(`${identity}: ${error.name}`),
    });
    elections.push(election);
    election.start();
    return election;
  }

  it("leads where nobody else does, and may write", async () => {
    const election = stand("a");
    assert.throws(() => election.assertLeading(), NotLeadingError);
    await eventually("a leads", () => election.isLeading);
    election.assertLeading();
    assert.equal(lease?.spec.holderIdentity, "a");
    assert.equal(lease?.spec.leaseTransitions, 0);
    assert.equal(api.calls[0]?.path, "/apis/coordination.k8s.io/v1/namespaces/argosy/leases/argosy-shop");
  });

  it("goes on leading by renewal", async () => {
    const election = stand("a");
    await eventually("a leads", () => election.isLeading);
    const { acquireTime, renewTime } = lease?.spec ?? {};
    await eventually("a has renewed", () => version >= 5);
    assert.equal(lease?.spec.acquireTime, acquireTime);
    assert.ok(String(lease?.spec.renewTime) > String(renewTime));
    assert.ok(election.isLeading);
  });

  it("has one leader at a time, and hands over when that one stops", async () => {
    const both = [stand("a"), stand("b")];
    await eventually("one leads", () => both.some(({ isLeading }) => isLeading));
    for (let look = 0; look < 10; look++) {
      await pause(30);
      assert.ok(both.filter(({ isLeading }) => isLeading).length <= 1);
    }
    const [leader, other] = both[0]?.isLeading ? both : both.reverse();
    await leader?.stop();
    assert.equal(leader?.isLeading, false);
    assert.equal(lease?.spec.holderIdentity, "");
    await eventually("the other leads", () => other?.isLeading === true);
    assert.ok(!told.some((line) => line.endsWith("lost")), "a stop is no loss");
  });

  it("takes over from one that is dead, but not before its whole time is over", async () => {
    store({ spec: { holderIdentity: "dead", leaseDurationSeconds: 0.5, leaseTransitions: 4 } });
    const startedAt = performance.now();
    const election = stand("a");
    await eventually("a leads", () => election.isLeading);
    assert.ok(performance.now() - startedAt >= 500);
    assert.equal(lease?.spec.leaseTransitions, 5);
  });

  it("does not take over from one that renews, however far its clock is off", async () => {
    const renew = () =>
      store({
        spec: { holderIdentity: "other", leaseDurationSeconds: 1, renewTime: "2001-01-01T00:00:00.000000Z" },
      });
    renew();
    const election = stand("a");
    for (let turn = 0; turn < 12; turn++) {
      await pause(100);
      renew();
    }
    assert.equal(election.isLeading, false);
    assert.deepStrictEqual(told, []);
  });

  it("may write no more before another may, where the API server does not answer", async () => {
    const election = stand("a");
    await eventually("a leads", () => election.isLeading);
    api.answer = () => {};
    await pause(LEASE_SECONDS * 1_000);
    assert.equal(election.isLeading, false);
    await eventually("a knows", () => told.includes("a lost"));
    assert.throws(() => election.assertLeading(), NotLeadingError);
    api.cut();
  });

  it("loses when another has taken the lease", async () => {
    const election = stand("a");
    await eventually("a leads", () => election.isLeading);
    store({ spec: { holderIdentity: "thief", leaseDurationSeconds: 60 } });
    await eventually("a lost", () => told.includes("a lost"));
    assert.equal(election.isLeading, false);
    assert.equal(lease?.spec.holderIdentity, "thief");
  });

  it("knows who leads: itself, or who renews the lease, and nobody once that one's time is over", async () => {
    const election = stand("a");
    assert.equal(election.holder, undefined);
    await eventually("a leads", () => election.isLeading);
    assert.equal(election.holder, "a");
    const { answer } = api;
    api.answer = (request, response) =>
      request.method === "GET" ? answer(request, response) : refuse(response, 500);
    store({ spec: { holderIdentity: "thief", leaseDurationSeconds: 1 } });
    await eventually("a knows who leads", () => election.holder === "thief");
    // Where it could take over, it would so soon that nobody sees the moment between.
    await eventually("nobody leads", () => election.holder === undefined);
    api.answer = answer;
    await eventually("a leads again", () => election.holder === "a");
  });

  it("knows that nobody leads where the lease was given up", async () => {
    store({ spec: { holderIdentity: "other", leaseDurationSeconds: 60 } });
    const election = stand("a");
    await eventually("a knows who leads", () => election.holder === "other");
    api.answer = ({ method }, response) => (method === "GET" ? json(response, lease) : refuse(response, 500));
    store({ spec: { holderIdentity: "", leaseDurationSeconds: 1 } });
    await eventually("a knows that nobody does", () => election.holder === undefined);
  });

  it("leads again after a lease that was deleted", async () => {
    const election = stand("a");
    await eventually("a leads", () => election.isLeading);
    lease = undefined;
    await eventually("a leads again", () => lease !== undefined && election.isLeading);
    assert.equal((lease as Lease | undefined)?.spec.holderIdentity, "a");
  });
});
