import { inApplyOrder } from "./children/applyOrder";
import type { ChildIndex } from "./children/childIndex";
import type { ChildChange, ChildWriter } from "./children/childWriter";
import { type DesiredChild, desiredChildren } from "./children/desiredChildren";
import { canReference } from "./children/ownership";
import { whyNotReady } from "./children/readiness";
import type { CustomResourceWatch } from "./customResourceWatch";
import type { Operator } from "./definition/definition";
import { ReconcileFailure } from "./failure";
import { askHandler } from "./handler/askHandler";
import {
  type HandlerAnswer,
  type HandlerEvent,
  questionAbout,
  type ReconcileAnswer,
} from "./handler/contract";
import type { HandlerPool } from "./handler/handlerPool";
import type { KubernetesClient } from "./kubernetes/client";
import { ApiError, ApiUnreachableError, isApiError } from "./kubernetes/errors";
import type { KubernetesObject, ObjectName } from "./kubernetes/objects";
import type { Resource } from "./kubernetes/resource";
import { NotLeadingError } from "./leaderElection";
import {
  annotated,
  finalizerOf,
  OWNER_UID_LABEL,
  PAUSED_ANNOTATION,
  SKIP_FINALIZE_ANNOTATION,
} from "./names";
import { describeChanges, type ReconcileReport } from "./reconcileReport";
import type { Verdict } from "./status/conditions";
import type { EventRecorder, ObjectEvent } from "./status/eventRecorder";
import { statusChecker } from "./status/statusSchema";
import type { StatusWriter } from "./status/statusWriter";

/** What a {@link Reconciler} works with. */
export interface ReconcilerOptions {
  readonly operator: Operator;
  /** The custom resource's kind as the API serves it. */
  readonly resource: Resource;
  /** The declared children's kinds as the API serves them, in the order of `operator.children`. */
  readonly childResources: readonly Resource[];
  readonly client: KubernetesClient;
  readonly pool: HandlerPool;
  readonly index: ChildIndex;
  readonly children: ChildWriter;
  readonly status: StatusWriter;
  readonly events: EventRecorder;
  /** The custom resources as they are now. */
  readonly objects: Pick<CustomResourceWatch, "read" | "learn" | "invalidate">;
  /** Throws where we are no longer the leader. Called before every write. */
  readonly fence: () => void;
  /** Called before the status is written: resolves when nothing that is more urgent waits. @default at once */
  readonly stepAside?: () => Promise<void>;
  /**
   * Names the Workflow that will tell of a run, before its status is written: the Ready condition and the Event
   * name it. Undefined where none will. @default none ever does
   */
  readonly runName?: ((report: ReconcileReport) => string | undefined) | undefined;
}

/** A report in the making. */
type Draft = { -readonly [Key in keyof ReconcileReport]: ReconcileReport[Key] } & { changes: ChildChange[] };

/** When a handler that has not finished to finalize is asked again, where it does not say. */
const FINALIZE_AGAIN_MS = 5_000;

const FINALIZE_SKIPPED: ObjectEvent = {
  type: "Warning",
  reason: "FinalizeSkipped",
  note: `deleted without asking the handler, as the annotation ${SKIP_FINALIZE_ANNOTATION} says: what only the handler knows of is still there`,
};

/**
 * Brings one custom resource and its children to what the handler wants. It takes the newest object, asks the
 * handler, checks the whole answer, and only then writes.
 */
export class Reconciler {
  private readonly checkStatus: (status: unknown) => string | undefined;
  private readonly finalizer: string;
  /** Objects whose children are being written. */
  applying = 0;

  constructor(private readonly options: ReconcilerOptions) {
    this.checkStatus = statusChecker(options.operator.customResource.statusSchema);
    this.finalizer = finalizerOf(options.operator.name);
  }

  /** Reconciles one object. Never throws: whatever goes wrong is in the report. */
  async reconcile(name: ObjectName, attempt: number): Promise<ReconcileReport> {
    const { operator, resource } = this.options;
    const startedAt = performance.now();
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
    try {
      await this.run(name, report);
    } catch (error) {
      if (isApiError(error, 409)) this.options.objects.invalidate(name);
      Object.assign(report, outcomeOf(error));
    }
    report.durationMs = performance.now() - startedAt;
    return report;
  }

  private async run(name: ObjectName, report: Draft): Promise<void> {
    const object = await this.options.objects.read(name);
    if (!object) return skip(report, "gone");
    report.uid = object.metadata.uid;
    report.generation = object.metadata.generation;
    if (annotated(object.metadata, PAUSED_ANNOTATION)) return skip(report, "paused");
    try {
      if (object.metadata.deletionTimestamp) await this.finalize(object, report);
      else await this.bringAbout(object, report);
    } catch (error) {
      const failure = toFailure(error);
      if (!failure) throw error;
      await this.fail(object, failure, report);
    }
  }

