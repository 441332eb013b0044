import type { Engine } from "../../engine/engine";
import type { HintResult } from "../../engine/metrics";
import type { ChangesWithoutHint } from "./changesWithoutHint";
import type { Hint } from "./hint";
import { addressIn } from "./identity";

/** The parts with which {@link takeHint} decides. */
export interface HintParts {
  readonly engine: Pick<Engine, "isLeading" | "leader" | "hint" | "knows">;
  readonly changesWithoutHint: Pick<ChangesWithoutHint, "hinted">;
  /** Passes a hint on to the leader at this address. @returns whether it was taken */
  readonly forward: (hint: Hint, address: string) => Promise<boolean>;
}

/**
 * Decides what to do with a hint: the leader takes it, and a standby passes it on once.
 * @param forwarded whether another replica has passed it on to us
 */
export async function takeHint(
  { engine, changesWithoutHint, forward }: HintParts,
  hint: Hint,
  forwarded: boolean,
): Promise<HintResult> {
  if (engine.isLeading) {
    changesWithoutHint.hinted(hint, hint.resourceVersion);
    // In a storm all hints come late, and another read of the object would not be worth it. A hint that is ahead of the watch is,
    // however: the watch may be silent.
    if (engine.knows(hint, hint.resourceVersion)) return "known";
    return engine.hint(hint) ? "queued" : "full";
  }
  // Two replicas that each believe that the other one leads would send the hint back and forth.
  const address = forwarded || engine.leader === undefined ? undefined : addressIn(engine.leader);
  return address !== undefined && (await forward(hint, address)) ? "forwarded" : "leaderless";
}
