import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { isJsonObject, type Json, type JsonObject } from "../../runtime/base/objects";
import type { HandlerAnswer, Operator } from "../../runtime/cli";
import { compare } from "../fixtures/compare";
import type { FixtureStep } from "../fixtures/fixture";
import { type Fuzzing, valueAt, withoutIgnored, withValueAt } from "../fixtures/fuzzing";
import { knownObject } from "../fixtures/runFixtures";
import type { Life, Round, Subject } from "./life";
import {
  deletionOf,
  isNever,
  isOnce,
  nameOf,
  Play,
  type Processes,
  patchOf,
  together,
  writesOf,
} from "./play";
import type { Values } from "./values";
import { type Rule, Violation } from "./violation";

/** What an object may be at a time. */
interface State {
  readonly content: JsonObject;
  /** Which fields are those of the first state: a bit for each. */
  readonly kept: number;
  /** Which of the fixtures' used objects there are. */
  readonly used: number;
  /** Whether the next change comes only when all is at rest. */
  readonly rests: boolean;
}

/** Something that goes wrong. "away": the used objects do not exist for a while. */
interface Trouble {
  readonly what: "killed" | "refused" | "deleted" | "away";
  /** Whether a child or the used objects go when all is at rest. Otherwise they go right after the change. */
  readonly isAtRest: boolean;
  /** Which write, or which child. */
  readonly which: number;
}

/** The life of an object, and what goes wrong in it. */
export interface Case {
  readonly states: readonly State[];
  /** Whether the object becomes again what it was first. */
  readonly returns: boolean;
  readonly troubles: readonly Trouble[];
  /** Whether the schedules are due at the end. */
  readonly isDue: boolean;
  /** Whether each question is also asked in the other process. */
  readonly isShared: boolean;
  /** Another object before. */
  readonly other: State | undefined;
}

/** Everything that cases are made of. */
export interface Material {
  readonly operator: Operator;
  readonly values: Values;
  /** What the fixtures have as used objects. At least one. */
  readonly used: readonly JsonObject[];
  /** What the fixtures have as labels and annotations. At least one. */
  readonly metadata: readonly JsonObject[];
  readonly fuzzing: Fuzzing;
}

/** All cases of an operator. */
export function casesOf({ values, used, operator }: Material): fc.Arbitrary<Case> {
  const state = fc.record({
    content: values.content,
    kept: fc.oneof(fc.constant(0), fc.nat(255)),
    used: fc.oneof(
      { weight: 3, arbitrary: fc.constant(0) },
      { weight: 1, arbitrary: fc.nat(used.length - 1) },
    ),
    rests: fc.boolean(),
  });
  const trouble = fc.record({
    what: fc.constantFrom(...(["killed", "refused", "deleted", "away"] as const)),
    isAtRest: fc.boolean(),
    which: fc.nat(7),
  });
  return fc.record({
    states: fc.array(state, { minLength: 1, maxLength: 3 }),
    returns: fc.boolean(),
    troubles: fc.array(trouble, { maxLength: 2 }),
    isDue: operator.schedules ? fc.boolean() : fc.constant(false),
    isShared: fc.boolean(),
    other: fc.option(state, { nil: undefined, freq: 3 }),
  });
}

/** Words that no handler uses. All names have the same length. */
const WORDS = { own: "fuzzalpha", fresh: "fuzzgamma", other: "fuzzdelta", third: "fuzzomega" };
type Who = keyof typeof WORDS;
const DIGITS = { own: "a", fresh: "b", other: "c", third: "d" };
const OTHER_NAMESPACE = "fuzzelsewhere";
/** The object is being deleted. */
const DELETED: FixtureStep = {
  event: "finalize",
  object: { metadata: { deletionTimestamp: "2026-02-01T00:00:00Z" } },
};
const DUE_AT = "2026-01-31T03:00:00Z";

/** One run of a case. */
export class CaseRun {
  /** Objects of different cases have different names, as the handler may remember one. */
  private static count = 0;
  private readonly id = ++CaseRun.count;
  private readonly all: readonly State[];

  constructor(
    private readonly material: Material,
    private readonly given: Case,
    private readonly processes: Processes,
  ) {
    const { states, returns } = given;
    const [first] = states as [State];
    const { fixed } = material.values;
    const kept = states.map((state) => ({ ...state, content: keeping(first, state, fixed) }));
    const last = kept.at(-1) as State;
    this.all =
      returns && kept.length > 1 ? [...kept.slice(0, -1), { ...last, content: first.content }] : kept;
  }

