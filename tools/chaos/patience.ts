import { setTimeout as pause } from "node:timers/promises";
import type { Difference } from "./oracle";
import type { Round, Verb } from "./plan";

/**
 * How long it may take until everything is in the expected state after the last change, in milliseconds. Objects that are still
 * wrong after this time count as lost.
 */
export interface Patience {
  /** After a round without a fault. No backoff has grown then, so this is short. */
  readonly calmMs: number;
  /** After faults. */
  readonly troubledMs: number;
}

/**
 * A resync from outside of the engine, which is so frequent that it would repair losses before anybody notices them. In a round
 * without a fault it is held back, so that losses show.
 */
export interface Resync {
  /**
   * Resolves when no resync starts any more, and all work of earlier resyncs has ended.
   * @returns a function that lets the resync go on
   */
  hold(): Promise<() => Promise<void>>;
}

/** How long all objects except some may take to reach the expected state. */
export interface Stage {
  readonly patienceMs: number;
  /** Objects that may still be wrong when this stage is over. */
  readonly excused: ReadonlySet<string>;
}

/** The pauses between two looks at everything, in milliseconds. */
export interface Pauses {
  /** While something is wrong. */
  readonly pollMs: number;
  /** After everything was right. A late result would be written within this time. */
  readonly staysMs: number;
}

/** The options of {@link untilRight}. */
export interface Judge {
  /** The present differences from the expected state. */
  readonly differences: () => Promise<readonly Difference[]>;
  readonly progress: (line: string) => void;
  readonly signal: AbortSignal;
  /** @default half a second, and a second and a half */
  readonly pauses?: Pauses;
}

const PAUSES: Pauses = { pollMs: 500, staysMs: 1_500 };
/** Changes of children by somebody else. If a resync can be held back, the docs promise no correction before the resync. */
const DRIFTS: readonly Verb[] = ["editChild", "deleteChild", "contest"];
const TELL_EVERY_MS = 15_000;

/** The stages after a round without a fault. The resync is held back in the first stage, and not in the second. */
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

/**
 * @returns after how many seconds everything was right and stayed right. If the time was over before, the remaining differences
 */
export async function untilRight(
  { differences, progress, signal, pauses = PAUSES }: Judge,
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
      await pause(pauses.staysMs, undefined, { signal });
      found = await look();
      if (found.length === 0) return (seenAt - startedAt) / 1000;
    }
    const now = Date.now();
    if (now - startedAt >= patienceMs) return found;
    if (now - toldAt > TELL_EVERY_MS) {
      toldAt = now;
      const [first] = found;
      const elapsed = Math.round((now - startedAt) / 1000);
      progress(`${title}: ${found.length} differences after ${elapsed} s: ${first?.object}: ${first?.what}`);
    }
    await pause(pauses.pollMs, undefined, { signal });
  }
}
