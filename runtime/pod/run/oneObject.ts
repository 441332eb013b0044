import { ChildStore } from "../../children/childStore";
import { isWatchedBy } from "../../children/watchedBy";
import type { Operator } from "../../definition/definition";
import { newReconcileParts } from "../../engine/reconcileParts";
import type { DueSchedule, HandlerEvent, Used } from "../../handler/contract";
import type { HandlerPool } from "../../handler/handlerPool";
import type { KubernetesClient } from "../../kubernetes/client";
import { findUnlessGone, getUnlessGone } from "../../kubernetes/namespaces";
import { type KubernetesObject, type ObjectName, timeOf } from "../../kubernetes/objects";
import { kindKey, type Resource } from "../../kubernetes/resource";
import type { Memories } from "../../memory/memories";
import type { Footprint } from "../../memory/memory";
import type { MemoryObjects } from "../../memory/memoryObjects";
import { messageAbout } from "../../outbox/message";
import type { RunRecord } from "../../outbox/recorder";
import type { Teller } from "../../outbox/teller";
import { hasElsewhere } from "../../reconcile/elsewhere";
import { Finalizers } from "../../reconcile/finalizers";
import type { Reconciler } from "../../reconcile/reconciler";
import type { ReconcileReport } from "../../reconcile/report";
import { DirectUse } from "../../uses/directUse";
import { type GatheredUse, gatherUsed } from "../../uses/used";
import { childrenFingerprint, contentFingerprint, usedFingerprint } from "../withoutWatches/footprint";
import { learnChildren } from "../withoutWatches/learnChildren";
import { readMemories } from "../withoutWatches/readMemories";
import { type ServedKinds, sayMissingKind } from "../withoutWatches/servedKinds";
import { Following } from "./following";
import type { RunFence } from "./runFence";
import type { RunTrace } from "./runTrace";
import { Waiting } from "./waiting";

/** What {@link OneObject} works with. */
export interface OneObjectOptions {
  readonly operator: Operator;
  /** The custom resource's kind, as the API serves it. */
  readonly resource: Resource;
  /** Those of its children. */
  readonly kinds: ServedKinds;
  readonly client: KubernetesClient;
  readonly pool: Pick<HandlerPool, "ask">;
  /** The fence of the run, which the client's requests and the pool pass too. */
  readonly fence: Pick<RunFence, "assert" | "problem">;
  readonly name: ObjectName;
  /** The uid that the object had when the run was submitted, if that is known. */
  readonly uid?: string | undefined;
  /** The namespace of the run: the platform's. */
  readonly namespace: string;
  /** The pod's name, for Kubernetes Events. */
  readonly instance: string;
  /** The name of the Workflow that records a run: this pod's own, if the status is to name it. */
  readonly runName: (report: ReconcileReport) => string | undefined;
  /** A fingerprint of the program that runs: see `programOfRun`. */
  readonly program: string | undefined;
  /** The uids of deleted objects with this name that have children left: these are deleted too. */
  readonly predecessorUids: readonly string[];
  /** Whether the run will have ended after this many milliseconds. */
  readonly isBeyondRun: (afterMs: number) => boolean;
  /** The trace of the run. @default none */
  readonly trace?: RunTrace | undefined;
}

const ignore = () => {};

/**
 * The engine's reconcile of one object, without the watches of a resident runner. The object is read from the API server once,
 * and then known from the answers to our own writes. Its children are listed, unless the engine's memory says that there are
 * none. Watches are open only while the run waits, and only for the objects for which it waits.
 *
 * Caveat: if a child has lost its labels, it is found by its name and labelled again as long as the handler answers it. If the
 * handler no longer answers it, it stays until its object is deleted. One that is created only once is not looked for.
 *
 * Assumption: nobody else works on this object meanwhile. The mutex of the run's Workflow lets no other Workflow of that object
 * run, and the run's fence closes when that Workflow ends: see {@link RunFence}.
 */
