import { isDeepStrictEqual } from "node:util";
import { ReconcileFailure } from "../../runtime/base/failure";
import { ONCE_ANNOTATION } from "../../runtime/base/names";
import {
  isJsonObject,
  type Json,
  type JsonObject,
  kindAndName,
  type ObjectName,
} from "../../runtime/base/objects";
import type { HandlerAnswer, HandlerPool, Operator } from "../../runtime/cli";
import { compare } from "../fixtures/compare";
import type { FixtureStep } from "../fixtures/fixture";
import { answerTo, knownObject } from "../fixtures/runFixtures";
import { merged } from "../fixtures/sequence";
import { after, changed, type Situation } from "../fixtures/situation";
import type { Life, Round, Subject } from "./life";
import { Violation } from "./violation";

/** The handler's processes. */
export interface Processes {
  readonly operator: Operator;
  /** What is asked in the course of an object's life. */
  readonly own: HandlerPool;
  /** What is asked the same questions, and takes over after a kill. */
  readonly other: HandlerPool;
  /** Called for each question that is answered. */
  readonly onAnswer: (play: Play, asked: Situation, answer: HandlerAnswer) => void;
  /** Called for each object whose life begins. */
  readonly onLife: (play: Play) => void;
}

/** The error of a function that threw: "main.py:12 in reconcile: KeyError: 'size'". A function that means an error returns one. */
const THROWN = /^[^\s:]+\.(?:py|[cm]?[jt]sx?):(?:\d| )/;
/** An object that still changes after this many rounds never comes to rest. */
const MOST_ROUNDS = 30;
/** An error that is the answer this often in a row is the end. */
const MOST_ERRORS = 3;

/** The life of one object: what its handler was asked, as the steps of a fixture. */
export class Play implements Life {
  readonly steps: FixtureStep[] = [];
  readonly rounds: Round[] = [];
  private now: Situation;

  constructor(
    private readonly processes: Processes,
    readonly subject: Subject,
    private pool: HandlerPool,
    private readonly isShared: boolean,
  ) {
    const object = { metadata: subject.metadata, ...subject.content };
    const { operator } = processes;
    this.now = {
      ...{ event: "reconcile", children: [], made: new Set<string>(), due: [], attempt: 1 },
      object: knownObject(object, operator).object,
      used: subject.used,
      // Nothing outside of Kubernetes is to be done for objects that do not exist.
      dryRun: operator.finalize,
    };
    processes.onLife(this);
  }

  get situation(): Situation {
    return this.now;
  }

  /** The process dies. Another one goes on. */
  restart(): void {
    const { own, other } = this.processes;
    this.pool = this.pool === own ? other : own;
  }

  /** Asks the handler, after a change. @throws Violation */
  async ask(change: FixtureStep = {}): Promise<Round> {
    const { operator, own, other, onAnswer } = this.processes;
    const before = changed(this.now, "reconcile", change, operator.children);
    const asked = { ...before, object: knownObject(before.object, operator).object };
    this.steps.push(change);
    const answer = await this.answer(asked, this.pool);
    onAnswer(this, asked, answer);
    const places = this.isShared ? [this.pool, this.pool === own ? other : own] : [this.pool];
    const again = await Promise.all(places.map((pool) => this.answer(asked, pool)));
    for (const [index, second] of again.entries()) {
      const differences = differencesOf(answer, second);
      const detail = index === 0 ? "the same process" : "another process";
      if (differences.length > 0)
        throw new Violation("differs", differences, { play: this, asked, answer: second, detail });
    }
    const isError = "error" in answer;
    this.steps.splice(-1, 1, { ...change, expect: isError ? { error: {} } : {} });
    this.now = after(asked, answer, operator);
    const round = { before: asked, answer, after: this.now };
    this.rounds.push(round);
    return round;
  }

  /** Asks until nothing changes any more. Everything becomes ready. @returns the last round @throws Violation */
  async rest(change: FixtureStep = {}): Promise<Round> {
    let errors = 0;
    let round = await this.ask(change);
    for (let count = 0; count < MOST_ROUNDS; count += 1) {
      errors = "error" in round.answer ? errors + 1 : 0;
      if (errors >= MOST_ERRORS) return round;
      round = await this.ask(this.now.children.length > 0 ? { ready: "all" } : {});
      if (errors === 0 && isAtRest(round)) return round;
    }
    const [{ before, after: next }] = [round];
    const differences = compare(lasting(before), lasting(next), "whole").differences;
    throw new Violation("restless", differences, { play: this, asked: before, answer: round.answer });
  }

  private failure(asked: Situation, message: string, log = ""): Violation {
    this.steps.splice(-1, 1, { ...this.steps.at(-1), expect: {} });
    return new Violation("fails", [message, log].join("\n").trim().split("\n"), { play: this, asked });
  }

  private async answer(asked: Situation, pool: HandlerPool): Promise<HandlerAnswer> {
    const { operator } = this.processes;
    try {
      const { answer, log } = await answerTo("fuzz", asked, operator, pool);
      if (!("error" in answer && THROWN.test(answer.error.message))) return answer;
      throw this.failure(asked, answer.error.message, log);
    } catch (error) {
      if (!(error instanceof ReconcileFailure)) throw error;
      throw this.failure(asked, error.message, error.log);
    }
  }
}

