import { setMaxListeners } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import type { Fault, LeftOut } from "./fault";
import type { Happening, History } from "./history";
import type { Difference, Effects } from "./oracle";
import { type Patience, type Pauses, patienceAfter, untilRight } from "./patience";
import type { Plan, PlannedFault, Round } from "./plan";
import type { Player } from "./player";

/** The options of {@link perform}. */
export interface Performance {
  readonly player: Pick<Player, "play" | "settled">;
  readonly history: History;
  readonly faults: readonly Fault[];
  /** The present differences from the expected state. */
  readonly differences: () => Promise<readonly Difference[]>;
  readonly effects: () => Promise<Effects>;
  /** How many changes are started in a second. */
  readonly changesPerSecond: number;
  readonly patience: Patience;
  /** @default as {@link untilRight} has them */
  readonly pauses?: Pauses;
  readonly progress: (line: string) => void;
  readonly signal: AbortSignal;
}

/** An object that was not in the expected state in time. */
export interface Loss {
  readonly object: string;
  readonly what: readonly string[];
  readonly history: readonly Happening[];
}

/** How long it took after the faults of one round until everything was in the expected state. */
export interface Convergence {
  readonly kinds: readonly string[];
  readonly seconds: number;
}

/** The result of a run. If it was aborted, the result of the finished rounds. */
export interface Outcome {
  readonly seed: number;
  /** The number of rounds of the plan. */
  readonly rounds: number;
  /** The number of changes that the API server accepted. */
  readonly changes: number;
  readonly lost: readonly Loss[];
  readonly convergence: readonly Convergence[];
  readonly leftOut: readonly LeftOut[];
  readonly effects: EffectFigures;
  readonly seconds: number;
  /** The reason for the abort: the signal's reason, or an error although there is no fault. */
  readonly brokenOff?: Error;
}

/** The effects of the handler outside of Kubernetes. */
export interface EffectFigures {
  /** The number of different keys. */
  readonly keys: number;
  /** How often it acted again for a key. A system that does not check keys would have done these twice. */
  readonly repeated: number;
}

/**
 * Executes a plan, round by round. After each round there are no changes, and everything must reach the expected state and stay
 * there. It ends with the first round in which something is lost, or which is aborted. The results of the rounds before are kept.
 */
export async function perform({ seed, rounds }: Plan, performance: Performance): Promise<Outcome> {
  const { history, progress, signal } = performance;
  // Every change that waits for the API server listens to the signal.
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
      const happened = await playRound(round, performance, onLeftOut);
      const seconds = await untilRight(performance, patienceAfter(round, performance.patience), title);
      changes += round.changes.length;
      effects = figuresOf(await performance.effects());
      if (typeof seconds !== "number") {
        lost = toLosses(seconds, history);
        break;
      }
      progress(`${title}: everything is right ${seconds} s after the last change`);
      convergence.push({ kinds: happened, seconds });
    }
  } catch (error) {
    // The error may wrap the signal's reason.
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

/** @returns the kinds of the faults that occurred */
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
    // No fault may outlive its round, whatever happens.
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
  if (!fault) throw new Error(`there is no fault "${kind}"`);
  history.fault(kind);
  let end: Awaited<ReturnType<Fault["begin"]>>;
  try {
    end = await fault.begin(planned);
  } catch (error) {
    // The run was stopped before the fault was possible.
    if (signal.aborted) return undefined;
    const why = (error as Error).message;
    progress(`${kind}: left out: ${why}`);
    history.fault(`${kind}: left out`);
    onLeftOut({ kind, why });
    return undefined;
  }
  if (!end) return kind;
  // A stopped run ends its faults at once.
  await pause(seconds * 1000, undefined, { signal }).catch(() => {});
  await end();
  history.fault(`${kind}: over, after ${seconds} s`);
  return kind;
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
