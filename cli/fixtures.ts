import { admitted } from "../definition/customResource";
import type { Operator } from "../runtime/definition/definition";
import { statusChecker } from "../runtime/definition/statusSchema";
import { ReconcileFailure } from "../runtime/failure";
import { partWithoutPlace } from "../runtime/handler/askHandler";
import type { HandlerAnswer } from "../runtime/handler/contract";
import { HandlerPool } from "../runtime/handler/handlerPool";
import { invalid, invalidStatus } from "../runtime/handler/invalidAnswer";
import { parseAnswer } from "../runtime/handler/parseAnswer";
import type { JsonObject } from "../runtime/kubernetes/objects";
import { apiVersionOf } from "../runtime/kubernetes/objects";
import { compare } from "./fixtures/compare";
import { runEventFixture } from "./fixtures/events";
import {
  type Fixture,
  type FixturePlace,
  type FixtureStep,
  type Fixtures,
  readAll,
} from "./fixtures/fixture";
import { isNamed } from "./fixtures/sequence";
import { after, changed, desiredOf, firstOf, questionOf, type Situation } from "./fixtures/situation";
import { localHandler } from "./localHandler";

/** The result of a fixture, or of one of its steps. */
export interface FixtureResult {
  /** "fixtures/scale.yaml", or "fixtures/scale.yaml step 2". */
  readonly name: string;
  /** Whether the answer is the expected one, and meets the requirements of every answer. */
  readonly passed: boolean;
  /** What the fixture expects. Undefined if it says nothing yet. */
  readonly expected?: JsonObject | undefined;
  /** What the handler answered. Undefined if it gave no valid answer. */
  readonly actual?: HandlerAnswer;
  /** The differences, a line for each field. */
  readonly differences: readonly string[];
  /** The expectation for which the fixture would pass, if this answer may be expected. Undefined if the fixture passes anyway. */
  readonly expectation?: Expectation;
  /** Why there is no valid answer, with the end of the handler's standard error. */
  readonly failure?: string;
  /** The place of the expectation in its file. */
  readonly place: FixturePlace;
}

/** What `updateFixtures` writes. */
export interface Expectation {
  readonly field: "answer" | "expect";
  readonly value: unknown;
}

/**
 * Runs an operator's fixtures, one after another, in one living process of its real handler, just as the engine
 * would run it. After a failure the next fixture gets a fresh process.
 *
 * @param given the fixtures.
 * @default those in the operator's folder
 * @throws OperatorError if a fixture file in that folder cannot be understood
 */
export async function runFixtures(
  operator: Operator,
  given: Fixtures = readAll(operator.folder, operator),
): Promise<FixtureResult[]> {
  const { fixtures, events } = given;
  const { env, timeoutSeconds } = operator;
  const transport = localHandler(operator, env);
  const pool = new HandlerPool({ transport, timeoutMs: timeoutSeconds * 1000 });
  try {
    const results: FixtureResult[] = [];
    for (const fixture of fixtures) results.push(...(await runFixture(fixture, operator, pool)));
    for (const { name, place, fixture } of events)
      results.push({ name, place, ...runEventFixture(fixture, operator) });
    return results;
  } finally {
    await pool.close();
  }
}

async function runFixture(fixture: Fixture, operator: Operator, pool: HandlerPool): Promise<FixtureResult[]> {
  const { name, steps = [fixture] } = fixture;
  const results: FixtureResult[] = [];
  let now = firstOf(fixture);
  let isUnexpected = false;
  for (const [index, step] of steps.entries()) {
    const place = fixture.steps ? { ...fixture.place, step: index } : fixture.place;
    const title = fixture.steps ? `${name} step ${index + 1}` : name;
    if (fixture.steps) now = changed(now, fixture.event, step);
    const { expectation, ...result } = await ask({ title, place, fixture, step, now, operator, pool });
    isUnexpected ||= !result.passed && expectation === undefined;
    // What follows from an answer that may not be expected may not be expected either.
    results.push(isUnexpected || !expectation ? result : { ...result, expectation });
    // The following steps are unknown.
    if (result.actual === undefined) break;
    now = after(now, result.actual, operator);
  }
  return results;
}

interface Asked {
  readonly title: string;
  readonly place: FixturePlace;
  readonly fixture: Fixture;
  readonly step: FixtureStep;
  readonly now: Situation;
  readonly operator: Operator;
  readonly pool: HandlerPool;
}

