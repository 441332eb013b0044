import { setTimeout as pause } from "node:timers/promises";
import type { Difference } from "./oracle";
import type { Round } from "./plan";

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
const TELL_EVERY_MS = 15_000;

/** How long it may take after a round, in milliseconds. */
export function patienceAfter({ faults }: Pick<Round, "faults">, { calmMs, troubledMs }: Patience): number {
  return faults.length === 0 ? calmMs : troubledMs;
}

/**
 * @returns after how many seconds everything was right and stayed right. If the time was over before, the remaining differences
 */
export async function untilRight(
  { differences, progress, signal, pauses = PAUSES }: Judge,
  patienceMs: number,
  title: string,
): Promise<number | readonly Difference[]> {
  const startedAt = Date.now();
  let toldAt = startedAt;
  for (;;) {
    signal.throwIfAborted();
    const seenAt = Date.now();
    let found = await differences();
    if (found.length === 0) {
      await pause(pauses.staysMs, undefined, { signal });
      found = await differences();
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
