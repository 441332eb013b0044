import assert from "node:assert/strict";
import type { Fault } from "../../tools/chaos/fault";
import { History } from "../../tools/chaos/history";
import { type Outcome, type Performance, perform } from "../../tools/chaos/perform";
import type { Change, Plan, PlannedFault } from "../../tools/chaos/plan";
import { assertEach } from "./support/lists";

const CHANGE: Change = { verb: "delete", object: "o-1" };

function planned(kind: string, afterChanges = 0): PlannedFault {
  return { kind, afterChanges, seconds: 0, pick: 0 };
}

/** Rounds of one change each, with these faults. */
function planOf(...rounds: readonly (readonly string[])[]): Plan {
  return {
    seed: 1,
    rounds: rounds.map((kinds) => ({ changes: [CHANGE], faults: kinds.map((kind) => planned(kind)) })),
  };
}

describe("a chaos run", () => {
  let happened: string[];
  beforeEach(() => {
    happened = [];
  });

  function fault(kind: string): Fault {
    return {
      kind,
      begin: async () => {
        happened.push(`${kind} begins`);
        return async () => void happened.push(`${kind} ends`);
      },
    };
  }

  function run(plan: Plan, more: Partial<Performance> = {}): Promise<Outcome> {
    return perform(plan, {
      player: { play: ({ object }) => void happened.push(`play ${object}`), settled: async () => {} },
      history: new History(),
      faults: [fault("a"), fault("b")],
      differences: async () => [],
      effects: async () => new Map([["u/1", { acts: 3, values: new Set([1]) }]]),
      changesPerSecond: 1000,
      patience: { calmMs: 0, troubledMs: 0 },
      pauses: { pollMs: 5, staysMs: 15 },
      progress: () => {},
      signal: new AbortController().signal,
      ...more,
    });
  }

  it("ends every fault before it judges, and tells the time of each round", async () => {
    const outcome = await run(planOf(["a"], []), {
      differences: async () => {
        happened.push("judge");
        return [];
      },
    });
    assert.deepEqual(happened.slice(0, 4), ["a begins", "play o-1", "a ends", "judge"]);
    assertEach(outcome.convergence, ({ kinds }) => kinds, [["a"], []]);
    assert.deepEqual({ lost: outcome.lost, changes: outcome.changes }, { lost: [], changes: 2 });
    assert.deepEqual(outcome.effects, { keys: 1, repeated: 2 });
  });

  it("ends with the first round where something is lost, with what was wrong and what had happened", async () => {
    const difference = { object: "o-1", what: "it does not exist" };
    const outcome = await run(planOf(["a"], ["b"]), { differences: async () => [difference] });
    assertEach(outcome.lost, ({ object, what }) => ({ object, what }), [
      { object: "o-1", what: ["it does not exist"] },
    ]);
    assertEach(outcome.lost[0]?.history, ({ what }) => what, ["a", "a: over, after 0 s"]);
    assert.ok(!happened.includes("b begins"));
  });

  it("is not content with what is right for a moment", async () => {
    const answers = [[], [{ object: "o-1", what: "an old result" }]];
    const outcome = await run(planOf([]), { differences: async () => answers.shift() ?? [] });
    assert.equal(outcome.lost[0]?.object, "o-1");
  });

  it("is patient after a fault, and not after a round without one", async () => {
    const wrong = { object: "o-1", what: "it does not exist" };
    // Wrong at the first look of each round, right from the second on.
    const lookTwice = () => {
      let looks = 0;
      return async () => (looks++ === 0 ? [wrong] : []);
    };
    const patience = { calmMs: 0, troubledMs: 60_000 };
    const calm = await run(planOf([]), { patience, differences: lookTwice() });
    assertEach(calm.lost, ({ object }) => object, ["o-1"]);
    const troubled = await run(planOf(["a"]), { patience, differences: lookTwice() });
    assert.deepEqual(troubled.lost, []);
    assert.equal(troubled.convergence.length, 1);
  });

  it("tells a fault that cannot be had, and counts no time for it", async () => {
    const broken: Fault = { kind: "a", begin: () => Promise.reject(new Error("no such pod")) };
    const outcome = await run(planOf(["a"]), { faults: [broken] });
    assert.deepEqual(outcome.leftOut, [{ kind: "a", why: "no such pod" }]);
    assert.deepEqual(outcome.convergence[0]?.kinds, []);
  });

  it("ends its faults when it is stopped", async () => {
    const stopping = new AbortController();
    const plan: Plan = {
      seed: 1,
      rounds: [{ changes: [CHANGE, CHANGE], faults: [{ ...planned("a"), seconds: 600 }] }],
    };
    const play = () => stopping.abort(new Error("stopped"));
    const player = { play, settled: async () => {} };
    const { brokenOff } = await run(plan, { player, signal: stopping.signal });
    assert.equal(brokenOff?.message, "stopped");
    assert.deepEqual(happened, ["a begins", "a ends"]);
  });

  it("keeps the figures of the rounds that came to their end when it is broken off", async () => {
    const settled = async () => {
      if (happened.includes("b begins")) throw new Error("o-1: tried for 330 s");
    };
    const player = { play: () => {}, settled };
    const outcome = await run(planOf(["a"], ["b"], ["a"]), { player });
    assertEach(outcome.convergence, ({ kinds }) => kinds, [["a"]]);
    const { rounds, changes, effects, brokenOff } = outcome;
    assert.deepEqual(
      { rounds, changes, effects, why: brokenOff?.message },
      { rounds: 3, changes: 1, effects: { keys: 1, repeated: 2 }, why: "o-1: tried for 330 s" },
    );
  });
});