export class OneObject {
  private readonly teller: Teller;
  private readonly reconciler: Reconciler;
  /** One store for all reconciles: a child that has not changed since the last reconcile is not applied again. */
  private readonly children: ChildStore;
  private readonly finalizers: Finalizers;
  private readonly memories: Memories;
  /** The newest known state of the object. */
  private object: KubernetesObject | undefined;
  /** The object as the handler sees it. */
  private handled: KubernetesObject | undefined;
  /** The objects that it uses, as the handler sees them. */
  private used: Used = {};
  /** The first time at which the handler wanted to be asked again. */
  private firstDueAt: string | undefined;
  private readonly direct: DirectUse;
  /** The version of the list of children, by kind. Undefined if they must be listed. */
  private listed: Map<string, string> | undefined;
  /** Whether the last reconcile was interrupted. */
  private wasInterrupted = false;
  private readonly following = new Following();
  private readonly waiting: Waiting;

  constructor(private readonly options: OneObjectOptions) {
    const { client, resource, kinds, operator, instance, pool, runName } = options;
    this.direct = new DirectUse(operator, client);
    this.children = new ChildStore({ client, operator, ownerKind: resource, onChange: this.following.wake });
    this.finalizers = new Finalizers(resource, operator);
    this.waiting = new Waiting({
      operator,
      client,
      resource,
      children: this.children,
      name: options.name,
      following: this.following,
      known: () => this.object,
      seen: (object) => {
        this.object = this.ifWatched(object);
      },
      gone: () => this.forget(),
      listed: (kind) => this.listed?.get(kind),
    });
    const { reconciler, memories, teller } = newReconcileParts({
      operator,
      resource,
      childResources: kinds.found,
      whyNot: (_event, _object, remembered) => kinds.whyUnknown(remembered.kinds),
      whyUnknown: (kind) => kinds.whyUnknown([kindKey(kind)]),
      pool,
      // The resync that submits the runs looks at schedules by the same clock.
      now: () => client.now(),
      objects: {
        readToReconcile: async () => this.object,
        learn: (object) => {
          this.object = object;
        },
        invalidate: () => this.forget(),
        isGoing: () => false,
        isShown: () => false,
      },
      read: () => this.read(),
      children: this.children,
      memoryObjects: this.memoryObjects(),
      sight: {
        objects: { hasUid: (uid) => uid === this.object?.metadata.uid, removedAt: () => undefined },
        isBlind: true,
        // The run has asked whether the kind is served.
        completeness: { assertSeen: ignore },
      },
      used: (object, event) => this.gather(object, event),
      recordOf: runName,
      footprintOf: (uid, report) => this.footprintOf(uid, report),
      // The Workflow of this pod exists already.
      record: async () => true,
      instance,
      onEventDropped: ignore,
    });
    this.reconciler = reconciler;
    this.memories = memories;
    this.teller = teller;
  }

  /** The newest known state of the object. Undefined if the object is gone, or must be read. */
  get known(): KubernetesObject | undefined {
    return this.object;
  }

  /** The object. It is read if it is not known. Undefined if there is none. */
  async read(): Promise<KubernetesObject | undefined> {
    const { client, resource, name } = this.options;
    this.object ??= this.ifWatched(await getUnlessGone(client, resource, name));
    return this.object;
  }

  /** The same if {@link read} has found none. A GET finds none either while the cluster does not serve the kind, and a list fails. */
  async find(): Promise<KubernetesObject | undefined> {
    const { client, resource, name } = this.options;
    this.object = this.ifWatched(await findUnlessGone(client, resource, name));
    return this.object;
  }

  /** The known state may be outdated: the next reconcile reads the object and lists its children. */
  forget(): void {
    this.object = undefined;
    this.listed = undefined;
  }

