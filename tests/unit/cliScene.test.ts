import assert from "node:assert/strict";
import { plain } from "../../cli/common/terminal";
import { until } from "../../cli/common/until";
import { playScene, type Step, type StepResult } from "../../cli/scene/scene";
import { expect } from "../../cli/scene/stage";
import { exitCodeOf, formatStep, formatSummary } from "../../cli/scene/tell";
import { assertEach } from "./support/lists";

const holds: Step<string> = { title: "it holds", play: async (stage) => `seen on ${stage}` };

function step(title: string, play: () => Promise<string>): Step<string> {
  return { title, play };
}

async function play(...steps: Step<string>[]): Promise<{ results: StepResult[]; told: StepResult[] }> {
  const told: StepResult[] = [];
  const audience = { waiting: () => {}, played: (result: StepResult) => void told.push(result) };
  const results = await playScene(steps, "the stage", audience, new AbortController().signal);
  return { results, told };
}

describe("cli: the scene", () => {
  it("reports each step as it is played", async () => {
    const { results, told } = await play(holds, holds);
    assert.deepEqual(told, results);
    assertEach(results, ({ held, seen }) => [held, seen], Array(2).fill([true, "seen on the stage"]));
  });

  it("ends at the first step that does not hold, with what was expected and seen", async () => {
    const broken = step("three replicas", async () => {
      expect(false, "3 replicas", "2 replicas");
      return "";
    });
    const { results } = await play(holds, broken, holds);
    assert.equal(results.length, 2);
    const text = formatStep({ ...(results[1] as StepResult), durationMs: 7 }, plain);
    assert.match(text, /^✘ +7 ms {2}three replicas\n +expected: 3 replicas\n +seen: +2 replicas$/);
    assert.equal(exitCodeOf(results, 3), 1);
    assert.equal(formatSummary(results, 3, 1_500, plain), "1 failed, 1 held, 1 not played, in 1.5 s");
  });

  it("takes an error and a deadline for a step that does not hold", async () => {
    const fails = step("x", () => Promise.reject(new Error("refused")));
    const late = step("y", () => until<string>(async () => undefined, { what: "it exists", deadlineMs: 0 }));
    assert.equal((await play(fails)).results[0]?.seen, "refused");
    assert.equal((await play(late)).results[0]?.expected, "it exists");
  });

  it("gives up a question without an answer when its time is over", async () => {
    const silent = step("z", () =>
      until<string>(() => new Promise(() => {}), { what: "it exists", deadlineMs: 20 }),
    );
    assert.equal((await play(silent)).results[0]?.expected, "it exists");
  });

  it("fails where a step was not played, though none failed", async () => {
    const { results } = await play(holds);
    assert.equal(exitCodeOf(results, 1), 0);
    assert.equal(exitCodeOf(results, 2), 1);
    assert.equal(formatSummary(results, 1, 900, plain), "1 step held, in 900 ms");
  });

  it("ends with the signal's reason, and tells nothing of the step that was cut off", async () => {
    const abort = new AbortController();
    const interrupted = step("z", async () => {
      abort.abort(new Error("enough"));
      throw new Error("a consequence");
    });
    const told: unknown[] = [];
    const audience = { waiting: () => {}, played: (result: unknown) => void told.push(result) };
    await assert.rejects(playScene([interrupted], "", audience, abort.signal), /enough/);
    assert.deepEqual(told, []);
  });
});
