import assert from "node:assert/strict";
import fc from "fast-check";
import { Leadership } from "../../runtime/leadership/leadership";
import { FREE, type Lease, type LeaseApi, leaseApi } from "../../runtime/leadership/lease";
import { type Clock, OurLease } from "../../runtime/leadership/ourLease";
import { NotLeadingError } from "../../runtime/leadership/term";
import { eventually } from "../support/eventually";
import { LEASE_MS, type LeaseProcess, LeaseWorld, LOOK_MS, MEDDLING } from "./support/leaseWorld";
import { json, refuse, TestApiServer } from "./support/testApiServer";

describe("Leadership", () => {
  let world: LeaseWorld;
  beforeEach(() => {
    world = new LeaseWorld();
  });

  it("leads where no other process does, and goes on by renewal", async () => {
    const a = await world.leader();
    assert.deepStrictEqual(world.lease?.spec?.holderIdentity, "a");
    const { acquireTime, renewTime } = world.lease?.spec ?? {};
    await world.pass(10 * LEASE_MS, () => a.term?.assert());
    assert.equal(world.lease?.spec?.acquireTime, acquireTime);
    assert.ok(String(world.lease?.spec?.renewTime) > String(renewTime));
    assert.equal(world.lease?.spec?.leaseTransitions, 0);
    assert.deepStrictEqual(a.told, ["leading"]);
  });

  it("lets one lead at a time, and another one soon after it has stopped", async () => {
    const [a, b] = await world.pair();
    assert.deepStrictEqual([a.mayWrite(), b.mayWrite(), b.leadership.holder], [true, false, "a"]);
    void a.leadership.stop();
    // Its renewal may be on its way.
    await world.pass(20);
    assert.ok(!a.mayWrite());
    assert.ok((await world.until(() => b.mayWrite())) < LOOK_MS);
    assert.deepStrictEqual(a.told, ["leading"], "a stop is no loss");
    assert.equal(world.lease?.spec?.leaseTransitions, 1);
  });

  it("says once of each other that leads in its place, and nothing while it leads itself", async () => {
    const a = await world.leader("a");
    const [b, c] = [world.start("b"), world.start("c")];
    await world.pass(2 * LEASE_MS);
    assert.deepStrictEqual([b.leaders, c.leaders], [["a"], ["a"]]);
    void a.leadership.stop();
    await world.until(() => b.mayWrite() || c.mayWrite());
    await world.pass(LEASE_MS);
    const [leader, standby] = b.mayWrite() ? [b, c] : [c, b];
    assert.deepStrictEqual([leader.leaders, standby.leaders], [["a"], ["a", leader.identity]]);
    assert.deepStrictEqual(a.leaders, []);
  });

  it("takes over from one that is dead, but not before its whole time is over", async () => {
    const [a, b] = await world.pair();
    a.kill();
    assert.equal(b.leadership.holder, "a");
    const tookMs = await world.until(() => b.mayWrite());
    // One look shows the last renewal, and a later one that the time after it is over.
    assert.ok(tookMs >= LEASE_MS * 0.8 && tookMs <= LEASE_MS + 2 * LOOK_MS, `${tookMs} ms`);
  });

  it("ends a term for ever, and begins another one", async () => {
    const a = await world.leader();
    const [first] = a.terms;
    a.freeze(LEASE_MS);
    await world.pass(LEASE_MS);
    assert.throws(() => first?.assert(), NotLeadingError);
    assert.throws(() => first?.assert("key"), NotLeadingError);
    await world.until(() => a.terms.length === 2);
    await world.pass(LEASE_MS, () => {
      assert.throws(() => first?.assert(), NotLeadingError);
      a.terms[1]?.assert();
    });
    assert.deepStrictEqual(a.told, ["leading", "lost", "leading"]);
  });

  it("may write no more before another one may, where the API server does not answer", async () => {
    const [a, b] = await world.pair();
    a.cutOff(10 * LEASE_MS);
    assert.ok((await world.until(() => !a.mayWrite())) <= (LEASE_MS * 2) / 3);
    assert.deepStrictEqual(a.told, ["leading", "lost"]);
    assert.ok(!b.mayWrite());
    await world.until(() => b.mayWrite());
  });

  for (const fault of ["cutOff", "loseAnswers"] as const)
    it(`goes on leading although the API server does not answer for a fifth of the lease's time: ${fault}`, async () => {
      const a = await world.leader();
      for (let turn = 0; turn < 20; turn++) {
        a[fault](LEASE_MS / 5);
        await world.pass(LEASE_MS + turn * 100, () => a.term?.assert());
      }
      assert.deepStrictEqual(a.told, ["leading"]);
    });

  it("leads, and goes on, although each answer of the API server takes nearly a third of the lease's time", async () => {
    world.wayMs = LEASE_MS / 3 / 2 - 100;
    const a = await world.leader();
    await world.pass(20 * LEASE_MS, () => a.term?.assert());
    const handover = a.handOver("key");
    await world.pass(4 * LEASE_MS, () => assert.ok(a.mayWrite("key")));
    handover.end("key");
    await world.until(() => handover.isOver);
    assert.deepStrictEqual(a.told, ["leading"]);
  });

  it("ends the term where another one has taken the lease", async () => {
    const a = await world.leader();
    world.store({ ...world.lease, spec: { holderIdentity: "thief", leaseDurationSeconds: 60 } });
    await world.until(() => !a.mayWrite());
    assert.deepStrictEqual(a.told, ["leading", "lost"]);
    assert.equal(a.leadership.holder, "thief");
    assert.equal(world.holder, "thief");
  });

  it("ends the term where another process of the same identity has taken the lease", async () => {
    const a = await world.leader("twin");
    const acquireTime = "2031-01-01T00:00:00.000000Z";
    world.store({ ...world.lease, spec: { ...world.lease?.spec, acquireTime } });
    await world.until(() => !a.mayWrite());
    assert.equal(world.lease?.spec?.acquireTime, acquireTime);
    // The other one is dead.
    await world.until(() => a.mayWrite(), LEASE_MS + 2 * LOOK_MS);
    assert.deepStrictEqual(a.told, ["leading", "lost", "leading"]);
  });

  it("lets one of two processes of the same identity lead, and the other one when that is dead", async () => {
    const first = await world.leader("twin");
    const second = world.start("twin");
    await world.pass(10 * LEASE_MS, () => assert.ok(first.mayWrite() && !second.mayWrite()));
    first.kill();
    await world.until(() => second.mayWrite(), LEASE_MS + 2 * LOOK_MS);
    assert.deepStrictEqual([first.told, second.told], [["leading"], ["leading"]]);
  });

  it("never lets two processes write one object, whatever happens", async () => {
    const KEYS = ["one", "two", "three"];
    const who = fc.nat(5);
    const ms = fc.nat(2 * LEASE_MS);
    const event = fc.oneof(
      who.map((who) => ({ do: "kill" as const, who, ms: 0 })),
      fc.record({ do: fc.constantFrom("freeze", "cutOff", "loseAnswers", "handOver", "stop"), who, ms }),
      fc.constant({ do: "start" as const, who: 0, ms: 0 }),
      fc.constant({ do: "delete" as const, who: 0, ms: 0 }),
      fc.record({ do: fc.constantFrom(...Object.keys(MEDDLING)), who, ms }),
    );
    const events = fc.array(fc.record({ event, afterMs: fc.nat(LEASE_MS) }), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(events, async (events) => {
        world = new LeaseWorld();
        for (const name of ["a", "b", "c"]) world.start(name);
        let deleted = false;
        const leaving = new Set<LeaseProcess>();
        const check = () => {
          for (const key of KEYS) {
            const writers = world.processes.filter((process) => process.mayWrite(key));
            assert.ok(writers.length <= 1, `${key} by ${writers.map(({ identity }) => identity)}`);
          }
        };
        await world.pass(LOOK_MS, check);
        for (const [at, { event, afterMs }] of events.entries()) {
          await world.pass(afterMs, check);
          const process = world.processes[event.who % world.processes.length];
          if (!process) continue;
          if (event.do === "kill") process.kill();
          else if (event.do === "start") deleted || world.start(`${world.processes.length}`);
          else if (event.do === "delete") {
            // Who has not seen the Lease takes it at once after it was deleted: one of the caveats.
            if (at === 0) world.store(undefined);
            deleted ||= at === 0;
          } else if (event.do in MEDDLING) {
            if (world.lease)
              world.store({ ...world.lease, spec: MEDDLING[event.do]?.(world.lease.spec ?? {}) ?? {} });
          } else if (event.do === "handOver" && !leaving.has(process)) {
            leaving.add(process);
            const handover = process.handOver(...KEYS.slice(event.ms % 3));
            for (const [at, key] of KEYS.entries()) world.after(event.ms * at, () => handover.end(key));
          } else if (event.do === "stop" && !leaving.has(process)) {
            leaving.add(process);
            void process.leadership.stop();
          } else if (event.do === "freeze" || event.do === "cutOff" || event.do === "loseAnswers") {
            process[event.do](event.ms);
          }
          check();
        }
        await world.pass(2 * LEASE_MS, check);
        const last = world.start("last");
        for (const process of world.processes) if (process !== last) leaving.has(process) || process.kill();
        await world.pass(12 * LEASE_MS, check);
        assert.ok(
          KEYS.every((key) => last.mayWrite(key)),
          "the last one leads, and nothing is blocked",
        );
      }),
      { numRuns: 200 },
    );
  }).timeout(60_000);
});

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

