import { setTimeout as pause } from "node:timers/promises";
import type { KubernetesClient } from "../kubernetes/client";
import { ApiError, isApiError } from "../kubernetes/errors";
import type { Manifest } from "../kubernetes/objects";
import { buildRecordedRun, type RecordedRun, type RecordingPlace } from "./recordedRun";
import { Retention } from "./retention";
import { WORKFLOWS } from "./workflows";

/** What a {@link RunWriter} works with. */
export interface RunWriterOptions
  extends Pick<RecordingPlace, "namespace" | "installation" | "instanceId" | "archive"> {
  readonly client: KubernetesClient;
  /** How long records are kept while there are few. @default an hour, and a day of a failure */
  readonly kept?: KeptSeconds;
  /** Told why runs are not written now, or were dropped; not twice in a row for the same reason. */
  readonly onNotice?: (notice: string) => void;
  /** So many runs wait to be written; beyond it the oldest are dropped. @default 5000 */
  readonly longestBacklog?: number;
  /** So many characters of their Workflows; beyond it the oldest are dropped too. @default 16 Mi */
  readonly largestBacklog?: number;
  /** Resolves when a run may be written that has waited since then, on the monotonic clock. @default at once */
  readonly turn?: (since: number) => Promise<void>;
}

/** For how many seconds the Workflows of runs are kept. */
export interface KeptSeconds {
  readonly successes: number;
  readonly failures: number;
}

interface Waiting {
  /** Not the run itself, which may hold on to much more than its Workflow tells. */
  readonly manifest: Manifest;
  /** The manifest's length as JSON, in characters. */
  readonly length: number;
  /** When it began to wait, on the monotonic clock. */
  readonly since: number;
}

const LONGEST_BACKLOG = 5_000;
const LARGEST_BACKLOG = 16 * 1024 * 1024;
/** Writes at once: enough for a burst, and few beside the reconciles' own. */
const WRITERS = 2;
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 30_000;
const KEPT: KeptSeconds = { successes: 3_600, failures: 86_400 };
/** Kept for less where there are so many that they would fill memory, but not for less than this. */
const SHORTEST: KeptSeconds = { successes: 60, failures: 600 };
/** So many are few. */
const FEW = 1_000;
const LATE = "they could not be written before the end";

/**
 * Writes runs as Workflows, one POST each, beside the work: nobody waits for it. What cannot be written waits, up to a
 * bound, while the API server or Argo's kinds are away.
 */
export class RunWriter {
  /** Workflows written. */
  written = 0;
  /** Runs that were written already: by a try whose answer was lost, or as the same failure, by a former leader. */
  known = 0;
  /** Runs that were not written and never will be. */
  dropped = 0;
  private readonly backlog: Waiting[] = [];
  /** The length of what is in {@link backlog}, in characters. */
  private backlogLength = 0;
  private readonly inFlight = new Set<Waiting>();
  private readonly successes: Retention;
  private readonly failures: Retention;
  private readonly stopping = new AbortController();
  private readonly writers = new Set<Promise<void>>();
  private retryMs = FIRST_RETRY_MS;
  private noticed = "";

  constructor(private readonly options: RunWriterOptions) {
    this.successes = retentionOf("successes", options);
    this.failures = retentionOf("failures", options);
  }

  /** Writes a run soon. */
  add(run: RecordedRun): void {
    const { namespace, installation, instanceId, archive } = this.options;
    const keptSeconds = (run.report.failure ? this.failures : this.successes).next();
    const manifest = buildRecordedRun(run, { namespace, installation, instanceId, keptSeconds, archive });
    const { length } = JSON.stringify(manifest);
    this.backlog.push({ manifest, length, since: performance.now() });
    this.backlogLength += length;
    this.trim();
    this.startWriters();
  }

  /** Runs that wait to be written. */
  get waiting(): number {
    return this.backlog.length + this.inFlight.size;
  }

