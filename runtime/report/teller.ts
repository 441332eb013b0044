import { within } from "../base/clock";
import { CHILD_OF_LABEL, NEXT_ATTEMPT_ANNOTATION, NEXT_TRY_ANNOTATION, ONCE_ANNOTATION } from "../base/names";
import { kindAndName, type ObjectName } from "../base/objects";
import type { Resource } from "../base/resource";
import { cut } from "../base/text";
import type { KubernetesClient } from "../kubernetes/client";
import { policyRefusalIn, withRemedy } from "../kubernetes/errors";
import type { ChangedChild } from "../observe/news";
import type { Owner } from "../observe/ownership";
import { describeChanges, type ObjectEvent, type Outcome } from "../reconcile/report";
import type { StatusVerdict } from "../remember/composeStatus";
import type { Memories } from "../remember/memory";
import type { EventWriter, Regarded } from "./eventWriter";
import type { RunRecord } from "./runRecorder";
import type { ReportTime } from "./traces/spans";

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
   * Called once: with its times when the message is written, without them when it never will be. If messages are merged, only the
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
  /** @param record writes a record. @returns whether the record exists now. False if it never will be. @default there are no records */
  constructor(
    private readonly memories: Pick<Memories, "write">,
    private readonly events: Pick<EventWriter, "write">,
    private readonly record?: (record: RunRecord) => Promise<boolean>,
  ) {}

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
        await this.events.write(client, message.regarding, event);
        left = { ...left, events: left.events.slice(1) };
      }
    } catch (error) {
      return { left, error };
    }
    return problem !== undefined || records.length > 0 ? { left, error: problem } : undefined;
  }

  /** Writes the records. @returns the name of the last one that exists, and those that are to be written later */
  private async writeRecords(records: readonly RunRecord[]): Promise<[string | undefined, RunRecord[]]> {
    const { record } = this;
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
      await this.memories.write(client, { ...name, uid }, { verdict });
      return {};
    } catch (error) {
      const forbidden = policyRefusalIn(error);
      if (!forbidden && (error as Error).name !== "ReconcileFailure") return { isRefused, error };
      const note = forbidden
        ? `the API server forbids to write the status: ${withRemedy(forbidden)}`
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

/**
 * What must be reported about a reconcile's outcome. Undefined: nothing.
 * @param record the record of the run, if it is recorded
 * @param waitMs by when a failed object is tried again even if nothing changes, in milliseconds from now. Undefined: unknown
 */
export function messageAbout(
  { report, verdict, digest, events, isOver }: Outcome,
  { apiVersion, kind }: Resource,
  record: RunRecord | undefined,
  waitMs?: number,
): Message | undefined {
  const { uid, name, namespace, generation = 1, failure, changes } = report;
  if (uid === undefined) return undefined;
  const all: ObjectEvent[] = [...events];
  if (failure) {
    const annotations = nextTry(report.attempt, waitMs);
    all.push({ type: "Warning", reason: failure.reason, note: failure.message, annotations });
  } else if (changes.length > 0)
    all.push({
      type: "Normal",
      reason: "Reconciled",
      note: describeChanges(changes, namespace),
      isInRecord: true,
    });
  if (!verdict && !record && all.length === 0) return undefined;
  return {
    regarding: { apiVersion, kind, metadata: { name, namespace, uid } },
    verdict: verdict && {
      verdict,
      generation,
      ...(digest !== undefined && { digest }),
      ...(isOver && { isOver }),
    },
    records: record ? [record] : [],
    events: all,
  };
}

/** What is known of the next try after a failed one. */
function nextTry(attempt: number, waitMs: number | undefined): Readonly<Record<string, string>> {
  return {
    [NEXT_ATTEMPT_ANNOTATION]: String(attempt + 1),
    ...(waitMs !== undefined && { [NEXT_TRY_ANNOTATION]: new Date(Date.now() + waitMs).toISOString() }),
  };
}

/** A message with one Event about an object, apart from the outcomes of its reconciles. */
export function messageWith(
  event: ObjectEvent,
  { uid, ...name }: Owner,
  { apiVersion, kind }: Resource,
): Message {
  return {
    regarding: { apiVersion, kind, metadata: { ...name, uid } },
    verdict: undefined,
    records: [],
    events: [event],
  };
}

/** Says that an object is in a cycle with an object that it uses: each change of one changes the other. */
export function cycleWarning(what: string): ObjectEvent {
  const note = `this object uses ${what}, and each change of this object makes an operator change ${what}. Until this cycle ends, the object is reconciled less and less often`;
  return { type: "Warning", reason: "UseCycle", note };
}

/** The most characters of a Warning that name children. An Event has room for about 1,000 in all. */
const LONGEST_LIST = 300;

/** Says that a handler answers other children each time. @param report of the last round */
export function differingWarning(rounds: number, { changes, namespace }: Outcome["report"]): ObjectEvent {
  const what = cut(describeChanges(changes, namespace), LONGEST_LIST);
  const note = `the handler has returned different children ${rounds} times in a row, although only the object's own children had changed: ${what}. If the answer contains the time or a random value, this never ends: let the handler return the same children for the same object. To find the fields, record the object as a fixture and run argosy test, which asks the handler twice`;
  return { type: "Warning", reason: "AnswersDiffer", note };
}

/** Says that another client changes a child back each time, and names that client. */
export function contestWarning(child: ChangedChild): ObjectEvent {
  const name = kindAndName(child.kind, child);
  // A watch that selects by the label shows a child without the label as deleted.
  const act =
    child.by === undefined
      ? `another client deletes ${name}, or removes its label ${CHILD_OF_LABEL},`
      : `${child.by} changes ${name}`;
  const note = child.isExpiring
    ? `${name} has ttlSecondsAfterFinished: Kubernetes deletes it after its end, and the operator applies it again, so it runs again each time. Give it the annotation ${ONCE_ANNOTATION}: "true", and it runs once`
    : `${act} each time that the operator applies it. Until this ends, the operator corrects it less and less often`;
  return { type: "Warning", reason: "ChildContested", note, action: "Apply" };
}
