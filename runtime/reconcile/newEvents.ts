import type { AnsweredEvent } from "../handler/contract";
import { fingerprint } from "../json/fingerprint";
import { keyOf, type ObjectName } from "../kubernetes/objects";

/** The Events in an answer that must be reported, and the fingerprints to remember. */
export interface NewEvents {
  /** Those that the last answer did not have, or had for another generation. */
  readonly events: readonly AnsweredEvent[];
  /** Fingerprints of all Events in the answer. */
  readonly fingerprints: readonly string[];
  /** The generation of the object that the answer is about. */
  readonly generation: number;
}

/**
 * Distinguishes new Events from those that were reported, because a handler answers the same Events again in each resync.
 *
 * Guarantees (tests/unit/newEvents.test.ts): an Event is reported once for a generation as long as every answer has it. After an
 * answer without it, it is new again.
 *
 * @param reported {@link NewEvents.fingerprints} of the last answer
 */
export function newEventsIn(
  events: readonly AnsweredEvent[],
  generation: number,
  reported: readonly string[] = [],
): NewEvents {
  const all = new Map(events.map((event) => [fingerprintOf(event, generation), event]));
  return {
    events: [...all].filter(([key]) => !reported.includes(key)).map(([, event]) => event),
    fingerprints: [...all.keys()],
    generation,
  };
}

function fingerprintOf({ type, reason, note }: AnsweredEvent, generation: number): string {
  return fingerprint([generation, type, reason, note]);
}

/**
 * Events whose report is uncertain. An object's memory lists them as reported, and is written before they are. If that write fails,
 * they are not reported. But perhaps the API server stored the memory, and only its answer was lost. So the Events are kept until
 * the next reconcile of the object reads its memory, or until the object is gone.
 *
 * Guarantee (tests/unit/reconcileReports.test.ts): if the memory was written, the next reconcile of the object reports them, whatever
 * its handler answers.
 */
export class UnconfirmedEvents {
  private readonly byObject = new Map<string, NewEvents>();

  /** Calls `write`, which writes the memory. If it fails, the Events are kept. */
  async while(name: ObjectName, news: NewEvents, write: () => Promise<void>): Promise<void> {
    const key = keyOf(name);
    this.byObject.set(key, news);
    await write();
    this.byObject.delete(key);
  }

  /** Takes the kept Events of an object that its memory calls reported. @param reported their fingerprints in the memory */
  take(name: ObjectName, reported: readonly string[] = []): readonly AnsweredEvent[] {
    const key = keyOf(name);
    const { events = [], generation = 0 } = this.byObject.get(key) ?? {};
    this.byObject.delete(key);
    return events.filter((event) => reported.includes(fingerprintOf(event, generation)));
  }

  /** The object is gone. */
  forget(name: ObjectName): void {
    this.byObject.delete(keyOf(name));
  }
}
