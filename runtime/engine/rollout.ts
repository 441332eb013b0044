// Staged roll-out of a new program over the objects: which of them are asked, and when that halts.
import { fingerprint, fnv64, isRecord } from "../base/json";
import { timeOf } from "../base/objects";

/** What is known of a roll-out, also to the next process: see {@link rolloutText}. */
export interface RolloutState {
  /** What tells the program that is rolled out from every other. */
  readonly program: string;
  /** The last program whose roll-out came to its end before. Undefined if none is known. */
  readonly former?: string | undefined;
  /** "first": a share of the objects is asked. "rest": all others too. "done": every object was asked. */
  readonly stage: "first" | "rest" | "done";
  /** When it began, or was last resumed, in RFC 3339. Whatever was not Ready before that does not count. */
  readonly since: string;
  /** Set while it is halted: since when, in RFC 3339, and why. */
  readonly halted?: { readonly at: string; readonly why: string } | undefined;
  /** Whether a person has resumed it: deletions of children are accepted. */
  readonly accepted?: true | undefined;
  /** Whether a person undoes it: the next program comes in place of the one that did harm, and its deletions are accepted. */
  readonly undone?: true | undefined;
}

/** How a roll-out goes on and when it halts. An operator's `RolloutPolicy` has these fields. */
export interface RolloutLimits {
  readonly firstPercent: number;
  readonly pauseSeconds: number;
  readonly haltAfterFailures: number;
  readonly haltOnDeletions: boolean;
}

/** How a look at an object has ended. */
export type Looked =
  /** `hasChanged`: the object's children were changed. */
  | { readonly state: "ready" | "unready"; readonly hasChanged?: boolean }
  /** `isWithheld`: the deletion of a child was withheld. */
  | { readonly state: "failed"; readonly why: string; readonly isWithheld?: boolean }
  /** It is none of the objects that are asked: it is paused, or going. */
  | { readonly state: "left" };

/** What the new program has done with an object. */
interface Touched {
  readonly key: string;
  /** Whether its failure counts: it was Ready before. */
  counts: boolean;
  /** Whether its user has changed it, and that was not yet served. */
  isByUser: boolean;
  state: "asked" | Looked["state"];
  /** How many looks in a row have changed its children, and when the last one did. */
  changes: number;
  changedAt: number;
}

/** An object of a roll-out. */
export interface RolloutObject {
  readonly uid: string;
  readonly key: string;
}

const RESTLESS: Looked = { state: "failed", why: "each answer changes its children again" };
const STAGES: readonly unknown[] = ["first", "rest", "done"] satisfies RolloutState["stage"][];
/** So often in a row a new program may change the children of one object before it counts as one that never comes to rest. */
const MOST_CHANGES = 20;
/** A change that comes this much later than the one before is not in a row with it: it is a schedule's, or another event's. */
const ROW_MS = 30_000;
/** The longest list of objects in a reason. */
const MOST_NAMED = 3;

/** The state as a text for the Lease. Nobody can change a part of it unnoticed. */
export function rolloutText(state: RolloutState): string {
  const known = JSON.parse(JSON.stringify(state)) as object;
  return JSON.stringify({ ...known, check: fingerprint(known) });
}

/** The state in such a text. Undefined if it is not such a text, or if somebody has changed it. */
export function rolloutStateIn(text: string | undefined): RolloutState | undefined {
  try {
    const read: unknown = JSON.parse(text ?? "");
    if (!isRecord(read)) return undefined;
    const { check, ...state } = read;
    const { program, stage, since } = state;
    if (check !== fingerprint(state) || typeof program !== "string") return undefined;
    if (!STAGES.includes(stage) || Number.isNaN(Date.parse(String(since)))) return undefined;
    return state as unknown as RolloutState;
  } catch {
    return undefined;
  }
}

/** The text with which a person resumes the roll-out in a text. Undefined if none is halted there. */
export function resumedText(text: string | undefined, now: Date): string | undefined {
  const state = rolloutStateIn(text);
  if (!state?.halted) return undefined;
  return rolloutText({ ...state, halted: undefined, accepted: true, since: timeOf(now) });
}

/** The text with which a person lets the next program undo what the roll-out in a text has done. Undefined if there is none. */
export function undoneText(text: string | undefined): string | undefined {
  const state = rolloutStateIn(text);
  return state && rolloutText({ ...state, undone: true });
}

/**
 * The objects of the first stage: always the same ones of the same objects, whoever computes them and however often.
 * @param uids of all objects
 */