  /** Whether the API server would admit all objects of the case, as far as can be told without one. */
  get isAdmitted(): boolean {
    const { operator } = this.material;
    const states = [...this.all, ...(this.given.other ? [this.given.other] : [])];
    return states.every(({ content }) => {
      const { object, flaw } = knownObject({ metadata: { name: this.nameOf("own") }, ...content }, operator);
      return flaw === undefined && isJsonObject(object);
    });
  }

  /** Asks the handler about all of it, and compares the end with that of an object that was always what it is now. @throws Violation */
  async judge(): Promise<void> {
    const { other } = this.given;
    const earlier: Play[] = [];
    if (other) {
      const play = this.play("other", other);
      earlier.push(play);
      await withEarlier([], () => play.rest());
    }
    const last = this.all.at(-1) as State;
    const { play, end } = await withEarlier(earlier, () => this.live());
    const fresh = this.play("fresh", last, { generation: this.all.length, pool: "other" });
    const reference = await this.dueAtEnd(fresh, await fresh.rest());
    await this.compareEnds(play, end, fresh, reference, last, earlier);
    if (!this.material.operator.finalize) return;
    await withEarlier(earlier, () => play.ask(DELETED));
    // An object may be deleted before its first run.
    await withEarlier(earlier, () => this.play("third", last).ask(DELETED));
  }

  /** The life of the object, with all that goes wrong. */
  private async live(): Promise<{ readonly play: Play; readonly end: Round }> {
    const [first, ...later] = this.all as [State, ...State[]];
    const play = this.play("own", first);
    let change: FixtureStep = {};
    for (const [index, next] of later.entries()) {
      if ((this.all[index] as State).rests) await play.rest(change);
      else await play.ask(change);
      change = this.changeTo(play, next, index + 2);
    }
    for (const trouble of this.given.troubles) {
      const isAtRest = trouble.isAtRest && trouble.what !== "killed" && trouble.what !== "refused";
      const round = isAtRest ? await play.rest(change) : await play.ask(change);
      change = this.trouble(trouble, play, round);
      if (trouble.what === "away") {
        await play.ask(change);
        change = { used: play.subject.used, ...this.usedOf(this.all.at(-1) as State) };
      }
    }
    const { troubles } = this.given;
    const killed = troubles.find(({ what }) => what === "killed" || what === "refused");
    return { play, end: await this.dueAtEnd(play, await play.rest(change), killed) };
  }

  /** What exists when schedules were due, after the end. A due act of which something was not done is due again. */
  private async dueAtEnd(play: Play, end: Round, trouble?: Trouble): Promise<Round> {
    if (!this.given.isDue || "error" in end.answer) return end;
    const { schedules = {} } = this.material.operator;
    const due = Object.keys(schedules).map((name) => ({ name, at: DUE_AT }));
    const round = await play.ask({ due });
    if (!trouble) return play.rest();
    const change = this.trouble(trouble, play, round);
    return play.rest({ ...change, ...(Object.keys(change).length > 0 && { due }) });
  }

  /** What the next question shows of it. */
  private trouble({ what, which }: Trouble, play: Play, round: Round): FixtureStep {
    const { operator } = this.material;
    const { children } = round.after;
    if (what === "away")
      return { used: Object.fromEntries(Object.keys(operator.uses).map((name) => [name, null])) };
    if (what === "deleted") {
      const child = children[which % Math.max(1, children.length)];
      return (child && deletionOf(child, operator)) ?? {};
    }
    const writes = writesOf(round, operator);
    if (writes.length === 0) return {};
    if (what === "refused") {
      const [refused, status] = [writes[which % writes.length], writes.find(({ name }) => name === "status")];
      return together([...new Set([refused?.undone, status?.undone])]);
    }
    play.restart();
    return together(writes.slice(which % writes.length).map(({ undone }) => undone));
  }

