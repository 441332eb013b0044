import { setMaxListeners } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import type { Fault, LeftOut } from "./fault";
import type { Happening, History } from "./history";
import type { Difference, Effects } from "./oracle";
import type { Plan, PlannedFault, Round } from "./plan";
import type { Player } from "./player";

/** What {@link perform} works with. */
export interface Performance {
  readonly player: Pick<Player, "play" | "settled">;
  readonly history: History;
  readonly faults: readonly Fault[];
  /** What is not as it must be, now. */
  readonly differences: () => Promise<readonly Difference[]>;
  readonly effects: () => Promise<Effects>;
  /** So many changes are begun in a second. */
  readonly changesPerSecond: number;
  /** How long all may take to be as it must be, once all is quiet, in milliseconds: what is not so then, is lost. */
  readonly patienceMs: number;
  readonly progress: (line: string) => void;
  readonly signal: AbortSignal;
}

/** An object that was not as it must be when patience was over. */
export interface Loss {
  readonly object: string;
  readonly what: readonly string[];
  readonly history: readonly Happening[];
}

/** How long it took after the faults of one round until all was as it must be. */
export interface Convergence {
  readonly kinds: readonly string[];
  readonly seconds: number;
}

/** What came of a run: of the rounds that came to their end, where it was broken off. */
export interface Outcome {
  readonly seed: number;
  /** How many rounds the plan has. */
  readonly rounds: number;
  /** Those that the API server accepted. */
  readonly changes: number;
  readonly lost: readonly Loss[];
  readonly convergence: readonly Convergence[];
  readonly leftOut: readonly LeftOut[];
  readonly effects: EffectFigures;
  readonly seconds: number;
  /** What broke it off: the signal's reason, or what cannot be done although no fault is on. */
  readonly brokenOff?: Error;
}

/** What the handler did outside. */
export interface EffectFigures {
  /** How many different keys. */
  readonly keys: number;
  /** How often it acted again for a key: what an outside that does not look at the key would have done twice. */
  readonly repeated: number;
}

const POLL_MS = 500;
/** A result of somebody who comes too late would be written within this time. */
const STAYS_MS = 1_500;
const TELL_EVERY_MS = 15_000;

/**
 * Carries a plan out, round by round. After each there is quiet, and all must become as it must be, and stay so. Ends
 * with the first round where something is lost, or that is broken off: what came of the rounds before is not forgotten.
 */
export async function perform({ seed, rounds }: Plan, performance: Performance): Promise<Outcome> {
  const { history, progress, signal } = performance;
  // Every change that waits for the API server listens.
  setMaxListeners(0, signal);
  const convergence: Convergence[] = [];
  const leftOut = new Map<string, LeftOut>();
  let changes = 0;
  let lost: readonly Loss[] = [];
  let effects: EffectFigures = { keys: 0, repeated: 0 };
  let brokenOff: Error | undefined;
  try {
    for (const [at, round] of rounds.entries()) {
      const title = `round ${at + 1} of ${rounds.length}`;
      const kinds = round.faults.map(({ kind }) => kind);
      progress(`${title}: ${round.changes.length} changes; ${kinds.join(" and ") || "no fault"}`);
      const happened = await playRound(round, performance, (fault) => leftOut.set(fault.kind, fault));
      const seconds = await untilRight(performance, title);
      changes += round.changes.length;
      effects = figuresOf(await performance.effects());
      if (typeof seconds !== "number") {
        lost = toLosses(seconds, history);
        break;
      }
      progress(`${title}: all is right ${seconds} s after the last of it`);
      convergence.push({ kinds: happened, seconds });
    }
  } catch (error) {
    // What is thrown on the way may wrap the signal's reason.
    brokenOff = (signal.aborted ? signal.reason : error) as Error;
  }
  return {
    seed,
    rounds: rounds.length,
    changes,
    lost,
    convergence,
    leftOut: [...leftOut.values()],
    effects,
    seconds: history.now(),
    ...(brokenOff && { brokenOff }),
  };
}

/** @returns the kinds of the faults that there were */
async function playRound(
  { changes, faults }: Round,
  { player, changesPerSecond, signal, ...performance }: Performance,
  onLeftOut: (fault: LeftOut) => void,
): Promise<string[]> {
  const running: Promise<string | undefined>[] = [];
  const startedAt = Date.now();
  try {
    for (const [at, change] of changes.entries()) {
      for (const planned of faults.filter(({ afterChanges }) => afterChanges === at)) {
        running.push(runFault(planned, { ...performance, signal }, onLeftOut));
      }
      player.play(change);
      const aheadMs = startedAt + ((at + 1) * 1000) / changesPerSecond - Date.now();
      if (aheadMs > 0) await pause(aheadMs, undefined, { signal });
    }
  } finally {
    // Whatever happens: no fault outlives its round.
    await Promise.allSettled(running);
  }
  await player.settled();
  return (await Promise.all(running)).filter((kind) => kind !== undefined);
}

async function runFault(
  planned: PlannedFault,
  { faults, history, progress, signal }: Pick<Performance, "faults" | "history" | "progress" | "signal">,
  onLeftOut: (fault: LeftOut) => void,
): Promise<string | undefined> {
  const { kind, seconds } = planned;
  const fault = faults.find((each) => each.kind === kind);
  if (!fault) throw new Error(`nobody knows how to "${kind}"`);
  history.fault(kind);
  let end: Awaited<ReturnType<Fault["begin"]>>;
  try {
    end = await fault.begin(planned);
  } catch (error) {
    // The run was stopped before it could be had.
    if (signal.aborted) return undefined;
    const why = (error as Error).message;
    progress(`${kind}: left out: ${why}`);
    history.fault(`${kind}: left out`);
    onLeftOut({ kind, why });
    return undefined;
  }
  if (!end) return kind;
  // A run that is stopped ends its faults at once.
  await pause(seconds * 1000, undefined, { signal }).catch(() => {});
  await end();
  history.fault(`${kind}: over, after ${seconds} s`);
  return kind;
}

/** @returns after how many seconds all was right; what was not, when patience was over */
async function untilRight(
  { differences, patienceMs, progress, signal }: Performance,
  title: string,
): Promise<number | readonly Difference[]> {
  const startedAt = Date.now();
  let toldAt = startedAt;
  for (;;) {
    signal.throwIfAborted();
    const seenAt = Date.now();
    let found = await differences();
    if (found.length === 0) {
      await pause(STAYS_MS, undefined, { signal });
      found = await differences();
      if (found.length === 0) return (seenAt - startedAt) / 1000;
    }
    const now = Date.now();
    if (now - startedAt > patienceMs) return found;
    if (now - toldAt > TELL_EVERY_MS) {
      toldAt = now;
      const [first] = found;
      const elapsed = Math.round((now - startedAt) / 1000);
      progress(
        `${title}: ${found.length} things not right after ${elapsed} s: ${first?.object}: ${first?.what}`,
      );
    }
    await pause(POLL_MS, undefined, { signal });
  }
}

function toLosses(differences: readonly Difference[], history: History): Loss[] {
  const objects = [...new Set(differences.map(({ object }) => object))];
  return objects.map((object) => ({
    object,
    what: differences.filter((each) => each.object === object).map(({ what }) => what),
    history: history.of(object),
  }));
}

function figuresOf(effects: Effects): EffectFigures {
  const acts = [...effects.values()].reduce((sum, effect) => sum + effect.acts, 0);
  return { keys: effects.size, repeated: acts - effects.size };
}
