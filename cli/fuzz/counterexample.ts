import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { isJsonObject, type Json, type JsonObject } from "../../runtime/base/objects";
import type { Operator } from "../../runtime/cli";
import { scratchFolder } from "../common/scratchFolder";
import { yaml } from "../common/yaml";
import { type FixtureStep, readFixtures } from "../fixtures/fixture";
import type { Decider } from "../fixtures/fixtureServer";
import { type Fuzzing, withoutIgnored } from "../fixtures/fuzzing";
import { runFixtures } from "../fixtures/runFixtures";
import type { Situation } from "../fixtures/situation";
import type { Life } from "./life";
import { isNever, isOnce, nameOf } from "./play";
import { RULES, type Violation } from "./violation";

/** Whether the API server accepts what is written is not judged. */
const UNDECIDED: Decider = {
  store: async () => ({ stored: undefined, flaws: [] }),
  remove: async () => {},
  verdictOn: async () => ({ refusals: [], unchecked: [] }),
};
/** How often a fixture is made smaller. */
const MOST_REDUCTIONS = 20;

/** The documents of a fixture that fails because of a violation. Undefined: none that was tried does. */
export async function counterexampleOf(
  violation: Violation,
  operator: Operator,
  fuzzing: Fuzzing,
): Promise<readonly JsonObject[] | undefined> {
  const { earlier = [] } = violation.evidence;
  for (const last of candidates(violation, operator, fuzzing)) {
    if (await fails([last], operator)) {
      const plain = withoutMarks(last);
      return [(await fails([plain], operator)) ? plain : last];
    }
    const before = earlier.map((play) => lifeOf(play));
    if (before.length > 0 && (await fails([...before, last], operator)))
      return reduced(before, last, operator);
  }
  return undefined;
}

/** A document without what a cluster gives an object, and few handlers read. */
function withoutMarks(document: JsonObject): JsonObject {
  const { metadata, ...object } = document.object as JsonObject;
  const { uid: _, generation: __, creationTimestamp: ___, ...own } = metadata as JsonObject;
  const steps = (document.steps as JsonObject[] | undefined)?.map(({ object: change, ...step }) => {
    const { metadata: of = {}, ...others } = (change ?? {}) as JsonObject;
    const { generation: ____, ...kept } = of as JsonObject;
    const left = { ...(Object.keys(kept).length > 0 && { metadata: kept }), ...others };
    return { ...(Object.keys(left).length > 0 && { object: left }), ...step };
  });
  return { ...document, object: { ...object, metadata: own }, ...(steps && { steps }) };
}

/**
 * Writes a fixture that fails because of a violation.
 * @returns its path
 */
export function writeCounterexample(
  documents: readonly JsonObject[],
  { rule }: Violation,
  { folder, name }: Operator,
  seed: number,
): string {
  const directory = path.join(folder, "fixtures");
  mkdirSync(directory, { recursive: true });
  const names = [
    `fuzz-${seed}.yaml`,
    ...Array.from({ length: 1_000 }, (_, index) => `fuzz-${seed}-${index + 2}.yaml`),
  ];
  const file = path.join(
    directory,
    names.find((each) => !existsSync(path.join(directory, each))) ?? "fuzz.yaml",
  );
  const head = `# Found by argosy fuzz ${name} --seed ${seed}: ${RULES[rule]}.\n`;
  writeFileSync(file, head + textOfAll(documents));
  return file;
}

function textOfAll(documents: readonly JsonObject[]): string {
  return documents.map((document) => yaml(document)).join("---\n");
}

/** Whether `argosy test` fails in the last of the documents, in processes of its own. */
async function fails(documents: readonly JsonObject[], operator: Operator): Promise<boolean> {
  const scratch = scratchFolder("argosy-fuzz");
  try {
    mkdirSync(path.join(scratch.path, "fixtures"));
    writeFileSync(path.join(scratch.path, "fixtures/fuzz.yaml"), textOfAll(documents));
    const fixtures = readFixtures(scratch.path, operator);
    const results = await runFixtures(operator, { fixtures, events: [] }, UNDECIDED);
    return results.some(({ passed, place }) => !passed && place.document === documents.length - 1);
  } finally {
    scratch.remove();
  }
}

/** The last ones of these documents that are enough, with as few others as can be found in a few tries. */
async function reduced(
  before: readonly JsonObject[],
  last: JsonObject,
  operator: Operator,
): Promise<readonly JsonObject[]> {
  let [kept, tries] = [before, 0];
  for (let size = Math.ceil(kept.length / 2); size >= 1 && tries < MOST_REDUCTIONS; ) {
    let isSmaller = false;
    for (let from = 0; from < kept.length && tries < MOST_REDUCTIONS; tries += 1) {
      const left = kept.filter((_, index) => index < from || index >= from + size);
      if (await fails([...left, last], operator)) [kept, isSmaller] = [left, true];
      else from += size;
    }
    if (!isSmaller && size === 1) break;
    size = isSmaller ? Math.min(size, Math.ceil(kept.length / 2)) : Math.floor(size / 2);
  }
  return [...kept, last];
}

