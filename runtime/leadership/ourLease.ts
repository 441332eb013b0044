import { setTimeout as pause } from "node:timers/promises";
import { monotonicNow } from "../base/clock";
import { isNewer, microTimeOf } from "../base/objects";
import type { JsonPatchOperation } from "../kubernetes/client";
import { isApiError } from "../kubernetes/errors";
import {
  ASKED_ANNOTATION,
  annotationPath,
  askedMark,
  exceptionsIn,
  FREE,
  finishingIn,
  type Lease,
  type LeaseApi,
  type LeaseSpec,
  LONGEST_LEASE_SECONDS,
  ROLLOUT_ANNOTATION,
  readFinishing,
  unmarked,
} from "./lease";
import type { Term } from "./term";

/**
 * The part of a lease's time that a request about it may take. A process may write for two thirds. So a leader has time for a
 * second request after one without an answer, and goes on leading with a busy API server that takes that long for each answer.
 */
const PATIENCE = 1 / 3;
/** The part of a lease's time in which a process may write, from the beginning of its last renewal. */
const TRUSTED = 2 / 3;
/** The most that `leaseTransitions` can be: an integer of 32 bits. */
const MOST_TRANSITIONS = 2 ** 31 - 1;

/**
 * The Lease as it was last seen, and how long it has been unchanged by our own clock; and how this process takes it, renews it and frees
 * it. The API server decides between processes. A process that takes the lease replaces exactly the version that it saw, and every
 * other write tests that the lease is still ours.
 */
export class OurLease {
  /** The annotations of the Lease. If it has vanished: those that it had. */
  annotations: Readonly<Record<string, string>> = {};
  /**
   * Set in our term if this very program had asked about every object before the term began: the objects that are excepted. Undefined:
   * another program may have been asked since.
   */
  exceptions: readonly string[] | undefined;
  /** The keys of runs that previous leaders have not ended yet. */
  blockedKeys: ReadonlySet<string> = new Set();
  private lease: Lease | undefined;
  private changedAt = Number.NEGATIVE_INFINITY;
  /** Whether the Lease has been older than it was seen before, and {@link forgetRestore} has not said so yet. */
  private hasGoneBack = false;
  /** Whether the Lease is that of a backup: the process that has led since may still trust a later one. */
  private isRestored = false;
  /** What each process that finishes its runs has written, and since when we have seen that. */
  private finishing = new Map<string, { readonly text: string; readonly since: number }>();
  /** The content of the Lease in our term, as we last wrote it. No other term of any process has the same time of acquisition. */
  private own: LeaseSpec = {};

  constructor(
    private readonly options: {
      readonly api: LeaseApi;
      readonly identity: string;
      /** How long the lease holds without renewal, in milliseconds. */
      readonly leaseMs: number;
      /** What tells this program from every other. @default unknown */
      readonly program?: string | undefined;
      readonly clock: Clock;
      /** Called when {@link OurLease.blockedKeys} have changed. */
      readonly onBlockedChange: () => void;
    },
  ) {}

  /** Whether there is a Lease. */
  get exists(): boolean {
    return this.lease !== undefined;
  }

  /** What it says of its holder. Empty if there is no Lease. */
  get spec(): LeaseSpec {
    return this.lease?.spec ?? {};
  }

  /** Whether the Lease, as it was seen, is that of our last term. */
  get isOurs(): boolean {
    const { holderIdentity, acquireTime } = this.spec;
    if (holderIdentity !== this.options.identity || acquireTime === undefined) return false;
    return acquireTime === this.own.acquireTime;
  }

  /** Whether we may take it. For a process that does not lead. */
  get isFree(): boolean {
    // A client may have deleted the Lease, shortened it or removed its holder. The holder may still trust its term, so the Lease
    // counts as free only after its full time. If it is still that of our last term, no process has taken it since.
    return (
      this.isOurs ||
      (this.isReleased && !this.isRestored) ||
      this.options.clock.now() - this.changedAt >= this.holdsMs(this.spec.leaseDurationSeconds)
    );
  }

  /** The annotations, with their names, of processes that have not renewed them for a lease's time. */
  get stale(): [name: string, text: string][] {
    const isStale = ({ text, since }: { text: string; since: number }) =>
      this.options.clock.now() - since >= this.holdsMs(readFinishing(text)?.leaseSeconds);
    return [...this.finishing].flatMap(([name, each]) => (isStale(each) ? [[name, each.text]] : []));
  }

