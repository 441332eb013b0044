import assert from "node:assert/strict";
import { mock } from "node:test";
import fc from "fast-check";
import { Gate, type GateOptions, type RequestClass, type RequestTraits } from "../../runtime/kubernetes/gate";

/** A request that a test sends through a gate, and ends when it likes. */
interface Sent {
  readonly name: string;
  readonly flow: string | undefined;
  readonly class: RequestClass | undefined;
  readonly finish: () => void;
}

describe("Gate", () => {
  let gate: Gate;
  let now: number;
  /** The requests on their way. */
  let onTheirWay: Sent[];
  /** The names of all that have left, in that order. */
  let left: string[];

  beforeEach(() => open({}));

  function open(options: Pick<GateOptions, "inFlight" | "inFlightOfFlow">): void {
    [now, onTheirWay, left] = [0, [], []];
    gate = new Gate({ ...options, now: () => now });
  }

  /** Resolves with what became of the request. */
  function request(name: string, traits: RequestTraits = {}): Promise<string> {
    const send = () =>
      new Promise<string>((resolve) => {
        left.push(name);
        const sent = { name, flow: traits.flow, class: traits.class, finish: () => resolve("done") };
        onTheirWay.push(sent);
      });
    return gate.pass(traits, send).catch((error: Error) => error.message);
  }

  async function finish(at = 0): Promise<void> {
    const [sent] = onTheirWay.splice(at, 1);
    assert.ok(sent, "nothing is on its way");
    sent.finish();
    await settled();
  }

  /** Fills a gate of one place. */
  async function busy(): Promise<void> {
    open({ inFlight: 1 });
    void request("first");
    await settled();
  }

  /** Lets one after the other leave until nothing waits. */
  async function drain(): Promise<string[]> {
    left.length = 0;
    while (onTheirWay.length > 0) await finish();
    return left;
  }

  it("lets 64 requests through at once, and the next when one of them has ended", async () => {
    for (let at = 0; at < 100; at++) void request(`${at}`, { class: "work" });
    await settled();
    assert.deepStrictEqual([left.length, gate.waiting], [64, 36]);
    await finish();
    assert.deepStrictEqual([left.length, left.at(-1)], [65, "64"]);
  });

  it("has a place free again after a request that failed", async () => {
    open({ inFlight: 1 });
    await assert.rejects(
      gate.pass({}, () => Promise.reject(new Error("refused"))),
      { message: "refused" },
    );
    void request("next");
    await settled();
    assert.deepStrictEqual(left, ["next"]);
  });

  it("lets no flow have more than 16 places, so 5,000 requests of one object do not delay other objects", async () => {
    for (let at = 0; at < 5_000; at++) void request(`large-${at}`, { class: "work", flow: "large" });
    void request("small", { flow: "small" });
    await settled();
    assert.equal(left.length, 17);
    assert.equal(left.at(-1), "small");
  });

  it("lets the flows of a class take turns", async () => {
    await busy();
    for (const name of ["a1", "a2", "a3", "b1", "b2", "c1"]) void request(name, { flow: name.slice(0, 1) });
    assert.deepStrictEqual(await drain(), ["a1", "b1", "c1", "a2", "b2", "a3"]);
  });

  it("lets work leave before reading, then statuses, and reports at last", async () => {
    await busy();
    for (const name of ["tell", "status", "read", "work"] as const) void request(name, { class: name });
    void request("default");
    assert.deepStrictEqual(await drain(), ["work", "read", "default", "status", "tell"]);
  });

  it("lets what can wait leave only when nothing more urgent is on its way", async () => {
    for (const name of ["work", "read", "tell", "status", "unhurried"] as const)
      void request(name, { class: name });
    await settled();
    assert.deepStrictEqual(left, ["work", "read"]);
    await finish(0);
    assert.deepStrictEqual(left, ["work", "read", "unhurried"]);
    await finish(1);
    assert.deepStrictEqual(left, ["work", "read", "unhurried", "status"]);
    await finish(1);
    assert.deepStrictEqual(left, ["work", "read", "unhurried", "status", "tell"]);
  });

  it("lets a report leave while work goes on, when it has waited for five seconds, and holds up no read", async () => {
    const clock = mock.timers;
    clock.enable({ apis: ["setTimeout"] });
    try {
      void request("work", { class: "work" });
      void request("tell", { class: "tell" });
      for (now = 500; now < 5_000; now += 500) {
        void request("work", { class: "work" });
        await settled();
        await finish();
      }
      now = 4_900;
      void request("read");
      await settled();
      assert.ok(!left.includes("tell"));
      now = 5_000;
      clock.tick(100);
      await settled();
      assert.deepStrictEqual(left.slice(-3), ["work", "read", "tell"]);
    } finally {
      clock.reset();
    }
  });

  it("lets nobody give way to a write that takes longer than a second, as one for which a webhook hangs", async () => {
    const clock = mock.timers;
    clock.enable({ apis: ["setTimeout"] });
    try {
      for (const name of ["work", "unhurried", "status", "tell"] as const)
        void request(name, { class: name });
      await settled();
      assert.deepStrictEqual(left, ["work"]);
      now = 1_000;
      clock.tick(1_000);
      await settled();
      assert.deepStrictEqual(left, ["work", "unhurried"]);
      await finish(1);
      await finish(1);
      assert.deepStrictEqual(left, ["work", "unhurried", "status", "tell"]);
    } finally {
      clock.reset();
    }
  });

  it("leaves an eighth of the places to statuses that have waited while work goes on, and three quarters afterwards", async () => {
    open({ inFlight: 16 });
    for (let at = 0; at < 40; at++) void request(`status-${at}`, { class: "status" });
    for (let at = 0; at < 40; at++) void request(`work-${at}`, { class: "work" });
    await settled();
    const count = (kind: RequestClass) => onTheirWay.filter((sent) => sent.class === kind).length;
    while (onTheirWay.some((sent) => sent.class === "status")) await finish();
    now = 10_000;
    let most = 0;
    while (gate.waiting > 0) {
      if (count("work") > 0) most = Math.max(most, count("status"));
      else assert.equal(count("status"), Math.min(12, count("status") + gate.waiting));
      await finish();
    }
    assert.equal(most, 2);
  });

  it("leaves no more to them if they take long, as when a webhook for statuses hangs, or if the work does", async () => {
    for (const doesWorkHang of [false, true]) {
      open({ inFlight: 16 });
      void request("work", { class: "work" });
      for (let at = 0; at < 40; at++) void request(`status-${at}`, { class: "status" });
      for (now = 0; now < 20_000; now += 500) {
        void request(`work at ${now}`, { class: doesWorkHang ? "read" : "work" });
        await settled();
        await finish(onTheirWay.findIndex((sent) => sent.name === `work at ${now}`));
        const count = onTheirWay.filter((sent) => sent.class === "status").length;
        assert.ok(count <= 2, `${count} statuses after ${now} ms`);
      }
      gate.close(new Error("over"));
    }
  });

  it("leaves every place that becomes free to work that waits, if a moment without work gave most of them to statuses", async () => {
    open({ inFlight: 16 });
    for (let at = 0; at < 40; at++) void request(`status-${at}`, { class: "status" });
    await settled();
    assert.equal(onTheirWay.length, 12);
    // The statuses have waited for so long that they count as older than the work.
    now = 10_000;
    for (let at = 0; at < 14; at++) void request(`work-${at}`, { class: "work" });
    for (let at = 0; at < 10; at++) await finish();
    assert.deepStrictEqual(
      left.slice(12),
      Array.from({ length: 14 }, (_, at) => `work-${at}`),
    );
  });

  it("leaves places to all that is more urgent if a moment without it gave the others to requests that hang", async () => {
    open({ inFlight: 16 });
    for (const name of ["tell", "status", "unhurried"] as const) {
      for (let at = 0; at < 40; at++) void request(name, { class: name });
      await settled();
    }
    const count = (name: string) => left.filter((each) => each === name).length;
    assert.deepStrictEqual(["tell", "status", "unhurried"].map(count), [10, 2, 2]);
    void request("work", { class: "work" });
    void request("read", { class: "read" });
    await settled();
    assert.deepStrictEqual(left.slice(14), ["work", "read"]);
    gate.close(new Error("over"));
  });

  it("leaves them the same places if the requests that hang came in the other order", async () => {
    open({ inFlight: 16 });
    for (let at = 0; at < 40; at++) void request("unhurried", { class: "unhurried" });
    await settled();
    // From now on nobody gives way to them.
    now = 2_000;
    for (const name of ["status", "tell"] as const) {
      for (let at = 0; at < 40; at++) void request(name, { class: name });
      await settled();
    }
    assert.equal(left.length, 14);
    for (const name of ["work", "read"] as const) void request(name, { class: name });
    await settled();
    assert.deepStrictEqual(left.slice(14), ["work", "read"]);
    gate.close(new Error("over"));
  });

  it("leaves places to work and to reads, whatever requests that can wait have come and hang", async () => {
    const step = fc.record({
      class: fc.constantFrom("unhurried", "status", "tell"),
      count: fc.integer({ min: 1, max: 40 }),
      sleep: fc.constantFrom(0, 500, 2_000, 10_000),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
        open({ inFlight: 16 });
        for (const { class: kind, count, sleep } of steps) {
          for (let at = 0; at < count; at++) void request("waits", { class: kind });
          await settled();
          now += sleep;
        }
        for (const name of ["work", "read"] as const) void request(name, { class: name });
        await settled();
        assert.deepStrictEqual(left.slice(-2), ["work", "read"]);
        gate.close(new Error("over"));
      }),
    );
  });

  it("leaves places to reads and to work if every list hangs, and to work if the reads hang too", async () => {
    for (const name of ["list", "read"] as const) {
      for (let at = 0; at < 100; at++) void request(name, { class: name, flow: `${name} ${at % 7}` });
      await settled();
    }
    const count = (name: string) => left.filter((each) => each === name).length;
    assert.deepStrictEqual(["list", "read"].map(count), [24, 32]);
    void request("work", { class: "work" });
    await settled();
    assert.equal(left.at(-1), "work");
    gate.close(new Error("over"));
  });

  it("never lets the lease wait", async () => {
    await busy();
    void request("lease", { class: "lease" });
    assert.equal(left.at(-1), "lease");
  });

  for (const [name, patienceMs] of [
    ["read", 1_000],
    ["list", 1_000],
    ["unhurried", 3_000],
    ["status", 4_000],
    ["tell", 5_000],
  ] as const) {
    it(`lets a request of the class "${name}" leave before work that comes ${patienceMs} ms later`, async () => {
      await busy();
      void request("waits", { class: name });
      for (const at of [0, patienceMs - 1, patienceMs + 1]) {
        now = at;
        void request(`work at ${at}`, { class: "work" });
      }
      const names = ["work at 0", `work at ${patienceMs - 1}`, "waits", `work at ${patienceMs + 1}`];
      assert.deepStrictEqual(await drain(), names);
    });
  }

  it("asks the fence when the request leaves, and not when it comes", async () => {
    await busy();
    let ended = false;
    const fence = () => {
      if (ended) throw new Error("not leading");
    };
    const before = request("before", { fence });
    const after = request("after", { fence });
    await finish();
    await finish();
    assert.equal(await before, "done");
    assert.deepStrictEqual(left, ["first", "before", "after"]);
    await finish();
    assert.equal(await after, "done");

    void request("again");
    await settled();
    const late = request("late", { fence });
    ended = true;
    await finish();
    assert.equal(await late, "not leading");
    assert.ok(!left.includes("late"));
    assert.equal(await request("lease", { class: "lease", fence }), "not leading");
    void request("next");
    await settled();
    assert.equal(left.at(-1), "next");
  });

  it("takes a request out whose signal ends it", async () => {
    await busy();
    const stop = new AbortController();
    const stopped = request("stopped", { signal: stop.signal });
    const other = request("other");
    stop.abort(new Error("stopped"));
    assert.equal(await stopped, "stopped");
    assert.equal(gate.waiting, 1);
    assert.equal(await request("too late", { signal: stop.signal }), "stopped");
    assert.deepStrictEqual(await drain(), ["other"]);
    assert.equal(await other, "done");
  });

  it("refuses what waits when it is closed, and what comes then", async () => {
    await busy();
    const waiting = [request("a"), request("b", { class: "work", flow: "b" })];
    gate.close(new Error("closed"));
    assert.deepStrictEqual(await Promise.all(waiting), ["closed", "closed"]);
    assert.equal(await request("c", { class: "lease" }), "closed");
    assert.equal(gate.waiting, 0);
  });

  it("leaves no timer when it is closed", () => {
    const timers = () => process.getActiveResourcesInfo().filter((each) => each === "Timeout").length;
    const before = timers();
    void request("work", { class: "work" });
    void request("report", { class: "tell" });
    assert.equal(timers(), before + 1);
    gate.close(new Error("closed"));
    assert.equal(timers(), before);
  });

  it("keeps its bounds, leaves no place empty and forgets no request, whatever comes and goes", async () => {
    const traits = fc.record({
      class: fc.constantFrom("work", "unhurried", "read", "status", "tell"),
      flow: fc.option(fc.constantFrom("a", "b", "c"), { nil: undefined }),
    });
    const step = fc.oneof(
      traits.map((traits) => ({ traits })),
      fc.nat(10).map((finish) => ({ finish })),
      fc.nat(3_000).map((sleep) => ({ sleep })),
      fc.nat(10).map((abort) => ({ abort })),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        open({ inFlight: 4, inFlightOfFlow: 2 });
        const ends: {
          name: string;
          class: RequestClass;
          flow: string | undefined;
          end: Promise<string>;
          stop: AbortController;
        }[] = [];
        const aborted = new Set<string>();
        for (const step of steps) {
          if ("traits" in step) {
            const stop = new AbortController();
            const { class: kind, flow } = step.traits;
            const name = `${ends.length}`;
            const end = request(name, {
              class: kind,
              signal: stop.signal,
              ...(flow !== undefined && { flow }),
            });
            ends.push({ name, class: kind, flow, end, stop });
          } else if ("sleep" in step) now += step.sleep;
          else if ("finish" in step && onTheirWay.length > 0) await finish(step.finish % onTheirWay.length);
          else if ("abort" in step && ends.length > 0) {
            const request = ends[step.abort % ends.length];
            if (request && !left.includes(request.name)) aborted.add(request.name);
            request?.stop.abort(new Error("aborted"));
          }
          await settled();
          assert.ok(onTheirWay.length <= 4);
          const flows = onTheirWay.flatMap(({ flow }) => flow ?? []);
          const full = ["a", "b", "c"].filter((flow) => flows.filter((other) => other === flow).length === 2);
          for (const flow of ["a", "b", "c"]) assert.ok(flows.filter((other) => other === flow).length <= 2);
          const waiting = ends.filter(({ name }) => !left.includes(name) && !aborted.has(name));
          assert.equal(gate.waiting, waiting.length);
          const urgency = ["work", "unhurried", "status", "tell"];
          const yields = (kind: RequestClass) =>
            onTheirWay.some((sent) => urgency.slice(0, urgency.indexOf(kind)).includes(`${sent.class}`));
          const mayWait = ({ class: kind, flow = "" }: (typeof ends)[number]) =>
            full.includes(flow) || (kind !== "read" && yields(kind));
          if (onTheirWay.length < 4) assert.ok(waiting.every(mayWait));
        }
        await drain();
        for (const { name, end } of ends) assert.equal(await end, aborted.has(name) ? "aborted" : "done");
      }),
    );
  });

  it("lets every request leave, however much work keeps coming", async () => {
    const step = fc.record({
      class: fc.constantFrom("work", "unhurried", "read", "status", "tell"),
      flow: fc.constantFrom("a", "b", "c"),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 20 }), async (requests) => {
        await busy();
        for (const [at, traits] of requests.entries()) void request(`waits-${at}`, traits);
        // A request takes 100 ms, and two more have come when it ends.
        const most = (5_000 / 100) * 2 + requests.length * 2;
        for (let turn = 0; turn < most; turn++) {
          void request("work", { class: "work", flow: `${turn}` });
          void request("work", { class: "work", flow: "a" });
          now += 100;
          await finish();
        }
        assert.equal(left.filter((name) => name.startsWith("waits-")).length, requests.length);
      }),
      { numRuns: 30 },
    );
  });
});

/** Resolves when the promises that are ready, and those that follow from them, have gone on. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
}
