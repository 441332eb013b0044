import { within } from "../base/clock";
import type { ObjectName } from "../base/objects";
import type { WorkResult } from "../base/turn";
import type { KubernetesClient } from "../kubernetes/client";
import { ApiUnreachableError, isBusy, isRace, retryAfterMs } from "../kubernetes/errors";
import { NotLeadingError } from "../leadership/term";
import { framesOf, Workers, type WorkersOptions } from "../when/workers";
import { type Reason, WorkQueue } from "../when/workQueue";
import type { RunRecord } from "./runRecorder";
import type { Message, Teller, Unreported } from "./teller";

/** Gives the client for one object. */
type ClientFor = (name: ObjectName) => KubernetesClient;

/** A report about one object that waits. */
interface Pending extends Message {
  readonly name: ObjectName;
  /** Since when, on the monotonic clock. */
  readonly since: number;
}

/** How many objects are reported about at once. */
const CONCURRENCY = 8;
/** Children become ready step by step. A verdict that the next step replaces within this time is never written. */
const PROGRESS_DELAY_MS = 300;
/** A report is written as soon as possible, also if the last try failed. */
const SOON: Reason = { priority: "change", afterMs: 0, endsBackoff: true };
/** Reports about one object: five at once, and then one a second. */
export const RATE_LIMIT = { burst: 5, refillMs: 1_000 };
/** The most records of runs that wait, and the most Events. */
export const MOST_WAITING = 5_000;
/** If too many wait, they are reduced to this part of the limit. */
const LEFT_BY_A_TRIM = 0.9;
const LONGEST_RETRY_MS = 30_000;
/** If many records wait, about this many are tried again in a second. A policy or a quota may refuse all of them for days. */
const RECORDS_A_SECOND = 20;

/**
 * Reports the results of reconciles in the background: for each object the newest verdict and the facts since the last report. No
 * reconcile waits for its report.
 *
 * Guarantees, each with a test in tests/unit/outbox.test.ts or outboxFull.test.ts:
 * - A verdict is a state: a newer one replaces it, and it is never dropped while we lead.
 * - Events and records are facts: they are merged, in the order in which they happened. If too many wait, the oldest are dropped:
 *   Normal Events before Warnings, and records of runs that succeeded before those of failures.
 *
 * Caveat: reports that wait when the process dies are lost. The next leader reaches the verdicts again, but not the Events and
 * records.
 */
export class Outbox {
  /** By the object's uid. */
  private readonly pending = new Map<string, Pending>();
  /** The reports that are being written now. */
  private readonly telling = new Map<string, Pending>();
  private readonly queue = new WorkQueue({ rateLimit: RATE_LIMIT, longestBackoffMs: LONGEST_RETRY_MS });
  private readonly workers: Workers;
  private clientFor: ClientFor | undefined;
  /** How many facts wait. */
  private readonly counts = { events: 0, records: 0 };
  private onFlushed: (() => void)[] = [];

  constructor(
    private readonly options: {
      readonly teller: Pick<Teller, "tell">;
      /** Joins two records of runs of one object with the same result. @returns one record of both */
      readonly join: (earlier: RunRecord, later: RunRecord) => RunRecord;
      /** Called for each Event and each record that was dropped, with the reason. @param event the reason that an Event has itself */
      readonly onDrop: (what: "event" | "record", reason: string, event?: string) => void;
      /** Called with a fault of ours in a report: see {@link WorkersOptions.onFault}. */
      readonly onFault: WorkersOptions["onFault"];
      /** The most Events that wait, and the most records. @default 5000 */
      readonly mostWaiting?: number;
    },
  ) {
    this.workers = new Workers({
      queue: this.queue,
      concurrency: CONCURRENCY,
      work: (uid) => this.work(uid),
      onFault: options.onFault,
    });
  }

  /** A term begins: reports about each object with the client for it, which is fenced by the term. */
  open(clientFor: ClientFor): void {
    this.clientFor = clientFor;
    this.workers.start();
  }