/** Longer than the test waits. */
const LEASE_SECONDS = 60;

describe("Leadership, when the connection breaks on which it takes the lease", () => {
  it("recognizes its own lease, and leads before the lease's time is over", async () => {
    let version = 1;
    let lease = { metadata: { name: "lease", uid: "uid", resourceVersion: "1" }, spec: FREE } as Lease;
    const api = await TestApiServer.start(({ method, body }, response) => {
      if (method !== "PUT") return json(response, lease);
      if ((body as Lease).metadata.resourceVersion !== lease.metadata.resourceVersion)
        return refuse(response, 409);
      const resourceVersion = String(++version);
      lease = { ...(body as Lease), metadata: { ...lease.metadata, resourceVersion } };
      if (version > 2) json(response, lease);
      else api.cut();
    });
    const client = api.client();
    const [leaders, terms]: [string[], unknown[]] = [[], []];
    const leadership = new Leadership({
      lease: leaseApi(client, "argosy", "lease"),
      identity: "one",
      leaseSeconds: LEASE_SECONDS,
      onLeading: (term) => void terms.push(term),
      onLost: () => {},
      onStandby: (leader) => void leaders.push(leader),
    });
    leadership.start();
    try {
      await eventually(() => assert.equal(terms.length, 1), { timeoutMs: 20_000 });
      const writes = api.calls.filter(({ method }) => method === "PUT").map(({ connection }) => connection);
      assert.deepEqual(writes.slice(0, 2), [1, 2], "it was sent twice");
      assert.deepEqual(leaders, [], "it waits for no leader");
    } finally {
      await leadership.stop();
      await api.stop();
    }
  }).timeout(40_000);
});