async function ask({
  title: name,
  place,
  fixture,
  step,
  now,
  operator,
  pool,
}: Asked): Promise<FixtureResult> {
  const expected = step.answer ?? step.expect;
  const result = { name, place, expected };
  const { object, flaw } = knownObject(now.object, operator);
  const flaws = [...missingChildren(step, now.children), ...unknownSchedules(now, operator)];
  if (flaw !== undefined) flaws.push(`object: ${flaw}`);
  if (flaws.length > 0) return { ...result, passed: false, differences: [], failure: flaws.join("\n") };
  const situation = { ...now, object };
  try {
    const actual = await answerTo(situation, operator, pool);
    const isAskedAgain = fixture.repeatable && now.event === "reconcile" && !("error" in actual);
    const again = isAskedAgain ? await answerTo(situation, operator, pool) : actual;
    return { ...result, actual, ...judged(step, actual, again) };
  } catch (error) {
    if (!(error instanceof ReconcileFailure)) throw error;
    const failure = [error.message, error.log].join("\n").trim();
    return { ...result, passed: false, differences: [], failure };
  }
}

/**
 * Compares an answer with the expectation of a step, and with the second answer to the same question. Decides whether the answer
 * may be expected instead: it is no error that nobody has expected, and the second answer is the same.
 */
function judged(
  { answer, expect }: FixtureStep,
  actual: HandlerAnswer,
  again: HandlerAnswer,
): Pick<FixtureResult, "passed" | "differences" | "expectation"> {
  const expected = answer ?? expect;
  const field = expected && !answer ? "expect" : "answer";
  const { differences, met } = compare(expected ?? {}, actual, field === "expect" ? "part" : "whole");
  const changes = compare(actual, again, "whole").differences.map((line) => `asked a second time: ${line}`);
  const mayBeExpected = met !== undefined && changes.length === 0;
  const found = [
    ...(expected ? [] : [mayBeExpected ? `${NOTHING_EXPECTED}, ${UPDATE_IT}` : NOTHING_EXPECTED]),
    ...(expected || met === undefined ? differences : []),
    ...changes,
  ];
  if (found.length === 0 || !mayBeExpected) return { passed: found.length === 0, differences: found };
  return { passed: false, differences: found, expectation: { field, value: met } };
}

/**
 * The object of a fixture as the API server would store it, and why the API server would refuse it. Its schema is known only if
 * the kind is the operator's own.
 */
export function knownObject(
  object: JsonObject,
  { watch, crd, customResource }: Operator,
): { readonly object: JsonObject; readonly flaw?: string | undefined } {
  if (!watch) return admitted(object, crd, customResource.version);
  const apiVersion = apiVersionOf(customResource);
  const isOther =
    (object.kind ?? customResource.kind) !== customResource.kind ||
    (object.apiVersion ?? apiVersion) !== apiVersion;
  const flaw = isOther
    ? `is no ${customResource.kind} (${apiVersion}), which operator.yaml watches`
    : undefined;
  return { object: { apiVersion, kind: customResource.kind, ...object }, flaw };
}

const NOTHING_EXPECTED = "The fixture has no answer and no expect. Write one of them";
const UPDATE_IT = "or let argosy test --update write the answer";

/** Children that a step names but that do not exist. */
function missingChildren(
  { ready = [], observed = {} }: FixtureStep,
  children: readonly JsonObject[],
): string[] {
  const named = [...(ready === "all" ? [] : ready), ...Object.keys(observed)];
  return named
    .filter((name) => observed[name] !== null && !children.some((child) => isNamed(child, name)))
    .map((name) => `there is no child ${name} at this step`);
}

function unknownSchedules({ due }: Situation, { schedules = {} }: Operator): string[] {
  return due
    .filter(({ name }) => !Object.hasOwn(schedules, name))
    .map(({ name }) => `due: operator.yaml has no schedule ${name}`);
}

async function answerTo(situation: Situation, operator: Operator, pool: HandlerPool): Promise<HandlerAnswer> {
  const { answer: given } = await pool.ask(questionOf(situation, operator));
  const answer = parseAnswer(given, situation.event);
  checkAgainstDefinition(answer, situation.object, operator);
  return answer;
}

/** Those checks of the engine before applying anything that need no cluster. */
function checkAgainstDefinition(answer: HandlerAnswer, object: JsonObject, operator: Operator): void {
  if ("children" in answer) desiredOf(answer, object, operator);
  if ("error" in answer) return;
  const problem = partWithoutPlace(answer, !operator.watch);
  if (problem) throw invalid(problem);
  const flaw = answer.status && statusChecker(operator.customResource.statusSchema)(answer.status);
  if (flaw) throw invalidStatus(flaw);
}
