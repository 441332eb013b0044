import { randomUUID } from "node:crypto";
import type { ChildWriter } from "../children/childWriter";
import { type DesiredChild, desiredChildren } from "../children/desiredChildren";
import { canReference } from "../children/ownership";
import type { Operator } from "../definition/definition";
import { isExpired } from "../events/eventMarks";
import type { ReconcileFailure } from "../failure";
import type { FinalizeAnswer, HandlerEvent, ReconcileAnswer } from "../handler/contract";
import type { KubernetesObject, Manifest, ObjectName } from "../kubernetes/objects";
import { isListed, type Resource } from "../kubernetes/resource";
import { wasCreated } from "../memory/rememberedChildren";
import { annotated, formerManagersOf, PAUSED_ANNOTATION, SKIP_FINALIZE_ANNOTATION } from "../names";
import { Scrubber } from "../outbox/scrubber";
import type { StillListingError } from "../watch/stillListing";
import { Asking, type AskingOptions } from "./asking";
import { Departures, type DeparturesOptions } from "./departures";
import { consequenceOf, SHORTEST_WAIT_MS } from "./errors";
import { Finalizers } from "./finalizers";
import { EventsInDoubt, newEventsIn } from "./newEvents";
import { ObjectChildren, type ObjectChildrenOptions } from "./objectChildren";
import type { ObjectEvent, Outcome } from "./outcome";
import { Remembering, type RememberingOptions } from "./remembering";
import { type Draft, type Mandate, Run, whyEnded } from "./run";
import { namespacesLeft, Sweep, whereIn } from "./sweep";
import { Timeline } from "./timeline";
import { timetableOf } from "./timetable";
import { lastWriteOf } from "./written";

/** What {@link Reconcile} works with. */
export interface ReconcileOptions
  extends RememberingOptions,
    Pick<AskingOptions, "pool" | "used">,
    Pick<ObjectChildrenOptions, "isFollowed"> {
  readonly operator: Operator;
  /** The kinds of the declared children that the API serves. */
  readonly childResources: readonly Resource[];
  readonly writer: ChildWriter;
  /** Set if the objects are not ours, so that nothing may be written on them. */
  readonly departures?: DeparturesOptions | undefined;
  /** The clock of schedules, in milliseconds since 1970. @default Date.now */
  readonly now?: () => number;
  /**
   * Why the handler cannot be asked about an object now: the object may have children that are not known. Gets the kinds of
   * children that the engine remembers, and whether the object has children in other namespaces. @default it can be asked
   */
  readonly whyNot?: (
    event: HandlerEvent,
    object: KubernetesObject,
    kinds: readonly string[],
    isElsewhere: boolean,
  ) => ReconcileFailure | StillListingError | undefined;
  /** Why nobody knows whether the cluster serves a declared kind. @default that is known */
  readonly whyUnknown?: (
    kind: Pick<Resource, "apiVersion" | "kind">,
  ) => ReconcileFailure | StillListingError | undefined;
}

/** When a handler that has not finished finalizing is asked again, unless it says when. */
const FINALIZE_AGAIN_MS = 5_000;

/**
 * Makes one object and its children as the handler wants them: takes the newest object, asks the handler, checks the whole
 * answer, and only then writes.
 *
 * Guarantees, each with a test in tests/integration:
 * - Nothing is applied of an answer that breaks the contract (engineFailures.test.ts).
 * - If `finalize` is declared, the finalizer is on the object before the handler is asked (hostile/leaks.test.ts).
 * - The handler is asked with all children or not at all, to finalize too (hostile/unlistedKinds.test.ts).
 * - The other finalizer is on the object before its first child that no owner reference can cover (engineFinalize.test.ts).
 * - No child is written for an object that is known to be gone or to be being deleted (hostile/orphanDeletion.test.ts).
 * - The handler's status fields and the engine's memory are written before the reconcile ends (engineStatus.test.ts).
 * - Outside of the namespaces that the operator lists, an object is finalized, and nothing else (hostile/namespaces.test.ts).
 * - Nothing is written on an object that is not ours, no finalizer either (engineWatch.test.ts).
 *
 * Assumption: one reconcile of an object at a time, by one leader.
 *
 * Caveat: if the API server refuses a part of an answer, the parts that were applied before stay.
 */