  /** @returns whether etcd was restored from a backup since the last call, as an older Lease shows */
  forgetRestore(): boolean {
    const { hasGoneBack } = this;
    this.hasGoneBack = false;
    return hasGoneBack;
  }

  /** Until when a term lasts after a renewal that begins now, on the monotonic clock. */
  trustedUntil(): number {
    return this.options.clock.now() + this.options.leaseMs * TRUSTED;
  }

  /** Reads the Lease. For a process that does not lead. */
  async look(): Promise<void> {
    await this.readLease();
    // Forget our last term as soon as the Lease is not ours. Otherwise a restore of etcd could bring back the Lease of that term.
    // We would take it for ours, while the process that has led since still trusts its own term.
    if (!this.isOurs) this.own = {};
  }

  /**
   * Reads the Lease.
   * @param withinMs the most time for that, if it is shorter than what one request may take
   * @returns whether the Lease is older than it was seen before: etcd was restored from a backup
   */
  async readLease(withinMs?: number): Promise<boolean> {
    return this.see(await this.limited((signal) => this.options.api.get(signal), withinMs));
  }

  /**
   * Takes the lease as it was seen.
   * @returns until when the new term lasts. Undefined if the lease has changed since
   */
  async acquire(): Promise<number | undefined> {
    const { identity, program } = this.options;
    const until = this.trustedUntil();
    const now = this.timeOfDay();
    const { holderIdentity, leaseTransitions = 0 } = this.spec;
    const isNext = this.exists && holderIdentity !== identity;
    const spec: LeaseSpec = {
      holderIdentity: identity,
      leaseDurationSeconds: this.leaseDurationSeconds,
      acquireTime: now,
      renewTime: now,
      // The API server refuses more, and a user may have written as much by hand.
      leaseTransitions: leaseTransitions < MOST_TRANSITIONS ? leaseTransitions + (isNext ? 1 : 0) : 0,
    };
    this.exceptions = exceptionsIn(this.annotations, program);
    // Another program's mark must be gone before this one is asked. It would count again after a return to that program.
    const annotations = this.exceptions ? this.annotations : unmarked(this.annotations, program);
    const { own } = this;
    // Before the answer, which may be lost.
    this.own = spec;
    try {
      await this.write(spec, annotations);
      return until;
    } catch (error) {
      // Another process was faster, or a process that finishes its runs has written the Lease.
      if (!isApiError(error, 409) && !isApiError(error, 404)) throw error;
      this.own = own;
      return undefined;
    }
  }

  /** Renews the lease, or ends the term if another process has taken the lease, or if etcd was restored from a backup. */
  async renew(term: Term): Promise<void> {
    const until = this.trustedUntil();
    const renewTime = this.timeOfDay();
    const { renewTime: lastTime } = this.spec;
    const renewal: JsonPatchOperation[] = [
      // In a backup, the Lease is that of an earlier renewal.
      ...(lastTime ? [{ op: "test", path: "/spec/renewTime", value: lastTime } as const] : []),
      { op: "add", path: "/spec/renewTime", value: renewTime },
      { op: "add", path: "/spec/leaseDurationSeconds", value: this.leaseDurationSeconds },
    ];
    try {
      await this.patchOurs(renewal, term.remainingMs);
    } catch (error) {
      if (!isApiError(error, 422) && !isApiError(error, 404)) throw error;
      const wentBack = await this.readLease(term.remainingMs);
      if (wentBack || this.isTaken) return term.end();
      // The Lease was deleted or made invalid. Other processes wait as long as it would have held. What they have to finish is
      // kept.
      await this.write({ ...this.own, renewTime }, this.annotations, term.remainingMs);
    }
    term.extend(until);
  }

  /** Removes what dead processes have left in the Lease. Their keys are blocked until then. */
  async removeStale(term: Term): Promise<void> {
    for (const [name, text] of this.stale) {
      if (term.hasEnded) return;
      const path = annotationPath(name);
      const remove: JsonPatchOperation[] = [
        { op: "test", path, value: text },
        { op: "remove", path },
      ];
      try {
        await this.patchOurs(remove, term.remainingMs);
      } catch (error) {
        // It was renewed or removed in the last moment. The next renewal of the lease shows that.
        if (!isApiError(error, 422)) throw error;
      }
    }
  }

