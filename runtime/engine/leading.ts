// What a process does only while it leads.
import { within } from "../base/clock";
import { keyOf } from "../base/objects";
import type { KubernetesClient } from "../kubernetes/client";
import { isRightMissing } from "../kubernetes/errors";
import { Leadership } from "../leadership/leadership";
import type { LeaseApi } from "../leadership/lease";
import { NotLeadingError, type Term } from "../leadership/term";
import type { Emit } from "../observe/news";
import type { StandingAnswers } from "../reconcile/standingAnswers";
import type { Outbox } from "../report/outbox";
import type { Resync } from "../when/resync";
import type { Workers } from "../when/workers";
import type { WorkQueue } from "../when/workQueue";
import type { ReconcileRequests } from "./objectWork";
import type { Orphans } from "./orphans";
import type { StagedRollout } from "./stagedRollout";

/** The last writes may take this long when the engine stops. An API server that is away must not hold up the stop. */
const LAST_WRITES_GRACE_MS = 3_000;
/** When the engine stops, work in progress may take this long before another process leads. */
const HAND_OVER_AFTER_MS = 2_000;
/** The hint for a missing right on the Lease. Without the Lease, nothing is reconciled. */
const LEASE_REMEDY =
  ". Until the runner may write its Lease, it reconciles nothing. Its Role or its RoleBinding was probably changed: run `pulumi up --refresh`.";

/**
 * What a process does only while it leads. A term begins with a look at every object, so a term that ends leaves nothing
 * behind for the next one.
 *
 * Guarantees, each with a test in tests/unit/leading.test.ts:
 * - Nothing is reconciled before the custom resources were listed in the term, or it is known that each must be read before it is
 *   reconciled. A handler's status fields are its memory, and no handler may be asked with fields from before the last term.
 * - An object that another process still works on waits until that work has ended, and is then read again.
 * - When the process stops, another process leads before long work in progress ends.
 * - No handler is at work on an object in a term that has ended, or after the time that a stop may take. Such handlers are killed
 *   before another process may ask its own handler about the object. None is asked afterwards (tests/unit/reconcile.test.ts).
 * - A write that gets no answer ends with its term, and holds up nothing in the next one (tests/unit/objectWork.test.ts too).
 *
 * Caveats
 * - A process that is frozen kills its handlers only when it goes on.
 * - A run that waits for a read of the watches' stores ends when that read does, also after its term.
 */
export class Leading {
  readonly leadership: Leadership;
  private isStopping = false;
  /** Objects that another process still works on. Undefined before the custom resources were listed in the term. */
  private blocked: ReadonlySet<string> | undefined;

  constructor(
    private readonly parts: {
      readonly client: KubernetesClient;
      readonly lease: LeaseApi;
      /** Who this process is: unique among the operator's replicas. */
      readonly identity: string;
      /** How long a lease holds without renewal, in seconds. @default 15 */
      readonly leaseSeconds: number | undefined;
      /** See `EngineOptions.program`. Undefined: the Lease gets no mark. */
      readonly program: string | undefined;
      /** Undefined if the handler is asked in every reconcile. */
      readonly standing: StandingAnswers | undefined;
      /** Undefined if every object is asked at once. */
      readonly rollout: StagedRollout | undefined;
      /** The keys of all objects. Undefined as long as some were not listed. */
      readonly keys: () => readonly string[] | undefined;
      readonly queue: WorkQueue;
      readonly workers: Workers;
      /** Kills the handlers that are at work. */
      readonly abandon: (reason: Error) => void;
      readonly resync: Resync;
      readonly requests: ReconcileRequests;
      /**
       * Lists what must not be older than the term. If that fails or takes long, each object is read before it is reconciled.
       * @param isRestored whether etcd was restored: then everything else is listed again too, and is not waited for
       */
      readonly refresh: (isRestored: boolean) => Promise<unknown>;
      readonly outbox: Outbox;
      /** Undefined if the objects are not ours. */
      readonly orphans: Orphans | undefined;
      readonly emit: Emit;
      readonly notice: (text: string) => void;
    },
  ) {
    const { lease, identity, leaseSeconds, program, notice } = parts;
    this.leadership = new Leadership({
      lease,
      identity,
      program,
      onLeading: (term) => void this.begin(term),
      onLost: () => this.end(),
      onStandby: (leader) =>
        notice(`standing by: ${leader} leads. This process takes over when ${leader} ends`),
      onBlockedChange: () => this.block(),
      onError: (error) => notice(`lease: ${error.message}${isRightMissing(error) ? LEASE_REMEDY : ""}`),
      leaseSeconds,
    });
  }

