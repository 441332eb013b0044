import type { JsonPatchOperation } from "../kubernetes/client";
import { isNewer } from "../kubernetes/objects";
import type { Clock } from "./clock";
import {
  FREE,
  finishingIn,
  type Lease,
  type LeaseApi,
  type LeaseSpec,
  LONGEST_LEASE_SECONDS,
  readFinishing,
} from "./lease";
import { isSignOfLife } from "./signOfLife";

/**
 * The part of a lease's time that a request about it may take. A process may write for two thirds: so a leader has time for a second
 * request if the first one gets no answer, and leads also if a busy API server takes that long for each answer.
 */
const PATIENCE = 1 / 3;

/** The Lease as it was last seen, and how long it has been unchanged, by our own clock. */
export class SeenLease {
  private lease: Lease | undefined;
  private lastAnnotations: Readonly<Record<string, string>> = {};
  private changedAt = Number.NEGATIVE_INFINITY;
  /** Whether the Lease is that of a backup: whoever has led since may still trust a later one. */
  private isRestored = false;
  /** What each process that finishes its runs has written, and since when we have seen that. */
  private finishing = new Map<string, { readonly text: string; readonly since: number }>();
  private blocked: ReadonlySet<string> = new Set();

  /**
   * @param leaseMs how long a lease holds without renewal
   * @param onBlockedChange called when {@link blockedKeys} have changed
   */
  constructor(
    private readonly api: LeaseApi,
    private readonly leaseMs: number,
    private readonly clock: Clock,
    private readonly onBlockedChange: () => void,
  ) {}

  /** Whether there is a Lease. */
  get exists(): boolean {
    return this.lease !== undefined;
  }

  /** What it says of its holder. Empty if there is no Lease. */
  get spec(): LeaseSpec {
    return this.lease?.spec ?? {};
  }

  /** The annotations of the Lease. If it has vanished: those that it had. */
  get annotations(): Readonly<Record<string, string>> {
    return this.lastAnnotations;
  }

  /** The keys of runs that previous leaders have not ended yet. */
  get blockedKeys(): ReadonlySet<string> {
    return this.blocked;
  }

  /** Whether its holder has freed it. */
  get isReleased(): boolean {
    const { holderIdentity, leaseDurationSeconds } = this.spec;
    return !holderIdentity && leaseDurationSeconds === FREE.leaseDurationSeconds;
  }

  /** Whether somebody other than its holder may take it. */
  get isFree(): boolean {
    // Somebody may have deleted the Lease, shortened it or removed its holder. The holder may still trust its term, so the Lease
    // counts as free only after its full time.
    return (
      (this.isReleased && !this.isRestored) ||
      this.clock.now() - this.changedAt >= this.holdsMs(this.spec.leaseDurationSeconds)
    );
  }

  /** The annotations, with their names, of processes that have not renewed them for a lease's time. */
  get stale(): [name: string, text: string][] {
    const stale: [string, string][] = [];
    for (const [name, { text, since }] of this.finishing) {
      if (this.clock.now() - since >= this.holdsMs(readFinishing(text)?.leaseSeconds))
        stale.push([name, text]);
    }
    return stale;
  }

  /** How long an entry of the Lease holds without a renewal: as long as it says itself, but at least our own lease's time. */
  private holdsMs(seconds = 0): number {
    return Math.max(this.leaseMs, Math.min(seconds, LONGEST_LEASE_SECONDS) * 1000);
  }

  /**
   * Reads the Lease.
   * @param withinMs the most time for that, if it is shorter than what one request may take
   * @returns whether the Lease is older than it was seen before: etcd was restored from a backup
   */
  async look(withinMs?: number): Promise<boolean> {
    return this.see(await this.limited((signal) => this.api.get(signal), withinMs));
  }

  /** Changes the Lease by a JSON patch. */
  async patch(operations: readonly JsonPatchOperation[], withinMs?: number): Promise<void> {
    this.see(await this.limited((signal) => this.api.patch(operations, signal), withinMs));
  }

  /** Replaces exactly the version that was seen, or creates the Lease if there was none. */
  async write(
    spec: LeaseSpec,
    annotations: Readonly<Record<string, string>>,
    withinMs?: number,
  ): Promise<void> {
    const { api, lease } = this;
    const request = (signal: AbortSignal) =>
      lease
        ? api.replace({ ...lease, metadata: { ...lease.metadata, annotations }, spec }, signal)
        : api.create(spec, annotations, signal);
    this.see(await this.limited(request, withinMs));
  }

  /** @returns whether it is older than it was seen before */
  private see(lease: Lease | undefined): boolean {
    const { lease: before } = this;
    const now = this.clock.now();
    const [version, versionBefore] = [lease?.metadata.resourceVersion, before?.metadata.resourceVersion];
    const wentBack = lease !== undefined && isNewer(versionBefore, version);
    if (version !== versionBefore) this.isRestored = wentBack;
    this.lease = lease;
    if (lease) this.lastAnnotations = lease.metadata.annotations ?? {};
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
    const isSame = blocked.size === this.blocked.size && [...blocked].every((key) => this.blocked.has(key));
    this.blocked = blocked;
    if (!isSame) this.onBlockedChange();
  }

  /** Limits the time of a request, so that there is time for others while we lead. */
  private async limited<T>(
    request: (signal: AbortSignal) => Promise<T>,
    withinMs = Number.POSITIVE_INFINITY,
  ): Promise<T> {
    const limitMs = Math.min(this.leaseMs * PATIENCE, withinMs);
    const [late, answered] = [new AbortController(), new AbortController()];
    void this.clock.pause(limitMs, answered.signal).then(() => {
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
}
