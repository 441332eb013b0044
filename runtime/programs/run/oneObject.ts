import { fieldManagerOf } from "../../base/names";
import { type KubernetesObject, type ObjectName, timeOf } from "../../base/objects";
import { kindKey, type Resource } from "../../base/resource";
import { childrenFingerprint, contentFingerprint, usedFingerprint } from "../../engine/dispatch/footprint";
import type { DueSchedule, Used } from "../../handler/contract";
import type { Asked } from "../../handler/handlerPool";
import type { KubernetesClient } from "../../kubernetes/client";
import { hasElsewhere } from "../../observe/ownership";
import { DirectUse } from "../../observe/uses/directUse";
import { gatherUsed } from "../../observe/uses/used";
import type { Operator } from "../../operator/definition";
import { Reconciler } from "../../reconcile/reconciler";
import type { ReconcileReport } from "../../reconcile/report";
import { type Footprint, isSameMemory, type Memories, remembered } from "../../remember/memory";
import { StatusMemories, StatusWriter } from "../../remember/statusMemories";
import { EventWriter } from "../../report/eventWriter";
import { isRecorded } from "../../report/recordedRun";
import type { RunRecord } from "../../report/runRecorder";
import { messageAbout, Teller } from "../../report/teller";
import type { TraceExporter } from "../../report/traces/exporter";
import { ChildWriter } from "../../write/childWriter";
import { Finalizers } from "../../write/finalizers";
import { ReadMemories } from "./readMemories";
import type { RunFence } from "./runFence";
import { RunWatches } from "./runWatches";
import type { ServedKinds } from "./servedKinds";

/** What {@link OneObject} works with. */
export interface OneObjectOptions {
  readonly operator: Operator;
  /** The custom resource's kind, as the API serves it. */
  readonly resource: Resource;
  /** Those of its children. */
  readonly kinds: ServedKinds;
  readonly client: KubernetesClient;
  readonly pool: Asked;
  /** The fence of the run, which the client's requests and the pool pass too. */
  readonly fence: Pick<RunFence, "assert" | "problem">;
  readonly name: ObjectName;
  /** The uid that the object had when the run was submitted, if that is known. */
  readonly uid?: string | undefined;
  /** The namespace of the run: the platform's. */
  readonly namespace: string;
  /** The pod's name, for Kubernetes Events. */
  readonly instance: string;
  /** The name of the run's Workflow. */
  readonly workflow: string;
  /** A fingerprint of the program that runs: see `programOfRun`. */
  readonly program: string | undefined;
  /** Whether the first answer must not lead to deletions: see `WITHHOLD_ANNOTATION`. @default it may */
  readonly withholds?: boolean | undefined;
  /** Whether the run will have ended after this many milliseconds. */
  readonly isBeyondRun: (afterMs: number) => boolean;
  /** Traces the reconciles. @default none is traced */
  readonly traces?: TraceExporter | undefined;
}

const ignore = () => {};

/**
 * The engine's reconcile of one object, with the stores of {@link RunWatches}.
 *
 * Caveat: if a child has lost its labels, it is found by its name and labelled again as long as the handler answers it. If the
 * handler no longer answers it, it stays until its object is deleted. One that is created only once is not looked for.
 *
 * Assumption: no other process works on this object during the run. The mutex of the run's Workflow lets no other Workflow of that
 * object run, and the run's fence closes when that Workflow ends: see {@link RunFence}.
 */
export class OneObject {
  private readonly teller: Teller;
  private readonly reconciler: Reconciler;
  readonly watches: RunWatches;
  private readonly finalizers: Finalizers;
  private readonly memories: Memories;
  /** The object as the handler sees it. */
  private handled: KubernetesObject | undefined;
  /** The objects that it uses, as the handler sees them. */
  private used: Used = {};
  /** The first time at which the handler wanted to be asked again. */
  private firstDueAt: string | undefined;
  /** Whether the last reconcile was interrupted. */
  private wasInterrupted = false;
  /** Whether an answer was applied. */
  private hasSucceeded = false;
  /** As in a resident runner, the status names a run that changed something. Any other run leaves the name as it is. */
  private readonly recordOf = (report: ReconcileReport): string | undefined =>
    isRecorded(report, "changes") ? this.options.workflow : undefined;

