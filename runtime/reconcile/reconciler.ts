import type { ChildWriter } from "../children/childWriter";
import { type DesiredChild, desiredChildren } from "../children/desiredChildren";
import { Outages } from "../children/outages";
import { canReference } from "../children/ownership";
import type { Operator } from "../definition/definition";
import type { ReconcileFailure } from "../failure";
import type { ReconcileAnswer } from "../handler/contract";
import type { KubernetesObject, Manifest, ObjectName } from "../kubernetes/objects";
import { isListed, type Resource } from "../kubernetes/resource";
import type { Memory } from "../memory/memory";
import { wasCreated } from "../memory/rememberedChildren";
import { annotated, formerManagersOf, PAUSED_ANNOTATION } from "../names";
import type { StillListingError } from "../watch/scopes";
import { Asking, type AskingOptions } from "./asking";
import { Departures, type DeparturesOptions } from "./departures";
import { Draft } from "./draft";
import { consequenceOf } from "./errors";
import { deleteIfExpired } from "./expiry";
import { Finalization } from "./finalization";
import { Finalizers } from "./finalizers";
import { type Mandate, whyEnded } from "./mandate";
import { EventsInDoubt, newEventsIn } from "./newEvents";
import { ObjectChildren, type ObjectChildrenOptions } from "./objectChildren";
import { ObservedChildren, type ObservedChildrenOptions } from "./observedChildren";
import type { Outcome } from "./outcome";
import { Reconciliation } from "./reconciliation";
import { type Made, Remembering, type RememberingOptions } from "./remembering";
import { Scrubber } from "./scrubber";
import { Sweep } from "./sweep";
import { lastWriteOf, Timeline } from "./timeline";
import { type Timetable, timetableOf } from "./timetable";

/** What {@link Reconciler} works with. */
export interface ReconcilerOptions
  extends Omit<RememberingOptions, "isOurs">,
    Pick<AskingOptions, "pool" | "used" | "whyNot">,
    Pick<ObservedChildrenOptions, "isFollowed"> {
  readonly operator: Operator;
  /** The kinds of the declared children that the API serves. */
  readonly childResources: readonly Resource[];
  readonly writer: ChildWriter;
  /** Set if the objects are not ours, so that nothing may be written on them. */
  readonly departures?: DeparturesOptions | undefined;
  /** The clock of schedules, in milliseconds since 1970. @default Date.now */
  readonly now?: () => number;
  /** What the API server fails to answer about objects. @default none is known yet */
  readonly outages?: Outages;
  /** Why nobody knows whether the cluster serves a declared kind. @default that is known */
  readonly whyUnknown?: (
    kind: Pick<Resource, "apiVersion" | "kind">,
  ) => ReconcileFailure | StillListingError | undefined;
}

/** A handler's answer about an object. */
interface Asked {
  /** The object as the handler saw it. */
  readonly object: KubernetesObject;
  /** Its memory then. */
  readonly memory: Memory;
  readonly answer: ReconcileAnswer;
}

/**
 * Makes one object and its children as the handler wants them: takes the newest object, asks the handler, checks the whole
 * answer, and only then writes.
 *
 * Guarantees, each with a test in tests/integration:
 * - Nothing is applied of an answer that breaks the contract (engineFailures.test.ts).
 * - If `finalize` is declared, the finalizer is on the object before the handler is asked (hostile/leaks.test.ts).
 * - The handler is asked with all children or not at all, also when it finalizes (hostile/unlistedKinds.test.ts).
 * - The other finalizer is on the object before its first child that no owner reference can cover (engineFinalize.test.ts).
 * - No child is written for an object that is known to be gone or to be being deleted (hostile/orphanDeletion.test.ts).
 * - The handler's status fields and the engine's memory are written before the reconcile ends (engineStatus.test.ts).
 * - Outside of the namespaces that the operator lists, an object is finalized, and nothing else (hostile/namespaces.test.ts).
 * - Nothing is written on an object that we do not own, no finalizer either (engineWatch.test.ts).
 *
 * Assumption: one reconcile of an object at a time, by one leader.
 *
 * Caveat: if the API server refuses a part of an answer, the parts that were applied before stay.
 */
export class Reconciler {
  /** Undefined if the objects are not ours. */
  private readonly finalizers: Finalizers | undefined;
  private readonly departures: Departures | undefined;
  private readonly sweep: Sweep;
  private readonly observed: ObservedChildren;
  private readonly children: ObjectChildren;
  private readonly asking: Asking;
  private readonly remembering: Remembering;
  private readonly finalization: Finalization;
  private readonly scrubber = new Scrubber();
  private readonly inDoubt = new EventsInDoubt();
  private readonly outages: Outages;

