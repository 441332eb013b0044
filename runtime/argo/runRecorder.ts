import { randomUUID } from "node:crypto";
import type { ChildChange } from "../children/childWriter";
import type { Operator } from "../definition/definition";
import type { RecordingFigures } from "../metrics";
import { Pace, type PaceOptions } from "../pace";
import type { ReconcileReport } from "../reconcileReport";
import { isRecorded, type RecordedRun } from "./recordedRun";
import { runName } from "./runName";
import { RunWriter, type RunWriterOptions } from "./runWriter";

/** What a {@link RunRecorder} works with. */
export interface RunRecorderOptions extends RunWriterOptions {
  /** Which runs are recorded. @see OperatorDefinition.record */
  readonly policy: Operator["record"];
  /** How fast runs of one object and result are recorded each for itself. @default ten, then one every six seconds */
  readonly pace?: PaceOptions;
  /** So many objects have a run that is held back for further ones; beyond it, each is written by itself. @default 1000 */
  readonly mostHeld?: number;
}

/** A run that further ones join until it is written. */
interface HeldRun {
  run: RecordedRun & { readonly runs: number };
  timer: NodeJS.Timeout;
}

/** Runs of one object and result that are recorded each for itself; beyond it, those of the next seconds are one. */
const PACE = { burst: 10, refillMs: 6_000 };
/** An equal failure within this time need not be tried to be recorded again. It is the shortest that one is kept. */
const SAME_FAILURE_MS = 10 * 60_000;
/** Changes that the record of many runs names; it would not say more with more. */
const MOST_CHANGES = 50;
/** They are kept whole. */
const MOST_HELD = 1_000;
/** How many recent failures are remembered. */
const MOST_REMEMBERED = 10_000;

/**
 * Decides which runs are recorded as Workflows, and under which names.
 *
 * Two things make fewer records than runs. A failure's name follows from the object, its generation and what failed
 * (but for the numbers in it), so that the same failure again and again is the one record of its first time, whoever
 * leads; the Kubernetes Event counts the others. And of an object that changes without end, ten runs in a row are
 * recorded each, then one every six seconds, which bears the newest report, tells what all of them changed and how many
 * they were.
 */
export class RunRecorder {
  private readonly writer: RunWriter;
  private readonly pace: Pace;
  /** By object and result. */
  private readonly held = new Map<string, HeldRun>();
  /** Until when a failure of this name is known to be recorded, on the monotonic clock. */
  private readonly failures = new Map<string, number>();
  private coalesced = 0;

  constructor(private readonly options: RunRecorderOptions) {
    this.writer = new RunWriter(options);
    this.pace = new Pace(options.pace ?? PACE);
  }

  /**
   * The name that a run's Workflow will bear, to be called before the run's status is written.
   * @returns undefined where the run is not recorded
   */
  nameOf(report: ReconcileReport): string | undefined {
    if (!isRecorded(report, this.options.policy)) return undefined;
    return this.held.get(keyOf(report))?.run.name ?? freshName(report);
  }

  /**
   * Records a run that has ended, if it is one to be recorded, under the name that it was given. Never waits.
   * @returns the name of the Workflow that tells of it, or will; undefined where none does
   */
  record(report: ReconcileReport): string | undefined {
    const name = isRecorded(report, this.options.policy) ? (report.run ?? this.nameOf(report)) : undefined;
    if (name === undefined) return undefined;
    const key = keyOf(report);
    const held = this.held.get(key);
    if (held || (report.failure && this.isKnown(name))) {
      this.coalesced++;
      if (held) held.run = joined(held.run, report);
      return held?.run.name ?? name;
    }
    if (report.failure) this.remember(name);
    const run = { name, report, finishedAt: new Date(), runs: 1 };
    const waitMs = this.pace.take(key);
    if (waitMs > 0 && this.held.size < (this.options.mostHeld ?? MOST_HELD))
      this.held.set(key, { run, timer: this.releaseAfter(waitMs, key) });
    else this.writer.add(run);
    return name;
  }

  /** What has been recorded so far, and what waits. */
  get figures(): RecordingFigures {
    const { written, known, dropped, waiting, lagSeconds } = this.writer;
    return { recorded: written, coalesced: this.coalesced + known, dropped, waiting, lagSeconds };
  }

  /** Writes what waits, and drops what is left after `graceMs`. To be called when nothing is reconciled any more. */
  async stop(graceMs = 5_000): Promise<void> {
    for (const { run, timer } of this.held.values()) {
      clearTimeout(timer);
      this.writer.add(run);
    }
    this.held.clear();
    await this.writer.stop(graceMs);
  }

  private releaseAfter(waitMs: number, key: string): NodeJS.Timeout {
    return setTimeout(() => {
      const held = this.held.get(key);
      if (!held) return;
      const moreMs = this.pace.take(key);
      if (moreMs > 0) {
        held.timer = this.releaseAfter(moreMs, key);
        return;
      }
      this.held.delete(key);
      this.writer.add(held.run);
    }, waitMs);
  }

  private isKnown(name: string): boolean {
    const until = this.failures.get(name);
    return until !== undefined && until > performance.now();
  }

  private remember(name: string): void {
    const now = performance.now();
    this.failures.delete(name);
    this.failures.set(name, now + SAME_FAILURE_MS);
    // In the order of insertion, so the first are the first to be over.
    for (const [old, until] of this.failures) {
      if (until > now && this.failures.size <= MOST_REMEMBERED) break;
      this.failures.delete(old);
    }
  }
}

/** Runs of one object with one result: those that may be told of together. */
function keyOf({ uid, namespace, name, failure }: ReconcileReport): string {
  return JSON.stringify([uid ?? [namespace, name], failure !== undefined]);
}

function freshName(report: ReconcileReport): string {
  const { operator, namespace, uid, generation, failure, changes } = report;
  const which = failure ? [failure.reason, withoutNumbers(failure.message), changes] : [randomUUID()];
  return runName(operator, report, [namespace, uid, generation, ...which]);
}

/** A failure that differs from an earlier one in a time, a port or a count alone is the same one again. */
function withoutNumbers(message: string): string {
  return message.replace(/\d+/g, "#");
}

/** A record that tells of one more run. */
function joined(run: HeldRun["run"], report: ReconcileReport): HeldRun["run"] {
  const changes = allChanges(run.report, report);
  return { ...run, report: { ...report, changes }, finishedAt: new Date(), runs: run.runs + 1 };
}

function allChanges(before: ReconcileReport, after: ReconcileReport): ChildChange[] {
  const all = [...before.changes, ...after.changes].map(
    (change) => [JSON.stringify(change), change] as const,
  );
  return [...new Map(all).values()].slice(0, MOST_CHANGES);
}
