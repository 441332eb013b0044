import { createHash } from "node:crypto";
import { monotonicNow } from "../base/clock";
import { Recent } from "../base/limits";
import type { OperatorIdentity } from "../base/names";
import { onceAMinute } from "../base/notices";
import type { KubernetesClient } from "../kubernetes/client";
import { ApiError, isApiError } from "../kubernetes/errors";
import type { Operator } from "../operator/definition";
import type { ReconcileReport } from "../reconcile/report";
import { buildRecordedRun, isRecorded, type RecordedRun, type RecordingPlace } from "./recordedRun";
import { WORKFLOWS } from "./workflows";

/** For how many seconds the Workflows of runs are kept. */
export interface KeptSeconds {
  readonly successes: number;
  readonly failures: number;
}

/** What a {@link RunRecorder} works with. */
export interface RunRecorderOptions extends Pick<RecordingPlace, "namespace" | "instanceId" | "archive"> {
  readonly operator: OperatorIdentity & Pick<Operator, "record">;
  readonly client: Pick<KubernetesClient, "create" | "now">;
  /** How long records are kept while there are few. */
  readonly kept: KeptSeconds;
  /** Called with the reason why runs wait to be recorded, and with the reason why runs are dropped, each at most once a minute. */
  readonly onNotice?: (notice: string) => void;
  /** A monotonic clock, in milliseconds. @default performance.now */
  readonly now?: () => number;
}

/** What others use of a {@link RunRecorder}. */
export type Recorder = Pick<
  RunRecorder,
  "recordOf" | "join" | "write" | "drop" | "recorded" | "coalesced" | "dropped"
>;

/** A run to record. Its manifest is built when it is written. */
interface Recorded extends RunRecord {
  readonly run: RecordedRun & { readonly runs: number };
}

/** Records are kept for less time if they would otherwise fill memory, but at least this long. */
export const SHORTEST: KeptSeconds = { successes: 60, failures: 600 };
/** Up to this many recent records, each is kept for the whole time. */
export const FEW = 1_000;
/** The most changes that the record of several runs names. More would not help a reader. */
const MOST_CHANGES = 50;
/** How many recent failures are remembered. */
const MOST_REMEMBERED = 10_000;

/**
 * Decides which runs are recorded as Workflows and under which names, and writes them: one POST each.
 *
 * The name of a failure follows from the object, its generation and the failure's message without its numbers. So the same failure
 * again and again has one record, that of its first time, whichever process leads. The Kubernetes Event counts the others.
 */
export class RunRecorder {
  /** Workflows written. */
  recorded = 0;
  /** Runs without a Workflow of their own, since another Workflow reports them too. */
  coalesced = 0;
  /** Runs that were not written and never will be. */
  dropped = 0;
  private readonly successes: Retention;
  private readonly failures: Retention;
  /** The failures that are known to be recorded, by the names of their records. */
  private readonly known: Recent<true>;
  private readonly tellLate: (notice: string) => void;
  private readonly tellDropped: (notice: string) => void;

  constructor(private readonly options: RunRecorderOptions) {
    const { kept, now = monotonicNow } = options;
    const tell = (notice: string) => options.onNotice?.(notice);
    this.tellLate = onceAMinute(tell, now);
    this.tellDropped = onceAMinute(tell, now);
    // A record that is known must still exist.
    this.known = new Recent({ keptMs: shortestOf("failures", options) * 1000, most: MOST_REMEMBERED, now });
    this.successes = new Retention(kept.successes, shortestOf("successes", options));
    this.failures = new Retention(kept.failures, shortestOf("failures", options));
  }

  /** The record of a run, which has the same name each time. Undefined if the run is not to be recorded. */
  recordOf(report: ReconcileReport): Recorded | undefined {
    if (!isRecorded(report, this.options.operator.record)) return undefined;
    const name = recordNameOf(this.options.operator.name, report);
    // How long a record is kept counts from this time, and our own clock may be wrong.
    const finishedAt = new Date(this.options.client.now());
    const run = { name, report, finishedAt, runs: 1 };
    return { name, isFailure: report.failure !== undefined, run };
  }

  /** One record that reports the runs of two: it bears the newer report, and names what all of them changed. */
  readonly join = (earlier: RunRecord, later: RunRecord): Recorded => {
    this.coalesced++;
    const [first, last] = [(earlier as Recorded).run, (later as Recorded).run];
    const report = { ...last.report, changes: allChanges(first.report, last.report) };
    // Under the later name: a write of the earlier record may be on its way.
    return { ...later, run: { ...last, report, runs: first.runs + last.runs } };
  };

