import { inApplyOrder } from "../children/applyOrder";
import type { ChildStore } from "../children/childStore";
import type { ChildWriter, WriteScope } from "../children/childWriter";
import { type DesiredChild, desiredChildren } from "../children/desiredChildren";
import { releaseFormer } from "../children/former";
import { canReference } from "../children/ownership";
import { whyNotReady } from "../children/readiness";
import type { Operator } from "../definition/definition";
import { statusChecker } from "../definition/statusSchema";
import type { ReconcileFailure } from "../failure";
import { askHandler } from "../handler/askHandler";
import {
  type HandlerAnswer,
  type HandlerEvent,
  questionAbout,
  type ReconcileAnswer,
} from "../handler/contract";
import type { HandlerPool } from "../handler/handlerPool";
import type { KubernetesClient } from "../kubernetes/client";
import type { KubernetesObject, ObjectName } from "../kubernetes/objects";
import { formatName } from "../kubernetes/objects";
import type { Resource } from "../kubernetes/resource";
import { annotated, formerManagersOf, PAUSED_ANNOTATION, SKIP_FINALIZE_ANNOTATION } from "../names";
import type { Verdict } from "../status/conditions";
import type { Statuses } from "../status/statuses";
import type { KnownObjects } from "../watch/customResources";
import { consequenceOf, ObjectGoneError, type StillListingError } from "./errors";
import { Finalizers } from "./finalizers";
import { type Footprint, isSameMemory, type Memory, memoryOf, NOTHING, remembered } from "./memory";
import type { ObjectEvent, Outcome } from "./outcome";
import type { ReconcileReport } from "./report";
import { kindKey, Sweep } from "./sweep";

/** What {@link Reconcile} works with. */
export interface ReconcileOptions {
  readonly operator: Operator;
  /** The custom resource's kind as the API serves it. */
  readonly resource: Resource;
  /** The kinds of the declared children that the API serves. */
  readonly childResources: readonly Resource[];
  readonly pool: Pick<HandlerPool, "ask">;
  readonly objects: KnownObjects;
  readonly children: ChildStore;
  readonly writer: ChildWriter;
  readonly statuses: Pick<Statuses, "write">;
  /** Whether a run will be recorded, so that its verdict waits for the record's name. @default never */
  readonly isRecorded?: (report: ReconcileReport) => boolean;
  /** The name of the record of a run, if it is there already: the verdict names it at once. @default none is */
  readonly recordOf?: (report: ReconcileReport) => string | undefined;
  /** What is remembered of an object beside its kinds, after its children were written. @default nothing */
  readonly footprintOf?: (uid: string, report: ReconcileReport) => Footprint;
  /**
   * Why an object cannot be reconciled now: it may have children that are not known. Gets the kinds of children that the
   * engine remembers, and whether the object has children in other namespaces. @default it can be reconciled
   */
  readonly whyNot?: (
    object: KubernetesObject,
    kinds: readonly string[],
    isElsewhere: boolean,
  ) => ReconcileFailure | StillListingError | undefined;
}

/** On whose behalf one reconcile works. */
export interface Mandate {
  /** A client whose writes are fenced by the term of leadership. */
  readonly client: KubernetesClient;
  /** Throws if the term has ended. */
  readonly assert: () => void;
}

/** A report that is still being written. */
type Draft = { -readonly [Key in keyof ReconcileReport]: ReconcileReport[Key] } & {
  changes: ReconcileReport["changes"][number][];
};

/** When a handler that has not finished finalizing is asked again, unless it says when. */
const FINALIZE_AGAIN_MS = 5_000;
/** A handler that wants to be asked again at once must not cause a busy loop. */
const SHORTEST_WAIT_MS = 1_000;

/**
 * Brings one custom resource and its children to what the handler wants: takes the newest object, asks the handler,
 * checks the whole answer, and only then writes.
 *
 * Guarantees, each with a test in tests/integration:
 * - Nothing is applied of an answer that breaks the contract (engineFailures.test.ts).
 * - If `finalize` is declared, the finalizer is on the object before the handler is asked (hostile/leaks.test.ts).
 * - The other finalizer is on the object before its first child that no owner reference can cover
 *   (engineFinalize.test.ts).
 * - No child is written for an object that is known to be gone or to be being deleted (hostile/orphanDeletion.test.ts).
 * - The handler's status fields and the engine's memory are written before the reconcile ends (engineStatus.test.ts).
 *
 * Assumption: one reconcile of an object at a time, by one leader.
 *
 * Caveat: if the API server refuses a part of an answer, the parts that were applied before stay.
 */
