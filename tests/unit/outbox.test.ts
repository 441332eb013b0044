import assert from "node:assert/strict";
import { ReconcileFailure } from "../../runtime/base/failure";
import { ApiError } from "../../runtime/kubernetes/errors";
import { NotLeadingError } from "../../runtime/leadership/term";
import type { Verdict } from "../../runtime/remember/composeStatus";
import { widget } from "./support/objects";
import { fails, normal, OutboxBench, progressing, READY, UNREACHABLE, warning } from "./support/outboxBench";

describe("Outbox", () => {
  let bench: OutboxBench;
  beforeEach(() => {
    bench = new OutboxBench();
  });
  afterEach(() => bench.close());

  it("tells a verdict at once, unless it is about progress: that waits 300 ms for the next step", async () => {
    bench.put({ verdict: READY });
    await bench.clock.tick();
    assert.deepEqual(bench.verdicts(), [READY]);
    bench.put({ verdict: progressing("0 of 2") });
    await bench.clock.tick(200);
    bench.put({ verdict: progressing("1 of 2") });
    await bench.clock.tick(99);
    assert.equal(bench.told.length, 1);
    await bench.clock.tick(1);
    assert.deepEqual(bench.verdicts(), [READY, progressing("1 of 2")]);
  });

  it("loses no verdict by a fault of ours, and says where that was", async () => {
    bench.answer = async () => {
      if (bench.faults.length < 2) throw new TypeError("hunter2");
      return undefined;
    };
    bench.put({ verdict: READY, events: [normal("a")] });
    await bench.idle();
    assert.deepEqual(bench.verdicts(), [READY]);
    assert.match(bench.faults[0] ?? "", /^widget-uid: TypeError\n +at /);
    assert.doesNotMatch(bench.faults.join(), /hunter2/);
    assert.deepEqual(bench.dropped, ["event: a fault of Argosy"]);
    await bench.outbox.flush(1_000);
  });

  it("reports one object five times at once, then once a second, the newest each time", async () => {
    for (let at = 0; at < 300; at++) {
      bench.put({
        verdict: progressing(String(at)),
        events: [normal(String(at))],
        records: [{ name: "r", isFailure: false }],
      });
      await bench.clock.tick(10);
    }
    assert.ok(bench.told.length >= 7 && bench.told.length <= 9, `told ${bench.told.length} times`);
    await bench.idle();
    assert.deepEqual(bench.verdicts().at(-1), progressing("299"));
    assert.deepEqual(
      bench.told.flatMap(({ events }) => events.map(({ note }) => note)),
      Array.from({ length: 300 }, (_, at) => String(at)),
    );
  });

  describe("calls back, once for each message,", () => {
    const times: (string | undefined)[] = [];
    const putCalled = (what: string, more: { verdict?: Verdict } = { verdict: READY }) =>
      bench.outbox.put(
        { namespace: "shop", name: "widget" },
        {
          regarding: widget({ uid: "widget-uid" }),
          verdict: more.verdict && { verdict: more.verdict, generation: 3 },
          events: [],
          records: [],
          onReported: (time) => void times.push(`${what} ${time ? "reported" : "not reported"}`),
        },
      );
    beforeEach(() => times.splice(0));

    it("when it is reported, but of several that are merged for the last alone", async () => {
      putCalled("first");
      await bench.idle();
      assert.deepEqual(times, ["first reported"]);
      putCalled("second", { verdict: progressing("0 of 1") });
      putCalled("third");
      bench.put({ events: [warning("from elsewhere")] });
      await bench.idle();
      assert.deepEqual(times, ["first reported", "second not reported", "third reported"]);
    });

    it("when another try succeeds, and when none ever will", async () => {
      bench.answer = fails(UNREACHABLE);
      putCalled("first");
      await bench.clock.tick();
      assert.deepEqual(times, []);
      bench.answer = async () => undefined;
      await bench.idle();
      assert.deepEqual(times, ["first reported"]);
      bench.answer = fails(new NotLeadingError());
      putCalled("second");
      await bench.idle();
      assert.deepEqual(times, ["first reported", "second not reported"]);
    });

    it("when the term ends", async () => {
      bench.answer = fails(UNREACHABLE);
      putCalled("first");
      await bench.clock.tick();
      bench.outbox.discard();
      await bench.idle();
      assert.deepEqual(times, ["first not reported"]);
    });
  });

  it("takes nothing between two terms: no term wants what a run of the ended one found out", async () => {
    bench.outbox.discard();
    let isOver = false;
    const name = { namespace: "shop", name: "widget" };
    const verdict = { verdict: READY, generation: 3 };
    const records = [{ name: "a", isFailure: false }];
    const message = { regarding: widget(), verdict, events: [warning("1")], records };
    const onReported = (at: unknown) => {
      isOver = at === undefined;
    };
    assert.equal(bench.outbox.put(name, { ...message, onReported }), undefined);
    assert.deepEqual([isOver, bench.outbox.names().length, bench.outbox.recordsWaiting], [true, 0, 0]);
    bench.outbox.open(() => bench.client);
    await bench.idle();
    assert.deepEqual(bench.told, []);
  });

  it("merges what waits: the newest verdict, all Events in order, one record of successes and one of failures", async () => {
    bench.answer = fails(UNREACHABLE);
    bench.put({ verdict: READY, events: [normal("1")], records: [{ name: "a", isFailure: false }] });
    await bench.clock.tick();
    bench.put({ events: [warning("2")], records: [{ name: "b", isFailure: true }] });
    bench.put({
      verdict: progressing("x"),
      events: [normal("3")],
      records: [{ name: "c", isFailure: false }],
    });
    await bench.clock.tick();
    assert.equal(bench.outbox.recordsWaiting, 2);
    bench.answer = async () => undefined;
    await bench.idle();
    assert.deepEqual(bench.verdicts(), [progressing("x")]);
    assert.deepEqual(
      bench.told[0]?.events.map(({ note }) => note),
      ["1", "2", "3"],
    );
    assert.deepEqual(
      bench.told[0]?.records.map(({ name }) => name),
      ["a+c", "b"],
    );
  });

  it("keeps a newer verdict if the one that is being reported cannot be", async () => {
    const held = bench.hold();
    bench.put({ verdict: progressing("old"), records: [{ name: "r", isFailure: false }] });
    await bench.clock.tick();
    bench.answer = async () => undefined;
    bench.put({ verdict: READY });
    held.fail();
    await bench.idle();
    assert.deepEqual(bench.verdicts(), [READY]);
    assert.equal(bench.told[0]?.records.length, 1);
  });

  it("tries again if the API server is busy or out of reach, when it says or later and later", async () => {
    let tries = 0;
    for (const error of [UNREACHABLE, new ApiError(429, { details: { retryAfterSeconds: 7 } }, "PATCH")]) {
      bench.answer = async (left) => {
        tries++;
        return { left, error };
      };
      bench.put({ uid: error.name, verdict: READY });
      await bench.clock.tick(6_900);
      assert.ok(error === UNREACHABLE ? tries >= 3 && tries <= 5 : tries === 1, `${tries} tries`);
      bench.answer = async () => undefined;
      await bench.idle();
      tries = 0;
    }
    assert.equal(bench.told.length, 2);
    assert.deepEqual(bench.dropped, []);
  });

  it("keeps the verdict if the API server refuses something, and drops the Events", async () => {
    bench.answer = fails(new ApiError(403, { message: "not allowed" }, "PATCH"));
    bench.put({ verdict: READY, events: [warning("x")] });
    await bench.clock.tick();
    assert.deepEqual(bench.dropped, ["event: not allowed"]);
    bench.answer = async () => undefined;
    await bench.idle();
    assert.deepEqual(bench.verdicts(), [READY]);
    bench.answer = fails(new ApiError(403, { message: "not allowed" }, "POST"));
    bench.put({ events: [warning("x")] });
    await bench.idle();
    assert.equal(bench.dropped.length, 2);
    assert.equal(bench.outbox.names().length, 0);
  });

  it("drops nothing if another client wrote the status at each try", async () => {
    bench.answer = fails(new ApiError(409, {}, "PATCH"));
    bench.put({ verdict: READY, events: [warning("x")] });
    await bench.clock.tick();
    bench.answer = async () => undefined;
    await bench.idle();
    assert.deepEqual([bench.verdicts(), bench.told[0]?.events, bench.dropped], [[READY], [warning("x")], []]);
  });

  it("keeps a verdict that the API server refuses, tries it until that ends, and does not count it as late", async () => {
    const error = new ReconcileFailure("StatusRefused", "conversion webhook failed");
    bench.answer = async (message) => ({ left: { ...message, isRefused: true }, error });
    bench.put({ verdict: READY });
    await bench.clock.tick(600_000);
    assert.deepEqual([bench.outbox.names().length, bench.outbox.lagSeconds], [1, 0]);
    bench.answer = async () => undefined;
    await bench.clock.tick(30_000);
    assert.deepEqual(bench.verdicts(), [READY]);
  });

  it("remembers with a newer verdict that an Event has said that the status is refused", async () => {
    const tellings: (boolean | undefined)[] = [];
    bench.answer = async (message) => {
      tellings.push(message.isRefused);
      const left = { ...message, events: [], isRefused: true };
      return tellings.length > 1 ? undefined : { left, error: new ApiError(403, {}, "PATCH") };
    };
    bench.put({ verdict: progressing("1 of 2") });
    await bench.clock.tick(300);
    bench.put({ verdict: READY });
    await bench.idle();
    assert.deepEqual(tellings, [undefined, true]);
    assert.deepEqual(bench.verdicts(), [READY]);
  });

  it("tells nothing of a term that has ended, and begins again with the next", async () => {
    bench.answer = fails(new NotLeadingError());
    bench.put({ uid: "refused", verdict: READY });
    await bench.clock.tick();
    bench.answer = async () => undefined;
    bench.put({ uid: "waiting", verdict: progressing("x") });
    bench.outbox.discard();
    await bench.idle();
    assert.equal(bench.outbox.names().length, 0);
    bench.outbox.open(() => bench.client);
    await bench.idle();
    assert.deepEqual(bench.told, []);
    bench.put({ verdict: READY });
    await bench.clock.tick();
    assert.deepEqual(bench.verdicts(), [READY]);
  });

  it("does not keep what the last term was telling when it ended", async () => {
    const held = bench.hold();
    bench.put({ verdict: READY });
    await bench.clock.tick();
    bench.outbox.discard();
    bench.outbox.open(() => bench.client);
    held.fail();
    bench.answer = async () => undefined;
    await bench.idle();
    assert.deepEqual(bench.told, []);
    assert.equal(bench.outbox.names().length, 0);
  });

  it("tells Events of an object that is gone, and no verdict", async () => {
    bench.put({ verdict: progressing("x"), events: [warning("1")] });
    bench.outbox.dropVerdict("widget-uid");
    await bench.idle();
    assert.deepEqual([bench.told[0]?.verdict, bench.told[0]?.events.length], [undefined, 1]);
  });

  it("is flushed when all is told, or when the time is up", async () => {
    let isFlushed = false;
    const flush = () =>
      void bench.outbox.flush(3_000).then(() => {
        isFlushed = true;
      });
    bench.put({ verdict: progressing("x") });
    flush();
    await bench.clock.tick();
    assert.deepEqual([isFlushed, bench.told.length], [true, 1]);
    isFlushed = false;
    bench.answer = fails(UNREACHABLE);
    bench.put({ verdict: READY });
    flush();
    await bench.clock.tick(2_999);
    assert.equal(isFlushed, false);
    await bench.clock.tick(1);
    assert.equal(isFlushed, true);
    isFlushed = false;
    bench.outbox.discard();
    flush();
    await bench.clock.tick();
    assert.equal(isFlushed, true);
  });

  it("is flushed when a refused verdict alone is left, after one more try", async () => {
    let tries = 0;
    bench.answer = async (message) => {
      tries++;
      return { left: { ...message, events: [], isRefused: true }, error: new ApiError(403, {}, "PATCH") };
    };
    bench.put({ verdict: READY });
    await bench.clock.tick();
    let isFlushed = false;
    void bench.outbox.flush(3_000).then(() => {
      isFlushed = true;
    });
    await bench.clock.tick();
    assert.deepEqual([isFlushed, tries, bench.outbox.names().length], [true, 2, 1]);
  });

  it("says since when the oldest message waits", async () => {
    bench.answer = fails(UNREACHABLE);
    assert.equal(bench.outbox.lagSeconds, 0);
    bench.put({ verdict: READY });
    await bench.clock.tick(2_000);
    bench.put({ verdict: READY });
    await bench.clock.tick();
    assert.equal(bench.outbox.lagSeconds, 2);
  });
});
