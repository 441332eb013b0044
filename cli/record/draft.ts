import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "../../runtime/base/objects";
import type { HandlerEvent, Operator } from "../../runtime/cli";
import { scratchFolder } from "../common/scratchFolder";
import { yaml } from "../common/yaml";
import { readAll } from "../fixtures/fixture";
import { type FixtureResult, runFixtures } from "../fixtures/runFixtures";
import { updateFixtures } from "../fixtures/update";
import { EXTENTS, type Extent } from "./lean";
import { withoutMade } from "./secretMade";

/** The question of a fixture: all fields of its document except the expectations. */
export interface Question {
  readonly event: HandlerEvent;
  readonly object: JsonObject;
  readonly children: readonly JsonObject[];
  readonly used: JsonObject;
  readonly state?: JsonObject | undefined;
  readonly due?: readonly JsonObject[] | undefined;
}

/** A question with fakes that shows what the handler makes of them. */
export interface Trial {
  readonly question: Question;
  /** Fakes for the variables of `secretEnv`, which a fixture cannot have. */
  readonly env: Readonly<Record<string, string>>;
}

/** A fixture that has been tried and can be written. */
export interface Draft {
  /** The file's whole text. */
  readonly text: string;
  readonly extent: Extent;
  /** The result of the fixture in {@link text}. */
  readonly result: FixtureResult;
}

const NAME = "recorded.yaml";

/**
 * Makes a fixture from a question: the shortest form for which the handler gives the same answer as for the whole question, with
 * that answer as the expectation.
 *
 * @param questionOf the question in each extent, without any value of a Secret
 * @param trials the whole question twice, with different fakes. Empty if there is nothing to replace by fakes
 * @param comment lines before the fixture
 * @param clean applied to the handler's answer, before it is written
 * @throws OperatorError if the result is not a valid fixture
 */
export async function draft(
  operator: Operator,
  questionOf: (extent: Extent) => Question,
  trials: readonly Trial[],
  comment: readonly string[],
  clean: <Value>(value: Value) => Value,
): Promise<Draft> {
  const { path: folder, remove } = scratchFolder("argosy-record");
  const file = (name: string) => path.join(folder, "fixtures", name);
  try {
    mkdirSync(path.dirname(file(NAME)));
    const head = comment.map((line) => `# ${line}\n`).join("");
    const textOf = (question: Question) => head + yaml(documentOf(question));
    const ask = async (content: string, env: Trial["env"] = {}) => {
      writeFileSync(file(NAME), content);
      const given = { ...operator, env: { ...operator.env, ...env } };
      const [result] = await runFixtures(given, readAll(folder, operator));
      return result as FixtureResult;
    };
    const tried: FixtureResult[] = [];
    for (const { question, env } of trials) tried.push(await ask(textOf(question), env));
    const [first, second] = tried.map(({ actual }) => actual);
    const text = (extent: Extent) => textOf(withoutMade(questionOf(extent), first, second));
    const whole = await ask(text("whole"));
    let [extent, result] = ["whole" as Extent, whole];
    for (const leaner of EXTENTS.filter((each) => each !== "whole")) {
      const again = await ask(text(leaner));
      if (!isSame(again, whole)) continue;
      [extent, result] = [leaner, again];
      break;
    }
    writeFileSync(file(NAME), text(extent));
    // A new fixture loses nothing if its answer is an error, or differs each time. Its result says so.
    if (result.actual)
      updateFixtures(folder, [{ ...result, expectation: { field: "answer", value: clean(result.actual) } }]);
    const written = readFileSync(file(NAME), "utf8");
    return { text: written, extent, result: await ask(written) };
  } finally {
    remove();
  }
}

/** Whether a handler gave the same answer to both. Its standard error is not compared, because it may contain times. */
function isSame(one: FixtureResult, other: FixtureResult): boolean {
  const madeOf = ({ actual, failure }: FixtureResult) => [actual, failure?.split("\n")[0]];
  return isDeepStrictEqual(madeOf(one), madeOf(other));
}

/** A fixture's document. Fields with their default values are left out. */
function documentOf({ event, object, children, used, state, due = [] }: Question): JsonObject {
  return {
    ...(event !== "reconcile" && { event }),
    object,
    ...(children.length > 0 && { children: [...children] }),
    ...(Object.keys(used).length > 0 && { used }),
    ...(state !== undefined && { state }),
    ...(due.length > 0 && { due: [...due] }),
  };
}