  /** Marks the Lease: this program has asked about every object. @param exceptions objects about which it may not have asked */
  async markAsked(term: Term, exceptions: readonly string[]): Promise<void> {
    const { program } = this.options;
    if (program === undefined) return;
    const mark: JsonPatchOperation = {
      op: "add",
      path: annotationPath(ASKED_ANNOTATION),
      value: askedMark(program, exceptions),
    };
    await this.patchOurs([mark], term.remainingMs);
  }

  /** Writes the state of a roll-out into the Lease, or fails if the Lease says something else by now than was seen. */
  async writeRollout(term: Term, text: string): Promise<void> {
    const { annotations } = this;
    const path = annotationPath(ROLLOUT_ANNOTATION);
    const seen = annotations[ROLLOUT_ANNOTATION];
    const operations: JsonPatchOperation[] = [{ op: "add", path, value: text }];
    // A person may resume it at this moment.
    if (seen !== undefined) operations.unshift({ op: "test", path, value: seen });
    // A JSON patch adds only to annotations that exist.
    if (Object.keys(annotations).length === 0)
      operations.unshift({ op: "add", path: "/metadata/annotations", value: {} });
    await this.patchOurs(operations, term.remainingMs);
  }

  /** Frees the lease, so that another process need not wait for its end. */
  async free(): Promise<void> {
    await this.patchOurs([
      { op: "add", path: "/spec/holderIdentity", value: FREE.holderIdentity },
      { op: "add", path: "/spec/leaseDurationSeconds", value: FREE.leaseDurationSeconds },
    ]);
  }

  /** Changes the Lease by a JSON patch. */
  async patch(operations: readonly JsonPatchOperation[], withinMs?: number): Promise<void> {
    this.see(await this.limited((signal) => this.options.api.patch(operations, signal), withinMs));
  }

  /** Replaces exactly the version that was seen, or creates the Lease if there was none. */
  async write(
    spec: LeaseSpec,
    annotations: Readonly<Record<string, string>>,
    withinMs?: number,
  ): Promise<void> {
    const { api } = this.options;
    const { lease } = this;
    const request = (signal: AbortSignal) =>
      lease
        ? api.replace({ ...lease, metadata: { ...lease.metadata, annotations }, spec }, signal)
        : api.create(spec, annotations, signal);
    this.see(await this.limited(request, withinMs));
  }

  /** Changes the Lease, or fails if it is not that of our term. */
  private patchOurs(operations: readonly JsonPatchOperation[], withinMs?: number): Promise<void> {
    const isOurs: JsonPatchOperation[] = [
      { op: "test", path: "/spec/holderIdentity", value: this.options.identity },
      { op: "test", path: "/spec/acquireTime", value: this.own.acquireTime ?? "" },
    ];
    return this.patch([...isOurs, ...operations], withinMs);
  }

  /** Whether its holder has freed it. */
  private get isReleased(): boolean {
    const { holderIdentity, leaseDurationSeconds } = this.spec;
    return !holderIdentity && leaseDurationSeconds === FREE.leaseDurationSeconds;
  }

  /** Whether another process has the lease, or had it and has freed it. */
  private get isTaken(): boolean {
    const { holderIdentity, acquireTime } = this.spec;
    if (!holderIdentity) return this.isReleased;
    return holderIdentity !== this.options.identity || (acquireTime !== undefined && !this.isOurs);
  }

  /** How long an entry of the Lease holds without a renewal: as long as it says itself, but at least our own lease's time. */
  private holdsMs(seconds = 0): number {
    return Math.max(this.options.leaseMs, Math.min(seconds, LONGEST_LEASE_SECONDS) * 1000);
  }

  /** @returns whether it is older than it was seen before */
  private see(lease: Lease | undefined): boolean {
    const { lease: before } = this;
    const now = this.options.clock.now();
    const [version, versionBefore] = [lease?.metadata.resourceVersion, before?.metadata.resourceVersion];
    const wentBack = lease !== undefined && isNewer(versionBefore, version);
    if (version !== versionBefore) this.isRestored = wentBack;
    this.hasGoneBack ||= wentBack;
    this.lease = lease;
    if (lease) this.annotations = lease.metadata.annotations ?? {};
    const isAnother = lease?.metadata.uid !== before?.metadata.uid;
    if (isAnother || isSignOfLife(lease, before)) this.changedAt = now;
    if (lease) this.seeFinishing(lease, isAnother, now);
    return wentBack;
  }