  private async compareEnds(
    play: Play,
    end: Round,
    fresh: Play,
    reference: Round,
    last: State,
    earlier: readonly Life[],
  ): Promise<void> {
    // What is wrong with such an object is the handler's to say. What existed before stays.
    if ("error" in reference.answer) return;
    const wanted = this.endOf(fresh, reference);
    const differences = differencesOf(wanted, this.endOf(play, end));
    const evidence = { play, earlier, asked: end.before };
    if (differences.length > 0) {
      const expected = await this.expected(fresh.subject, wanted, reference.answer, last);
      const really = expected && differencesOf(expected.end, this.endOf(play, end));
      if (expected && really && really.length > 0) {
        const rule = this.ruleOf(earlier);
        throw new Violation(rule, really, { ...evidence, answer: expected.answer });
      }
    }
    await this.assertApart(play, end, fresh, reference, last);
  }

  /** Without anything that could have been to blame, it is the process. */
  private ruleOf(earlier: readonly Life[]): Rule {
    if (this.all.length > 1) return "history";
    return this.given.troubles.length > 0 ? "disturbed" : earlier.length > 0 ? "others" : "differs";
  }

  /**
   * The end of a fresh object that is to be compared. A handler may make more of a name than a part of other texts, such as a hash:
   * then it is an object of the same name.
   */
  private async expected(
    fresh: Subject,
    wanted: JsonObject,
    answer: HandlerAnswer,
    last: State,
  ): Promise<{ readonly end: JsonObject; readonly answer: HandlerAnswer } | undefined> {
    const again = async (who: Who) => {
      const play = this.play(who, last, { generation: this.all.length, pool: "other" });
      const round = await this.dueAtEnd(play, await play.rest());
      return { end: this.endOf(play, round), answer: "error" in round.answer ? undefined : round.answer };
    };
    const third = await again("third");
    if (isDeepStrictEqual(third.end, wanted))
      return { end: wanted, answer: this.renamed(answer, fresh) as unknown as HandlerAnswer };
    const own = await again("own");
    return own.answer && { end: own.end, answer: own.answer };
  }

  /** What is compared of the end of a life, with the same name for each object. */
  private endOf({ subject }: Play, { answer, after }: Round): JsonObject {
    const { operator, fuzzing } = this.material;
    if ("error" in answer) return { error: "yes" };
    const children = after.children
      .filter((child) => !isOnce(child))
      .map(({ status: _, ...child }) => (isNever(child, operator) ? withoutContent(child) : child));
    // The state of an operator that watches exists to remember the past.
    const compared = { children: children as Json[], status: after.object.status ?? {} };
    const end = withoutIgnored(compared, fuzzing);
    const same = this.renamed(end, subject) as JsonObject & { children: JsonObject[] };
    return { ...same, children: same.children.sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1)) };
  }

  private async assertApart(
    play: Play,
    end: Round,
    fresh: Play,
    reference: Round,
    last: State,
  ): Promise<void> {
    const own = end.after.children;
    const { names } = this.material.values;
    const leaves = leavesOf(last.content).filter((leaf) => !names.has(leaf));
    const isOfContent = (child: JsonObject) => leaves.some((leaf) => nameOf(child).includes(leaf));
    const shared = (others: readonly JsonObject[]) =>
      own
        .filter((child) => others.some((each) => sameKind(each, child) && nameOf(each) === nameOf(child)))
        // Names that the content gives are the user's to keep apart.
        .filter((child) => !isOfContent(child))
        .map((child) => `${nameOf(child)}: is a child of both objects`);
    const assertNone = (
      others: readonly JsonObject[],
      apartFrom: NonNullable<Violation["evidence"]["apartFrom"]>,
    ) => {
      const found = shared(others);
      if (found.length > 0) throw new Violation("shared", found, { play, asked: end.before, apartFrom });
    };
    assertNone(reference.after.children, { metadata: { name: String(fresh.subject.metadata.name) } });
    const { namespace } = play.subject.metadata;
    const isFar = own.some(({ metadata }) => isJsonObject(metadata) && metadata.namespace !== namespace);
    const elsewhere = this.otherNamespace;
    if (namespace === undefined || !isFar || elsewhere === undefined) return;
    const round = await this.play("own", last, { namespace: elsewhere, pool: "other" }).rest();
    assertNone(round.after.children, { metadata: { namespace: elsewhere } });
  }

  private nameOf(who: Who): string {
    return `${WORDS[who]}${this.id.toString(36).padStart(4, "0")}`;
  }

  private uidOf(who: Who): string {
    const digits = DIGITS[who].repeat(4);
    return `${digits}${digits}-${digits}-4${digits.slice(1)}-8${digits.slice(1)}-${this.id.toString(16).padStart(12, "0")}`;
  }

  /** A value of one object with the name and the uid of the object of the case. */
  private renamed(value: unknown, { metadata }: Subject): unknown {
    const [name, uid] = [this.nameOf("own"), this.uidOf("own")];
    const text = JSON.stringify(value)
      .replace(new RegExp(String(metadata.name), "gi"), (found) =>
        /[A-Z]/.test(found) ? name.toUpperCase() : name,
      )
      .replaceAll(String(metadata.uid), uid);
    return JSON.parse(text);
  }

  private get otherNamespace(): string | undefined {
    const { namespaces } = this.material.operator;
    return namespaces === "all" ? OTHER_NAMESPACE : namespaces[1];
  }

  private play(
    who: Who,
    state: State,
    {
      generation = 1,
      namespace,
      pool = "own",
    }: { readonly generation?: number; readonly namespace?: string; readonly pool?: "own" | "other" } = {},
  ): Play {
    const { operator, metadata } = this.material;
    const { namespaces, customResource } = operator;
    const place = namespace ?? (namespaces === "all" ? "default" : namespaces[0]);
    const subject: Subject = {
      metadata: {
        ...metadata[0],
        name: this.nameOf(who),
        ...(customResource.namespaced && place !== undefined && { namespace: place }),
        uid: this.uidOf(who),
        generation,
        creationTimestamp: "2026-01-01T00:00:00Z",
      },
      content: state.content,
      used: this.material.used[state.used] ?? {},
    };
    return new Play(this.processes, subject, this.processes[pool], this.given.isShared);
  }

  private changeTo(play: Play, state: State, generation: number): FixtureStep {
    const { metadata: _, status: __, apiVersion: ___, kind: ____, ...content } = play.situation.object;
    return {
      object: { ...patchOf(content, state.content), metadata: { generation } },
      ...this.usedOf(state),
    };
  }

  private usedOf({ used }: State): FixtureStep {
    if (Object.keys(this.material.operator.uses).length === 0) return {};
    return { used: { ...this.material.used[used] } };
  }
}