  /**
   * Reconciles the object, and reports on it.
   * @param object as {@link read} gave it just before. Undefined: it is not ours, and is gone
   * @param startedByHand schedules that somebody starts by hand
   * @throws ApiError, ApiUnreachableError, UnknownKindError if its children cannot be listed
   */
  async reconcile(
    object: KubernetesObject | undefined,
    attempt: number,
    startedByHand?: readonly DueSchedule[],
  ): Promise<ReconcileReport> {
    const { client, fence, name, resource, runName } = this.options;
    const trace = this.options.trace?.begin();
    this.handled = object;
    if (object) this.listed ??= await this.learnChildren(object);
    const outcome = await sayMissingKind(
      await this.reconciler.reconcile(name, attempt, { client, fence: fence.assert, startedByHand, trace }),
      this.options.operator,
      client,
    );
    this.wasInterrupted = outcome.report.result !== "succeeded";
    const run = runName(outcome.report);
    const record: RunRecord | undefined = run === undefined ? undefined : { name: run, isFailure: false };
    const message = messageAbout(outcome, resource, record);
    const from = performance.now();
    // If the report fails, the run does not fail: the next run reports.
    if (message) await this.teller.tell(client, name, message);
    const reportTime = message && { from, to: performance.now() };
    if (trace) this.options.trace?.ended(trace, outcome.report, reportTime);
    return outcome.report;
  }

  /** See {@link Waiting.awaitNews}. */
  awaitNews(ms: number, mostUnready: number | undefined, signal: AbortSignal | undefined): Promise<boolean> {
    return this.waiting.awaitNews(ms, mostUnready, signal);
  }

  /** Ends every watch. */
  close(): Promise<void> {
    return this.following.stop();
  }

  /** Reads the objects that the object uses, and remembers their fingerprint for the next resync. */
  private async gather(object: KubernetesObject, event: HandlerEvent): Promise<GatheredUse> {
    const gathered = await gatherUsed(this.options.operator, object, event, this.direct);
    this.used = gathered.used;
    return gathered;
  }

  /** The memories of an object that we do not own. Undefined if we own the object. */
  private memoryObjects(): MemoryObjects | undefined {
    const { client, operator, resource, namespace, uid } = this.options;
    if (!operator.watch) return undefined;
    return readMemories({ client, operator, resource, namespace, uid }).memories;
  }

  /** The object, if it is our own or matches the operator's watch. */
  private ifWatched(object: KubernetesObject | undefined): KubernetesObject | undefined {
    const { operator, namespace } = this.options;
    return object && isWatchedBy(operator, namespace)(object) ? object : undefined;
  }

  /** How the run leaves the object, for the next resync. */
  private footprintOf(uid: string, report: ReconcileReport): Footprint {
    const { operator, program } = this.options;
    return {
      content: this.handled && contentFingerprint(this.handled, operator),
      children: childrenFingerprint(this.children.of(uid), operator),
      used: usedFingerprint(this.used),
      program,
      dueAt: this.dueAtAfter(report),
    };
  }

  /**
   * When the handler wants to be asked again. The run may wait for that time itself. But somebody may end the run before, so the
   * first such time is noted all the same, and stays: another one would cost a write of the status for each time.
   */
  private dueAtAfter({ againAfterMs }: ReconcileReport): string | undefined {
    const { client, isBeyondRun } = this.options;
    if (againAfterMs === undefined) return undefined;
    const at = timeOf(new Date(client.now() + againAfterMs));
    if (isBeyondRun(againAfterMs)) return at;
    this.firstDueAt ??= at;
    return this.firstDueAt;
  }

  /** Learns the object's children from lists. @returns the version of each list, by kind */
  private async learnChildren(object: KubernetesObject): Promise<Map<string, string>> {
    const { operator, client, kinds, predecessorUids } = this.options;
    const memory = await this.memories.of(object);
    const isElsewhere = this.finalizers.forElsewhere(object) || hasElsewhere(object, memory, []);
    const { children, wasInterrupted } = this;
    const found = { children, memory, isElsewhere, predecessorUids, wasInterrupted };
    const options = { operator, client, childResources: kinds.found, ...found };
    return learnChildren(object, options);
  }
}