  private seeFinishing(lease: Lease, isAnother: boolean, now: number): void {
    const known = this.finishing;
    this.finishing = new Map();
    const blocked = new Set<string>();
    for (const [name, text] of finishingIn(lease.metadata.annotations ?? {})) {
      const before = known.get(name);
      // If the Lease was created again, the text in it may be older than the last one that we saw.
      this.finishing.set(name, before?.text === text && !isAnother ? before : { text, since: now });
      for (const key of readFinishing(text)?.keys ?? []) blocked.add(key);
    }
    const isSame =
      blocked.size === this.blockedKeys.size && [...blocked].every((key) => this.blockedKeys.has(key));
    this.blockedKeys = blocked;
    if (!isSame) this.options.onBlockedChange();
  }

  /** Limits the time of a request, so that there is time for others while we lead. */
  private async limited<T>(
    request: (signal: AbortSignal) => Promise<T>,
    withinMs = Number.POSITIVE_INFINITY,
  ): Promise<T> {
    const limitMs = Math.min(this.options.leaseMs * PATIENCE, withinMs);
    const [late, answered] = [new AbortController(), new AbortController()];
    void this.options.clock.pause(limitMs, answered.signal).then(() => {
      if (!answered.signal.aborted)
        late.abort(new Error("the API server did not answer about the lease in time"));
    });
    try {
      return await request(late.signal);
    } finally {
      // Without a reason, Node would make an error with a stack trace for each answer.
      answered.abort("answered");
    }
  }

  /** What the Lease says about how long it holds. */
  private get leaseDurationSeconds(): number {
    return Math.ceil(this.options.leaseMs / 1000);
  }

  /** The time of day, for readers of the Lease. */
  private timeOfDay(): string {
    return microTimeOf(this.options.clock.date());
  }
}

/** The clocks that leadership uses. */
export interface Clock {
  /** The monotonic clock, in milliseconds. */
  now(): number;
  /** The time of day. No process uses it in the Lease. */
  date(): Date;
  /** Resolves after that time, or when the signal is aborted. */
  pause(ms: number, signal: AbortSignal): Promise<void>;
}

/** The clocks of this machine. */
export const SYSTEM_CLOCK: Clock = {
  now: monotonicNow,
  date: () => new Date(),
  pause: (ms, signal) => pause(ms, undefined, { signal }).catch(() => {}),
};

/**
 * Whether the holder may have written a Lease between two looks. Only a change of the specification counts. If a client has
 * reverted this change before the second look, only `resourceVersion` and the entries of the specification in `managedFields`
 * differ. Other writers, such as a process that finishes its runs, change something outside the specification. They have entries
 * of their own in `managedFields`.
 * @param lease as it is now. Undefined: there is none
 * @param before as it was at the last look
 * @see https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management
 */
export function isSignOfLife(lease: Lease | undefined, before: Lease | undefined): boolean {
  if (JSON.stringify(lease?.spec) !== JSON.stringify(before?.spec)) return true;
  if (lease?.metadata.resourceVersion === before?.metadata.resourceVersion) return false;
  if (rest(lease) !== rest(before)) return false;
  const [writers, writersBefore] = [specWriters(lease), specWriters(before)];
  // A client has removed the specification or the record of who wrote it. It is safer to wait than to lead while another process
  // does.
  const isUnknown = writers === undefined || writersBefore === undefined;
  return isUnknown || writers !== writersBefore;
}

/** A Lease without its specification and without what the API server maintains, as JSON. */
function rest(lease: Lease | undefined): string {
  const { resourceVersion: _, managedFields: __, ...rest } = lease?.metadata ?? {};
  return JSON.stringify(rest);
}

/** Who wrote which fields of the specification, and when, as JSON. Undefined if that is not known. */
function specWriters(lease: Lease | undefined): string | undefined {
  const entries = (lease?.metadata.managedFields ?? []).filter(({ fieldsV1 }) => fieldsV1?.["f:spec"]);
  return entries.length > 0 ? JSON.stringify(entries) : undefined;
}