  constructor(private readonly options: OneObjectOptions) {
    const { client, resource, kinds, operator, instance, pool } = options;
    const direct = new DirectUse(operator, client);
    this.finalizers = new Finalizers(resource, operator);
    this.watches = new RunWatches({ ...options, childResources: kinds.found });
    const { objects, children } = this.watches;
    const forget = () => this.watches.forget();
    const fieldManager = fieldManagerOf(operator);
    const memoryObjects = operator.watch && new ReadMemories(options);
    this.memories =
      memoryObjects ??
      new StatusMemories(
        new StatusWriter({ resource, fieldManager, schema: operator.customResource.statusSchema }),
        { read: (name) => objects.read(name), learn: (object) => objects.learn(object), invalidate: forget },
      );
    this.reconciler = new Reconciler({
      operator,
      resource,
      childResources: kinds.found,
      whyNot: (event, _object, remembered) => kinds.whyNot(event, remembered.kinds),
      whyUnknown: (kind) => kinds.whyUnknown([kindKey(kind)]),
      pool,
      // The dispatcher looks at schedules by the same clock.
      now: () => client.now(),
      objects: {
        readToReconcile: async () => this.handled,
        learn: (object) => objects.learn(object),
        invalidate: forget,
        isGoing: (name, uid) => objects.isGoing(name, uid),
        isShown: () => false,
      },
      children,
      writer: new ChildWriter(children, operator.namespaces !== "all"),
      memories: this.memories,
      // The run has asked whether the kind is served.
      others: memoryObjects && { memories: memoryObjects, objects, isBlind: true, assertSeen: ignore },
      used: async (object, event) => {
        const gathered = await gatherUsed(operator, object, event, direct);
        this.used = gathered.used;
        return gathered;
      },
      recordOf: this.recordOf,
      rollout: { waits: () => false, withholds: () => options.withholds === true && !this.hasSucceeded },
      footprintOf: (uid, againAfterMs) => this.footprintOf(uid, againAfterMs),
    });
    const events = new EventWriter({ controller: fieldManager, instance, onDrop: ignore });
    // The Workflow of this pod exists already.
    this.teller = new Teller(this.memories, events, async () => true);
  }

  /**
   * Reconciles the object, and reports on it.
   * @param object as {@link watches} gave it just before. Undefined: it is not ours, and is gone
   * @param startedByHand schedules that a user starts by hand
   * @throws ApiError, ApiUnreachableError, UnknownKindError if its children cannot be listed
   */
  async reconcile(
    object: KubernetesObject | undefined,
    attempt: number,
    startedByHand?: readonly DueSchedule[],
  ): Promise<ReconcileReport> {
    const { client, fence, name, resource, traces, workflow } = this.options;
    const trace = traces?.begin();
    this.handled = object;
    if (object) {
      const memory = await this.memories.of(object);
      const isElsewhere = this.finalizers.areOn(object, "elsewhere") || hasElsewhere(object, memory, []);
      await this.watches.learnChildren(object, memory, isElsewhere, this.wasInterrupted);
    }
    const context = { client, fence: fence.assert, startedByHand, trace };
    const outcome = await this.reconciler.reconcile(name, attempt, context);
    this.wasInterrupted = outcome.report.result !== "succeeded";
    this.hasSucceeded ||= !this.wasInterrupted;
    const run = this.recordOf(outcome.report);
    const record: RunRecord | undefined = run === undefined ? undefined : { name: run, isFailure: false };
    const message = messageAbout(outcome, resource, record);
    if (object && outcome.report.failure) await this.rememberFailure(object, outcome.report);
    const from = performance.now();
    // If the report fails, the run does not fail: the next run reports.
    if (message) await this.teller.tell(client, name, message);
    const reportTime = message && { from, to: performance.now() };
    const { report } = outcome;
    if (trace) traces?.end({ trace, report, run: workflow, reportTime });
    return report;
  }

  /**
   * Remembers when the handler wants to be asked again after a failure, and how a failure for good left the object. If that fails, the
   * handler is asked after a backoff.
   */
  private async rememberFailure(
    { metadata: { uid } }: KubernetesObject,
    { failure }: Pick<ReconcileReport, "failure">,
  ): Promise<void> {
    const { client, name, isBeyondRun } = this.options;
    const ms = (failure?.retryAfterSeconds ?? 0) * 1000;
    try {
      const object = await this.watches.objects.read(name);
      if (object?.metadata.uid !== uid) return;
      const before = await this.memories.of(object);
      const retryAt = isBeyondRun(ms) && ms > 0 ? timeOf(new Date(client.now() + ms)) : undefined;
      const left = failure?.permanent ? this.footprintOf(uid, undefined) : {};
      const memory = { ...before, ...left, retryAt };
      if (!isSameMemory(memory, before))
        await this.memories.write(client, { ...name, uid }, { memory: remembered(memory) });
    } catch {
      this.watches.forget();
    }
  }

  /** How the run leaves the object, for the dispatcher. */
  private footprintOf(uid: string, againAfterMs: number | undefined): Footprint {
    const { operator, program } = this.options;
    return {
      content: this.handled && contentFingerprint(this.handled, operator),
      children: childrenFingerprint(this.watches.children.of(uid), operator),
      used: usedFingerprint(this.used),
      program,
      dueAt: this.dueAtAfter(againAfterMs),
    };
  }

  /**
   * When the handler wants to be asked again. The run may wait for that time itself. But a user may end the run before, so the
   * first such time is noted anyway, and stays: another one would cost a write of the status for each time.
   */
  private dueAtAfter(againAfterMs: number | undefined): string | undefined {
    const { client, isBeyondRun } = this.options;
    if (againAfterMs === undefined) return undefined;
    const at = timeOf(new Date(client.now() + againAfterMs));
    if (isBeyondRun(againAfterMs)) return at;
    this.firstDueAt ??= at;
    return this.firstDueAt;
  }
}
