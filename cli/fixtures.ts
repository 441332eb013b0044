import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import {
  anyObject,
  check,
  complainIn,
  either,
  fields,
  filledListOf,
  flag,
  listOf,
  oneOf,
  pattern,
  text,
  word,
} from "../definition/checks";
import { admitted } from "../definition/customResource";
import { Problems } from "../definition/problems";
import { readYaml } from "../definition/readYaml";
import { type DesiredChild, desiredChildren } from "../runtime/children/desiredChildren";
import type { Operator } from "../runtime/definition/definition";
import { statusChecker } from "../runtime/definition/statusSchema";
import { ReconcileFailure } from "../runtime/failure";
import { misplaced } from "../runtime/handler/askHandler";
import {
  type DueSchedule,
  type HandlerAnswer,
  type HandlerEvent,
  type HandlerQuestion,
  type QuestionParts,
  questionAbout,
  type ReconcileAnswer,
} from "../runtime/handler/contract";
import { HandlerPool } from "../runtime/handler/handlerPool";
import { parseAnswer } from "../runtime/handler/parseAnswer";
import { isNamespaced } from "../runtime/kubernetes/kinds";
import type { Json, JsonObject, Manifest } from "../runtime/kubernetes/objects";
import { apiVersionOf, isJsonObject } from "../runtime/kubernetes/objects";
import { readUsed } from "../runtime/reconcile/trial";
import { differences } from "./fixtures/differences";
import { type EventFixture, isEventFixture, readEventFixture, runEventFixture } from "./fixtures/events";
import { isNamed, madeReady, merged, observedAfter } from "./fixtures/sequence";
import { localHandler } from "./localHandler";

/** An example of what a handler is asked and what it must answer. */
export interface Fixture {
  /** The file in the operator's folder, and which of its documents: "fixtures/scale.yaml#2". */
  readonly name: string;
  readonly place: FixturePlace;
  readonly event: HandlerEvent;
  readonly object: JsonObject;
  /** The observed children. */
  readonly children: readonly Json[];
  /** Schedules that are due. */
  readonly due: readonly DueSchedule[];
  /** Whether the same question is asked again, which must give the same answer. @default true */
  readonly repeatable: boolean;
  /** What the object uses, by the names in the definition's `uses`. What is left out is null or []. */
  readonly used: JsonObject;
  /** What the handler answered as state the last time; undefined where it is asked for the first time. */
  readonly state?: JsonObject | undefined;
  /** The whole answer that is expected. */
  readonly answer?: JsonObject | undefined;
  /** The part of the answer that is expected. */
  readonly expect?: JsonObject | undefined;
  /** Questions that follow one another, in place of one. */
  readonly steps?: readonly FixtureStep[] | undefined;
}

/** One question of a fixture with several. */
export interface FixtureStep {
  readonly event?: HandlerEvent | undefined;
  /** Schedules that are due in this step. @default none */
  readonly due?: readonly DueSchedule[] | undefined;
  /** What has changed in the object since the step before, as a merge patch. */
  readonly object?: JsonObject | undefined;
  /** Children that have become ready since then: "all", or "Deployment/hello". */
  readonly ready?: "all" | readonly string[] | undefined;
  /** What else has changed in observed children, as merge patches by "Deployment/hello"; null: it was deleted. */
  readonly observed?: JsonObject | undefined;
  /** What else the object uses now, by the names in the definition's `uses`. */
  readonly used?: JsonObject | undefined;
  readonly answer?: JsonObject | undefined;
  readonly expect?: JsonObject | undefined;
}

/** What a handler made of a fixture, or of a step of it. */
export interface FixtureResult {
  /** "fixtures/scale.yaml", or "fixtures/scale.yaml step 2". */
  readonly name: string;
  /** Whether the answer is the expected one, and holds what every answer must. */
  readonly passed: boolean;
  /** What the fixture expects; undefined where it says nothing yet. */
  readonly expected?: JsonObject | undefined;
  /** What the handler answered; undefined where it gave no valid answer. */
  readonly actual?: HandlerAnswer;
  /** What differs: a line for each field. */
  readonly differences: readonly string[];
  /** Why there is no valid answer, with the end of the handler's standard error. */
  readonly failure?: string;
  /** Where the expectation stands in its file. */
  readonly place: FixturePlace;
}

