import { setTimeout as pause } from "node:timers/promises";
import fc from "fast-check";
import { isJsonObject, type JsonObject } from "../../runtime/base/objects";
import { type HandlerAnswer, HandlerPool, type Operator } from "../../runtime/cli";
import { CommandError } from "../common/commandError";
import { compare } from "../fixtures/compare";
import { readAll } from "../fixtures/fixture";
import { answerTo, knownObject } from "../fixtures/runFixtures";
import { merged } from "../fixtures/sequence";
import type { Situation } from "../fixtures/situation";
import { localHandler } from "../handler/localHandler";
import { type Case, CaseRun, casesOf, type Material } from "./cases";
import { counterexampleOf } from "./counterexample";
import type { Play, Processes } from "./play";
import { valuesOf } from "./values";
import { Violation } from "./violation";

/** How long is searched. */
export interface Budget {
  /** The same seed gives the same cases. */
  readonly seed: number;
  /** The most cases. */
  readonly runs: number;
  /** The most time for them, in milliseconds. Making a counterexample smaller takes a few seconds more. */
  readonly ms: number;
}

/** What a search did so far. */
export interface Count {
  /** Cases that were run. */
  cases: number;
  /** Cases with an object that the CRD's schema refuses. */
  refused: number;
  /** Questions that were answered. */
  answers: number;
}

/** What a search found. */
export interface Outcome extends Readonly<Count> {
  /** What breaks a rule. Undefined: nothing was found. */
  readonly violation?: Violation;
  /** The documents of a fixture that fails because of that. Undefined: there is none. */
  readonly counterexample?: readonly JsonObject[];
  /** Fields with the values of the fixtures alone. */
  readonly known: readonly string[];
}

/** How long a violation is made smaller, in milliseconds: a quarter of the time of the search, within these. */
const [SHORTEST_MS, LONGEST_MS] = [5_000, 15_000];
/** How many questions are asked once more at another time. */
const ASKED_LATER = 40;
/** The processes are replaced after this many cases, because what is left in them may make all answers alike. */
const RENEWED_AFTER = 6;

/**
 * Looks for an object, a change of it, or something that goes wrong, for which a handler breaks a rule.
 *
 * @param count is kept up to date
 * @throws OperatorError if a fixture cannot be understood; UsageError if one is needed and there is none
 */
export async function search(operator: Operator, budget: Budget, count: Count): Promise<Outcome> {
  const material = materialOf(operator);
  const { values, fuzzing } = material;
  const cases = casesOf(material);
  const transport = localHandler(operator, operator.env);
  const { seed, runs: numRuns, ms } = budget;

  const veteran = new ProcessPair(operator, transport, count);
  let found: Violation | undefined;
  const played = async (given: Case, pair: ProcessPair, keep: (violation: Violation) => void) => {
    const run = new CaseRun(material, given, pair.processes);
    if (!run.isAdmitted) {
      count.refused += 1;
      return;
    }
    count.cases += 1;
    try {
      await run.judge();
    } catch (error) {
      if (error instanceof Violation) keep(error);
      throw error;
    }
  };
  /** The same violation with a smaller case. @param pair whom to ask. @default processes of its own for each try */
  const smaller = async (path: string, pair?: ProcessPair) => {
    let [smallest, isOver]: [Violation | undefined, boolean] = [undefined, false];
    const keep = (violation: Violation) => {
      // What is interrupted may still go on.
      if (!isOver) smallest = violation;
    };
    const property = fc.asyncProperty(cases, async (given) => {
      const asked = pair ?? new ProcessPair(operator, transport, count);
      await played(given, asked, keep).finally(() => (pair ? undefined : asked.close()));
    });
    const interruptAfterTimeLimit = Math.min(Math.max(ms / 4, SHORTEST_MS), LONGEST_MS);
    await fc.check(property, { seed, path, numRuns: 1, interruptAfterTimeLimit });
    isOver = true;
    return smallest;
  };
  let violation: Violation | undefined;
  let counterexample: readonly JsonObject[] | undefined;
  const isShown = async (candidate: Violation | undefined) => {
    const documents = candidate && (await counterexampleOf(candidate, operator, fuzzing));
    if (documents) [violation, counterexample] = [candidate, documents];
    return documents !== undefined;
  };
  try {
    const property = fc.asyncProperty(cases, async (given) => {
      if (count.cases % RENEWED_AFTER === 0) veteran.renew();
      await played(given, veteran, (each) => {
        found ??= each;
      });
    });
    const { failed, errorInstance, counterexamplePath } = await fc.check(property, {
      ...{ seed, numRuns, endOnFailure: true, interruptAfterTimeLimit: ms },
    });
    const first = found as Violation | undefined;
    if (failed && !first)
      throw (
        errorInstance ??
        new CommandError(
          `${operator.name}: no case came to its end in ${ms / 1_000} s, and the handler may take ${operator.timeoutSeconds} s for each answer. Give more time with --seconds, or lower timeoutSeconds.`,
        )
      );
    const path = counterexamplePath ?? "";
    const timed = first?.rule === "fails" ? undefined : await veteran.askLater();
    // What is to blame: the clock; the case; the case, but only in new processes; what other objects have left in the process.
    const isShownByOne =
      (await isShown(timed)) ||
      (first !== undefined &&
        ((await isShown(await smaller(path, veteran))) || (await isShown(await smaller(path)))));
    if (first && !isShownByOne) await isShown(veteran.afterOthers(first));
    violation ??= first ?? timed;
  } finally {
    await veteran.close();
  }
  return {
    ...count,
    known: values.known,
    ...(violation && { violation }),
    ...(counterexample && { counterexample }),
  };
}

