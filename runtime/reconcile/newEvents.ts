import { fingerprint } from "../fingerprint";
import type { AnsweredEvent } from "../handler/contract";

/** The Events in an answer that are to be reported, and the fingerprints to remember. */
export interface NewEvents {
  /** Those that the last answer did not have, or had for another generation. */
  readonly events: readonly AnsweredEvent[];
  /** Fingerprints of all Events in the answer. */
  readonly told: readonly string[];
}

/**
 * Distinguishes new Events from those that were reported, because a handler answers the same Events again in each resync.
 *
 * Guarantees (tests/unit/newEvents.test.ts): an Event is reported once for a generation as long as every answer has it. After an
 * answer without it, it is new again.
 *
 * @param told {@link NewEvents.told} of the last answer
 */
export function newEventsIn(
  events: readonly AnsweredEvent[],
  generation: number,
  told: readonly string[] = [],
): NewEvents {
  const all = new Map(
    events.map((event) => [fingerprint([generation, event.type, event.reason, event.note]), event]),
  );
  return {
    events: [...all].filter(([key]) => !told.includes(key)).map(([, event]) => event),
    told: [...all.keys()],
  };
}
