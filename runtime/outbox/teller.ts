import type { KubernetesClient } from "../kubernetes/client";
import type { ObjectName } from "../kubernetes/objects";
import type { ObjectEvent } from "../reconcile/outcome";
import type { Statuses } from "../status/statuses";
import type { StatusVerdict } from "../status/statusWriter";
import type { EventWriter, Regarded } from "./eventWriter";
import type { RunRecord } from "./recorder";

/** What is to be told of one object. */
export interface Message {
  readonly regarding: Regarded;
  readonly verdict: StatusVerdict | undefined;
  /** At most one of runs that succeeded and one of runs that failed. */
  readonly records: readonly RunRecord[];
  readonly events: readonly ObjectEvent[];
}

/** What could not be told. */
export interface Untold {
  readonly left: Message;
  /** Why. Undefined if nothing but a record is late. */
  readonly error: unknown;
}

/** What a {@link Teller} works with. */
export interface TellerOptions {
  readonly statuses: Pick<Statuses, "write">;
  readonly events: Pick<EventWriter, "write">;
  /** Writes a record. @returns whether it is there now; false if it never will be. @default there are no records */
  readonly record?: (record: RunRecord) => Promise<boolean>;
}

/** A verdict waits so long for the record that it is to name. */
const RECORD_PATIENCE_MS = 1_000;

/**
 * Tells of one object: first the record of its run, then the status, which names the record if there is one by then, then
 * the Events.
 *
 * Guarantees, each with a test in tests/unit/teller.test.ts:
 * - A verdict waits a second for its record, and no longer.
 * - What was told is not told again when the rest is.
 */
export class Teller {
  constructor(private readonly options: TellerOptions) {}

  /** @returns what could not be told, and why. Undefined: everything was told. It never throws */
  async tell(client: KubernetesClient, name: ObjectName, message: Message): Promise<Untold | undefined> {
    const [run, records] = await this.writeRecords(message.records);
    let left: Message = { ...naming(run, message), records };
    try {
      if (left.verdict) {
        const refused = await this.writeVerdict(client, name, left, left.verdict);
        left = { ...left, verdict: undefined, events: [...left.events, ...(refused ? [refused] : [])] };
      }
      for (const event of left.events) {
        await this.options.events.write(client, message.regarding, event);
        left = { ...left, events: left.events.slice(1) };
      }
    } catch (error) {
      return { left, error };
    }
    return records.length > 0 ? { left, error: undefined } : undefined;
  }

  /** Writes the records. @returns the name of the last one that is there, and those that are to be written later */
  private async writeRecords(records: readonly RunRecord[]): Promise<[string | undefined, RunRecord[]]> {
    const { record } = this.options;
    let run: string | undefined;
    const left: RunRecord[] = [];
    if (!record) return [run, left];
    for (const each of records) {
      const writing = record(each).then(
        (isThere) => (isThere ? "there" : "refused"),
        () => "left",
      );
      const result = await within(RECORD_PATIENCE_MS, writing);
      if (result === "there") run = each.name;
      // A write that is still on its way is repeated: the API server knows the name by then.
      else if (result !== "refused") left.push(each);
    }
    return [run, left];
  }

  /** @returns an Event to write in the place of a status that the API server refuses */
  private async writeVerdict(
    client: KubernetesClient,
    name: ObjectName,
    { regarding }: Message,
    verdict: StatusVerdict,
  ): Promise<ObjectEvent | undefined> {
    try {
      await this.options.statuses.write(client, { ...name, uid: regarding.metadata.uid }, { verdict });
      return undefined;
    } catch (error) {
      if ((error as Error).name !== "ReconcileFailure") throw error;
      return { type: "Warning", reason: "StatusRefused", note: (error as Error).message };
    }
  }
}

/** The message with the name of the record that is there. That record says what was done, and Ready names it. */
function naming(run: string | undefined, message: Message): Message {
  if (run === undefined) return message;
  const { verdict, events } = message;
  return {
    ...message,
    verdict: verdict && { ...verdict, run },
    events: events
      .filter(({ type }) => type !== "Normal")
      .map((event) => ({ ...event, run: event.run ?? run })),
  };
}

/** What a promise gives. Undefined if it takes longer than so many milliseconds. */
async function within<T>(ms: number, ending: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  try {
    return await Promise.race([ending, late]);
  } finally {
    clearTimeout(timer);
  }
}