  /** Begins to stand for election. */
  start(): void {
    this.leadership.start();
  }

  /** Whether this process leads. */
  get isLeading(): boolean {
    return this.term !== undefined;
  }

  /** The term in which this process leads. Undefined if it does not, and after it has handed over. */
  get term(): Term | undefined {
    return this.leadership.term;
  }

  /** The objects of the kind were listed somewhere. */
  objectsListed(): void {
    if (this.term) this.parts.standing?.beginTerm(this.leadership.exceptions, this.parts.keys());
  }

  /**
   * Begins no new work, ends the work in progress, and writes what is still to be reported. Then another process may lead.
   * Without the work in progress, that takes at most eight seconds and the requests about the Lease.
   * @param graceMs how long work in progress may take, in milliseconds. @default for ever
   */
  async stop(graceMs?: number): Promise<void> {
    const { resync, workers, requests, outbox, orphans, rollout } = this.parts;
    const { term } = this;
    this.isStopping = true;
    resync.stop();
    rollout?.endTerm();
    workers.pause();
    requests.refuse(new NotLeadingError());
    const idle = workers.idle();
    const isQuick = await within(
      HAND_OVER_AFTER_MS,
      idle.then(() => true),
    );
    if (orphans) await within(LAST_WRITES_GRACE_MS, orphans.end());
    await outbox.flush(LAST_WRITES_GRACE_MS);
    if (!isQuick) {
      const unfinished = () => [...workers.keys, ...outbox.names().map(keyOf)];
      const ended = idle.then(() => outbox.flush(LAST_WRITES_GRACE_MS));
      await within(graceMs, this.leadership.handOver({ unfinished, ended }));
      term?.end();
    }
    await this.leadership.stop();
    outbox.discard();
    orphans?.discard();
  }

  private async begin(term: Term): Promise<void> {
    const { signal } = term;
    const { queue, workers, abandon, resync, requests, refresh, outbox, orphans, emit, notice } = this.parts;
    const { rollout } = this.parts;
    // The answers of running handlers can no longer be applied, and another process will soon ask its own handler about the same
    // objects. No handler is asked after this, because the term has ended.
    signal.addEventListener("abort", () => abandon(signal.reason));
    if (this.isStopping) return;
    requests.open();
    notice("leading");
    this.blocked = undefined;
    const blocked = new Set(this.leadership.blockedKeys);
    await refresh(this.leadership.forgetRestore());
    if (term.hasEnded || this.isStopping) return;
    this.blocked = blocked;
    const client = this.parts.client.with({ class: "later", flow: "reports", signal });
    outbox.open((name) => client.with({ fence: () => term.assert(keyOf(name)) }));
    orphans?.open(client.with({ fence: () => term.assert() }));
    this.block();
    queue.restartWaiting();
    this.objectsListed();
    rollout?.beginTerm();
    // A look at every object finds whatever happened since.
    emit({ kind: "term begun" });
    resync.start();
    workers.start();
  }

  private end(): void {
    const { queue, workers, resync, requests, outbox, orphans, rollout, notice } = this.parts;
    notice("not leading any more");
    resync.stop();
    rollout?.endTerm();
    workers.pause();
    // The next term begins with a look at every object, so nothing needs to wait for a backoff of this term.
    queue.clear();
    outbox.discard();
    orphans?.discard();
    requests.refuse(new NotLeadingError());
  }

  /** Another process still works on some objects. They are read from the API server when its work has ended. */
  private block(): void {
    const { queue, workers, emit } = this.parts;
    // A list in progress may have an object as it was before the other process ended its work.
    if (!this.blocked) return;
    const blocked = this.leadership.blockedKeys;
    for (const key of this.blocked) if (!blocked.has(key)) emit({ kind: "taken over", key });
    this.blocked = new Set(blocked);
    queue.block(this.blocked);
    workers.wake();
  }
}