export function firstOf(uids: readonly string[], percent: number): string[] {
  const byHash = uids
    .map((uid) => [fnv64(uid), uid] as const)
    .sort(([one], [other]) => (one < other ? -1 : 1));
  return byHash.slice(0, Math.ceil((uids.length * percent) / 100)).map(([, uid]) => uid);
}

/**
 * One program's roll-out over the objects of an operator, in two stages: a share of the objects, and after a pause all others. It says
 * which objects wait, and it halts when the program does harm. A program whose roll-out is done is never held up.
 *
 * Guarantees, each with a test in tests/unit/rollout.test.ts
 * - Before the first stage has ended well, no more objects are asked than its share, but for those that users change.
 * - While it is halted, only objects are asked that users have changed since.
 * - What a person writes into the Lease opens no more than `argosy rollout resume` does.
 * - The end is reached if nothing fails, whatever the order of looks and restarts.
 *
 * Assumption: a text in which somebody has changed a part was no state of ours. The roll-out then begins again.
 *
 * Caveat: a restart within the first stage begins this stage again, with the same objects and a new pause.
 */
export class Rollout {
  private state: RolloutState | undefined;
  /** The uids of the stage's objects that nobody has looked at yet. */
  private waiting = new Set<string>();
  /** The uids of the first stage. */
  private first: ReadonlySet<string> = new Set();
  /** By uids. */
  private readonly touched = new Map<string, Touched>();
  /** Since when every object of the first stage has been looked at, on the monotonic clock. */
  private quietSince: number | undefined;

  constructor(
    private readonly options: {
      readonly limits: RolloutLimits;
      /** Every object that is known now. */
      readonly objects: () => readonly RolloutObject[];
      /** A monotonic clock, in milliseconds. */
      readonly now: () => number;
      /** Called when objects that waited wait no longer. */
      readonly onOpen: () => void;
      /** Called when it halts. @param object the one that made it halt */
      readonly onHalt: (why: string, object: RolloutObject) => void;
    },
  ) {}

  /** The state, for the Lease. Undefined before it began. */
  get text(): string | undefined {
    return this.state && rolloutText(this.state);
  }

  get isDone(): boolean {
    return this.state?.stage === "done";
  }

  get isHalted(): boolean {
    return this.state?.halted !== undefined;
  }

  /** Since when failures count. */
  get since(): number {
    return Date.parse(this.state?.since ?? "");
  }

  /** How many objects wait until they are asked. */
  get pending(): number {
    const { state } = this;
    if (!state || state.stage === "done" || (state.stage === "rest" && !state.halted)) return 0;
    return this.options.objects().filter(({ uid }) => !this.isOpen(uid, state)).length;
  }

  /** A process begins to lead with this program, or its program is another one now. @param text what the Lease says */
  begin(program: string, text: string | undefined): void {
    this.touched.clear();
    this.quietSince = undefined;
    const before = rolloutStateIn(text);
    const former = before?.stage === "done" ? before.program : before?.former;
    const uids = this.options.objects().map(({ uid }) => uid);
    const since = timeOf(new Date());
    if (before?.program === program) this.state = before;
    // The objects that were asked in between get back what they had.
    else if (uids.length === 0 || former === program) this.state = { program, stage: "done", since };
    else this.state = { program, former, stage: "first", since, accepted: before?.undone };
    this.first = new Set(firstOf(uids, this.options.limits.firstPercent));
    this.enter();
  }

  /**
   * A person may have resumed it, or undoes it.
   * @param text what the Lease says
   * @returns whether it is resumed
   */
  heed(text: string | undefined): boolean {
    const said = rolloutStateIn(text);
    const { state } = this;
    if (!state || said?.program !== state.program) return false;
    if (said.undone) this.state = { ...state, undone: true };
    if (!state.halted || said.halted || !said.accepted) return false;
    // The clock of the person's machine may be wrong.
    this.state = { ...state, halted: undefined, accepted: true, since: timeOf(new Date()) };
    for (const [uid, touched] of this.touched) {
      if (touched.state === "ready" || touched.state === "asked") continue;
      touched.counts = false;
      touched.changes = 0;
      this.waiting.add(uid);
    }
    this.quietSince = undefined;
    this.endStage();
    this.options.onOpen();
    return true;
  }

  /**
   * Whether an object waits. If not, it is going to be asked.
   * @param isByUser whether its user has changed it, or asks for this run
   * @param wasReady whether it was Ready when the roll-out began
   */
  waits({ uid, key }: RolloutObject, isByUser: boolean, wasReady: boolean): boolean {
    const { state } = this;
    if (state?.stage === "done") return false;
    const known = this.touched.get(uid);
    if (!isByUser && !(state && this.isOpen(uid, state))) return true;
    if (!known)
      this.touched.set(uid, { key, isByUser, counts: wasReady, state: "asked", changes: 0, changedAt: 0 });
    else if (isByUser) Object.assign(known, { isByUser, changes: 0 });
    return false;
  }