/** What may show a violation: that which needs no expected values comes first. */
function candidates({ rule, evidence }: Violation, operator: Operator, fuzzing: Fuzzing): JsonObject[] {
  const { play, asked, answer, apartFrom } = evidence;
  const alone = { ...situationOf(asked), expect: {} };
  switch (rule) {
    case "fails":
      return [alone, lifeOf(play)];
    case "later":
      return [{ ...alone, repeatable: "later" }];
    case "restless":
      return [{ ...alone, repeatable: "applied" }];
    case "shared":
      return [{ ...situationOf({ ...asked, children: [] }), apartFrom: apartFrom as JsonObject, expect: {} }];
    default: {
      const whole = (answer ?? {}) as unknown as JsonObject;
      const part = expectationOf(whole, operator, fuzzing);
      const isHere = rule === "differs" ? [alone, { ...alone, repeatable: "later" }] : [];
      const left = leftOut(play, whole, operator);
      return [...isHere, ...left, lifeOf(play, { expect: part }), lifeOf(play, { answer: whole })];
    }
  }
}

/**
 * A child that is made only once is gone for good when an answer has left it out, though a later one has it again. The life up to that
 * answer.
 */
function leftOut(play: Life, { children = [] }: JsonObject, operator: Operator): JsonObject[] {
  const there = new Set(play.situation.children.map(nameOf));
  return (children as JsonObject[])
    .filter((child) => isNever(child, operator))
    .flatMap((wanted) => {
      const isIt = (child: JsonObject) =>
        child.kind === wanted.kind && nameIn(child).name === nameIn(wanted).name;
      const last = play.rounds.findIndex(
        ({ before, after }) => before.children.some(isIt) && !after.children.some(isIt),
      );
      if (last < 0 || [...there].some((name) => name === nameOf(wanted))) return [];
      const expected = { kind: wanted.kind as Json, metadata: { name: nameIn(wanted).name as Json } };
      return [lifeOf(play, { expect: { children: [expected] } }, last + 1)];
    });
}

/** A single question as a fixture. */
function situationOf({ event, object, children, used, state, due, dryRun }: Situation): JsonObject {
  return {
    ...(event === "finalize" && { event }),
    ...(dryRun && { dryRun }),
    object,
    ...(children.length > 0 && { children: children as Json[] }),
    ...(Object.keys(used).length > 0 && { used }),
    ...(state !== undefined && { state }),
    ...(due.length > 0 && { due: due as unknown as Json[] }),
  };
}

/** A life as a fixture. @param expectation that of the last step. @default what was answered may be anything @param length how many steps it has. @default all */
function lifeOf(
  { steps: done, subject, situation }: Life,
  expectation: FixtureStep = {},
  length = done.length,
): JsonObject {
  const { metadata, content, used } = subject;
  const steps = done.slice(0, length);
  const all = steps.map((step, index) => {
    const { expect, ...change } = step;
    return {
      ...change,
      ...(index === steps.length - 1 && Object.keys(expectation).length > 0
        ? expectation
        : { expect: expect ?? {} }),
    };
  });
  const [only, ...others] = all;
  const { expect, answer, ...change } = only ?? {};
  return {
    ...(situation.dryRun && { dryRun: true }),
    object: { metadata, ...content },
    ...(Object.keys(used).length > 0 && { used }),
    ...(others.length === 0 && Object.keys(change).length === 0
      ? ((answer ? { answer } : { expect: expect ?? {} }) as JsonObject)
      : { steps: all as unknown as Json[] }),
  };
}

/** The part of an answer that is expected: what the comparison has judged. */
function expectationOf(answer: JsonObject, operator: Operator, fuzzing: Fuzzing): JsonObject {
  const { children, status } = answer as { children?: JsonObject[]; status?: JsonObject };
  const compared = children
    ?.filter((child) => !isOnce(child))
    .map((child) =>
      isNever(child, operator) ? { kind: child.kind as Json, metadata: nameIn(child) } : child,
    );
  const whole: JsonObject = {
    ...(compared && { children: compared }),
    ...(status && { status }),
  };
  return withoutIgnored(whole, fuzzing);
}

function nameIn({ metadata }: JsonObject): JsonObject {
  const { name, namespace } = (isJsonObject(metadata) ? metadata : {}) as JsonObject;
  return { name: name as Json, ...(namespace !== undefined && { namespace }) };
}
