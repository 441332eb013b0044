import type { AnsweredEvent } from "../handler/contract";
import { fingerprint } from "../json/fingerprint";
import { keyOf, type ObjectName } from "../kubernetes/objects";

/** The Events in an answer that must be reported, and the fingerprints to remember. */
export interface NewEvents {
  /** Those that the last answer did not have, or had for another generation. */
  readonly events: readonly AnsweredEvent[];
  /** Fingerprints of all Events in the answer. */
  readonly told: readonly string[];
  /** The generation of the object that the answer is about. */
  readonly generation: number;
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
  const all = new Map(events.map((event) => [fingerprintOf(event, generation), event]));
  return {
    events: [...all].filter(([key]) => !told.includes(key)).map(([, event]) => event),
    told: [...all.keys()],
    generation,
  };
}

function fingerprintOf({ type, reason, note }: AnsweredEvent, generation: number): string {
  return fingerprint([generation, type, reason, note]);
}

/**
 * Reported Events that their object may or may not remember. The write of that memory failed, and it may be there all the same:
 * its answer may have been lost. They are kept until the next reconcile of the object, or until the object is gone.
 *
 * Guarantee (tests/unit/reconcileReports.test.ts): if it is there, the next reconcile of the object reports them, whatever its
 * handler answers.
 */
export class EventsInDoubt {
  private readonly byObject = new Map<string, NewEvents>();

  /** Calls `write`, which remembers that the Events were reported. If it fails, they are in doubt. */
  async while(name: ObjectName, news: NewEvents, write: () => Promise<void>): Promise<void> {
    const key = keyOf(name);
    this.byObject.set(key, news);
    await write();
    this.byObject.delete(key);
  }

  /** Takes the Events of an object that are remembered, so that nobody would report them. @param told as the object remembers */
  take(name: ObjectName, told: readonly string[] = []): readonly AnsweredEvent[] {
    const key = keyOf(name);
    const { events = [], generation = 0 } = this.byObject.get(key) ?? {};
    this.byObject.delete(key);
    return events.filter((event) => told.includes(fingerprintOf(event, generation)));
  }

  /** The object is gone. */
  forget(name: ObjectName): void {
    this.byObject.delete(keyOf(name));
  }
}
