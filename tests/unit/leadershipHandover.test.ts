import assert from "node:assert/strict";
import type { Lease, LeaseApi } from "../../runtime/leadership/lease";
import { type Clock, OurLease } from "../../runtime/leadership/ourLease";
import { LEASE_MS, LeaseWorld, LOOK_MS } from "./support/leaseWorld";

describe("Leadership that is handed over", () => {
  let world: LeaseWorld;
  beforeEach(() => {
    world = new LeaseWorld();
  });

  it("hands over at once, and lets the runs in progress write their own objects, and no others", async () => {
    const [a, b] = await world.pair();
    const handover = a.handOver("slow", "slower");
    await world.pass(20);
    assert.ok(!a.mayWrite() && !a.mayWrite("other") && a.mayWrite("slow"));
    assert.ok((await world.until(() => b.mayWrite())) < LOOK_MS);
    assert.deepStrictEqual([...b.leadership.blockedKeys], ["slow", "slower"]);
    await world.pass(10 * LEASE_MS, () => {
      assert.ok(a.mayWrite("slow") && a.mayWrite("slower") && !a.mayWrite("other"));
      assert.ok(b.mayWrite("other") && !b.mayWrite("slow") && !b.mayWrite("slower"));
    });
    handover.end("slow");
    await world.until(() => b.mayWrite("slow"));
    assert.ok(!a.mayWrite("slow") && a.mayWrite("slower") && !handover.isOver);
    handover.end("slower");
    assert.ok((await world.until(() => b.mayWrite("slower"))) < LEASE_MS / 2);
    assert.ok(!a.mayWrite("slower") && handover.isOver);
    assert.deepStrictEqual(b.told, ["leading", "blocked: slower", "blocked: "]);
    assert.deepStrictEqual(world.finishing, []);
    assert.deepStrictEqual([a.told, a.leadership.term], [["leading"], undefined]);
  });

  it("is only stopped where no run is in progress", async () => {
    const a = await world.leader("a");
    void a.leadership.handOver({ unfinished: () => [], ended: Promise.resolve() });
    await world.pass(100);
    assert.ok(!a.mayWrite());
    assert.deepStrictEqual([world.holder, world.finishing], ["", []]);
  });

  it("takes over the runs of one that died while it finished them", async () => {
    const { former: a, next: b } = await world.handedOver("slow");
    await world.pass(LEASE_MS);
    a.kill();
    const tookMs = await world.until(() => b.mayWrite("slow"));
    assert.ok(tookMs >= LEASE_MS * 0.8 && tookMs <= LEASE_MS * 1.5, `${tookMs} ms`);
    assert.deepStrictEqual(world.finishing, []);
  });

  it("lets a run write no more that was cut off from the API server, before another one may", async () => {
    const { former: a, next: b, handover } = await world.handedOver("slow");
    a.cutOff(2 * LEASE_MS);
    assert.ok((await world.until(() => !a.mayWrite("slow"))) <= (LEASE_MS * 2) / 3);
    assert.ok(!b.mayWrite("slow"));
    await world.until(() => b.mayWrite("slow"));
    await world.pass(LEASE_MS, () => assert.ok(!a.mayWrite("slow")));
    assert.ok(handover.isOver);
  });

  it("takes over the lease of a dead leader, while another process still finishes its runs", async () => {
    const { former: a, next: b } = await world.handedOver("slow");
    const c = world.start("c");
    await world.pass(LEASE_MS);
    b.kill();
    // One look until it sees the last renewal, and another one when the lease has ended since.
    assert.ok((await world.until(() => c.mayWrite())) <= LEASE_MS + 2 * LOOK_MS);
    await world.pass(2 * LEASE_MS, () => assert.ok(a.mayWrite("slow") && !c.mayWrite("slow")));
  });

  it("keeps the runs of several processes apart", async () => {
    const { next: b, handover: first } = await world.handedOver("one");
    const c = world.start("c");
    b.handOver("two");
    await world.until(() => c.mayWrite());
    assert.deepStrictEqual([...c.leadership.blockedKeys].sort(), ["one", "two"]);
    first.end("one");
    await world.until(() => c.mayWrite("one"));
    assert.ok(!c.mayWrite("two") && b.mayWrite("two"));
  });

  it("knows that it was done, where the answer was lost", async () => {
    const [a, b] = await world.pair();
    a.loseAnswers(3_000);
    a.handOver("slow");
    await world.until(() => b.mayWrite());
    await world.pass(3 * LEASE_MS, () => assert.ok(a.mayWrite("slow") && !b.mayWrite("slow")));
  });

  it("keeps the lease while there are more runs than the Lease has room for", async () => {
    const a = await world.leader("a");
    const b = world.start("b");
    const many = Array.from({ length: 5_000 }, (_, at) => `${at}-${"x".repeat(60)}`);
    const handover = a.handOver(...many);
    await world.pass(3 * LEASE_MS, () => assert.ok(a.mayWrite("other") && !b.mayWrite()));
    for (const key of many.slice(1)) handover.end(key);
    await world.until(() => b.mayWrite());
    assert.ok(a.mayWrite(many[0]));
    handover.end(many[0] ?? "");
    await world.until(() => handover.isOver);
  });

  it("does not forget the runs when the Lease is deleted", async () => {
    const { former: a, next: b } = await world.handedOver("slow");
    await world.pass(LEASE_MS);
    world.store(undefined);
    await world.pass(2 * LEASE_MS, () => assert.ok(!b.mayWrite("slow") && b.mayWrite()));
    assert.ok(a.mayWrite("slow"));
  });

  it("waits again for a process that has written when its runs were just to be taken over", async () => {
    const { former: a, next: b } = await world.handedOver("slow");
    a.kill();
    let late = 0;
    world.onPatch = (operations) => {
      const removed = operations.find(({ op }) => op === "remove");
      const [name = "", text = ""] = Object.entries(world.lease?.metadata.annotations ?? {})[0] ?? [];
      if (!removed || !world.lease || late++ > 0) return;
      const annotations = { [name]: text.replace(/}$/, ',"late":true}') };
      world.store({ ...world.lease, metadata: { ...world.lease.metadata, annotations } });
    };
    await world.until(() => late === 1);
    const tookMs = await world.until(() => b.mayWrite("slow"));
    assert.ok(tookMs >= LEASE_MS, `${tookMs} ms`);
  });

  it("counts again how old an annotation is, in a Lease that was deleted and created again", async () => {
    let now = 0;
    let lease: Lease | undefined;
    const unused = () => assert.fail("nothing is written");
    const api: LeaseApi = { get: async () => lease, create: unused, replace: unused, patch: unused };
    const clock: Clock = { now: () => now, date: () => new Date(now), pause: () => new Promise(() => {}) };
    const seen = new OurLease({ api, identity: "b", leaseMs: LEASE_MS, clock, onBlockedChange: () => {} });
    const text = '{"identity":"a","keys":["slow"],"leaseSeconds":15,"renewal":3}';
    const annotations = { "argosy.dev/finishing-a": text };
    const create = (uid: string) => {
      const metadata = { name: "lease", uid, resourceVersion: uid, annotations };
      lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata };
    };
    create("1");
    await seen.look();
    now = LEASE_MS - 1;
    lease = undefined;
    await seen.look();
    create("2");
    await seen.look();
    now += LEASE_MS - 1;
    await seen.look();
    assert.deepStrictEqual([seen.stale, [...seen.blockedKeys]], [[], ["slow"]]);
    now += 1;
    assert.deepStrictEqual(seen.stale, [["argosy.dev/finishing-a", text]]);
  });

  it("lets nonsense in such an annotation block no object, and removes it", async () => {
    const a = await world.leader("a");
    const annotations = { "argosy.dev/finishing-x": "nonsense", "argosy.dev/finishing-y": "[]" };
    if (world.lease) world.store({ ...world.lease, metadata: { ...world.lease.metadata, annotations } });
    await world.pass(2 * LEASE_MS, () => a.term?.assert("key"));
    assert.deepStrictEqual(world.lease?.metadata.annotations, {});
  });
});
