import { setTimeout as pause } from "node:timers/promises";
import type { Difference } from "./oracle";
import type { Round, Verb } from "./plan";

/** How long all may take to be as it must be, once all is quiet, in milliseconds: what is not so then, is lost. */
export interface Patience {
  /** After a round without a fault. No backoff has grown then, so this is short. */
  readonly calmMs: number;
  /** After faults. */
  readonly troubledMs: number;
}

/**
 * A resync that comes from outside of the engine, so often that it would mend what was lost before anybody looks. In a
 * round without a fault it is held back: what is not right without it, is lost.
 */
export interface Resync {
  /**
   * Resolves when no resync begins any more, and nothing that one has begun is at work.
   * @returns lets it go on
   */
  hold(): Promise<() => Promise<void>>;
}

/** How long all but some objects may take to be as they must be. */
export interface Stage {
  readonly patienceMs: number;
  /** Objects that may be wrong still when this stage is over. */
  readonly excused: ReadonlySet<string>;
}

/** What {@link untilRight} works with. */
export interface Judge {
  /** What is not as it must be, now. */
  readonly differences: () => Promise<readonly Difference[]>;
  readonly progress: (line: string) => void;
  readonly signal: AbortSignal;
}

/** Changes of children by somebody else: where a resync can be held back, the docs promise no earlier correction. */
const DRIFTS: readonly Verb[] = ["editChild", "deleteChild", "contest"];
const POLL_MS = 500;
/** A result of somebody who comes too late would be written within this time. */
const STAYS_MS = 1_500;
const TELL_EVERY_MS = 15_000;

/** The stages after a round without a fault in which the resync is held back: in the first it is, in the second not. */
export function stagesWithout(round: Round, { calmMs, troubledMs }: Patience): readonly [Stage, Stage] {
  const drifted = round.changes.filter(({ verb }) => DRIFTS.includes(verb)).map(({ object }) => object);
  return [
    { patienceMs: calmMs, excused: new Set(drifted) },
    { patienceMs: troubledMs, excused: new Set() },
  ];
}

/** The only stage after any other round. */
export function stageAfter({ faults }: Round, { calmMs, troubledMs }: Patience): Stage {
  return { patienceMs: faults.length === 0 ? calmMs : troubledMs, excused: new Set() };
}

/** @returns after how many seconds all was right, and stayed so; what was not, when patience was over */
export async function untilRight(
  { differences, progress, signal }: Judge,
  { patienceMs, excused }: Stage,
  title: string,
): Promise<number | readonly Difference[]> {
  const startedAt = Date.now();
  let toldAt = startedAt;
  const look = async () => (await differences()).filter(({ object }) => !excused.has(object));
  for (;;) {
    signal.throwIfAborted();
    const seenAt = Date.now();
    let found = await look();
    if (found.length === 0) {
      await pause(STAYS_MS, undefined, { signal });
      found = await look();
      if (found.length === 0) return (seenAt - startedAt) / 1000;
    }
    const now = Date.now();
    if (now - startedAt >= patienceMs) return found;
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
