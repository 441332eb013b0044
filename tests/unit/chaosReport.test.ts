import assert from "node:assert/strict";
import { InterruptedError } from "../../cli/common/interruption";
import type { Outcome } from "../../tools/chaos/perform";
import { figuresByKind, formatJson, formatText } from "../../tools/chaos/report";

const OUTCOME: Outcome = {
  seed: 7,
  rounds: 5,
  changes: 30,
  lost: [],
  convergence: [
    { kinds: ["sensor: killed", "handler: hang"], seconds: 4 },
    { kinds: ["sensor: killed"], seconds: 2 },
    { kinds: [], seconds: 1 },
  ],
  leftOut: [{ kind: "etcd: killed", why: "it needs --node-faults" }],
  effects: { keys: 20, repeated: 3 },
  seconds: 99.6,
};
const COMMAND = "npm run chaos -- --seed 7";

describe("the report of a chaos run", () => {
  it("has a line for each kind of fault: a round with two of them counts for both", () => {
    assert.deepEqual(figuresByKind(OUTCOME), [
      { kind: "handler: hang", rounds: 1, p50: 4, max: 4 },
      { kind: "no fault", rounds: 1, p50: 1, max: 1 },
      { kind: "sensor: killed", rounds: 2, p50: 2, max: 4 },
    ]);
  });

  it("tells people what was lost, done again and left out", () => {
    const text = formatText("pod", OUTCOME, COMMAND);
    assert.match(text, /^pod: 30 changes, 0 objects lost, in 100 s \(seed 7\)$/m);
    assert.match(text, /^effects outside for 20 generations; repeated for the same generation: 3$/m);
    assert.match(text, /^sensor: killed +2 +2\.0 +4\.0$/m);
    assert.match(text, /^left out: etcd: killed: it needs --node-faults$/m);
    assert.doesNotMatch(text, /broken off|repeat it/);
  });

  it("tells the history of what is lost, and what repeats the run", () => {
    const lost = [{ object: "o-1", what: ["it does not exist"], history: [{ at: 1, what: "delete o-1" }] }];
    const text = formatText("pod", { ...OUTCOME, lost }, COMMAND);
    assert.match(
      text,
      /^lost: o-1\n {2}it does not exist\n +1\.0 s {2}delete o-1\nrepeat it: npm run chaos/m,
    );
    const [run] = JSON.parse(formatJson({ pod: { ...OUTCOME, lost } }, COMMAND)).runs;
    assert.deepEqual([run.lost, run.losses[0].object], [1, "o-1"]);
  });

  it("tells where and why a run was broken off, with the figures of the rounds before", () => {
    for (const [brokenOff, why] of [
      [new InterruptedError("SIGINT"), "interrupted"],
      [new Error("o-1: tried for 330 s"), "o-1: tried for 330 s"],
    ] as const) {
      const outcome = { ...OUTCOME, brokenOff };
      const text = formatText("pod", outcome, COMMAND);
      assert.ok(text.includes(`aborted after 3 of 5 rounds: ${why}\n`), text);
      assert.match(text, /^sensor: killed +2 +2\.0 +4\.0$/m);
      const { runs, command } = JSON.parse(formatJson({ pod: outcome }, COMMAND));
      const { execution, rounds, finishedRounds, convergence } = runs[0];
      assert.deepEqual(
        { execution, rounds, finishedRounds, kinds: convergence.length, why: runs[0].brokenOff, command },
        { execution: "pod", rounds: 5, finishedRounds: 3, kinds: 3, why, command: COMMAND },
      );
    }
  });
});
