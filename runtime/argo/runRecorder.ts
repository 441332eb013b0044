import type { ChildChange } from "../children/childWriter";
import type { Operator } from "../definition/definition";
import type { KubernetesClient } from "../kubernetes/client";
import { ApiError, isApiError } from "../kubernetes/errors";
import type { Manifest } from "../kubernetes/objects";
import { Recent } from "../limits/recent";
import type { OperatorIdentity } from "../names";
import type { Recorder, RunRecord } from "../outbox/recorder";
import type { ReconcileReport } from "../reconcile/report";
import { onceAMinute } from "../text/notices";
import { buildRecordedRun, isRecorded, type RecordedRun, type RecordingPlace } from "./recordedRun";
import { Retention } from "./retention";
import { runName } from "./runName";
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

/** A run to record. Its manifest is built when it is written. */
interface Recorded extends RunRecord {
  readonly run: RecordedRun & { readonly runs: number };
}

/** Records are kept for less time if there are so many that they would fill memory, but at least this long. */
const SHORTEST: KeptSeconds = { successes: 60, failures: 600 };
/** Up to this many recent records, each is kept for the whole time. */
const FEW = 1_000;
/** The most changes that the record of several runs names. More would not help a reader. */
const MOST_CHANGES = 50;
/** How many recent failures are remembered. */
const MOST_REMEMBERED = 10_000;

/**
 * Decides which runs are recorded as Workflows and under which names, and writes them: one POST each.
 *
 * The name of a failure follows from the object, its generation and the failure's message without its numbers. So the same
 * failure again and again has one record, that of its first time, no matter who leads. The Kubernetes Event counts the others.
 */
export class RunRecorder implements Recorder {
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
    const { now = () => performance.now() } = options;
    const tell = (notice: string) => options.onNotice?.(notice);
    this.tellLate = onceAMinute(tell, now);
    this.tellDropped = onceAMinute(tell, now);
    // A record that is known must still be there.
    this.known = new Recent({ keptMs: shortestOf("failures", options) * 1000, most: MOST_REMEMBERED, now });
    this.successes = retentionOf("successes", options);
    this.failures = retentionOf("failures", options);
  }

  recordOf(report: ReconcileReport): RunRecord | undefined {
    if (!isRecorded(report, this.options.operator.record)) return undefined;
    const name = this.nameOf(report);
    // How long a record is kept counts from this time, and our own clock may be wrong.
    const finishedAt = new Date(this.options.client.now());
    const recorded: Recorded = {
      name,
      isFailure: report.failure !== undefined,
      run: { name, report, finishedAt, runs: 1 },
    };
    return recorded;
  }

  /** One record that reports the runs of two: it bears the newer report, and names what all of them changed. */
  readonly join = (earlier: RunRecord, later: RunRecord): RunRecord => {
    this.coalesced++;
    const [first, last] = [(earlier as Recorded).run, (later as Recorded).run];
    const report = { ...last.report, changes: allChanges(first.report, last.report) };
    // Under the later name: a write of the earlier record may be on its way.
    const joined: Recorded = {
      ...(later as Recorded),
      run: { ...last, report, runs: first.runs + last.runs },
    };
    return joined;
  };

  /**
   * Writes a record.
   * @returns whether it exists now. False if the API server will never take it
   * @throws ApiError, ApiUnreachableError if it must be tried again
   */
  readonly write = async (record: RunRecord): Promise<boolean> => {
    if (this.known.get(record.name)) {
      this.coalesced++;
      return true;
    }
    const retention = record.isFailure ? this.failures : this.successes;
    const manifest = this.manifestOf(record as Recorded, retention.seconds());
    try {
      await this.options.client.create(WORKFLOWS, manifest);
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

  private manifestOf({ run }: Recorded, keptSeconds: number): Manifest {
    const { namespace, instanceId, archive, operator } = this.options;
    const { installation } = operator;
    return buildRecordedRun(run, { namespace, installation, instanceId, keptSeconds, archive });
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

  private nameOf(report: ReconcileReport): string {
    const { id, namespace, uid, generation, failure, changes } = report;
    const which = failure ? [failure.reason, withoutNumbers(failure.message), changes] : [id];
    return runName(this.options.operator.name, report, [namespace, uid, generation, ...which]);
  }
}

/**
 * The message without its numbers. A failure that differs from an earlier one only in a time, a port or a count is the same
 * failure.
 */
function withoutNumbers(message: string): string {
  return message.replace(/\d+/g, "#");
}

function allChanges(before: ReconcileReport, after: ReconcileReport): ChildChange[] {
  const all = [...before.changes, ...after.changes].map(
    (change) => [JSON.stringify(change), change] as const,
  );
  return [...new Map(all).values()].slice(0, MOST_CHANGES);
}

function retentionOf(result: keyof KeptSeconds, options: RunRecorderOptions): Retention {
  return new Retention({
    longestSeconds: options.kept[result],
    shortestSeconds: shortestOf(result, options),
    few: FEW,
  });
}

/** The shortest time for which a record is kept, in seconds. */
function shortestOf(result: keyof KeptSeconds, { kept }: RunRecorderOptions): number {
  return Math.min(SHORTEST[result], kept[result]);
}