export class Reconcile {
  private readonly checkStatus: (status: unknown) => string | undefined;
  private readonly finalizers: Finalizers;
  private readonly formerManagers: readonly string[];
  private readonly sweep: Sweep;

  constructor(private readonly options: ReconcileOptions) {
    const { operator, resource, childResources, children: store, writer } = options;
    this.checkStatus = statusChecker(operator.customResource.statusSchema);
    this.finalizers = new Finalizers(resource, operator);
    this.formerManagers = formerManagersOf(operator);
    this.sweep = new Sweep({ operator, childResources, store, writer });
  }

  /** Reconciles one object. Never throws: whatever goes wrong is in the outcome. Reports nothing itself. */
  async reconcile(name: ObjectName, attempt: number, mandate: Mandate): Promise<Outcome> {
    const startedAt = performance.now();
    const { operator, resource, objects } = this.options;
    const report: Draft = {
      operator: operator.name,
      kind: resource.kind,
      namespace: name.namespace,
      name: name.name,
      event: "reconcile",
      attempt,
      result: "succeeded",
      changes: [],
      log: "",
      durationMs: 0,
    };
    const outcome: Outcome = { report, events: [], again: { kind: "done" } };
    try {
      const object = await objects.read(name);
      if (!object) Object.assign(report, { result: "skipped", skipped: "gone" });
      else await this.handle(object, new Run(object, mandate, this.options, report), outcome);
    } catch (error) {
      this.settle(error, name, report, outcome, mandate);
    }
    report.durationMs = performance.now() - startedAt;
    return outcome;
  }

  private async handle(object: KubernetesObject, run: Run, outcome: Outcome): Promise<void> {
    const { report } = run;
    report.uid = object.metadata.uid;
    report.generation = object.metadata.generation;
    if (annotated(object.metadata, PAUSED_ANNOTATION)) {
      Object.assign(report, { result: "skipped", skipped: "paused" });
    } else if (object.metadata.deletionTimestamp) {
      await this.finalize(object, run, outcome);
    } else {
      await this.bringAbout(object, run, outcome);
    }
  }

  /** Puts into the outcome what follows from an error. */
  private settle(error: unknown, name: ObjectName, report: Draft, outcome: Outcome, mandate: Mandate): void {
    const { report: result, isTold, again } = consequenceOf(endOf(mandate) ?? error);
    if (again.kind === "again" || result.skipped === "gone") this.options.objects.invalidate(name);
    Object.assign(report, result);
    outcome.again = again;
    if (!result.failure) return;
    report.log ||= result.failure.log;
    if (isTold) outcome.verdict = { kind: "failed", failure: result.failure };
  }

  private async bringAbout(object: KubernetesObject, run: Run, outcome: Outcome): Promise<void> {
    const { operator, childResources } = this.options;
    const problem = this.options.whyNot?.(
      object,
      memoryOf(object).kinds,
      this.finalizers.forElsewhere(object),
    );
    if (problem) throw problem;
    const stranger = this.finalizers.foreign(object)[0];
    if (stranger !== undefined) outcome.events.push(foreignFinalizer(stranger));
    const held = await this.ensureFinalizers(object, run, false);
    const answer = await this.ask<ReconcileAnswer>("reconcile", held, run);
    const memory = memoryOf(held);
    const desired = desiredChildren(answer.children, held, operator, childResources).map((child) => ({
      ...child,
      isCreated: child.update === "never" && memory.created.includes(childName(child)),
    }));
    const current = await this.ensureFinalizers(
      held,
      run,
      desired.some((child) => isElsewhere(held, child)),
    );
    await this.writeChildren(current, desired, run).catch(async (error: unknown) => {
      await this.rememberHalf(current, desired, run);
      throw error;
    });
    const verdict = await this.judge(current);
    run.report.ready = verdict.kind === "ready";
    outcome.verdict = verdict;
    if (answer.requeueAfterSeconds !== undefined) againAfter(answer.requeueAfterSeconds * 1000, run, outcome);
    await this.remember(current, answer, desired, run, outcome);
  }

  private async ensureFinalizers(object: KubernetesObject, run: Run, elsewhere: boolean) {
    const wanted = { handler: this.options.operator.finalize, elsewhere };
    const current = await this.finalizers.ensure(run.client, object, wanted);
    if (current !== object) this.options.objects.learn(current);
    return current;
  }

  private async ask<Answer extends HandlerAnswer>(
    event: HandlerEvent,
    object: KubernetesObject,
    run: Run,
  ): Promise<Exclude<Answer, { error: unknown }>> {
    const { report } = run;
    report.event = event;
    const children = await this.observe(object);
    const question = questionAbout({ event, object, children, attempt: report.attempt });
    const askedAt = performance.now();
    const { answer, log } = await askHandler<Answer>(this.options.pool, question, this.checkStatus);
    report.handlerMs = performance.now() - askedAt;
    report.log = log;
    return answer;
  }