/** A question and its answer. */
interface Answered {
  readonly play: Play;
  readonly asked: Situation;
  readonly answer: HandlerAnswer;
  /** How large the question is. */
  readonly size: number;
}

/** Two processes of the handler, and what they were asked. */
class ProcessPair {
  readonly processes: Processes;
  private readonly pools: readonly HandlerPool[];
  /** The smallest questions. */
  private readonly asked: Answered[] = [];
  private readonly lives: Play[] = [];

  constructor(
    private readonly operator: Operator,
    transport: ReturnType<typeof localHandler>,
    count: Count,
  ) {
    const isFunction = "function" in operator.handler;
    const timeoutMs = operator.timeoutSeconds * 1_000;
    const pool = () => new HandlerPool({ transport, isFunction, timeoutMs, most: 1 });
    const [own, other] = [pool(), pool()];
    this.pools = [own, other];
    this.processes = {
      operator,
      own,
      other,
      onAnswer: (play, asked, answer) => {
        count.answers += 1;
        const size = JSON.stringify([asked.object, asked.children]).length;
        const isShort = this.asked.length < ASKED_LATER;
        const longest = this.asked.at(-1);
        if (!isShort && longest && longest.size <= size) return;
        if (!isShort) this.asked.pop();
        this.asked.push({ play, asked, answer, size });
        this.asked.sort((a, b) => a.size - b.size);
      },
      onLife: (play) => void this.lives.push(play),
    };
  }

  /** New processes take the place of these. */
  renew(): void {
    for (const pool of this.pools) pool.renew();
    this.lives.length = 0;
  }

  /** Asks some questions again, in another second. */
  async askLater(): Promise<Violation | undefined> {
    await pause(1_000 - (Date.now() % 1_000) + 1);
    for (const { play, asked, answer } of this.asked) {
      const again = await answerTo("fuzz", asked, this.operator, this.processes.other).catch(() => undefined);
      const differences = again ? compare(answer, again.answer, "whole").differences : [];
      if (differences.length > 0) return new Violation("later", differences, { play, asked });
    }
    return undefined;
  }

  /** A violation that there is only after the lives of other objects. */
  afterOthers({ rule, differences, evidence }: Violation): Violation {
    const earlier = this.lives.filter((play) => play !== evidence.play);
    const isAboutOthers = rule === "history" || rule === "disturbed" || rule === "differs";
    return new Violation(isAboutOthers ? "others" : rule, differences, { ...evidence, earlier });
  }

  async close(): Promise<void> {
    await Promise.all(this.pools.map((pool) => pool.close()));
  }
}

/** What is known of an operator's objects. */
function materialOf(operator: Operator): Material {
  const { fixtures, fuzzing = {} } = readAll(operator.folder, operator);
  const objects = fixtures.flatMap(({ object, steps = [] }) => {
    let now = object;
    const later = steps.map((step) => {
      if (step.object) now = merged(now, step.object) as JsonObject;
      return now;
    });
    return [object, ...later];
  });
  const seeds = objects
    .map((object) => knownObject(object, operator))
    .filter(({ flaw }) => flaw === undefined)
    .map(({ object }) => object);
  const metadata = seeds.map(({ metadata: given }) => {
    const { labels, annotations } = (isJsonObject(given) ? given : {}) as JsonObject;
    return { ...(labels && { labels }), ...(annotations && { annotations }) };
  });
  const used = fixtures.map(({ used: given }) => given).filter((given) => Object.keys(given).length > 0);
  return {
    operator,
    values: valuesOf(operator, seeds, fuzzing),
    used: used.length > 0 ? used : [{}],
    metadata: metadata.length > 0 ? metadata : [{}],
    fuzzing,
  };
}
