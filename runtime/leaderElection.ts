import { setTimeout as pause } from "node:timers/promises";
import type { KubernetesClient } from "./kubernetes/client";
import { isApiError } from "./kubernetes/errors";
import type { KubernetesObject } from "./kubernetes/objects";
import type { Resource } from "./kubernetes/resource";
import { microTimeOf } from "./kubernetes/time";
import { NotLeadingError } from "./term";

/** What a {@link LeaderElection} works with. */
export interface LeaderElectionOptions {
  readonly client: KubernetesClient;
  readonly namespace: string;
  /** The name of the Lease. */
  readonly name: string;
  /** Who we are: unique among the replicas. */
  readonly identity: string;
  /** How long a lease holds without renewal, in seconds. @default 15 */
  readonly leaseSeconds?: number;
  readonly onLeading: () => void;
  /** We lead no longer; another one may from now on. Not called by {@link LeaderElection.stop}. */
  readonly onLost: () => void;
  readonly onError?: (error: Error) => void;
}

export { NotLeadingError };

interface LeaseSpec {
  holderIdentity?: string;
  leaseDurationSeconds?: number;
  acquireTime?: string;
  renewTime?: string;
  leaseTransitions?: number;
}

const LEASES: Resource = {
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  plural: "leases",
  namespaced: true,
};

/**
 * One leader among the replicas of a runner, by a Lease. The leader may write for two thirds of the lease's
 * time after it *began* its last renewal, by the monotonic clock: a process that was frozen, or whose clock was set,
 * knows that it is too late. Another one takes over when it has seen the lease unchanged for its whole time, by
 * its own clock: the machines' clocks need not agree.
 * @see https://pkg.go.dev/k8s.io/client-go/tools/leaderelection
 */
export class LeaderElection {
  private readonly leaseMs: number;
  private readonly stopping = new AbortController();
  private running: Promise<void> = Promise.resolve();
  private leading = false;
  private mayWriteUntil = 0;
  private lease: KubernetesObject | undefined;
  /** When it was last seen to have changed, on the monotonic clock. */
  private leaseSeenAt = Number.NEGATIVE_INFINITY;

  constructor(private readonly options: LeaderElectionOptions) {
    this.leaseMs = (options.leaseSeconds ?? 15) * 1000;
  }

  /** Begins to stand for election. */
  start(): void {
    this.running = this.run();
  }

  /** Whether we lead and may write. */
  get isLeading(): boolean {
    return this.leading && performance.now() < this.mayWriteUntil;
  }

  /**
   * The identity of who leads, as far as we know: we ourselves, or whoever holds the lease and has renewed it within its
   * time. Undefined where none does.
   */
  get holder(): string | undefined {
    if (this.isLeading) return this.options.identity;
    return this.lease && !this.isFree() ? this.spec().holderIdentity : undefined;
  }

  /** @throws NotLeadingError where we may not write */
  assertLeading(): void {
    if (!this.isLeading) throw new NotLeadingError();
  }

  /** Gives the lease up, so that another one need not wait for its end. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
    if (!this.isLeading || !this.lease) return;
    this.leading = false;
    await this.write({ ...this.spec(), holderIdentity: "", leaseDurationSeconds: 1 }).catch(() => {});
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      const round = this.round().catch((error: Error) => this.options.onError?.(error));
      // An API server that does not answer must not keep us from noticing that our time is over.
      await Promise.race([round, pause(this.leaseMs / 3, undefined, { ref: false })]);
      if (this.leading && performance.now() >= this.mayWriteUntil) this.lose();
      const waitMs = this.leaseMs / (this.leading ? 6 : 12);
      await pause(waitMs * (0.8 + Math.random() * 0.4), undefined, { signal }).catch(() => {});
    }
  }

  /** Renews, acquires, or looks on. */
  private async round(): Promise<void> {
    const beganAt = performance.now();
    if (!this.leading) await this.look();
    if (!this.leading && !this.isFree()) return;
    try {
      await this.write(this.nextSpec());
    } catch (error) {
      // Somebody else was quicker, or the lease was deleted: look again.
      if (!isApiError(error, 409) && !isApiError(error, 404)) throw error;
      await this.look();
      // Deleted by hand, it is made anew in the next round: others wait as long as it would have held.
      if (this.leading && this.lease && this.spec().holderIdentity !== this.options.identity) this.lose();
      return;
    }
    this.mayWriteUntil = beganAt + (this.leaseMs * 2) / 3;
    if (this.leading) return;
    this.leading = true;
    this.options.onLeading();
  }

  private lose(): void {
    this.leading = false;
    this.options.onLost();
  }

  private async look(): Promise<void> {
    const { client, namespace, name } = this.options;
    const lease = await client.get(LEASES, { namespace, name });
    const changed = lease?.metadata.resourceVersion !== this.lease?.metadata.resourceVersion;
    if (changed) this.leaseSeenAt = performance.now();
    this.lease = lease;
  }

  private isFree(): boolean {
    const { holderIdentity, leaseDurationSeconds } = this.spec();
    // One that has vanished may still be trusted by who held it.
    if (!this.lease) return performance.now() - this.leaseSeenAt >= this.leaseMs;
    if (!holderIdentity) return true;
    // Our own, from before we lost or gave it up: nobody else has taken it since.
    if (holderIdentity === this.options.identity) return true;
    return performance.now() - this.leaseSeenAt >= (leaseDurationSeconds ?? 15) * 1000;
  }

  private spec(): LeaseSpec {
    return (this.lease?.["spec"] ?? {}) as LeaseSpec;
  }

  private nextSpec(): LeaseSpec {
    const now = microTimeOf(new Date());
    const { identity } = this.options;
    const before = this.spec();
    const ours = before.holderIdentity === identity;
    return {
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(this.leaseMs / 1000),
      acquireTime: ours && before.acquireTime ? before.acquireTime : now,
      renewTime: now,
      leaseTransitions: (before.leaseTransitions ?? 0) + (ours || !this.lease ? 0 : 1),
    };
  }

  private async write(spec: LeaseSpec): Promise<void> {
    const { client, namespace, name } = this.options;
    const { apiVersion, kind } = LEASES;
    const metadata = { name, namespace };
    this.lease = this.lease
      ? await client.replace(LEASES, {
          apiVersion,
          kind,
          metadata: { ...metadata, ...versionOf(this.lease) },
          spec,
        })
      : await client.create(LEASES, { apiVersion, kind, metadata, spec });
  }
}

/** A replacement of that very version: of two that try at once, one fails. */
function versionOf(lease: KubernetesObject): { resourceVersion: string } {
  return { resourceVersion: lease.metadata.resourceVersion };
}