  /** The object's children as they are. */
  private async observe(object: KubernetesObject): Promise<KubernetesObject[]> {
    const { children: store } = this.options;
    const children = await Promise.all(store.of(object.metadata.uid).map((child) => store.read(child)));
    return children.filter((child) => child !== undefined);
  }

  private async writeChildren(
    object: KubernetesObject,
    desired: readonly DesiredChild[],
    run: Run,
  ): Promise<void> {
    await this.deletePredecessors(object, run);
    for (const group of inApplyOrder(desired)) {
      const results = await Promise.allSettled(group.map((child) => this.options.writer.apply(child, run)));
      // What was done is reported even if a sibling failed.
      for (const result of results)
        if (result.status === "fulfilled" && result.value) run.report.changes.push(result.value);
      const failed = results.find((result) => result.status === "rejected");
      if (failed) throw failed.reason;
    }
    await this.prune(object, desired, run);
    run.report.changes.push(...(await this.sweep.deleteUndeclared(run.client, object)));
  }

  /**
   * Deletes the children of a deleted object of this name. If their owner was deleted and created again while the garbage
   * collector did not watch, the collector never learns that the owner is gone: it sees one change of one object
   * (kubernetes, pkg/controller/garbagecollector/graph_builder.go, UpdateFunc; seen with 1.34).
   */
  private async deletePredecessors(object: KubernetesObject, run: Run): Promise<void> {
    const { children: store, writer } = this.options;
    const left = store.ofPredecessors(object.metadata);
    if (left.length === 0) return;
    // The object that we hold may itself be the deleted one.
    await run.confirmOwner();
    const deleted = await Promise.all(left.map((child) => writer.deleteOrphan(child, run)));
    run.report.changes.push(...deleted.filter((change) => change !== undefined));
  }

  private async prune(object: KubernetesObject, desired: readonly DesiredChild[], run: Run): Promise<void> {
    const { children: store, writer } = this.options;
    const wanted = new Set(desired.map(({ resource, manifest }) => store.find(resource, manifest.metadata)));
    const unwanted = store.of(object.metadata.uid).filter((child) => !wanted.has(child) && !child.deleting);
    const deleted = await Promise.all(unwanted.map((child) => writer.delete(child, run)));
    run.report.changes.push(...deleted.filter((change) => change !== undefined));
  }

  /** Whether the children, as they are after the apply, are ready. */
  private async judge(object: KubernetesObject): Promise<Verdict> {
    const reasons: string[] = [];
    for (const child of await this.observe(object)) {
      const why = whyNotReady(child);
      if (why) reasons.push(`${child.kind} ${child.metadata.name} ${why}`);
    }
    return reasons.length === 0 ? { kind: "ready" } : { kind: "progressing", message: reasons.join("; ") };
  }

  /**
   * Writes the handler's fields and the engine's memory. The verdict goes along if the status is written anyway and the
   * verdict need not wait for a record of the run.
   */
  private async remember(
    object: KubernetesObject,
    answer: ReconcileAnswer,
    desired: readonly DesiredChild[],
    run: Run,
    outcome: Outcome,
  ): Promise<void> {
    const { children: store } = this.options;
    const memory: Memory = {
      kinds: [...desired, ...store.of(object.metadata.uid)].map(({ resource }) => kindKey(resource)),
      created: desired.filter(({ update }) => update === "never").map(childName),
      ...this.options.footprintOf?.(object.metadata.uid, run.report),
    };
    const isEmpty = isSameMemory(memory, NOTHING) && isSameMemory(memoryOf(object), NOTHING);
    const change = { fields: answer.status ?? {}, ...(!isEmpty && { memory: remembered(memory) }) };
    const { verdict } = outcome;
    const generation = run.report.generation ?? 1;
    const record = this.options.recordOf?.(run.report);
    const isAlone = record !== undefined || !this.options.isRecorded?.(run.report);
    const along = isAlone && verdict ? { verdict: { verdict, generation, run: record } } : {};
    const written = await this.options.statuses.write(run.client, nameOf(object), change, along);
    const current = written ?? object;
    const released = await releaseFormer(run.client, this.options.resource, current, this.formerManagers);
    if (released !== current) this.options.objects.learn(released);
  }