  constructor(private readonly options: ReconcilerOptions) {
    const { operator, resource, childResources, children, writer } = options;
    this.sweep = new Sweep({ operator, childResources, store: children, writer });
    this.outages = options.outages ?? new Outages("ApiError");
    const { departures } = options;
    const isOurs = !departures;
    if (departures) this.departures = new Departures(departures, this.sweep);
    else this.finalizers = new Finalizers(resource, operator);
    this.remembering = new Remembering({ ...options, isOurs }, isOurs ? formerManagersOf(operator) : []);
    const remember: ObjectChildrenOptions["remember"] = (...what) => this.remembering.now(...what);
    this.children = new ObjectChildren({ children, writer, sweep: this.sweep, remember });
    this.observed = new ObservedChildren({ children, isFollowed: options.isFollowed });
    const { observed, scrubber } = this;
    this.asking = new Asking({ ...options, observed, scrubber, isOurs });
    const { finalizers, sweep, asking, remembering, inDoubt } = this;
    const parts = { finalizers, sweep, asking, remembering, inDoubt };
    this.finalization = new Finalization({ operator, objects: options.objects, ...parts });
  }

  private now(): number {
    return (this.options.now ?? Date.now)();
  }

  /** A text of a handler that is in no report, without the values of the Secrets that handlers were given. */
  masked(text: string): string {
    return this.scrubber.text(text);
  }

  /** An object is gone. Nothing is kept of it. If it is being reconciled, its last reconcile ends by itself. */
  forget(name: ObjectName): void {
    this.inDoubt.forget(name);
  }

  /** Reconciles one object. Never throws: every error is in the outcome. Reports nothing itself. */
  async reconcile(name: ObjectName, attempt: number, mandate: Mandate): Promise<Outcome> {
    const { operator, resource, objects } = this.options;
    const { scrubber } = this;
    const timeline = new Timeline();
    let writtenAt: number | undefined;
    const about = {
      operator: operator.name,
      kind: resource.kind,
      namespace: name.namespace,
      name: name.name,
    };
    const draft = new Draft({ ...about, attempt }, mandate);
    let reconciliation: Reconciliation | undefined;
    try {
      const object = await timeline.step("read", () => objects.readToReconcile(name));
      writtenAt = object && lastWriteOf(object);
      if (object) draft.note({ uid: object.metadata.uid, generation: object.metadata.generation });
      const clearUp = () => this.clearUp(name, object?.metadata.uid, mandate, draft);
      await timeline.step("sweep", clearUp, () => draft.changes.length > 0);
      if (!object) {
        this.forget(name);
        draft.skip("gone");
      } else {
        const memory = await this.options.memories.of(object);
        draft.events.push(...this.inDoubt.take(name, memory.told));
        const options = { resource, objects, scrubber, timeline, id: draft.report.id, attempt };
        reconciliation = new Reconciliation(object, mandate, options);
        await this.handle(object, memory, reconciliation, draft);
        this.outages.ended(object.metadata.uid);
      }
    } catch (error) {
      await this.fail(error, name, draft, mandate, reconciliation);
    }
    return scrubber.outcome(draft.outcome(timeline.timing(writtenAt)));
  }

  /**
   * Cleans up after objects that we do not own, had this name and are no longer watched. @param uid that of the name's object now
   */
  private async clearUp(
    name: ObjectName,
    uid: string | undefined,
    mandate: Mandate,
    draft: Draft,
  ): Promise<void> {
    const { departures } = this;
    if (!departures) return;
    const gone = await departures.goneOf(name, uid, mandate);
    for (const each of gone) {
      // If an object has the name now, the report is about that object.
      if (uid === undefined) draft.note({ uid: each });
      await departures.clearUp(name, each, mandate, draft.changes);
    }
    if (uid === undefined && draft.changes.length === 0) draft.note({ uid: undefined });
  }

  private async handle(
    object: KubernetesObject,
    memory: Memory,
    reconciliation: Reconciliation,
    draft: Draft,
  ): Promise<void> {
    const { namespace, deletionTimestamp } = object.metadata;
    if (annotated(object.metadata, PAUSED_ANNOTATION)) {
      draft.skip("paused");
    } else if (deletionTimestamp) {
      await this.finalization.finalize(object, memory, reconciliation, draft);
    } else if (!isListed(this.options.operator.namespaces, namespace)) {
      // We no longer own the object. When it is deleted, we only remove our finalizers.
      draft.skip("gone");
    } else if (await deleteIfExpired(object, reconciliation, this.options, this.now())) {
      draft.skip("gone");
    } else {
      await this.bringAbout(object, memory, reconciliation, draft);
    }
  }

  /** Puts the consequences of an error into the outcome. */
  private async fail(
    error: unknown,
    name: ObjectName,
    draft: Draft,
    mandate: Mandate,
    reconciliation: Reconciliation | undefined,
  ): Promise<void> {
    const { uid } = draft.report;
    const outage =
      reconciliation && uid !== undefined && !whyEnded(mandate)
        ? await this.outages.met(error, uid, reconciliation.probe)
        : undefined;
    const consequence = consequenceOf(whyEnded(mandate) ?? outage ?? error, name.namespace);
    const { report, again } = consequence;
    // A write may have been done although nobody was told.
    if (again.kind === "again" || report.skipped === "gone" || outage) this.options.objects.invalidate(name);
    // Nobody may ask about it again.
    if (report.skipped === "gone") this.forget(name);
    draft.fail(consequence);
  }

