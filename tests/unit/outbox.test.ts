import assert from "node:assert/strict";
import fc from "fast-check";
import { KubernetesClient } from "../../runtime/kubernetes/client";
import { ApiError, ApiUnreachableError } from "../../runtime/kubernetes/errors";
import { NotLeadingError } from "../../runtime/leadership/term";
import { Outbox } from "../../runtime/outbox/outbox";
import type { RunRecord } from "../../runtime/outbox/recorder";
import type { Message, Unreported } from "../../runtime/outbox/teller";
import type { ObjectEvent } from "../../runtime/reconcile/outcome";
import type { Verdict } from "../../runtime/status/conditions";
import { FakeClock } from "./support/fakeClock";
import { widget } from "./support/objects";

const UNREACHABLE = new ApiUnreachableError("PATCH", new Error("refused"));
const READY: Verdict = { kind: "ready" };
const progressing = (message: string): Verdict => ({ kind: "progressing", message });
const warning = (note: string): ObjectEvent => ({ type: "Warning", reason: "HandlerError", note });
const normal = (note: string): ObjectEvent => ({ type: "Normal", reason: "Reconciled", note });

describe("Outbox", () => {
  let clock: FakeClock;
  let client: KubernetesClient;
  let told: Message[];
  let dropped: string[];
  /** What becomes of the next message: by default it is reported. */
  let answer: (message: Message) => Promise<Unreported | undefined>;
  let outbox: Outbox;

  beforeEach(() => {
    clock = FakeClock.install();
    client = new KubernetesClient({ server: "https://127.0.0.1:1" });
    [told, dropped] = [[], []];
    answer = async () => undefined;
    outbox = make();
    outbox.open(() => client);
  });
  afterEach(() => {
    outbox.discard();
    client.close();
    clock.uninstall();
  });

  function make(mostWaiting?: number): Outbox {
    return new Outbox({
      teller: {
        tell: async (_, __, message) => {
          const unreported = await answer(message);
          if (!unreported) told.push(message);
          return unreported;
        },
      },
      join: (earlier, later) => ({ ...later, name: `${earlier.name}+${later.name}` }),
      onDrop: (what, reason) => void dropped.push(`${what}: ${reason}`),
      ...(mostWaiting !== undefined && { mostWaiting }),
    });
  }

  function put(more: {
    uid?: string;
    verdict?: Verdict;
    events?: ObjectEvent[];
    records?: RunRecord[];
  }): void {
    const { uid = "widget-uid", verdict, events = [], records = [] } = more;
    outbox.put(
      { namespace: "shop", name: uid },
      { regarding: widget({ uid }), verdict: verdict && { verdict, generation: 3 }, events, records },
    );
  }

  const verdicts = () => told.map(({ verdict }) => verdict?.verdict);
  const fails = (error: unknown) => async (left: Message) => ({ left, error });
  const idle = () => clock.tick(60_000);

  it("tells a verdict at once, unless it is about progress: that waits 300 ms for the next step", async () => {
    put({ verdict: READY });
    await clock.tick();
    assert.deepEqual(verdicts(), [READY]);
    put({ verdict: progressing("0 of 2") });
    await clock.tick(200);
    put({ verdict: progressing("1 of 2") });
    await clock.tick(99);
    assert.equal(told.length, 1);
    await clock.tick(1);
    assert.deepEqual(verdicts(), [READY, progressing("1 of 2")]);
  });

  it("never writes progress that has become something else within that time", async () => {
    put({ verdict: progressing("0 of 1") });
    await clock.tick(100);
    put({ verdict: READY });
    await idle();
    assert.deepEqual(verdicts(), [READY]);
  });

  it("tells progress at once that a record reports too", async () => {
    put({ verdict: progressing("0 of 1"), records: [{ name: "run", isFailure: false }] });
    await clock.tick();
    assert.equal(told.length, 1);
  });

  it("reports one object five times at once, then once a second, the newest each time", async () => {
    for (let at = 0; at < 300; at++) {
      put({
        verdict: progressing(String(at)),
        events: [normal(String(at))],
        records: [{ name: "r", isFailure: false }],
      });
      await clock.tick(10);
    }
    assert.ok(told.length >= 7 && told.length <= 9, `told ${told.length} times`);
    await idle();
    assert.deepEqual(verdicts().at(-1), progressing("299"));
    assert.deepEqual(
      told.flatMap(({ events }) => events.map(({ note }) => note)),
      Array.from({ length: 300 }, (_, at) => String(at)),
    );
  });

  describe("calls back, once for each message,", () => {
    const times: (string | undefined)[] = [];
    const putCalled = (what: string, more: { verdict?: Verdict } = { verdict: READY }) =>
      outbox.put(
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
      await idle();
      assert.deepEqual(times, ["first reported"]);
      putCalled("second", { verdict: progressing("0 of 1") });
      putCalled("third");
      put({ events: [warning("from elsewhere")] });
      await idle();
      assert.deepEqual(times, ["first reported", "second not reported", "third reported"]);
    });

    it("when another try succeeds, and when none ever will", async () => {
      answer = fails(UNREACHABLE);
      putCalled("first");
      await clock.tick();
      assert.deepEqual(times, []);
      answer = async () => undefined;
      await idle();
      assert.deepEqual(times, ["first reported"]);
      answer = fails(new NotLeadingError());
      putCalled("second");
      await idle();
      assert.deepEqual(times, ["first reported", "second not reported"]);
    });

    it("when the term ends", async () => {
      answer = fails(UNREACHABLE);
      putCalled("first");
      await clock.tick();
      outbox.discard();
      await idle();
      assert.deepEqual(times, ["first not reported"]);
    });
  });

  it("takes nothing between two terms: what a run of the ended term found out is for nobody", async () => {
    outbox.discard();
    let isOver = false;
    const name = { namespace: "shop", name: "widget" };
    const verdict = { verdict: READY, generation: 3 };
    const records = [{ name: "a", isFailure: false }];
    const message = { regarding: widget(), verdict, events: [warning("1")], records };
    const onReported = (at: unknown) => {
      isOver = at === undefined;
    };
    assert.equal(outbox.put(name, { ...message, onReported }), undefined);
    assert.deepEqual([isOver, outbox.waiting, outbox.recordsWaiting], [true, 0, 0]);
    outbox.open(() => client);
    await idle();
    assert.deepEqual(told, []);
  });

  it("merges what waits: the newest verdict, all Events in order, one record of successes and one of failures", async () => {
    answer = fails(UNREACHABLE);
    put({ verdict: READY, events: [normal("1")], records: [{ name: "a", isFailure: false }] });
    await clock.tick();
    put({ events: [warning("2")], records: [{ name: "b", isFailure: true }] });
    put({ verdict: progressing("x"), events: [normal("3")], records: [{ name: "c", isFailure: false }] });
    await clock.tick();
    assert.equal(outbox.recordsWaiting, 2);
    answer = async () => undefined;
    await idle();
    assert.deepEqual(verdicts(), [progressing("x")]);
    assert.deepEqual(
      told[0]?.events.map(({ note }) => note),
      ["1", "2", "3"],
    );
    assert.deepEqual(
      told[0]?.records.map(({ name }) => name),
      ["a+c", "b"],
    );
  });

  it("keeps a newer verdict if the one that is being reported cannot be", async () => {
    let fail: ((unreported: Unreported) => void) | undefined;
    let first: Message | undefined;
    answer = (message) =>
      new Promise((resolve) => {
        [first, fail] = [message, resolve];
      });
    put({ verdict: progressing("old"), records: [{ name: "r", isFailure: false }] });
    await clock.tick();
    assert.ok(first && fail);
    answer = async () => undefined;
    put({ verdict: READY });
    fail({ left: first, error: UNREACHABLE });
    await idle();
    assert.deepEqual(verdicts(), [READY]);
    assert.equal(told[0]?.records.length, 1);
  });

  it("tries again if the API server is busy or out of reach, when it says or later and later", async () => {
    let tries = 0;
    for (const error of [UNREACHABLE, new ApiError(429, { details: { retryAfterSeconds: 7 } }, "PATCH")]) {
      answer = async (left) => {
        tries++;
        return { left, error };
      };
      put({ uid: error.name, verdict: READY });
      await clock.tick(6_900);
      assert.ok(error === UNREACHABLE ? tries >= 3 && tries <= 5 : tries === 1, `${tries} tries`);
      answer = async () => undefined;
      await idle();
      tries = 0;
    }
    assert.equal(told.length, 2);
    assert.deepEqual(dropped, []);
  });

  it("keeps the verdict if the API server refuses something, and drops the Events", async () => {
    answer = fails(new ApiError(403, { message: "not allowed" }, "PATCH"));
    put({ verdict: READY, events: [warning("x")] });
    await clock.tick();
    assert.deepEqual(dropped, ["event: not allowed"]);
    answer = async () => undefined;
    await idle();
    assert.deepEqual(verdicts(), [READY]);
    answer = fails(new ApiError(403, { message: "not allowed" }, "POST"));
    put({ events: [warning("x")] });
    await idle();
    assert.equal(dropped.length, 2);
    assert.equal(outbox.waiting, 0);
  });

  it("drops nothing if somebody else wrote the status at each try", async () => {
    answer = fails(new ApiError(409, {}, "PATCH"));
    put({ verdict: READY, events: [warning("x")] });
    await clock.tick();
    answer = async () => undefined;
    await idle();
    assert.deepEqual([verdicts(), told[0]?.events, dropped], [[READY], [warning("x")], []]);
  });

  it("remembers with a newer verdict that an Event has said that the status is forbidden", async () => {
    const tellings: (boolean | undefined)[] = [];
    answer = async (message) => {
      tellings.push(message.isForbidden);
      const left = { ...message, events: [], isForbidden: true };
      return tellings.length > 1 ? undefined : { left, error: new ApiError(403, {}, "PATCH") };
    };
    put({ verdict: progressing("1 of 2") });
    await clock.tick(300);
    put({ verdict: READY });
    await idle();
    assert.deepEqual(tellings, [undefined, true]);
    assert.deepEqual(verdicts(), [READY]);
  });

  it("tells nothing of a term that has ended, and begins again with the next", async () => {
    answer = fails(new NotLeadingError());
    put({ uid: "refused", verdict: READY });
    await clock.tick();
    answer = async () => undefined;
    put({ uid: "waiting", verdict: progressing("x") });
    outbox.discard();
    await idle();
    assert.equal(outbox.waiting, 0);
    outbox.open(() => client);
    await idle();
    assert.deepEqual(told, []);
    put({ verdict: READY });
    await clock.tick();
    assert.deepEqual(verdicts(), [READY]);
  });

  it("does not keep what the last term was telling when it ended", async () => {
    let end: ((unreported: Unreported) => void) | undefined;
    let first: Message | undefined;
    answer = (message) =>
      new Promise((resolve) => {
        [first, end] = [message, resolve];
      });
    put({ verdict: READY });
    await clock.tick();
    outbox.discard();
    outbox.open(() => client);
    assert.ok(first && end);
    end({ left: first, error: UNREACHABLE });
    answer = async () => undefined;
    await idle();
    assert.deepEqual(told, []);
    assert.equal(outbox.waiting, 0);
  });

  it("tells Events of an object that is gone, and no verdict", async () => {
    put({ verdict: progressing("x"), events: [warning("1")] });
    outbox.forget("widget-uid");
    await idle();
    assert.deepEqual([told[0]?.verdict, told[0]?.events.length], [undefined, 1]);
  });

  describe("if too many facts wait", () => {
    /** Lets what is being told be told, and then what waits. */
    let goOn: () => void;

    /** Opens an outbox in which all waits: as many objects as are reported about at once are being reported about. */
    function openBusy(): void {
      const isFree = new Promise<void>((resolve) => {
        goOn = resolve;
      });
      answer = async ({ regarding }) => {
        if (regarding.metadata.uid?.startsWith("busy")) await isFree;
        return undefined;
      };
      outbox = make(20);
      outbox.open(() => client);
      for (let at = 0; at < 8; at++) put({ uid: `busy-${at}` });
    }
    beforeEach(openBusy);

    it("drops Normal Events first, the oldest first, then Warnings, and no verdict", async () => {
      for (let at = 0; at < 15; at++) put({ uid: `uid-${at}`, verdict: READY, events: [normal(`n${at}`)] });
      for (let at = 0; at < 15; at++) put({ uid: `uid-${at}`, events: [warning(`w${at}`)] });
      for (let at = 15; at < 25; at++) put({ uid: `uid-${at}`, verdict: READY, events: [warning(`w${at}`)] });
      goOn();
      await idle();
      await idle();
      const notes = told.flatMap(({ events }) => events.map(({ note }) => note));
      assert.ok(!notes.includes("n0"));
      assert.ok(
        notes.every((note) => note.startsWith("w")),
        notes.join(),
      );
      assert.ok(notes.includes("w24") && !notes.includes("w0"));
      assert.equal(notes.length + dropped.length, 40);
      assert.equal(verdicts().filter((verdict) => verdict === READY).length, 25);
    });

    it("drops records of runs that succeeded before those of failures", async () => {
      for (let at = 0; at < 15; at++)
        put({ uid: `uid-${at}`, records: [{ name: `bad-${at}`, isFailure: true }] });
      for (let at = 0; at < 15; at++)
        put({ uid: `uid-${at}`, records: [{ name: `good-${at}`, isFailure: false }] });
      assert.ok(outbox.recordsWaiting <= 20);
      goOn();
      await idle();
      await idle();
      const names = told.flatMap(({ records }) => records.map(({ name }) => name));
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
          outbox.discard();
          openBusy();
          dropped = [];
          for (const { uid, isNormal, isFailure } of facts) {
            put({
              uid,
              events: [isNormal ? normal("x") : warning("x")],
              records: [{ name: "r", isFailure }],
            });
          }
          assert.ok(facts.length - dropped.filter((each) => each.startsWith("event")).length <= 20);
          assert.ok(outbox.recordsWaiting <= 20);
        }),
      );
    });
  });

  it("is flushed when all is told, or when the time is up", async () => {
    let isFlushed = false;
    const flush = () =>
      void outbox.flush(3_000).then(() => {
        isFlushed = true;
      });
    put({ verdict: progressing("x") });
    flush();
    await clock.tick();
    assert.deepEqual([isFlushed, told.length], [true, 1]);
    isFlushed = false;
    answer = fails(UNREACHABLE);
    put({ verdict: READY });
    flush();
    await clock.tick(2_999);
    assert.equal(isFlushed, false);
    await clock.tick(1);
    assert.equal(isFlushed, true);
    isFlushed = false;
    outbox.discard();
    flush();
    await clock.tick();
    assert.equal(isFlushed, true);
  });

  it("says since when the oldest message waits", async () => {
    answer = fails(UNREACHABLE);
    assert.equal(outbox.lagSeconds, 0);
    put({ verdict: READY });
    await clock.tick(2_000);
    put({ verdict: READY });
    await clock.tick();
    assert.equal(outbox.lagSeconds, 2);
  });
});
