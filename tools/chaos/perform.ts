import { setMaxListeners } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import type { Fault, LeftOut } from "./fault";
import type { Happening, History } from "./history";
import type { Difference, Effects } from "./oracle";
import { type Patience, type Resync, stageAfter, stagesWithout, untilRight } from "./patience";
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
  readonly patience: Patience;
  /** @default none that has to be held back: the engine's own does not come within a run */
  readonly resync?: Resync;
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
      const onLeftOut = (fault: LeftOut) => void leftOut.set(fault.kind, fault);
      const { kinds: happened, seconds } = await playAndJudge(round, performance, title, onLeftOut);
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

/** Plays a round and judges what came of it. A resync that can be held back is, where there is no fault. */
async function playAndJudge(
  round: Round,
  performance: Performance,
  title: string,
  onLeftOut: (fault: LeftOut) => void,
): Promise<{ readonly kinds: readonly string[]; readonly seconds: number | readonly Difference[] }> {
  const { patience, resync } = performance;
  if (!resync || round.faults.length > 0) {
    const kinds = await playRound(round, performance, onLeftOut);
    return { kinds, seconds: await untilRight(performance, stageAfter(round, patience), title) };
  }
  const [without, after] = stagesWithout(round, patience);
  const goOn = await resync.hold();
  let first: number | readonly Difference[];
  try {
    await playRound(round, performance, onLeftOut);
    first = await untilRight(performance, without, title);
  } finally {
    await goOn();
  }
  if (typeof first !== "number") return { kinds: [], seconds: first };
  const rest = await untilRight(performance, after, title);
  return { kinds: [], seconds: typeof rest === "number" ? first + rest : rest };
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