  private async bringAbout(object: KubernetesObject, report: Draft): Promise<void> {
    const { current, status, requeueAfterSeconds } = await this.bringChildrenAbout(object, report);
    // What the handler answered is not held any more: a run may be aside for a while.
    await this.options.stepAside?.();
    const verdict = await this.judge(object);
    report.ready = verdict.kind === "ready";
    report.run = this.options.runName?.(report);
    await this.writeStatus(current, verdict, { ...status }, report.run);
    if (requeueAfterSeconds !== undefined) report.againAfterMs = requeueAfterSeconds * 1000;
    this.tell(object, report);
  }

  /** Gives what remains to be done: the object as it is now, and what the handler says of it. */
  private async bringChildrenAbout(object: KubernetesObject, report: Draft) {
    const observed = await this.observe(object);
    const answer = await this.ask<ReconcileAnswer>("reconcile", object, observed, report);
    const { operator, childResources } = this.options;
    const desired = desiredChildren(answer.children, object, operator, childResources);
    const current = await this.ensureFinalizer(object, desired);
    await this.writeChildren(object, desired, report);
    const { status, requeueAfterSeconds } = answer;
    return { current, status, requeueAfterSeconds };
  }

  /** The object's children as they are, for the handler. */
  private async observe(object: KubernetesObject): Promise<KubernetesObject[]> {
    const { index } = this.options;
    const children = await Promise.all(index.of(object.metadata.uid).map((record) => index.read(record)));
    return children.filter((child) => child !== undefined);
  }

  private async ask<Answer extends HandlerAnswer>(
    event: HandlerEvent,
    object: KubernetesObject,
    children: readonly KubernetesObject[],
    report: Draft,
  ): Promise<Exclude<Answer, { error: unknown }>> {
    report.event = event;
    const request = questionAbout({ event, object, children, attempt: report.attempt });
    const askedAt = performance.now();
    const { answer, log } = await askHandler<Answer>(this.options.pool, request, this.checkStatus);
    report.handlerMs = performance.now() - askedAt;
    report.log = log;
    return answer;
  }

  /**
   * Puts our finalizer on the object where something must be done before it goes: the handler wants to be asked,
   * or a child is where no owner reference reaches.
   */
  private async ensureFinalizer(
    object: KubernetesObject,
    desired: readonly DesiredChild[],
  ): Promise<KubernetesObject> {
    const elsewhere = desired.some(({ manifest }) => !canReference(object, manifest.metadata.namespace));
    const { finalizers = [] } = object.metadata;
    if (!(this.options.operator.finalize || elsewhere) || finalizers.includes(this.finalizer)) return object;
    return this.patchFinalizers(object, [...finalizers, this.finalizer]);
  }

  private async patchFinalizers(object: KubernetesObject, finalizers: string[]): Promise<KubernetesObject> {
    this.options.fence();
    const { uid, resourceVersion } = object.metadata;
    const patch = { metadata: { uid, resourceVersion, finalizers } };
    try {
      const patched = await this.options.client.mergePatch(this.options.resource, object.metadata, patch);
      this.options.objects.learn(patched);
      return patched;
    } catch (error) {
      throw isApiError(error, 404) ? new ObjectGoneError() : error;
    }
  }

  private async writeChildren(
    object: KubernetesObject,
    desired: readonly DesiredChild[],
    report: Draft,
  ): Promise<void> {
    this.applying++;
    try {
      await this.deleteLeftovers(object, report);
      await this.applyAll(desired, report);
      await this.prune(object, desired, report);
    } finally {
      this.applying--;
    }
  }

  private async applyAll(desired: readonly DesiredChild[], report: Draft): Promise<void> {
    for (const group of inApplyOrder(desired)) {
      const results = await Promise.allSettled(group.map((child) => this.options.children.apply(child)));
      // What was done is told even where a sibling failed.
      for (const result of results)
        if (result.status === "fulfilled" && result.value) report.changes.push(result.value);
      const failed = results.find((result) => result.status === "rejected");
      if (failed) throw failed.reason;
    }
  }

  /**
   * Deletes the children of a former object of this name. They are the garbage collector's, but it never learns that their
   * owner is gone where it was deleted and made anew while the collector did not watch: it takes that for one change of one
   * object (kubernetes, pkg/controller/garbagecollector/graph_builder.go, UpdateFunc; seen with 1.34).
   */
  private async deleteLeftovers(object: KubernetesObject, report: Draft): Promise<void> {
    const { client, resource, index, children } = this.options;
    const leftovers = index.ofFormer(object.metadata);
    if (leftovers.length === 0) return;
    // Whose they are is gone for good only if ours is the one that is there: the former might be what we hold.
    const there = await client.get(resource, object.metadata);
    if (there?.metadata.uid !== object.metadata.uid) throw new ObjectGoneError();
    const deleted = await Promise.all(leftovers.map((record) => children.deleteLeftover(record)));
    report.changes.push(...deleted.filter((change) => change !== undefined));
  }

