import type { KubernetesClient } from "../kubernetes/client";
import { ApiError, ApiUnreachableError, isBusy } from "../kubernetes/errors";
import type { ObjectName } from "../kubernetes/objects";
import { NotLeadingError } from "../term";
import { Runner } from "../work/runner";
import { Schedule, type WorkResult } from "../work/schedule";
import type { RunRecord } from "./recorder";
import type { Message, Teller } from "./teller";

/** What an {@link Outbox} works with. */
export interface OutboxOptions {
  readonly teller: Teller;
  /** Joins two records of runs of one object with the same result. @returns one that tells of both */
  readonly join: (earlier: RunRecord, later: RunRecord) => RunRecord;
  /** Told of each Event and each record that was dropped, and why. */
  readonly onDrop: (what: "event" | "record", reason: string) => void;
  /** So many Events and records wait at most, each. @default 5000 */
  readonly mostWaiting?: number;
}

/** Gives the client for one object. */
type ClientFor = (name: ObjectName) => KubernetesClient;

/** What waits to be told of one object. */
interface Pending extends Message {
  readonly name: ObjectName;
  /** Since when, on the monotonic clock. */
  readonly since: number;
}

/** Objects that are told of at once. */
const CONCURRENCY = 8;
/** Whether children become ready is reported in steps: a verdict that the next step replaces this soon is never written. */
const PROGRESS_DELAY_MS = 300;
/** One object is told of five times at once, and then once a second. */
const PACE = { burst: 5, refillMs: 1_000 };
const MOST_WAITING = 5_000;
const LONGEST_RETRY_MS = 30_000;

/**
 * Tells what reconciles did, beside the work: for each object, the newest verdict and what happened meanwhile.
 *
 * Guarantees, each with a test in tests/unit/outbox.test.ts:
 * - A verdict is a state: a newer one replaces it, and it is never dropped while we lead.
 * - Events and records are facts: they are merged, in the order in which they happened. If too many wait, Normal Events
 *   are dropped first, then records of runs that succeeded, then the others.
 * - Telling never delays a reconcile.
 *
 * Caveat: what waits when the process dies is lost, but for the verdicts: whoever leads next finds them again.
 */
export class Outbox {
  /** By the object's uid. */
  private readonly pending = new Map<string, Pending>();
  /** What is being told now. */
  private readonly telling = new Map<string, Pending>();
  private readonly schedule = new Schedule({ pace: PACE, longestBackoffMs: LONGEST_RETRY_MS });
  private readonly runner: Runner;
  private clientFor: ClientFor | undefined;

  constructor(private readonly options: OutboxOptions) {
    this.runner = new Runner({
      schedule: this.schedule,
      concurrency: CONCURRENCY,
      work: (uid) => this.work(uid),
    });
  }

  /** A term begins: tells of each object with the client for it, which is fenced by the term. */
  open(clientFor: ClientFor): void {
    this.clientFor = clientFor;
    this.runner.start();
  }

  /** The term ended: whatever was to be told is whoever leads next's to find out. */
  discard(): void {
    this.runner.pause();
    this.schedule.clear();
    this.pending.clear();
    this.clientFor = undefined;
  }

  /**
   * Takes a message about an object. It is told soon, in the place of whatever it replaces.
   * @returns the name of the record that will tell of the same, if there is one
   */
  put(name: ObjectName, message: Message): string | undefined {
    const { uid } = message.regarding.metadata;
    const known = this.pending.get(uid);
    this.pending.delete(uid);
    const merged = { ...(known ? this.merge(known, message) : message), name };
    this.pending.set(uid, { ...merged, since: known?.since ?? performance.now() });
    this.trim();
    const isProgress = message.verdict?.verdict.kind === "progressing" && message.records.length === 0;
    this.schedule.add(uid, isProgress ? { afterMs: PROGRESS_DELAY_MS } : {});
    this.runner.wake();
    const [record] = message.records;
    return record && merged.records.find(({ isFailure }) => isFailure === record.isFailure)?.name;
  }

