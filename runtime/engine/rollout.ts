// Staged roll-out of a new program over the objects: which of them are asked, and when that halts.
import { fingerprint, fnv64, isRecord } from "../base/json";
import { timeOf } from "../base/objects";
import type { RolloutPolicy } from "../operator/definition";

/** What is known of a roll-out. {@link rolloutText} hands it to the next process. */
export interface RolloutState {
  /** Identifies the program that is rolled out. */
  readonly program: string;
  /** The last program whose roll-out has ended. Undefined if none is known. */
  readonly former?: string | undefined;
  /** "first": the handler is asked about a share of the objects. "rest": about all others too. "done": it was asked about all. */
  readonly stage: "first" | "rest" | "done";
  /** When it began or was last resumed, in RFC 3339. An object that was not Ready before then does not count. */
  readonly since: string;
  /** Since when it has been halted, in RFC 3339, and why. Undefined: it is not halted. */
  readonly halted?: { readonly at: string; readonly why: string } | undefined;
  /** Whether a person has resumed it: deletions of children are accepted. */
  readonly accepted?: true | undefined;
  /** Whether a user undoes it. The next program replaces the one that did harm, so its deletions are accepted. */
  readonly undone?: true | undefined;
}

/** The result of a look at an object. */
export type Looked =
  /** `hasChanged`: the object's children were changed. */
  | { readonly state: "ready" | "unready"; readonly hasChanged?: boolean }
  /** `isWithheld`: the deletion of a child was withheld. */
  | { readonly state: "failed"; readonly why: string; readonly isWithheld?: boolean }
  /** The handler is not asked about it: it is paused, or it is being deleted. */
  | { readonly state: "left" };

/** What the new program has done with an object. */
interface Touched {
  readonly key: string;
  /** Whether its failure counts, because it was Ready before. */
  counts: boolean;
  /** Whether its user has changed it, and it has not become Ready since. */
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
/** A new program may change the children of one object this many times in a row. After that, the object counts as restless. */
const MOST_CHANGES = 20;
/** A change that comes this much later than the one before is not in a row with it: it is a schedule's, or another event's. */
const ROW_MS = 30_000;
/** How many objects a reason names at most. */
const MOST_NAMED = 3;

/** The state as a text for the Lease, with a checksum that reveals any change. */
export function rolloutText(state: RolloutState): string {
  const known = JSON.parse(JSON.stringify(state)) as object;
  return JSON.stringify({ ...known, check: fingerprint(known) });
}

/** The state in such a text. Undefined if it is another text, or was changed. */
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

/** The text with which a user resumes the roll-out in a text. Undefined if none is halted there. */
export function resumedText(text: string | undefined, now: Date): string | undefined {
  const state = rolloutStateIn(text);
  if (!state?.halted) return undefined;
  return rolloutText({ ...state, halted: undefined, accepted: true, since: timeOf(now) });
}

/** The text with which a user lets the next program undo the roll-out in a text. Undefined if there is none. */
export function undoneText(text: string | undefined): string | undefined {
  const state = rolloutStateIn(text);
  return state && rolloutText({ ...state, undone: true });
}

/**
 * The objects of the first stage. The same objects always give the same result, in every process.
 * @param uids of all objects
 */
export function firstOf(uids: readonly string[], percent: number): string[] {
  const byHash = uids
    .map((uid) => [fnv64(uid), uid] as const)
    .sort(([one], [other]) => (one < other ? -1 : 1));
  return byHash.slice(0, Math.ceil((uids.length * percent) / 100)).map(([, uid]) => uid);
}

/**
 * One program's roll-out over the objects of an operator in two stages: first a share of the objects, and after a pause all others. It
 * says which objects wait, and halts when the program does harm. It never holds up a program whose roll-out is done.
 *
 * Guarantees, each with a test in tests/unit/rollout.test.ts
 * - Until the first stage has ended well, the handler is asked only about its share and about objects that users change.
 * - While it is halted, the handler is asked only about objects that users have changed since.
 * - What a user writes into the Lease opens no more than `argosy rollout resume` does.
 * - It reaches its end if nothing fails, whatever the order of looks and restarts.
 *
 * Assumption: a text that was changed is no state of ours. The roll-out then begins again.
 *
 * Caveat: a restart during the first stage begins that stage again, with the same objects and a new pause.
 */
export class Rollout {
  private state: RolloutState | undefined;
  /** The uids of the stage's objects that still need a look. */
  private waiting = new Set<string>();
  /** The uids of the first stage. */
  private first: ReadonlySet<string> = new Set();
  /** By uids. */
  private readonly touched = new Map<string, Touched>();
  /** When the last object of the first stage had its look, on the monotonic clock. */
  private quietSince: number | undefined;