export class Reconcile {
  /** Undefined if the objects are not ours. */
  private readonly finalizers: Finalizers | undefined;
  private readonly departures: Departures | undefined;
  private readonly sweep: Sweep;
  private readonly children: ObjectChildren;
  private readonly asking: Asking;
  private readonly remembering: Remembering;
  private readonly scrubber = new Scrubber();
  private readonly inDoubt = new EventsInDoubt();

  constructor(private readonly options: ReconcileOptions) {
    const { operator, resource, childResources, children, writer } = options;
    this.sweep = new Sweep({ operator, childResources, store: children, writer });
    const { departures } = options;
    if (departures) this.departures = new Departures(departures, this.sweep);
    else this.finalizers = new Finalizers(resource, operator);
    const { isFollowed } = options;
    this.children = new ObjectChildren({ children, writer, sweep: this.sweep, isFollowed });
    const { children: observed, scrubber } = this;
    this.asking = new Asking({ ...options, observed, scrubber, isOurs: !departures });
    this.remembering = new Remembering(options, departures ? [] : formerManagersOf(operator));
  }

  private now(): number {
    return (this.options.now ?? Date.now)();
  }

  /** A text of a handler that is in no report, without the values of the Secrets that handlers were given. */
  masked(text: string): string {
    return this.scrubber.text(text);
  }

  /** Reconciles one object. Never throws: every error is in the outcome. Reports nothing itself. */
  async reconcile(name: ObjectName, attempt: number, mandate: Mandate): Promise<Outcome> {
    const timeline = new Timeline();
    let writtenAt: number | undefined;
    const { operator, resource, objects } = this.options;
    const { scrubber } = this;
    const report: Draft = {
      id: randomUUID(),
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
      ...(mandate.arrival && { arrival: mandate.arrival }),
      ...(mandate.trace?.isSampled && { traceId: mandate.trace.traceId }),
    };
    const outcome: Outcome = { report, events: [], again: { kind: "done" } };
    try {
      const object = await timeline.step("read", () => objects.readToReconcile(name));
      writtenAt = object && lastWriteOf(object);
      const clearUp = async () => this.departures?.clearUp(name, object?.metadata.uid, mandate, report);
      await timeline.step("sweep", clearUp, () => report.changes.length > 0);
      if (!object) {
        this.inDoubt.take(name);
        Object.assign(report, { result: "skipped", skipped: "gone" });
      } else {
        const memory = await this.options.memories.of(object);
        outcome.events.push(...this.inDoubt.take(name, memory.told));
        const run = new Run(object, memory, mandate, { resource, objects, scrubber }, report, timeline);
        await this.handle(object, run, outcome);
      }
    } catch (error) {
      this.fail(error, name, report, outcome, mandate);
    }
    report.timing = timeline.timing(writtenAt);
    report.durationMs = report.timing.to - report.timing.from;
    return scrubber.outcome(outcome);
  }

  private async handle(object: KubernetesObject, run: Run, outcome: Outcome): Promise<void> {
    const { report } = run;
    report.uid = object.metadata.uid;
    report.generation = object.metadata.generation;
    if (annotated(object.metadata, PAUSED_ANNOTATION)) {
      Object.assign(report, { result: "skipped", skipped: "paused" });
    } else if (object.metadata.deletionTimestamp) {
      await this.finalize(object, run, outcome);
    } else if (!isListed(this.options.operator.namespaces, object.metadata.namespace)) {
      // The object is not ours any more. When it is deleted, only a finalizer of ours is removed.
      Object.assign(report, { result: "skipped", skipped: "gone" });
    } else if (await this.isExpired(object, run)) {
      await this.expire(object, run);
    } else {
      await this.bringAbout(object, run, outcome);
    }
  }

