import { randomUUID } from "node:crypto";
import { monotonicNow } from "../../../base/clock";
import { isNewer } from "../../../base/objects";
import type { Engine } from "../../../engine/engine";
import type { HintResult } from "../../../engine/metrics";
import type { Hint } from "./hintServer";

/** The parts with which {@link takeHint} decides. */
export interface HintParts {
  readonly engine: Engine;
  readonly silence: PathSilence;
  /** Passes a hint on to the leader at this address. @returns what the leader has made of it */
  readonly forward: (hint: Hint, address: string) => Promise<HintResult>;
}

/**
 * Decides what to do with a hint: the leader takes it, and a standby passes it on once.
 * @param forwarded whether another replica has passed it on to us
 */
export async function takeHint(
  { engine, silence, forward }: HintParts,
  hint: Hint,
  forwarded: boolean,
): Promise<HintResult> {
  // The events from outside have a path of their own, which says nothing about that of changes.
  if (!hint.isWake) silence.hinted(hint.resourceVersion);
  if (engine.isLeading && hint.isWake) return engine.wake(hint);
  if (engine.isLeading) {
    // In a storm all hints come late, and another read of the object would not be worth it. A hint that is ahead of the watch is,
    // however: the watch may be silent.
    if (engine.knows(hint, hint.resourceVersion)) return "known";
    return engine.hint(hint) ? "queued" : "full";
  }
  // Two replicas that each believe that the other one leads would send the hint back and forth.
  const address = forwarded || engine.leader === undefined ? undefined : addressIn(engine.leader);
  return address === undefined ? "leaderless" : forward(hint, address);
}

/**
 * For how long objects have been changing without any hint. The watch reports each change too, so nothing else shows that the event path
 * is dead.
 *
 * Guarantees, each with a test in tests/unit/pathSilence.test.ts:
 * - A path that brings hints is never silent, however late they come: in a storm that may be minutes.
 * - One change without a hint, and a time without changes, are no silence.
 */
export class PathSilence {
  /** The latest version that a hint has named. */
  private reached = "";
  /** When the first and the last change came after the last hint. Undefined: none came. */
  private changes: { readonly first: number; readonly last: number } | undefined;

  /** @param now a monotonic clock, in milliseconds */
  constructor(private readonly now = monotonicNow) {}

  /** The watch reported a change that the event path reports too, with that version of the object. */
  changed(resourceVersion: string): void {
    if (!isNewer(resourceVersion, this.reached)) return;
    const now = this.now();
    this.changes = { first: this.changes?.first ?? now, last: now };
  }

  /** A hint came. @param resourceVersion the version that it names, if it names one */
  hinted(resourceVersion = ""): void {
    this.changes = undefined;
    if (isNewer(resourceVersion, this.reached)) this.reached = resourceVersion;
  }

  /** From the first to the last change since the last hint. */
  get seconds(): number {
    const { first, last } = this.changes ?? { first: 0, last: 0 };
    return (last - first) / 1000;
  }
}

/**
 * The identity of a runner in the Lease: `<pod>_<address>_<uuid>`. Neither a pod's name nor an address can have an underscore.
 * The address is for the standby, which may read the Lease but no pods. The uuid distinguishes a container from the one that it
 * replaced in the same pod.
 */
export function runnerIdentityOf(pod: string, address: string): string {
  return `${pod}_${address}_${randomUUID()}`;
}

/** The address of the runner with this identity. Undefined if it is not one that {@link runnerIdentityOf} made. */
export function addressIn(identity: string): string | undefined {
  const [, address, unique, ...more] = identity.split("_");
  return address && unique && more.length === 0 ? address : undefined;
}