/** A place of a fixture, for {@link updateFixtures}. */
export interface FixturePlace {
  /** The file's name in fixtures/. */
  readonly file: string;
  /** Which of its documents, counted from 0. */
  readonly document: number;
  /** Which of its steps, counted from 0; undefined: it has none. */
  readonly step?: number;
}

/**
 * Runs an operator's fixtures, one after another, in one living process of its real handler, just as the engine
 * would run it. After a failure the next fixture gets a fresh process.
 *
 * @throws OperatorError where a fixture file cannot be understood
 */
export async function runFixtures(operator: Operator): Promise<FixtureResult[]> {
  const { fixtures, events } = readAll(operator.folder, operator);
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

/** Fixtures of a handler, and of the events of `on`. */
interface Fixtures {
  readonly fixtures: readonly Fixture[];
  readonly events: readonly {
    readonly name: string;
    readonly place: FixturePlace;
    readonly fixture: EventFixture;
  }[];
}

/**
 * Reads the fixtures of an operator's handler: every document of `fixtures/*.yaml`, in the order of the files' names.
 *
 * @param operator whose fixtures they are: what they use is compared with its definition. @default it is not compared
 * @throws OperatorError where one cannot be understood
 */
export function readFixtures(folder: string, operator?: Pick<Operator, "uses">): readonly Fixture[] {
  return readAll(folder, operator).fixtures;
}

function readAll(folder: string, operator?: Pick<Operator, "uses">): Fixtures {
  const directory = path.join(folder, "fixtures");
  if (!existsSync(directory)) return { fixtures: [], events: [] };
  const problems = new Problems();
  const fixtures: Fixture[] = [];
  const events: Fixtures["events"][number][] = [];
  for (const name of readdirSync(directory).sort()) {
    if (!/\.ya?ml$/.test(name)) continue;
    const file = path.join(directory, name);
    const documents = readYaml(file, "Give it back, or leave it out.", problems) ?? [];
    for (const [index, { content, report }] of documents.entries()) {
      const title = `fixtures/${name}${documents.length > 1 ? `#${index + 1}` : ""}`;
      const place = { file: name, document: index };
      if (isEventFixture(content)) {
        const fixture = readEventFixture(content, report);
        if (fixture) events.push({ name: title, place, fixture });
        continue;
      }
      const fixture = check(FIXTURE, content, report);
      const given = fixture && [fixture.used, ...(fixture.steps ?? []).map(({ used = {} }) => used)];
      const flaw =
        operator && given?.map((used) => flawInUsed(used, operator)).find((each) => each !== undefined);
      if (flaw !== undefined) report("used", flaw, "Give the objects that the definition's uses name.");
      if (fixture) fixtures.push({ ...fixture, name: title, place });
    }
  }
  if (problems.found) throw problems.toError();
  return { fixtures, events };
}

const ANSWER = anyObject("Give the whole answer: children and status, or error.").optional();
const EXPECT = anyObject("Give what matters of the answer.").optional();
const EVENT = oneOf(["reconcile", "finalize"], "Leave it out for reconcile.");

const DUE_REMEDY = 'Write, for example, due: [{ name: nightly, at: "2026-01-31T03:00:00Z" }].';

const DUE = listOf(
  fields(
    {
      name: text("Name a schedule of operator.yaml."),
      at: pattern(
        /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/,
        "an instant as the engine writes it",
        'Write it in UTC and in quotes, for example "2026-01-31T03:00:00Z".',
      ),
    },
    DUE_REMEDY,
  ),
  DUE_REMEDY,
);

const READY_REMEDY = "Write all, or name children, for example [Deployment/hello].";

const STEP = fields(
  {
    event: EVENT.optional(),
    due: DUE.optional(),
    object: anyObject("Give what has changed in the object, for example { spec: { size: 5 } }.").optional(),
    ready: either(
      [
        word("all", 'not "all" and no list', READY_REMEDY),
        listOf(text("Name a child, for example Deployment/hello."), READY_REMEDY),
      ],
      '"all" or a list',
      READY_REMEDY,
    ).optional(),
    used: anyObject("Give objects by the names in the definition's uses.").optional(),
    observed: anyObject("Give changes of children by their names, for example Deployment/hello.").optional(),
    answer: ANSWER,
    expect: EXPECT,
  },
  "Give what has changed, and answer or expect.",
).superRefine((step, context) => checkExpectation(step, complainIn(context)));

/** What stands in a document of `fixtures/*.yaml`. */
export const FIXTURE = fields(
  {
    event: EVENT.default("reconcile"),
    object: anyObject("Give the custom resource."),
    children: listOf(anyObject("Give an object."), "List the children that are there already.").default([]),
    state: anyObject("Give an object, or leave it out.").optional(),
    due: DUE.default([]),
    repeatable: flag("Leave it out for true.").default(true),
    used: anyObject("Give objects by the names in the definition's uses.").default({}),
    answer: ANSWER,
    expect: EXPECT,
    steps: filledListOf(STEP, "List the steps, each with answer or expect.").optional(),
  },
  "Give object, children and answer.",
).superRefine((fixture, context) => checkExpectation(fixture, complainIn(context)));

/** What is wrong with what a fixture's object uses. Undefined: nothing. */
function flawInUsed(used: JsonObject, operator: Pick<Operator, "uses">): string | undefined {
  try {
    readUsed(used, operator);
    return undefined;
  } catch (error) {
    return `is wrong: ${(error as Error).message}`;
  }
}

function checkExpectation(
  given: { readonly answer?: unknown; readonly expect?: unknown; readonly steps?: unknown },
  complain: ReturnType<typeof complainIn>,
): void {
  const names = (["answer", "expect", "steps"] as const).filter((name) => given[name] !== undefined);
  const [first, second] = names;
  if (second === undefined) return;
  const remedy = "answer is the whole answer, expect a part of it, steps has them in each step.";
  complain([second], `is beside ${first}`, `Keep one of the two: ${remedy}`);
}

/** What is asked next of a fixture, and what is known from its steps so far. */
interface Situation {
  readonly event: HandlerEvent;
  readonly object: JsonObject;
  readonly children: readonly JsonObject[];
  /** The children that ever were there, by their keys. */
  readonly made: ReadonlySet<string>;
  readonly used: JsonObject;
  /** What the handler answered as state before. */
  readonly state?: JsonObject | undefined;
  readonly due: readonly DueSchedule[];
  readonly attempt: number;
}

/** The situation as a question of the engine's. Its object need not have more than its handler reads. */
function questionOf(
  { event, object, children, used, due, state, attempt }: Situation,
  operator: Operator,
): HandlerQuestion {
  const metadata = isJsonObject(object.metadata) ? object.metadata : {};
  const complete = { ...object, metadata: { uid: "fixture", ...metadata } };
  const given = { event, object: complete, children, used: readUsed(used, operator), due, state, attempt };
  const parts = given as unknown as QuestionParts;
  return { ...questionAbout(parts), object: object as unknown as HandlerQuestion["object"] };
}

async function runFixture(fixture: Fixture, operator: Operator, pool: HandlerPool): Promise<FixtureResult[]> {
  const { name, steps = [fixture] } = fixture;
  const results: FixtureResult[] = [];
  let now: Situation = {
    event: fixture.event,
    object: fixture.object,
    children: fixture.children as JsonObject[],
    made: new Set(),
    used: fixture.used,
    state: fixture.state,
    due: fixture.due,
    attempt: 1,
  };
  for (const [index, step] of steps.entries()) {
    const place = fixture.steps ? { ...fixture.place, step: index } : fixture.place;
    const title = fixture.steps ? `${name} step ${index + 1}` : name;
    if (fixture.steps) now = changed(now, fixture.event, step);
    const result = await ask({ title, place, fixture, step, now, operator, pool });
    results.push(result);
    // What would follow is unknown.
    if (result.actual === undefined) break;
    now = after(now, result.actual, operator);
  }
  return results;
}

/** What is asked at a step: the situation after the one before, with what has changed since. */
function changed(now: Situation, event: HandlerEvent, step: FixtureStep): Situation {
  const { ready = [], observed = {} } = step;
  const object = step.object ? (merged(now.object, step.object) as JsonObject) : now.object;
  const used = step.used ? { ...now.used, ...step.used } : now.used;
  const children = now.children.flatMap((child) => {
    const isReady = ready === "all" || ready.some((each) => isNamed(child, each));
    const [, change] = Object.entries(observed).find(([each]) => isNamed(child, each)) ?? [];
    const whole = isReady ? madeReady(child) : child;
    if (change === null) return [];
    return [change === undefined ? whole : (merged(whole, change) as JsonObject)];
  });
  return { ...now, event: step.event ?? event, object, children, used, due: step.due ?? [] };
}

/** What an answer leaves behind. After an error everything is as it was. */
function after(now: Situation, answer: HandlerAnswer, operator: Operator): Situation {
  if ("error" in answer) return { ...now, attempt: now.attempt + 1 };
  const { status: _, ...rest } = now.object;
  const object = { ...rest, ...(answer.status && { status: answer.status as JsonObject }) };
  if (!("children" in answer)) return { ...now, object, attempt: 1 };
  const answered = answer.children as unknown as JsonObject[];
  const desired = desiredOf(answer, now.object, operator);
  const state = (answer.state as JsonObject | undefined) ?? now.state;
  // What is not ours keeps its status, whatever the handler answers.
  const after = operator.watch ? now.object : object;
  return { ...now, object: after, state, ...observedAfter(answered, desired, now), attempt: 1 };
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
  const { object, flaw } = known(now.object, operator);
  const flaws = [...missingChildren(step, now.children), ...unknownSchedules(now, operator)];
  if (flaw !== undefined) flaws.push(`object: ${flaw}`);
  if (flaws.length > 0) return { ...result, passed: false, differences: [], failure: flaws.join("\n") };
  const situation = { ...now, object };
  try {
    const actual = await answerTo(situation, operator, pool);
    const found = expected
      ? differences(expected, actual, step.answer ? "whole" : "part")
      : [NOTHING_EXPECTED];
    if (fixture.repeatable && now.event === "reconcile" && !("error" in actual)) {
      const again = await answerTo(situation, operator, pool);
      found.push(...differences(actual, again, "whole").map((line) => `asked the same again: ${line}`));
    }
    return { ...result, passed: found.length === 0, actual, differences: found };
  } catch (error) {
    if (!(error instanceof ReconcileFailure)) throw error;
    const failure = [error.message, error.log].join("\n").trim();
    return { ...result, passed: false, differences: [], failure };
  }
}

/** The object as the API server has it. Its schema is known only of the operator's own kind. */
function known(
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

const NOTHING_EXPECTED =
  "it expects nothing yet. Write answer or expect, or let argosy test --update write what is answered";

/** Children that a step names, and that are not there. */
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

/** What the engine checks before it applies anything, as far as no cluster is needed for it. */
function checkAgainstDefinition(answer: HandlerAnswer, object: JsonObject, operator: Operator): void {
  if ("children" in answer) desiredOf(answer, object, operator);
  const check = statusChecker(operator.customResource.statusSchema);
  const problem =
    "error" in answer
      ? undefined
      : (misplaced(answer, !operator.watch) ?? (answer.status && check(answer.status)));
  if (problem) throw new ReconcileFailure("InvalidAnswer", problem);
}

/** The answered children as the engine understands them, with what no cluster says of their kinds. */
function desiredOf(answer: ReconcileAnswer, object: JsonObject, operator: Operator): DesiredChild[] {
  const { kind } = operator.customResource;
  const { apiVersion = apiVersionOf(operator.customResource), metadata } = object as unknown as Manifest;
  const owner = { apiVersion, kind, metadata: { uid: "fixture", resourceVersion: "1", ...metadata } };
  const resources = operator.children.map((child) => ({
    ...child,
    namespaced: isNamespaced(child.apiVersion, child.kind) ?? true,
  }));
  return desiredChildren(answer.children, owner, operator, resources);
}
