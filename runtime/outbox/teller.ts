import type { KubernetesClient } from "../kubernetes/client";
import { policyRefusalIn } from "../kubernetes/conflicts";
import type { Regarded } from "../kubernetes/events";
import type { ObjectName } from "../kubernetes/objects";
import { within } from "../limits/within";
import type { ObjectEvent } from "../reconcile/outcome";
import type { StatusVerdict } from "../status/composeStatus";
import type { Statuses } from "../status/statuses";
import type { ReportTime } from "../traces/spans";
import type { EventWriter } from "./eventWriter";
import type { RunRecord } from "./recorder";

/** What must be reported about one object. */
export interface Message {
  readonly regarding: Regarded;
  readonly verdict: StatusVerdict | undefined;
  /** At most one record of runs that succeeded, and one of runs that failed. */
  readonly records: readonly RunRecord[];
  readonly events: readonly ObjectEvent[];
  /** Whether the API server refused the verdict, and an Event has reported that. */
  readonly isRefused?: boolean | undefined;
  /**
   * Called once: with its times when the message is written, and without when it never will be. If messages are merged, only the
   * latest one's is called with times.
   */
  readonly onReported?: ((time: ReportTime | undefined) => void) | undefined;
}

/** What could not be reported. */
export interface Unreported {
  readonly left: Message;
  /** Why. Undefined if only a record is late. */
  readonly error: unknown;
}

/** What a {@link Teller} works with. */
export interface TellerOptions {
  readonly statuses: Pick<Statuses, "write">;
  readonly events: Pick<EventWriter, "write">;
  /** Writes a record. @returns whether the record exists now. False if it never will be. @default there are no records */
  readonly record?: ((record: RunRecord) => Promise<boolean>) | undefined;
}

/** A verdict waits this long for the record that it should name. */
const RECORD_PATIENCE_MS = 1_000;

/**
 * Reports about one object: first the record of its run, then the status, then the Events. If the reconcile has already written the
 * status with the handler's fields, the status names the record before the record exists. Otherwise the status is written here, and
 * names the record only if the record exists by then.
 *
 * Guarantees, each with a test in tests/unit/teller.test.ts:
 * - A verdict waits a second for its record, and no longer.
 * - What was reported is not reported again with the rest.
 * - No Event waits for a status that cannot be written.
 * - If the API server refuses the status, one Event says so, and the verdict is tried again: what refused it may be gone soon.
 *
 * Caveat: a status that named its record in advance keeps the name, even if the record was refused or removed.
 */
export class Teller {
  constructor(private readonly options: TellerOptions) {}

  /** @returns what could not be reported, and why. Undefined: everything was reported. It never throws */
  async tell(client: KubernetesClient, name: ObjectName, message: Message): Promise<Unreported | undefined> {
    const [run, records] = await this.writeRecords(message.records);
    let left: Message = { ...naming(run, message), records };
    let problem: unknown;
    if (left.verdict) {
      const { isRefused: _, ...others } = left;
      const { events = [], isRefused, error } = await this.writeVerdict(client, name, left, left.verdict);
      problem = error;
      const verdict = error === undefined ? undefined : left.verdict;
      left = { ...others, verdict, events: [...left.events, ...events], ...(isRefused && { isRefused }) };
    }
    // The Events do not wait for the status: it may never be written.
    try {
      for (const event of left.events) {
        await this.options.events.write(client, message.regarding, event);
        left = { ...left, events: left.events.slice(1) };
      }
    } catch (error) {
      return { left, error };
    }
    return problem !== undefined || records.length > 0 ? { left, error: problem } : undefined;
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
      // A write that is still in progress is repeated later. The API server then recognizes the name.
      else if (result !== "refused") left.push(each);
    }
    return [run, left];
  }

  /** @returns the error if the status was not written, and what to report in its place if the API server refused it */
  private async writeVerdict(
    client: KubernetesClient,
    name: ObjectName,
    { regarding, isRefused }: Message,
    verdict: StatusVerdict,
  ): Promise<Partial<Pick<Message, "events" | "isRefused">> & { readonly error?: unknown }> {
    const { uid } = regarding.metadata;
    try {
      await this.options.statuses.write(client, { ...name, uid }, { verdict });
      return {};
    } catch (error) {
      const forbidden = policyRefusalIn(error);
      if (!forbidden && (error as Error).name !== "ReconcileFailure") return { isRefused, error };
      const note = forbidden
        ? `the API server forbids to write the status: ${forbidden.message}`
        : (error as Error).message;
      const event = { type: "Warning", reason: "StatusRefused", note } as const;
      return { events: isRefused ? [] : [event], isRefused: true, error };
    }
  }
}

/**
 * The message with the name of the record, if the record is written. The record says what was done, and Ready names the record.
 */
function naming(run: string | undefined, message: Message): Message {
  if (run === undefined) return message;
  const { verdict, events } = message;
  return {
    ...message,
    verdict: verdict && { ...verdict, run },
    events: events
      .filter(({ isInRecord }) => !isInRecord)
      .map((event) => ({ ...event, run: event.run ?? run })),
  };
}