  /**
   * Writes a record.
   * @returns whether it exists now. False if the API server will never accept it
   * @throws ApiError, ApiUnreachableError if it must be tried again
   */
  readonly write = async (record: RunRecord): Promise<boolean> => {
    if (this.known.get(record.name)) {
      this.coalesced++;
      return true;
    }
    const retention = record.isFailure ? this.failures : this.successes;
    const { client, operator, namespace, instanceId, archive } = this.options;
    const { installation } = operator;
    const place = { namespace, installation, instanceId, archive, keptSeconds: retention.seconds() };
    try {
      await client.create(WORKFLOWS, buildRecordedRun((record as Recorded).run, place));
      this.recorded++;
    } catch (error) {
      // The record exists: the answer to an earlier try was lost, or a previous leader recorded the same failure.
      if (isApiError(error, 409)) this.coalesced++;
      else return this.refused(error as Error);
    }
    retention.count();
    if (record.isFailure) this.known.set(record.name, true);
    return true;
  };

  /** A record is not written. */
  drop(reason: string): void {
    this.dropped++;
    this.tellDropped(`runs are not recorded: ${reason}`);
  }

  private refused(error: Error): boolean {
    // The API server refuses the object itself. Another try would be refused too.
    const isFinal = error instanceof ApiError && [400, 413, 422].includes(error.code);
    if (isFinal) {
      this.drop(error.message);
      return false;
    }
    this.tellLate(`runs are not recorded now: ${error.message}`);
    throw error;
  }
}

/** The name of the record of a run: the same for the same failure of the object's generation. */
export function recordNameOf(operator: string, report: ReconcileReport): string {
  const { id, namespace, uid, generation, failure, changes } = report;
  // A failure that differs from an earlier one only in a time, a port or a count is the same failure.
  const which = failure ? [failure.reason, failure.message.replace(/\d+/g, "#"), changes] : [id];
  return runName(operator, report, [namespace, uid, generation, ...which]);
}

function allChanges(before: ReconcileReport, after: ReconcileReport): ReconcileReport["changes"] {
  const all = [...before.changes, ...after.changes].map(
    (change) => [JSON.stringify(change), change] as const,
  );
  return [...new Map(all).values()].slice(0, MOST_CHANGES);
}

/** The shortest time for which a record is kept, in seconds. */
function shortestOf(result: keyof KeptSeconds, { kept }: RunRecorderOptions): number {
  return Math.min(SHORTEST[result], kept[result]);
}

/** The record of a run, which becomes a Workflow. */
export interface RunRecord {
  /** The Workflow's name. */
  readonly name: string;
  readonly isFailure: boolean;
}

/**
 * Says how long each record is kept: an hour, for example, and less if there are many records. The Workflow controller holds each
 * record in memory until then. A hundred a second for an hour would be more than it can hold. Every run is still recorded, but its
 * record goes sooner.
 */
export class Retention {
  /** How many records there were recently. A record counts as one at first, and less and less with time. */
  private recent = 0;
  private at = Number.NEGATIVE_INFINITY;

  /**
   * @param longestSeconds how long a record is kept while there are few
   * @param few the most records within that time that count as few
   */
  constructor(
    private readonly longestSeconds: number,
    private readonly shortestSeconds: number,
    private readonly few = FEW,
    private readonly now: () => number = monotonicNow,
  ) {}

  /** For how many seconds to keep the next record. */
  seconds(): number {
    const seconds = Math.round(this.longestSeconds * Math.min(1, this.few / this.withOneMore()));
    return Math.max(this.shortestSeconds, seconds);
  }

  /** Counts one more record, which exists now. A write that failed does not count. */
  count(): void {
    this.recent = this.withOneMore();
    this.at = this.now();
  }

  private withOneMore(): number {
    return this.recent * Math.exp((this.at - this.now()) / 1000 / this.longestSeconds) + 1;
  }
}

/** The longest name: Argo turns it into a label when a run is resubmitted, and a label's value has at most 63 characters. */
const LONGEST_NAME = 63;
/** 40 bits. Two runs of one object and generation do not get the same name by chance. */
const HASH_LENGTH = 10;

/**
 * The name of a run's Workflow: operator, object and generation, for readers, and a hash that makes the name unique. An object's
 * name may have 253 characters, and dots. The name is cut if it is too long, and characters that a label cannot have become
 * hyphens.
 *
 * @param identity what distinguishes this run from all others. Two runs with the same identity are one
 */
export function runName(
  operator: string,
  object: { readonly name: string; readonly generation?: number | undefined },
  identity: readonly unknown[],
): string {
  const hash = createHash("sha256")
    .update(JSON.stringify([operator, object.name, ...identity]))
    .digest("hex")
    .slice(0, HASH_LENGTH);
  const end = object.generation === undefined ? `-${hash}` : `-${object.generation}-${hash}`;
  return readable(operator, object.name, LONGEST_NAME - end.length) + end;
}

/** Begins and ends with a letter or a digit, and has nothing but these and hyphens. */
function readable(operator: string, objectName: string, longest: number): string {
  return `${operator}-${objectName}`
    .toLowerCase()
    .replace(/[^-a-z0-9]/g, "-")
    .slice(0, longest)
    .replace(/^-+|-+$/g, "");
}