  /** How long the first of them has been waiting, in seconds; 0 where none waits. */
  get lagSeconds(): number {
    if (this.waiting === 0) return 0;
    const [first] = this.backlog;
    const since = [...this.inFlight, ...(first ? [first] : [])].map((waiting) => waiting.since);
    return (performance.now() - Math.min(...since)) / 1000;
  }

  /** Writes what waits, and drops what is left after `graceMs`. Nothing is to be added any more. */
  async stop(graceMs: number): Promise<void> {
    await Promise.race([this.flushed(), pause(graceMs, undefined, { ref: false })]);
    this.stopping.abort();
    const left = this.backlog.splice(0).length;
    this.backlogLength = 0;
    if (left > 0) this.drop(left, LATE);
  }

  private async flushed(): Promise<void> {
    while (this.writers.size > 0) await Promise.all(this.writers);
  }

  /** Drops the oldest of what is too much: what happened last is what somebody will look for. */
  private trim(): void {
    const { longestBacklog = LONGEST_BACKLOG, largestBacklog = LARGEST_BACKLOG } = this.options;
    let dropped = 0;
    while (this.backlog.length > longestBacklog || this.backlogLength > largestBacklog) {
      this.take();
      dropped++;
    }
    if (dropped > 0) this.drop(dropped, "too many wait to be written");
  }

  /** The oldest of what waits. */
  private take(): Waiting | undefined {
    const oldest = this.backlog.shift();
    this.backlogLength -= oldest?.length ?? 0;
    return oldest;
  }

  private startWriters(): void {
    while (this.writers.size < Math.min(WRITERS, this.backlog.length)) {
      const writer = this.write().finally(() => {
        this.writers.delete(writer);
        // What was added while it was ending.
        this.startWriters();
      });
      this.writers.add(writer);
    }
  }

  private async write(): Promise<void> {
    const { signal } = this.stopping;
    for (;;) {
      const [first] = this.backlog;
      if (first) await this.options.turn?.(first.since);
      const next = this.take();
      if (!next) return;
      this.inFlight.add(next);
      const again = await this.send(next.manifest);
      this.inFlight.delete(next);
      if (!again) continue;
      if (signal.aborted) return this.drop(1, LATE);
      this.backlog.unshift(next);
      this.backlogLength += next.length;
      this.trim();
      await this.rest(this.retryMs * (0.5 + Math.random() / 2));
      this.retryMs = Math.min(this.retryMs * 2, LONGEST_RETRY_MS);
    }
  }

  private async rest(ms: number): Promise<void> {
    const { signal } = this.stopping;
    await pause(ms, undefined, { signal, ref: false }).catch(() => {});
  }

  /** @returns whether it must be tried again */
  private async send(manifest: Manifest): Promise<boolean> {
    try {
      await this.options.client.create(WORKFLOWS, manifest);
      this.written++;
    } catch (error) {
      if (isApiError(error, 409)) this.known++;
      else if (isFinal(error)) this.drop(1, (error as Error).message);
      else {
        this.notice(`runs are not recorded now: ${(error as Error).message}`);
        return true;
      }
    }
    this.retryMs = FIRST_RETRY_MS;
    return false;
  }

  private drop(count: number, why: string): void {
    this.dropped += count;
    this.notice(`runs are not recorded: ${why}`);
  }

  private notice(notice: string): void {
    if (notice === this.noticed) return;
    this.noticed = notice;
    this.options.onNotice?.(notice);
  }
}

/** Whether the API server will never take it: it refuses the object itself, not us or the moment. */
function isFinal(error: unknown): boolean {
  return error instanceof ApiError && [400, 413, 422].includes(error.code);
}

function retentionOf(result: keyof KeptSeconds, { kept = KEPT }: RunWriterOptions): Retention {
  const longestSeconds = kept[result];
  return new Retention({
    longestSeconds,
    shortestSeconds: Math.min(SHORTEST[result], longestSeconds),
    few: FEW,
  });
}