async function withEarlier<Result>(earlier: readonly Life[], work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Violation) || earlier.length === 0) throw error;
    throw new Violation(error.rule, error.differences, { ...error.evidence, earlier });
  }
}

/** The content of a state: some fields are those of the first, and those that are never changed are so in any case. */
function keeping(first: State, { content, kept }: State, fixed: readonly string[]): JsonObject {
  if (fixed.includes("")) return first.content;
  const [one, other] = [first.content["spec"], content["spec"]];
  let mixed = content;
  if (kept > 0 && isJsonObject(one) && isJsonObject(other)) {
    const keys = [...new Set([...Object.keys(one), ...Object.keys(other)])].sort();
    const spec = keys.flatMap((key, index): [string, Json][] => {
      const from = (kept >> (index % 8)) % 2 === 1 ? one : other;
      return Object.hasOwn(from, key) ? [[key, from[key] as Json]] : [];
    });
    mixed = { ...content, spec: Object.fromEntries(spec) };
  }
  return fixed.reduce((object, field) => withValueAt(object, field, valueAt(first.content, field)), mixed);
}

function withoutContent({ apiVersion, kind, metadata }: JsonObject): JsonObject {
  const { name, namespace } = metadata as JsonObject;
  return {
    apiVersion: apiVersion as Json,
    kind: kind as Json,
    metadata: { name: name as Json, ...(namespace !== undefined && { namespace }) },
  };
}

function differencesOf(wanted: JsonObject, end: JsonObject): readonly string[] {
  if (isDeepStrictEqual(wanted, end)) return [];
  if (end["error"]) return ["expected no error, got one"];
  return compare(wanted, end, "whole").differences;
}

function sameKind(one: JsonObject, other: JsonObject): boolean {
  return one.apiVersion === other.apiVersion && one.kind === other.kind;
}

/** All texts, numbers and keys in a value. */
function leavesOf(value: Json): string[] {
  if (Array.isArray(value)) return value.flatMap(leavesOf);
  if (isJsonObject(value)) return [...Object.keys(value), ...Object.values(value).flatMap(leavesOf)];
  return typeof value === "boolean" || value === null || value === "" ? [] : [String(value)];
}