  /** The term ended: drops the reports that wait. The next leader finds out the same. */
  discard(): void {
    this.workers.pause();
    this.queue.clear();
    for (const uid of [...this.pending.keys()]) this.release(uid)?.onReported?.(undefined);
    this.clientFor = undefined;
    this.endFlushes();
  }

  /**
   * Accepts a message about an object. It is reported soon, together with earlier messages that wait, and its verdict replaces an
   * older one. Between two terms nothing is accepted: if a run outlived its term, the next leader's findings are newer.
   * @returns the name of the record that will include it, if there is one
   */
  put(name: ObjectName, message: Message): string | undefined {
    if (!this.clientFor) {
      message.onReported?.(undefined);
      return undefined;
    }
    const { uid } = message.regarding.metadata;
    const known = this.release(uid);
    const since = known?.since ?? performance.now();
    this.keep(uid, { ...(known ? this.merge(known, message) : message), name, since });
    this.trim();
    const isProgress = message.verdict?.verdict.kind === "progressing" && message.records.length === 0;
    this.queue.add(uid, { ...SOON, afterMs: isProgress ? PROGRESS_DELAY_MS : 0 });
    const [record] = message.records;
    const joined = this.pending.get(uid)?.records.find(({ isFailure }) => isFailure === record?.isFailure);
    this.workers.wake();
    return joined?.name;
  }

  /** The object is gone: drops its verdict. */
  dropVerdict(uid: string): void {
    const known = this.pending.get(uid);
    if (known) this.pending.set(uid, { ...known, verdict: undefined });
  }

  /** Reports what waits. Resolves when only verdicts are left that the API server refuses, or when the time is up. */
  async flush(graceMs: number): Promise<void> {
    for (const uid of this.pending.keys()) this.queue.add(uid, SOON);
    this.workers.wake();
    if (!this.clientFor || this.isFlushed) return;
    await within(graceMs, new Promise<void>((resolve) => this.onFlushed.push(resolve)));
  }

  /** The objects about which something waits to be reported. */
  names(): ObjectName[] {
    return [...this.pending.values(), ...this.telling.values()].map(({ name }) => name);
  }

  /** Records that wait to be written. */
  get recordsWaiting(): number {
    return this.counts.records;
  }

  /** How long the oldest message has been waiting, in seconds. 0 if none waits. A verdict that is refused is not late. */
  get lagSeconds(): number {
    let oldest = performance.now();
    for (const message of this.pending.values())
      if (!isRefusedVerdict(message)) oldest = Math.min(oldest, message.since);
    return (performance.now() - oldest) / 1000;
  }

  /** Whether nothing waits, or only verdicts that are refused. */
  private get isFlushed(): boolean {
    return this.telling.size === 0 && [...this.pending.values()].every(isRefusedVerdict);
  }

  private async work(uid: string): Promise<WorkResult> {
    const message = this.release(uid);
    const { clientFor } = this;
    if (!message || !clientFor) return { kind: "done" };
    this.telling.set(uid, message);
    const from = performance.now();
    const { teller, onFault } = this.options;
    const unreported = await teller
      .tell(clientFor(message.name), message.name, message)
      .catch((fault: unknown): Unreported => {
        onFault(uid, framesOf(fault));
        return { left: message, error: new Error("a fault of Argosy") };
      });
    this.telling.delete(uid);
    const left = unreported && this.clientFor === clientFor ? this.leftAfter(unreported) : undefined;
    if (left) {
      const later = this.release(uid);
      const { name, since } = message;
      this.keep(uid, { ...(later ? this.merge(left, later) : left), name, since });
      this.trim();
    } else message.onReported?.(unreported ? undefined : { from, to: performance.now() });
    if (this.onFlushed.length > 0 && this.isFlushed) this.endFlushes();
    if (!left) return { kind: "done" };
    const waitMs = unreported?.error === undefined ? this.recordsPauseMs() : retryAfterMs(unreported.error);
    return { kind: "failed", ...(waitMs !== undefined && { retryAfterMs: waitMs }) };
  }