  /**
   * Whether an object that was made of an event has lasted long enough, by our clock and by the API server's. The clock of one machine
   * may be wrong by years, and what is deleted does not come back.
   */
  private async isExpired(object: KubernetesObject, { client }: Run): Promise<boolean> {
    const { operator, resource } = this.options;
    if (!isExpired(object, operator, this.now())) return false;
    const time = await client.timeAt(resource, object.metadata);
    return time === undefined || isExpired(object, operator, time);
  }

  /** Deletes an object that was made of an event, in exactly the version that was seen to have lasted long enough. */
  private async expire(object: KubernetesObject, run: Run): Promise<void> {
    const { uid, resourceVersion } = object.metadata;
    const { resource, objects } = this.options;
    await run.client.deleteVersion(resource, object.metadata, { uid, resourceVersion });
    objects.invalidate(object.metadata);
    Object.assign(run.report, { result: "skipped", skipped: "gone" });
  }

  /** Puts the consequences of an error into the outcome. */
  private fail(error: unknown, name: ObjectName, report: Draft, outcome: Outcome, mandate: Mandate): void {
    const { report: result, isReported, again } = consequenceOf(whyEnded(mandate) ?? error, name.namespace);
    if (again.kind === "again" || result.skipped === "gone") this.options.objects.invalidate(name);
    Object.assign(report, result);
    outcome.again = again;
    const { failure } = result;
    report.log ||= failure?.log ?? "";
    // Nobody may read that all is well before the status has what the handler answered.
    if (failure && isReported) outcome.verdict = { kind: "failed", failure };
    else delete outcome.verdict;
  }

  private async bringAbout(object: KubernetesObject, run: Run, outcome: Outcome): Promise<void> {
    const { operator, childResources } = this.options;
    const timetable = timetableOf(operator, object, run.memory, this.now());
    if (Number.isFinite(timetable.nextLook)) outcome.nextLook = timetable.nextLook;
    const hasElsewhere = this.finalizers?.forElsewhere(object) ?? run.memory.elsewhere === true;
    this.assertKnown("reconcile", object, run, hasElsewhere);
    outcome.events.push(...(this.finalizers?.warnings(object) ?? []));
    const held = await this.ensureFinalizers(object, run, false);
    await this.remembering.firstLook(held, timetable.before, run);
    const byHand = run.startedByHand.filter(({ name }) => !timetable.due.some((each) => each.name === name));
    const due = [...timetable.due, ...byHand];
    const answer = await this.asking.ask<ReconcileAnswer>("reconcile", held, run, outcome, due);
    await this.assertKnownKinds(answer.children, run);
    const desired = desiredChildren(answer.children, held, operator, childResources).map((child) => ({
      ...child,
      isCreated: wasCreated(run.memory, child),
    }));
    const current = await this.ensureFinalizers(
      held,
      run,
      desired.some((child) => isElsewhere(held, child)),
    );
    await this.children.write(current, desired, run).catch(async (error: unknown) => {
      await this.remembering.part(current, answer, desired, run);
      throw error;
    });
    // The verdict may be written with the handler's status, before the outcome is complete.
    const verdict = this.scrubber.inside(await this.children.judge(current, run));
    outcome.verdict = verdict;
    if (answer.requeueAfterSeconds !== undefined) againAfter(answer.requeueAfterSeconds * 1000, run, outcome);
    const news = newEventsIn(answer.events ?? [], generationOf(held), run.memory.told);
    const all = { told: news.told, schedules: timetable.after };
    await run.timeline.step("status", () =>
      this.inDoubt.while(object.metadata, news, () =>
        this.remembering.all(current, answer, desired, all, verdict, run),
      ),
    );
    outcome.events.push(...news.events);
  }

  /** Throws if the handler would be asked with only a part of the object's children. */
  private assertKnown(event: HandlerEvent, object: KubernetesObject, run: Run, hasElsewhere: boolean): void {
    const problem = this.options.whyNot?.(event, object, run.memory.kinds, hasElsewhere);
    if (problem) throw problem;
  }

