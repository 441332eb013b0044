import assert from "node:assert/strict";
import fc from "fast-check";
import { normal, OutboxBench, READY, warning } from "./support/outboxBench";

describe("Outbox", () => {
  let bench: OutboxBench;
  beforeEach(() => {
    bench = new OutboxBench();
  });
  afterEach(() => bench.close());

  it("tries about 20 records a second again, however many wait because they are refused", async () => {
    let tries = 0;
    bench.answer = async (left) => {
      tries++;
      return { left, error: undefined };
    };
    for (let at = 0; at < 4_000; at++)
      bench.put({ uid: `uid-${at}`, records: [{ name: `run-${at}`, isFailure: false }] });
    await bench.clock.tick(600_000);
    tries = 0;
    await bench.clock.tick(600_000);
    assert.ok(tries > 600 * 15 && tries < 600 * 30, `${tries / 600} a second`);
    bench.answer = async () => undefined;
    await bench.clock.tick(300_000);
    assert.equal(bench.told.length, 4_000);
  });

  describe("if too many facts wait", () => {
    /** Lets what is being bench.told be bench.told, and then what waits. */
    let goOn: () => void;

    /** Opens an bench.outbox in which all waits: as many objects as are reported about at once are being reported about. */
    function openBusy(): void {
      const isFree = new Promise<void>((resolve) => {
        goOn = resolve;
      });
      bench.answer = async ({ regarding }) => {
        if (regarding.metadata.uid?.startsWith("busy")) await isFree;
        return undefined;
      };
      bench.outbox = bench.make(20);
      bench.outbox.open(() => bench.client);
      for (let at = 0; at < 8; at++) bench.put({ uid: `busy-${at}` });
    }
    beforeEach(openBusy);

    it("drops Normal Events first, the oldest first, then Warnings, and no verdict", async () => {
      for (let at = 0; at < 15; at++)
        bench.put({ uid: `uid-${at}`, verdict: READY, events: [normal(`n${at}`)] });
      for (let at = 0; at < 15; at++) bench.put({ uid: `uid-${at}`, events: [warning(`w${at}`)] });
      for (let at = 15; at < 25; at++)
        bench.put({ uid: `uid-${at}`, verdict: READY, events: [warning(`w${at}`)] });
      goOn();
      await bench.idle();
      await bench.idle();
      const notes = bench.told.flatMap(({ events }) => events.map(({ note }) => note));
      assert.ok(!notes.includes("n0"));
      assert.ok(
        notes.every((note) => note.startsWith("w")),
        notes.join(),
      );
      assert.ok(notes.includes("w24") && !notes.includes("w0"));
      assert.equal(notes.length + bench.dropped.length, 40);
      assert.equal(bench.verdicts().filter((verdict) => verdict === READY).length, 25);
    });

    it("drops records of runs that succeeded before those of failures", async () => {
      for (let at = 0; at < 15; at++)
        bench.put({ uid: `uid-${at}`, records: [{ name: `bad-${at}`, isFailure: true }] });
      for (let at = 0; at < 15; at++)
        bench.put({ uid: `uid-${at}`, records: [{ name: `good-${at}`, isFailure: false }] });
      assert.ok(bench.outbox.recordsWaiting <= 20);
      goOn();
      await bench.idle();
      await bench.idle();
      const names = bench.told.flatMap(({ records }) => records.map(({ name }) => name));
      assert.equal(names.filter((name) => name.startsWith("bad")).length, 15);
      assert.ok(names.includes("good-14") && !names.includes("good-0"));
    });

    it("holds no more of them, also of one object", () => {
      const fact = fc.record({
        uid: fc.constantFrom("a", "b"),
        isNormal: fc.boolean(),
        isFailure: fc.boolean(),
      });
      fc.assert(
        fc.property(fc.array(fact, { minLength: 30, maxLength: 100 }), (facts) => {
          bench.outbox.discard();
          openBusy();
          bench.dropped = [];
          for (const { uid, isNormal, isFailure } of facts) {
            bench.put({
              uid,
              events: [isNormal ? normal("x") : warning("x")],
              records: [{ name: "r", isFailure }],
            });
          }
          assert.ok(facts.length - bench.dropped.filter((each) => each.startsWith("event")).length <= 20);
          assert.ok(bench.outbox.recordsWaiting <= 20);
        }),
      );
    });
  });
});