  /** The pause before a record is tried again, if many wait. Undefined: the usual backoff. */
  private recordsPauseMs(): number | undefined {
    const evenMs = (this.counts.records * 1000) / RECORDS_A_SECOND;
    return evenMs > LONGEST_RETRY_MS ? evenMs * (0.5 + Math.random() / 2) : undefined;
  }

  /** What must be reported later. Undefined: nothing. */
  private leftAfter({ left, error }: Unreported): Message | undefined {
    if (error instanceof NotLeadingError) return undefined;
    if (error === undefined || error instanceof ApiUnreachableError || isBusy(error)) return left;
    // Another client wrote the status at each try: the verdict is tried again later.
    if (isRace(error) && left.verdict) return left;
    const why = error instanceof Error ? error.message : String(error);
    for (const { reason } of left.events) this.options.onDrop("event", why, reason);
    return left.verdict || left.records.length > 0 ? { ...left, events: [] } : undefined;
  }

  private merge(earlier: Message, later: Message): Message {
    const records = [...earlier.records];
    for (const record of later.records) {
      const same = records.findIndex(({ isFailure }) => isFailure === record.isFailure);
      const other = records[same];
      if (other) records[same] = this.options.join(other, record);
      else records.push(record);
    }
    if (later.onReported) earlier.onReported?.(undefined);
    return {
      regarding: later.regarding,
      verdict: later.verdict ?? earlier.verdict,
      records,
      events: [...earlier.events, ...later.events],
      isRefused: earlier.isRefused,
      onReported: later.onReported ?? earlier.onReported,
    };
  }

  private keep(uid: string, pending: Pending): void {
    this.pending.set(uid, pending);
    this.counts.events += pending.events.length;
    this.counts.records += pending.records.length;
  }

  private release(uid: string): Pending | undefined {
    const known = this.pending.get(uid);
    if (!known) return undefined;
    this.pending.delete(uid);
    this.counts.events -= known.events.length;
    this.counts.records -= known.records.length;
    return known;
  }

  private endFlushes(): void {
    for (const end of this.onFlushed.splice(0)) end();
  }

  /** Drops facts, the oldest first, if too many wait. */
  private trim(): void {
    const most = this.options.mostWaiting ?? MOST_WAITING;
    // Drops more than it must, so that not every message leads to a look at all that wait.
    const wanted = Math.floor(most * LEFT_BY_A_TRIM);
    if (this.counts.events > most) {
      this.drop("events", ({ type }) => type === "Normal", wanted);
      this.drop("events", () => true, wanted);
    }
    if (this.counts.records > most) {
      this.drop("records", ({ isFailure }) => !isFailure, wanted);
      this.drop("records", () => true, wanted);
    }
  }

  /** Drops facts of this kind, the oldest first, until no more than `wanted` are left. */
  private drop<Kind extends "events" | "records">(
    kind: Kind,
    isDropped: (fact: Message[Kind][number]) => boolean,
    wanted: number,
  ): void {
    for (const [uid, message] of this.pending) {
      const excess = this.counts[kind] - wanted;
      if (excess <= 0) return;
      const facts: readonly Message[Kind][number][] = message[kind];
      const dropped = new Set(facts.filter(isDropped).slice(0, excess));
      if (dropped.size === 0) continue;
      this.pending.set(uid, { ...message, [kind]: facts.filter((fact) => !dropped.has(fact)) });
      this.counts[kind] -= dropped.size;
      const what = kind === "events" ? "event" : "record";
      for (const fact of dropped)
        this.options.onDrop(what, "too many wait to be written", "reason" in fact ? fact.reason : undefined);
    }
  }
}

/** Whether nothing is left of a message but a verdict that the API server refuses. An Event has reported that. */
function isRefusedVerdict({ isRefused, events, records }: Message): boolean {
  return isRefused === true && events.length === 0 && records.length === 0;
}