  /** Remembers what was applied of an answer that was applied only in part. */
  private async rememberHalf(
    object: KubernetesObject,
    desired: readonly DesiredChild[],
    run: Run,
  ): Promise<void> {
    const { children: store, statuses } = this.options;
    const before = memoryOf(object);
    const isThere = ({ resource, manifest, ownerUid }: DesiredChild) =>
      store.find(resource, manifest.metadata)?.facts.owner.uid === ownerUid;
    const once = desired.filter((child) => child.update === "never" && isThere(child));
    const memory: Memory = {
      kinds: [...before.kinds, ...store.of(object.metadata.uid).map(({ resource }) => kindKey(resource))],
      created: [...before.created, ...once.map(childName)],
    };
    if (isSameMemory(memory, before)) return;
    // The error that is thrown next says more than an error of this write.
    await statuses.write(run.client, nameOf(object), { memory: remembered(memory) }).catch(() => {});
  }

  private async finalize(object: KubernetesObject, run: Run, outcome: Outcome): Promise<void> {
    const { operator, statuses } = this.options;
    const { report } = run;
    report.event = "finalize";
    const { finalizers } = this;
    if (!finalizers.forHandler(object) && !finalizers.forElsewhere(object)) {
      Object.assign(report, { result: "skipped", skipped: "gone" });
      return;
    }
    const isSkipped = annotated(object.metadata, SKIP_FINALIZE_ANNOTATION);
    if (operator.finalize && finalizers.forHandler(object) && !isSkipped) {
      const answer = await this.ask("finalize", object, run);
      if ("finalized" in answer && !answer.finalized) {
        outcome.verdict = { kind: "finalizing" };
        if (answer.status) await statuses.write(run.client, nameOf(object), { fields: answer.status });
        againAfter((answer.requeueAfterSeconds ?? FINALIZE_AGAIN_MS / 1000) * 1000, run, outcome);
        return;
      }
    }
    if (finalizers.forElsewhere(object))
      report.changes.push(...(await this.sweep.deleteElsewhere(run.client, object)));
    await finalizers.removeAll(run.client, object);
    if (isSkipped) outcome.events.push(FINALIZE_SKIPPED);
  }
}

/** The requests of one reconcile of one object. */
class Run implements WriteScope {
  /** For this object alone: its requests leave only while we lead. */
  readonly client: KubernetesClient;
  readonly namespace: string | undefined;

  constructor(
    private readonly object: KubernetesObject,
    mandate: Mandate,
    private readonly options: ReconcileOptions,
    readonly report: Draft,
  ) {
    const { name, namespace, uid, deletionTimestamp } = object.metadata;
    const isBeingDeleted = deletionTimestamp !== undefined;
    this.namespace = namespace;
    this.client = mandate.client.with({
      class: "work",
      share: uid,
      fence: () => {
        mandate.assert();
        if (!isBeingDeleted && options.objects.isGoing({ name, namespace }, uid)) throw new ObjectGoneError();
      },
    });
  }

  async confirmOwner(): Promise<void> {
    const { resource, objects } = this.options;
    const now = await this.client.get(resource, this.object.metadata);
    if (now?.metadata.uid !== this.object.metadata.uid || now.metadata.deletionTimestamp)
      throw new ObjectGoneError();
    objects.learn(now);
  }
}

/** The error of a term that has ended. Whoever leads next finds out what went wrong in it. */
function endOf(mandate: Mandate): unknown {
  try {
    mandate.assert();
    return undefined;
  } catch (error) {
    return error;
  }
}

function againAfter(ms: number, run: Run, outcome: Outcome): void {
  run.report.againAfterMs = ms;
  outcome.again = { kind: "done", againAfterMs: Math.max(SHORTEST_WAIT_MS, ms) };
}

function nameOf({ metadata: { name, namespace, uid } }: KubernetesObject) {
  return { name, namespace, uid };
}

function isElsewhere(object: KubernetesObject, { manifest }: DesiredChild): boolean {
  return !canReference(object, manifest.metadata.namespace);
}

/** The name of a child in the engine's memory: "batch/v1/Job/namespace/name". */
function childName({ resource, manifest }: DesiredChild): string {
  return `${kindKey(resource)}/${formatName(manifest.metadata)}`;
}

const FINALIZE_SKIPPED: ObjectEvent = {
  type: "Warning",
  reason: "FinalizeSkipped",
  note: `deleted without asking the handler, as the annotation ${SKIP_FINALIZE_ANNOTATION} says: what only the handler knows of is still there`,
};

function foreignFinalizer(finalizer: string): ObjectEvent {
  const former = finalizer.slice(finalizer.indexOf("/") + 1);
  return {
    type: "Warning",
    reason: "ForeignFinalizer",
    note: `the object has the finalizer ${finalizer} of another operator of Argosy. If this operator was called ${former} before, add that to "formerNames" in its definition: the object can never be deleted otherwise`,
  };
}