  /** Whether a child of the object must not be deleted, because its user wants no change. */
  withholds(uid: string): boolean {
    const { state, options } = this;
    if (!options.limits.haltOnDeletions || !state || state.stage === "done" || state.accepted) return false;
    const known = this.touched.get(uid);
    if (known === undefined || known.isByUser) return false;
    // Once it was served, the program takes children away in the course of its work.
    return known.state !== "ready" && known.state !== "unready";
  }

  /** A look at an object has ended. */
  looked({ uid, key }: RolloutObject, given: Looked): void {
    const { state } = this;
    if (given.state === "left") return this.forget(uid);
    const known = this.touched.get(uid);
    if (!state || !known || state.stage === "done") return;
    if ("hasChanged" in given && given.hasChanged) {
      const now = this.options.now();
      known.changes = now - known.changedAt < ROW_MS ? known.changes + 1 : 1;
      known.changedAt = now;
    }
    const look: Looked = known.changes > MOST_CHANGES ? RESTLESS : given;
    known.state = look.state;
    if (look.state === "ready") known.isByUser = false;
    if (look.state === "failed" && look.isWithheld) this.halt(look.why, { uid, key });
    else if (look.state === "failed" && known.counts) {
      const failed = this.among("failed");
      if (failed.length >= this.options.limits.haltAfterFailures)
        this.halt(`${namesOf(failed)} failed: ${look.why}`, { uid, key });
    }
    this.done(uid);
  }

  /** An object is gone. */
  forget(uid: string): void {
    this.touched.delete(uid);
    this.done(uid);
  }

  /** Looks whether the pause is over. */
  tick(): void {
    const { state, quietSince, options } = this;
    if (state?.stage !== "first" || state.halted || quietSince === undefined) return;
    if (options.now() - quietSince < options.limits.pauseSeconds * 1000) return;
    const bad = this.among("failed", "unready");
    const well = this.among("ready");
    const [one] = bad;
    // What users have changed meanwhile says little about the others, if any of the first can tell more.
    const isOfFirst = ({ uid }: RolloutObject) => this.first.has(uid);
    const isNoneWell = bad.some(isOfFirst) ? !well.some(isOfFirst) : well.length === 0;
    if (one && (bad.length >= options.limits.haltAfterFailures || isNoneWell))
      return this.halt(`${namesOf(bad)} ${bad.length === 1 ? "is" : "are"} not Ready`, one);
    this.state = { ...state, stage: "rest" };
    this.enter();
    options.onOpen();
  }

  /** The objects of a stage that begins, or is begun again, are to be looked at. */
  private enter(): void {
    const { state, first, options } = this;
    if (!state || state.stage === "done") return;
    const all = options.objects().map(({ uid }) => uid);
    const isNew = (uid: string) => (this.touched.get(uid)?.state ?? "asked") === "asked";
    this.waiting = new Set(state.stage === "first" ? first : all.filter(isNew));
    this.endStage();
  }

  private done(uid: string): void {
    if (this.waiting.delete(uid)) this.endStage();
  }

  private endStage(): void {
    const { state } = this;
    if (!state || state.halted || this.waiting.size > 0) return;
    if (state.stage === "first") this.quietSince ??= this.options.now();
    if (state.stage !== "rest") return;
    const { program, former } = state;
    this.state = { program, former, stage: "done", since: timeOf(new Date()) };
    this.touched.clear();
  }

  private isOpen(uid: string, { stage, halted }: RolloutState): boolean {
    const known = this.touched.get(uid);
    if (halted) return known?.isByUser === true;
    return stage !== "first" || known !== undefined || this.first.has(uid);
  }

  /** The objects in these states that were Ready before. */
  private among(...states: readonly Touched["state"][]): RolloutObject[] {
    const found = [...this.touched].filter(([, { counts, state }]) => counts && states.includes(state));
    return found.map(([uid, { key }]) => ({ uid, key }));
  }

  private halt(why: string, object: RolloutObject): void {
    const { state } = this;
    if (!state || state.halted) return;
    this.state = { ...state, halted: { at: timeOf(new Date()), why } };
    this.options.onHalt(why, object);
  }
}

function namesOf(objects: readonly RolloutObject[]): string {
  const names = objects.slice(0, MOST_NAMED).map(({ key }) => key);
  const more = objects.length - names.length;
  return `${names.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}