/** What lasts of a situation. */
function lasting({ object, children, state }: Situation): JsonObject {
  return { status: object.status ?? {}, children: children as Json[], ...(state && { state }) };
}

function isAtRest({ before, after: next }: Round): boolean {
  return isDeepStrictEqual(plain(lasting(before)), plain(lasting(next)));
}

function plain(value: JsonObject): unknown {
  return JSON.parse(JSON.stringify(value));
}

function differencesOf(one: HandlerAnswer, other: HandlerAnswer): readonly string[] {
  return isDeepStrictEqual(one, other) ? [] : compare(one, other, "whole").differences;
}

/** The writes that bring about what an answer wants, in the order of the engine: children, what is deleted, the status. */
export interface Write {
  /** "Deployment shop/web", or "status". */
  readonly name: string;
  /** The change of the next step, if this write was not done. Undefined: a fixture cannot say that, so it is always done. */
  readonly undone: FixtureStep | undefined;
}

/** The writes of a round. */
export function writesOf({ before, after: next }: Round, operator: Operator): Write[] {
  const old = new Map(before.children.map((child) => [nameOf(child), child]));
  const fresh = new Map(next.children.map((child) => [nameOf(child), child]));
  const applied = next.children.flatMap((child): Write[] => {
    const name = nameOf(child);
    const former = old.get(name);
    if (isDeepStrictEqual(former, child)) return [];
    if (former)
      return [{ name, undone: isExact(child, former) ? observed(child, patchOf(child, former)) : undefined }];
    return [{ name, undone: isMadeOnce(child, operator) ? undefined : observed(child, null) }];
  });
  const deleted = before.children
    .filter((child) => !fresh.has(nameOf(child)))
    .map((child): Write => ({ name: nameOf(child), undone: observed(child, child) }));
  const statuses = [before.object.status, next.object.status];
  const isStatus = !isDeepStrictEqual(statuses[0], statuses[1]);
  const status = patchOf({ status: statuses[1] ?? {} }, { ...(statuses[0] && { status: statuses[0] }) });
  return [...applied, ...deleted, ...(isStatus ? [{ name: "status", undone: { object: status } }] : [])];
}

/** Several changes as one. */
export function together(changes: readonly (FixtureStep | undefined)[]): FixtureStep {
  const given = changes.filter((change) => change !== undefined);
  const [observed, object] = [given.map((change) => change.observed), given.map((change) => change.object)];
  return {
    ...(observed.some(Boolean) && { observed: Object.assign({}, ...observed) }),
    ...(object.some(Boolean) && { object: Object.assign({}, ...object) }),
  };
}

/** The deletion of a child by another client. Undefined: the engine would not make it again. */
export function deletionOf(child: JsonObject, operator: Operator): FixtureStep | undefined {
  return isMadeOnce(child, operator) ? undefined : observed(child, null);
}

function observed(child: JsonObject, change: Json): FixtureStep {
  const { kind, metadata } = child as unknown as { kind: string; metadata: ObjectName };
  const { namespace, name } = metadata;
  return {
    observed: { [namespace === undefined ? `${kind}/${name}` : `${kind}/${namespace}/${name}`]: change },
  };
}

/** "Deployment shop/web". */
export function nameOf(child: JsonObject): string {
  const { kind, metadata } = child as unknown as { kind: string; metadata: ObjectName };
  return kindAndName(kind, metadata);
}

/** Whether a child is not made again when it is gone. */
export function isMadeOnce(child: JsonObject, operator: Operator): boolean {
  return isOnce(child) || isNever(child, operator);
}

/** Whether a child has the mark that it is made once. */
export function isOnce({ metadata }: JsonObject): boolean {
  const annotations = isJsonObject(metadata) ? metadata.annotations : undefined;
  return isJsonObject(annotations) && annotations[ONCE_ANNOTATION] !== undefined;
}

/** Whether the definition says that a child of this kind is never changed. */
export function isNever({ apiVersion, kind }: JsonObject, { children }: Operator): boolean {
  return children.some(
    (each) => each.update === "never" && each.kind === kind && each.apiVersion === apiVersion,
  );
}

/** The merge patch that makes one object of another. */
export function patchOf(from: JsonObject, to: JsonObject): JsonObject {
  const changes = Object.entries(to).flatMap(([key, value]): [string, Json][] => {
    const old = Object.hasOwn(from, key) ? from[key] : undefined;
    if (isDeepStrictEqual(old, value)) return [];
    if (isJsonObject(old) && isJsonObject(value)) return [[key, patchOf(old, value)]];
    return [[key, value as Json]];
  });
  const gone = Object.keys(from).filter((key) => !Object.hasOwn(to, key));
  return Object.fromEntries([...gone.map((key) => [key, null] as const), ...changes]);
}

/** Whether the patch says all that it should: a merge patch cannot say null. */
function isExact(from: JsonObject, to: JsonObject): boolean {
  return isDeepStrictEqual(merged(from, patchOf(from, to)), to);
}
