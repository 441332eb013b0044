import assert from "node:assert/strict";
import { mock } from "node:test";
import fc from "fast-check";
import { Gate, type RequestClass, type RequestTraits } from "../../runtime/kubernetes/gate";

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

  function open({ inFlight, inFlightOfFlow }: { inFlight?: number; inFlightOfFlow?: number }): void {
    [now, onTheirWay, left] = [0, [], []];
    gate = new Gate(() => now, inFlight, inFlightOfFlow);
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

  it("lets work leave before reading, and what can wait at last", async () => {
    await busy();
    for (const name of ["later", "read", "work"] as const) void request(name, { class: name });
    void request("default");
    assert.deepStrictEqual(await drain(), ["work", "read", "default", "later"]);
  });

  describe("when time passes,", () => {
    beforeEach(() => mock.timers.enable({ apis: ["setTimeout"] }));
    afterEach(() => mock.timers.reset());

    it("lets a report leave while work goes on, when it has waited for five seconds, and holds up no read", async () => {
      void request("work", { class: "work" });
      void request("later", { class: "later" });
      for (now = 500; now < 5_000; now += 500) {
        void request("work", { class: "work" });
        await settled();
        await finish();
      }
      now = 4_900;
      void request("read");
      await settled();
      assert.ok(!left.includes("later"));
      now = 5_000;
      mock.timers.tick(100);
      await settled();
      assert.deepStrictEqual(left.slice(-3), ["work", "read", "later"]);
    });

    it("lets no request give way to a write that takes longer than a second, as one for which a webhook hangs", async () => {
      for (const name of ["work", "later"] as const) void request(name, { class: name });
      await settled();
      assert.deepStrictEqual(left, ["work"]);
      now = 1_000;
      mock.timers.tick(1_000);
      await settled();
      assert.deepStrictEqual(left, ["work", "later"]);
    });
  });

  it("leaves nine sixteenths of the places to what has waited while work goes on, and no more afterwards", async () => {
    open({ inFlight: 16 });
    for (let at = 0; at < 40; at++) void request(`later-${at}`, { class: "later" });
    for (let at = 0; at < 40; at++) void request(`work-${at}`, { class: "work" });
    await settled();
    now = 10_000;
    while (gate.waiting > 0) {
      const count = onTheirWay.filter((sent) => sent.class === "later").length;
      assert.ok(count <= 9, `${count} that can wait`);
      await finish();
    }
  });

  it("leaves no more to it if it takes long, as when a webhook for statuses hangs, or if the work does", async () => {
    for (const doesWorkHang of [false, true]) {
      open({ inFlight: 16 });
      void request("work", { class: "work" });
      for (let at = 0; at < 40; at++) void request(`later-${at}`, { class: "later" });
      for (now = 0; now < 20_000; now += 500) {
        void request(`work at ${now}`, { class: doesWorkHang ? "read" : "work" });
        await settled();
        await finish(onTheirWay.findIndex((sent) => sent.name === `work at ${now}`));
        const count = onTheirWay.filter((sent) => sent.class === "later").length;
        assert.ok(count <= 9, `${count} that can wait after ${now} ms`);
      }
      gate.close(new Error("over"));
    }
  });

  it("leaves places to all others if every list and every report hangs, and to work if all but work hangs", async () => {
    for (const [name, kind] of [
      ["lists", "read"],
      ["read", "read"],
      ["reports", "later"],
      ["child", "later"],
    ] as const) {
      const flowOf = (at: number) => (name.endsWith("s") ? name : `${name} ${at % 7}`);
      for (let at = 0; at < 100; at++) void request(name, { class: kind, flow: flowOf(at) });
      await settled();
    }
    const count = (name: string) => left.filter((each) => each === name).length;
    assert.deepStrictEqual(["lists", "read", "reports", "child"].map(count), [16, 4, 16, 20]);
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
    ["later", 5_000],
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
    void request("report", { class: "later" });
    assert.equal(timers(), before + 1);
    gate.close(new Error("closed"));
    assert.equal(timers(), before);
  });

  it("keeps its bounds, leaves no place empty and forgets no request, whatever comes and goes", async () => {
    const traits = fc.record({
      class: fc.constantFrom("work", "read", "later"),
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
          const isOnItsWay = (kind: RequestClass) => onTheirWay.some((sent) => sent.class === kind);
          // Reads have one of the four places, and so has what can wait.
          const mayWait = ({ class: kind, flow = "" }: (typeof ends)[number]) =>
            full.includes(flow) ||
            (kind !== "work" && isOnItsWay(kind)) ||
            (kind === "later" && isOnItsWay("work"));
          if (onTheirWay.length < 4) assert.ok(waiting.every(mayWait));
        }
        await drain();
        for (const { name, end } of ends) assert.equal(await end, aborted.has(name) ? "aborted" : "done");
      }),
    );
  });

  it("lets every request leave, however much work keeps coming", async () => {
    const step = fc.record({
      class: fc.constantFrom("work", "read", "later"),
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