  constructor(
    private readonly options: {
      readonly policy: RolloutPolicy;
      /** All known objects. */
      readonly objects: () => readonly RolloutObject[];
      /** A monotonic clock, in milliseconds. */
      readonly now: () => number;
      /** Called when objects no longer wait. */
      readonly onOpen: () => void;
      /** Called when it halts. @param object the one that caused it */
      readonly onHalt: (why: string, object: RolloutObject) => void;
    },
  ) {}

  /** The state for the Lease. Undefined before it begins. */
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

  /** How many objects wait for their stage. */
  get pending(): number {
    const { state } = this;
    if (!state || state.stage === "done" || (state.stage === "rest" && !state.halted)) return 0;
    return this.options.objects().filter(({ uid }) => !this.isOpen(uid, state)).length;
  }

  /** A process begins to lead with this program, or its program has changed. @param text what the Lease says */
  begin(program: string, text: string | undefined): void {
    this.touched.clear();
    this.quietSince = undefined;
    const before = rolloutStateIn(text);
    const former = before?.stage === "done" ? before.program : before?.former;
    const uids = this.options.objects().map(({ uid }) => uid);
    const since = timeOf(new Date());
    if (before?.program === program) this.state = before;
    // A return to the former program gives objects back what they had.
    else if (uids.length === 0 || former === program) this.state = { program, stage: "done", since };
    else this.state = { program, former, stage: "first", since, accepted: before?.undone };
    this.first = new Set(firstOf(uids, this.options.policy.firstPercent));
    this.enter();
  }

  /**
   * A person may have resumed or undone it.
   * @param text what the Lease says
   * @returns whether it was resumed
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
   * Whether an object waits. If not, the handler is going to be asked about it.
   * @param isByUser whether its user has changed it or asked for this run
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

  /** Whether no child of the object may be deleted, because its user has asked for no change. */
  withholds(uid: string): boolean {
    const { state, options } = this;
    if (!options.policy.haltOnDeletions || !state || state.stage === "done" || state.accepted) return false;
    const known = this.touched.get(uid);
    if (known === undefined || known.isByUser) return false;
    // After its first success, deletions are part of the program's normal work.
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
      if (failed.length >= this.options.policy.haltAfterFailures)
        this.halt(`${namesOf(failed)} failed: ${look.why}`, { uid, key });
    }
    this.done(uid);
  }

  /** An object is gone. */
  forget(uid: string): void {
    this.touched.delete(uid);
    this.done(uid);
  }

  /** Begins the second stage, or halts, if the pause is over. */
  tick(): void {
    const { state, quietSince, options } = this;
    if (state?.stage !== "first" || state.halted || quietSince === undefined) return;
    if (options.now() - quietSince < options.policy.pauseSeconds * 1000) return;
    const bad = this.among("failed", "unready");
    const well = this.among("ready");
    const [one] = bad;
    // An object that a user has changed since says less about the others than one of the first.
    const isOfFirst = ({ uid }: RolloutObject) => this.first.has(uid);
    const isNoneWell = bad.some(isOfFirst) ? !well.some(isOfFirst) : well.length === 0;
    if (one && (bad.length >= options.policy.haltAfterFailures || isNoneWell))
      return this.halt(`${namesOf(bad)} ${bad.length === 1 ? "is" : "are"} not Ready`, one);
    this.state = { ...state, stage: "rest" };
    this.enter();
    options.onOpen();
  }

  /** A stage begins, or begins again: its objects need a look. */
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