  /** Throws if nobody knows whether the cluster serves the kind of a child. */
  private async assertKnownKinds(children: readonly Manifest[], run: Run): Promise<void> {
    const problem = children
      .map((child) => this.options.whyUnknown?.(child))
      .find((each) => each !== undefined);
    if (!problem) return;
    // An API server that is busy does not answer for the object either. Then the kind is not at fault.
    await run.confirmOwner();
    throw problem;
  }

  private async ensureFinalizers(object: KubernetesObject, run: Run, elsewhere: boolean) {
    if (!this.finalizers) return object;
    const wanted = { handler: this.options.operator.finalize, elsewhere };
    const { finalizers } = this;
    const ensuring = () => finalizers.ensure(run.client, object, wanted);
    const current = await run.timeline.step("finalizer", ensuring, (ensured) => ensured !== object);
    if (current !== object) this.options.objects.learn(current);
    return current;
  }

  private async finalize(object: KubernetesObject, run: Run, outcome: Outcome): Promise<void> {
    const { finalizers } = this;
    const { operator } = this.options;
    const { report } = run;
    report.event = "finalize";
    if (!finalizers?.forHandler(object) && !finalizers?.forElsewhere(object)) {
      Object.assign(report, { result: "skipped", skipped: "gone" });
      return;
    }
    const isSkipped = annotated(object.metadata, SKIP_FINALIZE_ANNOTATION);
    const events: ObjectEvent[] = isSkipped ? [FINALIZE_SKIPPED] : [];
    if (operator.finalize && finalizers.forHandler(object) && !isSkipped) {
      this.assertKnown("finalize", object, run, finalizers.forElsewhere(object));
      const answer = await this.asking.ask<FinalizeAnswer>("finalize", object, run, outcome);
      const news = newEventsIn(answer.events ?? [], generationOf(object), run.memory.told);
      events.push(...news.events);
      if (!answer.finalized) {
        outcome.verdict = { kind: "finalizing" };
        await run.timeline.step("status", () =>
          this.inDoubt.while(object.metadata, news, () =>
            this.remembering.unfinished(object, answer, news.told, run),
          ),
        );
        outcome.events.push(...events);
        againAfter((answer.requeueAfterSeconds ?? FINALIZE_AGAIN_MS / 1000) * 1000, run, outcome);
        return;
      }
    }
    if (finalizers.forElsewhere(object)) {
      const sweeping = () => this.sweep.deleteElsewhere(run.client, object, run.memory, report.changes);
      const left = await run.timeline.step("sweep", sweeping);
      if (left.length > 0 && !isSkipped) throw namespacesLeft(left, operator.namespaces);
      if (left.length > 0) events.push(childrenLeft(left));
    }
    await run.timeline.step("finalizer", () => finalizers.removeAll(run.client, object));
    // Until the watch shows that, another run would ask the handler once more.
    this.options.objects.invalidate(object.metadata);
    outcome.events.push(...events);
  }
}

function generationOf({ metadata: { generation = 1 } }: KubernetesObject): number {
  return generation;
}

function againAfter(ms: number, run: Run, outcome: Outcome): void {
  run.report.againAfterMs = ms;
  outcome.again = { kind: "done", againAfterMs: Math.max(SHORTEST_WAIT_MS, ms) };
}

function isElsewhere(object: KubernetesObject, { manifest }: DesiredChild): boolean {
  return !canReference(object, manifest.metadata.namespace);
}

function childrenLeft(namespaces: readonly string[]): ObjectEvent {
  const note = `children in ${whereIn(namespaces)} are left, as the annotation ${SKIP_FINALIZE_ANNOTATION} says: the operator has no rights there any more`;
  return { type: "Warning", reason: "FinalizeSkipped", note };
}

const FINALIZE_SKIPPED: ObjectEvent = {
  type: "Warning",
  reason: "FinalizeSkipped",
  note: `deleted without asking the handler, as the annotation ${SKIP_FINALIZE_ANNOTATION} says: what only the handler knows of is still there`,
};