  /** The object is gone: its verdict is of no use any more. */
  forget(uid: string): void {
    const known = this.pending.get(uid);
    if (known) this.pending.set(uid, { ...known, verdict: undefined });
  }

  /** Tells what waits. Resolves when that is done, or the time is up. */
  async flush(graceMs: number): Promise<void> {
    const until = performance.now() + graceMs;
    for (const uid of this.pending.keys()) this.schedule.add(uid);
    this.runner.wake();
    while (this.clientFor && this.waiting > 0 && performance.now() < until)
      await new Promise((resolve) => setTimeout(resolve, 10).unref());
  }

  /** The objects that something waits to be told of. */
  names(): ObjectName[] {
    return [...this.pending.values(), ...this.telling.values()].map(({ name }) => name);
  }

  /** How many objects something waits to be told of. */
  get waiting(): number {
    return this.pending.size + this.telling.size;
  }

  /** Records that wait to be written. */
  get recordsWaiting(): number {
    let records = 0;
    for (const message of this.pending.values()) records += message.records.length;
    return records;
  }

  /** How long the oldest message has been waiting, in seconds. 0 if none waits. */
  get lagSeconds(): number {
    let oldest = performance.now();
    for (const { since } of this.pending.values()) oldest = Math.min(oldest, since);
    return (performance.now() - oldest) / 1000;
  }

  private async work(uid: string): Promise<WorkResult> {
    const message = this.pending.get(uid);
    this.pending.delete(uid);
    const { clientFor } = this;
    if (!message || !clientFor) return { kind: "done" };
    this.telling.set(uid, message);
    const left = await this.options.teller
      .tell(clientFor(message.name), message.name, message)
      .catch((error: unknown) => {
        return this.leftAfter(error, message);
      });
    this.telling.delete(uid);
    if (!left || this.clientFor !== clientFor) return { kind: "done" };
    const since = this.pending.get(uid);
    this.pending.set(uid, {
      ...(since ? this.merge(left, since) : left),
      name: message.name,
      since: message.since,
    });
    this.trim();
    return { kind: "failed" };
  }

  /** What is to be told later after an error. Undefined: nothing. */
  private leftAfter(error: unknown, message: Pending): Message | undefined {
    if (error instanceof NotLeadingError) return undefined;
    const isPassing = error instanceof ApiUnreachableError || isBusy(error);
    if (isPassing) return message;
    const why = error instanceof ApiError || error instanceof Error ? error.message : String(error);
    for (const _ of message.events) this.options.onDrop("event", why);
    return undefined;
  }

  private merge(earlier: Message, later: Message): Message {
    const records = [...earlier.records];
    for (const record of later.records) {
      const same = records.findIndex(({ isFailure }) => isFailure === record.isFailure);
      const other = records[same];
      if (other) records[same] = this.options.join(other, record);
      else records.push(record);
    }
    return {
      regarding: later.regarding,
      verdict: later.verdict ?? earlier.verdict,
      records,
      events: [...earlier.events, ...later.events],
    };
  }

  /** Drops facts, the oldest first, until few enough wait. */
  private trim(): void {
    const most = this.options.mostWaiting ?? MOST_WAITING;
    let [events, records] = [0, 0];
    // Counting is cheap while few objects wait, and every message may bring more than one fact.
    if (this.pending.size * 2 <= most) return;
    for (const message of this.pending.values()) {
      events += message.events.length;
      records += message.records.length;
    }
    const drop = (what: "event" | "record", isDropped: (fact: object) => boolean, excess: number) => {
      for (const [uid, message] of this.pending) {
        if (excess <= 0) return 0;
        const key = what === "event" ? "events" : "records";
        const kept = (message[key] as readonly object[]).filter((fact) => {
          const goes = excess > 0 && isDropped(fact);
          if (goes) {
            excess--;
            this.options.onDrop(what, "too many wait to be written");
          }
          return !goes;
        });
        this.pending.set(uid, { ...message, [key]: kept });
      }
      return excess;
    };
    drop("event", (event) => (event as { type: string }).type === "Normal", events - most);
    const left = drop("record", (record) => !(record as RunRecord).isFailure, records - most);
    drop("record", () => true, left);
  }
}
