import { setTimeout as pause } from "node:timers/promises";
import type { KubernetesClient } from "../kubernetes/client";
import type { KubernetesObject, ObjectName } from "../kubernetes/objects";
import type { ObjectEvent } from "../reconcile/outcome";
import type { StatusVerdict, StatusWriter } from "../status/statusWriter";
import type { EventWriter, Regarded } from "./eventWriter";
import type { RunRecord } from "./recorder";

/** What is to be told of one object. */
export interface Message {
  readonly regarding: Regarded;
  readonly verdict: Omit<StatusVerdict, "run"> | undefined;
  /** At most one of runs that succeeded and one of runs that failed. */
  readonly records: readonly RunRecord[];
  readonly events: readonly ObjectEvent[];
}

/** What a {@link Teller} works with. */
export interface TellerOptions {
  /** Reads an object as it is now. */
  readonly read: (name: ObjectName) => Promise<KubernetesObject | undefined>;
  /** Takes in what the API server answered to a write. */
  readonly learn: (object: KubernetesObject) => void;
  readonly status: StatusWriter;
  readonly events: EventWriter;
  /** Writes a record. @returns whether it is there now; false if it never will be. @default there are no records */
  readonly record?: (record: RunRecord) => Promise<boolean>;
}

/** A verdict waits so long for the record that it is to name. */
const RECORD_PATIENCE_MS = 1_000;

/**
 * Tells of one object: first the record of its run, then the status, which names the record if there is one by then, then
 * the Events.
 */
export class Teller {
  constructor(private readonly options: TellerOptions) {}

  /**
   * @returns what could not be told yet. Undefined: everything was
   * @throws ApiError, ApiUnreachableError, ReconcileFailure if the API server does not take the status
   */
  async tell(client: KubernetesClient, name: ObjectName, message: Message): Promise<Message | undefined> {
    const [run, left] = await this.writeRecords(message.records);
    const { verdict } = message;
    const failure = verdict && (await this.writeVerdict(client, name, message, { ...verdict, run }));
    const events = failure ? [...message.events, failure] : message.events;
    for (const event of events) {
      // The record says what was done, and Ready names the record.
      if (event.type === "Normal" && run !== undefined) continue;
      await this.options.events.write(client, message.regarding, { ...event, run: event.run ?? run });
    }
    return left.length > 0 ? { ...message, verdict: undefined, events: [], records: left } : undefined;
  }

  /** Writes the records. @returns the name of the last one that is there, and those that are to be written later */
  private async writeRecords(records: readonly RunRecord[]): Promise<[string | undefined, RunRecord[]]> {
    const { record } = this.options;
    let run: string | undefined;
    const left: RunRecord[] = [];
    for (const each of record ? records : []) {
      const writing = record?.(each).then(
        (isThere) => (isThere ? "there" : "refused"),
        () => "left",
      );
      const result = await Promise.race([writing, pause(RECORD_PATIENCE_MS, "late", { ref: false })]);
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
    const object = await this.options.read(name);
    if (object?.metadata.uid !== regarding.metadata.uid) return undefined;
    try {
      const written = await this.options.status.write(client, object, { verdict });
      if (written) this.options.learn(written);
      return undefined;
    } catch (error) {
      if ((error as Error).name !== "ReconcileFailure") throw error;
      return { type: "Warning", reason: "StatusRefused", note: (error as Error).message };
    }
  }
}
