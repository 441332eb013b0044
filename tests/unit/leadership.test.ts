import assert from "node:assert/strict";
import fc from "fast-check";
import { ApiError } from "../../runtime/kubernetes/errors";
import type { Lease, LeaseApi, LeaseSpec } from "../../runtime/leadership/lease";
import { type Clock, SeenLease } from "../../runtime/leadership/seenLease";
import { NotLeadingError } from "../../runtime/leadership/term";
import { LEASE_SECONDS, type LeaseProcess, LeaseWorld } from "./support/leaseWorld";

const LEASE_MS = LEASE_SECONDS * 1_000;
/** Longer than a process that looks on waits between two looks. */
const LOOK_MS = 2_000;

describe("Leadership", () => {
  let world: LeaseWorld;
  beforeEach(() => {
    world = new LeaseWorld();
  });

  /** A process that leads. */
  async function leader(identity = "a"): Promise<LeaseProcess> {
    const process = world.start(identity);
    await world.until(() => process.leadership.term !== undefined);
    return process;
  }

  /** Hands over while runs of these keys go on; `end` ends the run of one. */
  function handOver(process: LeaseProcess, ...keys: string[]) {
    const unfinished = new Set(keys);
    let finish = () => {};
    const ended = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const handover = {
      isOver: false,
      end: (key: string) => void (unfinished.delete(key) && unfinished.size === 0 && finish()),
    };
    const over = process.leadership.handOver({ unfinished: () => [...unfinished], ended });
    void over.then(() => {
      handover.isOver = true;
    });
    return handover;
  }

  it("leads where nobody else does, and goes on by renewal", async () => {
    const a = await leader();
    assert.deepStrictEqual(world.lease?.spec?.holderIdentity, "a");
    const { acquireTime, renewTime } = world.lease?.spec ?? {};
    await world.pass(10 * LEASE_MS, () => a.term?.assert());
    assert.equal(world.lease?.spec?.acquireTime, acquireTime);
    assert.ok(String(world.lease?.spec?.renewTime) > String(renewTime));
    assert.equal(world.lease?.spec?.leaseTransitions, 0);
    assert.deepStrictEqual(a.told, ["leading"]);
  });

  it("lets one lead at a time, and another one soon after it has stopped", async () => {
    const a = await leader("a");
    const b = world.start("b");
    await world.pass(LEASE_MS);
    assert.deepStrictEqual([a.mayWrite(), b.mayWrite(), b.leadership.holder], [true, false, "a"]);
    void a.leadership.stop();
    // Its renewal may be on its way.
    await world.pass(20);
    assert.ok(!a.mayWrite());
    assert.ok((await world.until(() => b.mayWrite())) < LOOK_MS);
    assert.deepStrictEqual(a.told, ["leading"], "a stop is no loss");
    assert.equal(world.lease?.spec?.leaseTransitions, 1);
  });

  it("takes over from one that is dead, but not before its whole time is over", async () => {
    const a = await leader("a");
    const b = world.start("b");
    await world.pass(LEASE_MS);
    a.kill();
    assert.equal(b.leadership.holder, "a");
    const tookMs = await world.until(() => b.mayWrite());
    assert.ok(tookMs >= LEASE_MS * 0.8 && tookMs <= LEASE_MS + LOOK_MS, `${tookMs} ms`);
  });

  it("ends a term for ever, and begins another one", async () => {
    const a = await leader();
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
    const a = await leader("a");
    const b = world.start("b");
    await world.pass(LEASE_MS);
    a.cutOff(10 * LEASE_MS);
    assert.ok((await world.until(() => !a.mayWrite())) <= (LEASE_MS * 2) / 3);
    assert.deepStrictEqual(a.told, ["leading", "lost"]);
    assert.ok(!b.mayWrite());
    await world.until(() => b.mayWrite());
  });

  it("outlives an API server that does not answer for a fifth of the lease's time", async () => {
    const a = await leader();
    for (let turn = 0; turn < 20; turn++) {
      a.cutOff(LEASE_MS / 5);
      await world.pass(LEASE_MS + turn * 100, () => a.term?.assert());
    }
  });

  it("ends the term where another one has taken the lease", async () => {
    const a = await leader();
    world.store({ ...world.lease, spec: { holderIdentity: "thief", leaseDurationSeconds: 60 } });
    await world.until(() => !a.mayWrite());
    assert.deepStrictEqual(a.told, ["leading", "lost"]);
    assert.equal(a.leadership.holder, "thief");
    assert.equal(world.holder, "thief");
  });

  it("ends the term where another process of the same identity has taken the lease", async () => {
    const a = await leader("twin");
    const acquireTime = "2031-01-01T00:00:00.000000Z";
    world.store({ ...world.lease, spec: { ...world.lease?.spec, acquireTime } });
    await world.until(() => !a.mayWrite());
    assert.equal(world.lease?.spec?.acquireTime, acquireTime);
    // The other one is dead.
    await world.until(() => a.mayWrite(), LEASE_MS + 2 * LOOK_MS);
    assert.deepStrictEqual(a.told, ["leading", "lost", "leading"]);
  });

  it("lets one of two processes of the same identity lead, and the other one when that is dead", async () => {
    const first = await leader("twin");
    const second = world.start("twin");
    await world.pass(10 * LEASE_MS, () => assert.ok(first.mayWrite() && !second.mayWrite()));
    first.kill();
    await world.until(() => second.mayWrite(), LEASE_MS + 2 * LOOK_MS);
    assert.deepStrictEqual([first.told, second.told], [["leading"], ["leading"]]);
  });

  it("goes on leading, no matter who else writes the Lease", async () => {
    const a = await leader();
    for (let turn = 0; turn < 400; turn++) {
      const annotations = { ...world.lease?.metadata.annotations, turn: `${turn}` };
      if (world.lease) world.store({ ...world.lease, metadata: { ...world.lease.metadata, annotations } });
      await world.pass(97, () => a.term?.assert());
    }
    assert.deepStrictEqual(a.told, ["leading"]);
    assert.equal(world.lease?.metadata.annotations?.["turn"], "399");
  });

  it("goes on leading alone when somebody shortens the Lease by hand, and restores its time", async () => {
    const a = await leader("a");
    const b = world.start("b");
    await world.pass(LEASE_MS);
    assert.ok(world.lease);
    world.store({ ...world.lease, spec: { ...world.lease.spec, leaseDurationSeconds: 0 } });
    await world.pass(2 * LEASE_MS, () => {
      a.term?.assert();
      assert.ok(!b.mayWrite());
    });
    assert.deepStrictEqual(a.told, ["leading"]);
    assert.equal(world.lease.spec?.leaseDurationSeconds, LEASE_SECONDS);
  });

  it("goes on leading when the Lease is deleted, and others wait as long as it would have held", async () => {
    const a = await leader("a");
    const b = world.start("b");
    await world.pass(LEASE_MS);
    for (let turn = 0; turn < 5; turn++) {
      world.store(undefined);
      await world.pass(LEASE_MS, () => {
        a.term?.assert();
        assert.ok(!b.mayWrite());
      });
      assert.equal(world.holder, "a");
    }
    assert.deepStrictEqual(a.told, ["leading"]);
  });

  /** What somebody may write into a Lease that the API server takes. */
  const NONSENSE: Record<string, (spec: LeaseSpec) => LeaseSpec> = {
    "takes everything out": () => ({}),
    "takes the holder out": ({ holderIdentity: _, ...spec }) => spec,
    "empties the holder": (spec) => ({ ...spec, holderIdentity: "" }),
    "takes the time of the last renewal out": ({ renewTime: _, ...spec }) => spec,
    "takes the time of the take-over out": ({ acquireTime: _, ...spec }) => spec,
    "takes the lease's time out": ({ leaseDurationSeconds: _, ...spec }) => spec,
    "lets it hold for 68 years": (spec) => ({ ...spec, leaseDurationSeconds: 2 ** 31 - 1 }),
    "has counted its leaders up to the last number": (spec) => ({ ...spec, leaseTransitions: 2 ** 31 - 1 }),
    "renews it in the far future": (spec) => ({ ...spec, renewTime: "9999-12-31T23:59:59.000000Z" }),
  };

  for (const [what, change] of Object.entries(NONSENSE)) {
    it(`goes on leading alone when somebody ${what}, and puts it right`, async () => {
      const a = await leader("a");
      const b = world.start("b");
      await world.pass(LEASE_MS);
      // So often that the other one sees little else: it must not take that for a Lease that nobody renews.
      for (let turn = 0; turn < 1_000; turn++) {
        if (world.lease) world.store({ ...world.lease, spec: change(world.lease.spec ?? {}) });
        await world.pass(97, () => {
          a.term?.assert();
          assert.ok(!b.mayWrite());
        });
      }
      await world.pass(LEASE_MS, () => assert.ok(a.mayWrite() && !b.mayWrite()));
      assert.deepStrictEqual(a.told, ["leading"]);
      assert.deepStrictEqual([world.holder, world.lease?.spec?.leaseDurationSeconds], ["a", LEASE_SECONDS]);
      assert.ok(world.lease?.spec?.acquireTime && world.lease.spec.renewTime);
      void a.leadership.stop();
      assert.ok((await world.until(() => b.mayWrite())) < LOOK_MS);
    });

    it(`is led by another one soon when somebody ${what} and the leader is dead`, async () => {
      const a = await leader("a");
      const b = world.start("b");
      await world.pass(LEASE_MS);
      a.kill();
      if (world.lease) world.store({ ...world.lease, spec: change(world.lease.spec ?? {}) });
      await world.until(() => b.mayWrite(), 60_000 + 4 * LOOK_MS);
    });
  }

  it("blocks no object for ever when somebody lets what a dead process left hold for years", async () => {
    const a = await leader("a");
    const forged = JSON.stringify({ identity: "x", keys: ["key"], leaseSeconds: 2 ** 31, renewal: 1 });
    const annotations = { "argosy.dev/finishing-x": forged };
    if (world.lease) world.store({ ...world.lease, metadata: { ...world.lease.metadata, annotations } });
    await world.until(() => !a.mayWrite("key"));
    await world.until(() => a.mayWrite("key"), 60_000 + 4 * LOOK_MS);
    assert.deepStrictEqual(world.lease?.metadata.annotations, {});
  });

  it("creates a deleted Lease as it was, also when the first try fails", async () => {
    const a = await leader("a");
    const b = world.start("b");
    const annotations = { others: "kept" };
    if (world.lease) world.store({ ...world.lease, metadata: { ...world.lease.metadata, annotations } });
    await world.pass(LEASE_MS);
    const before = world.lease?.spec;
    let failures = 2;
    world.onCreate = () => {
      if (failures-- > 0) throw new ApiError(500, { message: "not now" }, "POST lease");
    };
    world.store(undefined);
    await world.pass(2 * LEASE_MS, () => {
      assert.ok(a.mayWrite());
      assert.ok(!b.mayWrite());
    });
    const { renewTime: _, ...spec } = world.lease?.spec ?? {};
    const { renewTime: __, ...expected } = before ?? {};
    assert.deepStrictEqual(spec, expected);
    assert.deepStrictEqual(world.lease?.metadata.annotations, annotations);
    assert.deepStrictEqual(a.told, ["leading"]);
  });

  describe("that is handed over", () => {
    it("hands over at once, and lets the runs in progress write their own objects, and no others", async () => {
      const a = await leader("a");
      const b = world.start("b");
      await world.pass(LEASE_MS);
      const handover = handOver(a, "slow", "slower");
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
      const a = await leader("a");
      void a.leadership.handOver({ unfinished: () => [], ended: Promise.resolve() });
      await world.pass(100);
      assert.ok(!a.mayWrite());
      assert.deepStrictEqual([world.holder, world.finishing], ["", []]);
    });

    it("takes over the runs of one that died while it finished them", async () => {
      const a = await leader("a");
      const b = world.start("b");
      handOver(a, "slow");
      await world.until(() => b.mayWrite());
      await world.pass(LEASE_MS);
      a.kill();
      const tookMs = await world.until(() => b.mayWrite("slow"));
      assert.ok(tookMs >= LEASE_MS * 0.8 && tookMs <= LEASE_MS * 1.5, `${tookMs} ms`);
      assert.deepStrictEqual(world.finishing, []);
    });

    it("lets a run write no more that was cut off from the API server, before another one may", async () => {
      const a = await leader("a");
      const b = world.start("b");
      const handover = handOver(a, "slow");
      await world.until(() => b.mayWrite());
      a.cutOff(2 * LEASE_MS);
      assert.ok((await world.until(() => !a.mayWrite("slow"))) <= (LEASE_MS * 2) / 3);
      assert.ok(!b.mayWrite("slow"));
      await world.until(() => b.mayWrite("slow"));
      await world.pass(LEASE_MS, () => assert.ok(!a.mayWrite("slow")));
      assert.ok(handover.isOver);
    });

    it("takes over the lease of a dead leader, while another process still finishes its runs", async () => {
      const a = await leader("a");
      const b = world.start("b");
      handOver(a, "slow");
      await world.until(() => b.mayWrite());
      const c = world.start("c");
      await world.pass(LEASE_MS);
      b.kill();
      assert.ok((await world.until(() => c.mayWrite())) <= LEASE_MS + LOOK_MS);
      await world.pass(2 * LEASE_MS, () => assert.ok(a.mayWrite("slow") && !c.mayWrite("slow")));
    });

    it("keeps the runs of several processes apart", async () => {
      const a = await leader("a");
      const b = world.start("b");
      const first = handOver(a, "one");
      await world.until(() => b.mayWrite());
      const c = world.start("c");
      handOver(b, "two");
      await world.until(() => c.mayWrite());
      assert.deepStrictEqual([...c.leadership.blockedKeys].sort(), ["one", "two"]);
      first.end("one");
      await world.until(() => c.mayWrite("one"));
      assert.ok(!c.mayWrite("two") && b.mayWrite("two"));
    });

    it("knows that it was done, where the answer was lost", async () => {
      const a = await leader("a");
      const b = world.start("b");
      await world.pass(LEASE_MS);
      a.loseAnswers(3_000);
      handOver(a, "slow");
      await world.until(() => b.mayWrite());
      await world.pass(3 * LEASE_MS, () => assert.ok(a.mayWrite("slow") && !b.mayWrite("slow")));
    });

    it("keeps the lease while there are more runs than the Lease has room for", async () => {
      const a = await leader("a");
      const b = world.start("b");
      const many = Array.from({ length: 5_000 }, (_, at) => `${at}-${"x".repeat(60)}`);
      const handover = handOver(a, ...many);
      await world.pass(3 * LEASE_MS, () => assert.ok(a.mayWrite("other") && !b.mayWrite()));
      for (const key of many.slice(1)) handover.end(key);
      await world.until(() => b.mayWrite());
      assert.ok(a.mayWrite(many[0]));
      handover.end(many[0] ?? "");
      await world.until(() => handover.isOver);
    });

    it("does not forget the runs when the Lease is deleted", async () => {
      const a = await leader("a");
      const b = world.start("b");
      handOver(a, "slow");
      await world.until(() => b.mayWrite());
      await world.pass(LEASE_MS);
      world.store(undefined);
      await world.pass(2 * LEASE_MS, () => assert.ok(!b.mayWrite("slow") && b.mayWrite()));
      assert.ok(a.mayWrite("slow"));
    });

    it("waits again for a process that has written when its runs were just to be taken over", async () => {
      const a = await leader("a");
      const b = world.start("b");
      handOver(a, "slow");
      await world.until(() => b.mayWrite());
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
      const seen = new SeenLease(api, LEASE_MS, clock, () => {});
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

    it("lets nonsense in such an annotation block nobody, and removes it", async () => {
      const a = await leader("a");
      const annotations = { "argosy.dev/finishing-x": "nonsense", "argosy.dev/finishing-y": "[]" };
      if (world.lease) world.store({ ...world.lease, metadata: { ...world.lease.metadata, annotations } });
      await world.pass(2 * LEASE_MS, () => a.term?.assert("key"));
      assert.deepStrictEqual(world.lease?.metadata.annotations, {});
    });
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
      fc.record({ do: fc.constantFrom(...Object.keys(NONSENSE)), who, ms }),
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
          } else if (event.do in NONSENSE) {
            if (world.lease)
              world.store({ ...world.lease, spec: NONSENSE[event.do]?.(world.lease.spec ?? {}) ?? {} });
          } else if (event.do === "handOver" && !leaving.has(process)) {
            leaving.add(process);
            const handover = handOver(process, ...KEYS.slice(event.ms % 3));
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
