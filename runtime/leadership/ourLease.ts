import type { JsonPatchOperation } from "../kubernetes/client";
import { isApiError } from "../kubernetes/errors";
import { microTimeOf } from "../kubernetes/objects";
import type { Clock } from "./clock";
import { annotationPath, FREE, type LeaseSpec } from "./lease";
import type { SeenLease } from "./seenLease";
import type { Term } from "./term";

/** Who writes the Lease, and for how long. */
export interface OurLeaseOptions {
  readonly identity: string;
  /** How long the lease holds without renewal, in milliseconds. */
  readonly leaseMs: number;
  readonly clock: Clock;
}

/** The part of a lease's time in which a process may write, from the beginning of its last renewal. */
const TRUSTED = 2 / 3;
/** The most that `leaseTransitions` can be: an integer of 32 bits. */
const MOST_TRANSITIONS = 2 ** 31 - 1;

/**
 * How this process reads the Lease, takes it, renews it, and frees it. The API server decides between processes. A process that
 * takes the lease replaces exactly the version that it saw, and every other write tests that the lease is still ours.
 */
export class OurLease {
  /** The content of the Lease in our term, as we last wrote it. No other term of any process has the same time of acquisition. */
  private own: LeaseSpec = {};

  constructor(
    private readonly seen: SeenLease,
    private readonly options: OurLeaseOptions,
  ) {}

  /** Whether the Lease, as it was seen, is that of our last term. */
  get isOurs(): boolean {
    const { holderIdentity, acquireTime } = this.seen.spec;
    if (holderIdentity !== this.options.identity || acquireTime === undefined) return false;
    return acquireTime === this.own.acquireTime;
  }

  /** Whether we may take it. For a process that does not lead. */
  get isFree(): boolean {
    // The lease is our own, of a term that has ended. Nobody else has taken it since.
    return this.seen.isFree || this.isOurs;
  }

  /** Until when a term lasts after a renewal that begins now, on the monotonic clock. */
  trustedUntil(): number {
    return this.options.clock.now() + this.options.leaseMs * TRUSTED;
  }

  /** Reads the Lease. For a process that does not lead. */
  async look(): Promise<void> {
    await this.seen.look();
    // Forget our last term as soon as the Lease is not ours. Otherwise, if a restore of etcd brings back the Lease of that term, we
    // would take it for ours, while the process that has led since still trusts its own term.
    if (!this.isOurs) this.own = {};
  }

  /**
   * Takes the lease as it was seen.
   * @returns until when the new term lasts. Undefined if the lease has changed meanwhile
   */
  async acquire(): Promise<number | undefined> {
    const { identity } = this.options;
    const until = this.trustedUntil();
    const now = this.timeOfDay();
    const { holderIdentity, leaseTransitions = 0 } = this.seen.spec;
    const isNext = this.seen.exists && holderIdentity !== identity;
    const spec: LeaseSpec = {
      holderIdentity: identity,
      leaseDurationSeconds: this.leaseDurationSeconds,
      acquireTime: now,
      renewTime: now,
      // The API server refuses more, and somebody may have written as much by hand.
      leaseTransitions: leaseTransitions < MOST_TRANSITIONS ? leaseTransitions + (isNext ? 1 : 0) : 0,
    };
    const { own } = this;
    // Before the answer, which may be lost.
    this.own = spec;
    try {
      await this.seen.write(spec, this.seen.annotations);
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
    const { renewTime: lastTime } = this.seen.spec;
    const renewal: JsonPatchOperation[] = [
      // In a backup, the Lease is that of an earlier renewal.
      ...(lastTime ? [{ op: "test", path: "/spec/renewTime", value: lastTime } as const] : []),
      { op: "add", path: "/spec/renewTime", value: renewTime },
      { op: "add", path: "/spec/leaseDurationSeconds", value: this.leaseDurationSeconds },
    ];
    try {
      await this.patch(renewal, term.remainingMs);
    } catch (error) {
      if (!isApiError(error, 422) && !isApiError(error, 404)) throw error;
      const wentBack = await this.seen.look(term.remainingMs);
      if (wentBack || this.isTaken) return term.end();
      // Somebody deleted the Lease, or wrote nonsense into it. Others wait as long as it would have held. What they have to
      // finish is not forgotten.
      await this.seen.write({ ...this.own, renewTime }, this.seen.annotations, term.remainingMs);
    }
    term.extend(until);
  }

  /** Removes what dead processes have left in the Lease. Their keys are blocked until then. */
  async removeStale(term: Term): Promise<void> {
    for (const [name, text] of this.seen.stale) {
      if (term.hasEnded) return;
      const path = annotationPath(name);
      const remove: JsonPatchOperation[] = [
        { op: "test", path, value: text },
        { op: "remove", path },
      ];
      try {
        await this.patch(remove, term.remainingMs);
      } catch (error) {
        // It was renewed or removed in the last moment. The next renewal of the lease shows that.
        if (!isApiError(error, 422)) throw error;
      }
    }
  }

  /** Frees the lease, so that another process need not wait for its end. */
  async free(): Promise<void> {
    await this.patch([
      { op: "add", path: "/spec/holderIdentity", value: FREE.holderIdentity },
      { op: "add", path: "/spec/leaseDurationSeconds", value: FREE.leaseDurationSeconds },
    ]);
  }

  /** Changes the Lease, or fails if it is not that of our term. */
  private patch(operations: readonly JsonPatchOperation[], withinMs?: number): Promise<void> {
    const isOurs: JsonPatchOperation[] = [
      { op: "test", path: "/spec/holderIdentity", value: this.options.identity },
      { op: "test", path: "/spec/acquireTime", value: this.own.acquireTime ?? "" },
    ];
    return this.seen.patch([...isOurs, ...operations], withinMs);
  }

  /** Whether another process has the lease, or had it and has freed it. */
  private get isTaken(): boolean {
    const { holderIdentity, acquireTime } = this.seen.spec;
    if (!holderIdentity) return this.seen.isReleased;
    return holderIdentity !== this.options.identity || (acquireTime !== undefined && !this.isOurs);
  }

  /** What the Lease says about how long it holds. */
  private get leaseDurationSeconds(): number {
    return Math.ceil(this.options.leaseMs / 1000);
  }

  /** The time of day, for people who read the Lease. */
  private timeOfDay(): string {
    return microTimeOf(this.options.clock.date());
  }
}