  /** Makes the object's children and status as its handler wants them. */
  private async bringAbout(
    object: KubernetesObject,
    known: Memory,
    reconciliation: Reconciliation,
    draft: Draft,
  ): Promise<void> {
    const timetable = timetableOf(this.options.operator, object, known, this.now());
    if (Number.isFinite(timetable.nextLook)) draft.nextLook = timetable.nextLook;
    const asked = await this.ask(object, known, timetable, reconciliation, draft);
    const made = await this.write(asked, reconciliation, draft);
    await this.remember(asked, made, timetable, reconciliation, draft);
  }

  /** Asks the handler about an object, which has its finalizer by then. */
  private async ask(
    object: KubernetesObject,
    known: Memory,
    timetable: Timetable,
    reconciliation: Reconciliation,
    draft: Draft,
  ): Promise<Asked> {
    const hasElsewhere = this.finalizers?.forElsewhere(object) ?? known.elsewhere === true;
    this.asking.assertPossible("reconcile", object, known, hasElsewhere);
    draft.events.push(...(this.finalizers?.warnings(object) ?? []));
    const held = await this.ensureFinalizers(object, reconciliation, false);
    const memory = await this.remembering.firstLook(reconciliation.client, held, known, timetable.before);
    const byHand = reconciliation.startedByHand.filter(
      ({ name }) => !timetable.due.some((each) => each.name === name),
    );
    const due = [...timetable.due, ...byHand];
    const subject = { event: "reconcile", object: held, state: memory.state, due } as const;
    const question = await this.asking.prepare<ReconcileAnswer>(subject, reconciliation);
    draft.prepared(question, due);
    return { object: held, memory, answer: draft.answered(await question.ask()) };
  }

  /** Writes the children of an answer, when the whole answer has been checked. */
  private async write(asked: Asked, reconciliation: Reconciliation, draft: Draft): Promise<Made> {
    const { operator, childResources } = this.options;
    const { object: held, memory, answer } = asked;
    await this.assertKnownKinds(answer.children, reconciliation);
    const desired = desiredChildren(answer.children, held, operator, childResources).map((child) => ({
      ...child,
      isCreated: wasCreated(memory, child),
    }));
    const hasFar = desired.some((child) => isElsewhere(held, child));
    const object = await this.ensureFinalizers(held, reconciliation, hasFar);
    const written = await this.children.write(object, desired, memory, reconciliation);
    draft.changes.push(...written.changes);
    const made = { object, answer, desired, progress: written.progress, before: written.memory };
    if (!written.failure) return made;
    await this.remembering.part(reconciliation.client, made);
    throw written.failure.error;
  }

  /** Judges the children, and writes what the object must remember, with the verdict. */
  private async remember(
    { object: { metadata }, memory, answer }: Asked,
    made: Made,
    timetable: Timetable,
    { client, timeline }: Reconciliation,
    draft: Draft,
  ): Promise<void> {
    const { verdict, ...found } = await this.observed.judge(made.object, made.progress);
    draft.note(found);
    // The verdict may be written with the handler's status, before the outcome is complete.
    const masked = this.scrubber.inside(verdict);
    draft.verdict = masked;
    if (answer.requeueAfterSeconds !== undefined) draft.againAfter(answer.requeueAfterSeconds * 1000);
    const news = newEventsIn(answer.events ?? [], metadata.generation ?? 1, memory.told);
    const all = { told: news.told, schedules: timetable.after };
    const write = async () => {
      const now = await this.remembering.all(client, made, all, masked, draft.report);
      if (now.metadata.resourceVersion !== made.object.metadata.resourceVersion)
        draft.note({ statusChanged: true });
      await this.remembering.releaseFormer(client, now);
    };
    await timeline.step("status", () => this.inDoubt.while(metadata, news, write));
    draft.events.push(...news.events);
  }

  /** Throws if nobody knows whether the cluster serves the kind of a child. */
  private async assertKnownKinds(
    children: readonly Manifest[],
    reconciliation: Reconciliation,
  ): Promise<void> {
    const problem = children
      .map((child) => this.options.whyUnknown?.(child))
      .find((each) => each !== undefined);
    if (!problem) return;
    // An API server that is busy does not answer for the object either. Then the kind is not at fault.
    await reconciliation.confirmOwner();
    throw problem;
  }

  private async ensureFinalizers(
    object: KubernetesObject,
    { client, timeline }: Reconciliation,
    elsewhere: boolean,
  ): Promise<KubernetesObject> {
    if (!this.finalizers) return object;
    const wanted = { handler: this.options.operator.finalize, elsewhere };
    const { finalizers } = this;
    const ensuring = () => finalizers.ensure(client, object, wanted);
    const current = await timeline.step("finalizer", ensuring, (ensured) => ensured !== object);
    if (current !== object) this.options.objects.learn(current);
    return current;
  }
}

function isElsewhere(object: KubernetesObject, { manifest }: DesiredChild): boolean {
  return !canReference(object, manifest.metadata.namespace);
}