  private async prune(
    object: KubernetesObject,
    desired: readonly DesiredChild[],
    report: Draft,
  ): Promise<void> {
    const { index, children } = this.options;
    const wanted = new Set(desired.map(({ resource, manifest }) => index.find(resource, manifest.metadata)));
    const unwanted = index
      .of(object.metadata.uid)
      .filter((record) => !wanted.has(record) && !record.deleting);
    const deleted = await Promise.all(unwanted.map((record) => children.delete(record)));
    report.changes.push(...deleted.filter((change) => change !== undefined));
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

  private async finalize(object: KubernetesObject, report: Draft): Promise<void> {
    report.event = "finalize";
    const { finalizers = [] } = object.metadata;
    if (!finalizers.includes(this.finalizer)) return skip(report, "gone");
    const skipped = annotated(object.metadata, SKIP_FINALIZE_ANNOTATION);
    if (this.options.operator.finalize && !skipped) {
      const answer = await this.ask("finalize", object, await this.observe(object), report);
      if ("finalized" in answer && !answer.finalized) {
        report.againAfterMs = (answer.requeueAfterSeconds ?? FINALIZE_AGAIN_MS / 1000) * 1000;
        await this.writeStatus(object, { kind: "finalizing" }, answer.status);
        return;
      }
    }
    await this.deleteChildrenElsewhere(object, report);
    await this.patchFinalizers(
      object,
      finalizers.filter((finalizer) => finalizer !== this.finalizer),
    );
    if (skipped) this.options.events.record(object, FINALIZE_SKIPPED);
  }

  /**
   * Deletes the children that no owner reference covers. It lists them rather than ask the index: a child that
   * a former leader made a moment ago may not have come by the watch, and nobody would delete it afterwards.
   */
  private async deleteChildrenElsewhere(object: KubernetesObject, report: Draft): Promise<void> {
    const { client, childResources, index, children, operator } = this.options;
    const labelSelector = `${OWNER_UID_LABEL}=${object.metadata.uid}`;
    for (const resource of childResources) {
      const scopes =
        operator.namespaces === "all" || !resource.namespaced ? [undefined] : operator.namespaces;
      for (const namespace of scopes) {
        const selection = {
          labelSelector,
          metadataOnly: true,
          ...(namespace !== undefined && { namespace }),
        };
        try {
          await client.list(resource, selection, (items) => index.learn(resource, items));
        } catch (error) {
          // Where its kind is gone, so is every child of it.
          if (!isApiError(error, 404)) throw error;
        }
      }
    }
    for (const record of index.of(object.metadata.uid)) {
      if (canReference(object, record.namespace)) continue;
      const change = await children.delete(record);
      if (change) report.changes.push(change);
    }
  }

  private async fail(object: KubernetesObject, failure: ReconcileFailure, report: Draft): Promise<void> {
    // What became of a run after our term, its successor tells.
    this.options.fence();
    report.result = "failed";
    report.failure = failure;
    report.log ||= failure.log;
    report.run = this.options.runName?.(report);
    const { reason, message } = failure;
    this.options.events.record(object, { type: "Warning", reason, note: message, run: report.run });
    await this.writeStatus(object, { kind: "failed", failure }, undefined, report.run);
  }

  private async writeStatus(
    object: KubernetesObject,
    verdict: Verdict,
    fields: Record<string, unknown> | undefined,
    run?: string,
  ): Promise<void> {
    const written = await this.options.status.write(object, verdict, fields, run);
    if (written) this.options.objects.learn(written);
  }

  private tell(object: KubernetesObject, { changes, run }: ReconcileReport): void {
    if (changes.length === 0) return;
    const note = describeChanges(changes, object.metadata.namespace);
    this.options.events.record(object, { type: "Normal", reason: "Reconciled", note, run });
  }
}

function skip(report: Draft, why: NonNullable<ReconcileReport["skipped"]>): void {
  report.result = "skipped";
  report.skipped = why;
}

/** The object was deleted while it was handled. */
class ObjectGoneError extends Error {}

/** A failure that the object should tell of; undefined for what it cannot or need not tell. */
function toFailure(error: unknown): ReconcileFailure | undefined {
  if (error instanceof ReconcileFailure) return error;
  // 409: the object has changed while it was handled. Its newest state is handled next.
  if (error instanceof NotLeadingError || error instanceof ApiUnreachableError || isApiError(error, 409))
    return undefined;
  if (error instanceof ObjectGoneError) return undefined;
  const message = error instanceof Error ? error.message : String(error);
  return new ReconcileFailure(error instanceof ApiError ? "ApiError" : "InternalError", message, {
    cause: error,
  });
}

/** What the report says of an error that the object itself does not tell of. */
function outcomeOf(error: unknown): Partial<ReconcileReport> {
  if (error instanceof NotLeadingError) return { result: "skipped", skipped: "not the leader" };
  if (error instanceof ObjectGoneError) return { result: "skipped", skipped: "gone" };
  if (isApiError(error, 409)) return { result: "skipped", skipped: "changed meanwhile", failure: undefined };
  const message = error instanceof Error ? error.message : String(error);
  const failure = new ReconcileFailure("ApiError", message, { cause: error });
  return { result: "failed", failure };
}
