import type { ChildWriter } from "../children/childWriter";
import { Outages } from "../children/outages";
import type { Operator } from "../definition/definition";
import type { KubernetesClient } from "../kubernetes/client";
import { type KubernetesObject, keyOf, type ObjectName } from "../kubernetes/objects";
import { isListed } from "../kubernetes/resource";
import type { Memory } from "../memory/memory";
import { annotated, PAUSED_ANNOTATION } from "../names";
import { Asking, type AskingOptions } from "./asking";
import { Convergence, type ConvergenceOptions } from "./convergence";
import { Departures, type DeparturesOptions } from "./departures";
import { Draft } from "./draft";
import { consequenceOf, ObjectGoneError, WatchLateError } from "./errors";
import { deleteIfExpired, type ExpiryOptions } from "./expiry";
import { Finalization } from "./finalization";
import { Finalizers } from "./finalizers";
import { MemoryWriter, type MemoryWriterOptions } from "./memoryWriter";
import { UnconfirmedEvents } from "./newEvents";
import { ObservedChildren, type ObservedChildrenOptions } from "./observedChildren";
import type { Outcome } from "./outcome";
import { type ReconcileContext, Reconciliation, whyEnded } from "./reconciliation";
import { Scrubber } from "./scrubber";
import { Sweep } from "./sweep";
import { lastWriteOf, Timeline } from "./timeline";
import type { WritingOptions } from "./writeChildren";

/** What {@link Reconciler} works with. */
export interface ReconcilerOptions
  extends Omit<MemoryWriterOptions, "isOurs">,
    Pick<AskingOptions, "pool" | "used" | "whyNot">,
    Pick<ObservedChildrenOptions, "isFollowed">,
    Pick<ConvergenceOptions, "childResources" | "whyUnknown">,
    Pick<ExpiryOptions, "machineNow"> {
  readonly operator: Operator;
  readonly writer: ChildWriter;
  /** The clock of schedules, in milliseconds since 1970. @default Date.now */
  readonly now?: () => number;
  /** What the API server fails to answer about objects. @default none is known yet */
  readonly outages?: Outages;
  /** Set if the objects are not ours, so that nothing may be written on them. */
  readonly departures?: DeparturesOptions | undefined;
}

/**
 * Makes one object and its children as the handler wants them: takes the newest object, asks the handler, checks the whole
 * answer, and only then writes. This class says what is done for an object: {@link Convergence}, {@link Finalization} or nothing.
 * It also says what becomes of an error.
 *
 * Guarantees, each with a test in tests/integration:
 * - Nothing is applied of an answer that breaks the contract (engineFailures.test.ts).
 * - If `finalize` is declared, the finalizer is on the object before the handler is asked (hostile/leaks.test.ts).
 * - The handler is asked with all children or not at all, also when it finalizes (hostile/unlistedKinds.test.ts).
 * - The other finalizer is on the object before its first child that no owner reference can cover (engineFinalize.test.ts), and comes
 *   back as long as there is one (hostile/lostMarks.test.ts).
 * - If somebody empties the engine's memory in the status, it is written back (hostile/emptiedStatus.test.ts).
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
  /** Undefined if the objects are ours. */
  private readonly departures: Departures | undefined;
  private readonly convergence: Convergence;
  private readonly finalization: Finalization;
  private readonly scrubber = new Scrubber();
  private readonly unconfirmed = new UnconfirmedEvents();
  private readonly outages: Outages;

  constructor(private readonly options: ReconcilerOptions) {
    const { operator, resource, objects, childResources, children, writer, departures } = options;
    const { scrubber, unconfirmed } = this;
    const { now = () => Date.now() } = options;
    this.outages = options.outages ?? new Outages("ApiError");
    const isOurs = !departures;
    const sweep = new Sweep({ operator, childResources, children, writer });
    const finalizers = isOurs ? new Finalizers(resource, operator) : undefined;
    const memoryWriter = new MemoryWriter({ ...options, isOurs });
    const remember: WritingOptions["remember"] = (...what) => memoryWriter.write(...what);
    const known = { children, isFollowed: options.isFollowed };
    const writing = { ...known, writer, sweep, remember };
    const observed = new ObservedChildren(known);
    const asking = new Asking({ ...options, observed, scrubber, isOurs });
    const parts = { finalizers, asking, memoryWriter, unconfirmed };
    this.departures = departures && new Departures(departures, sweep);
    this.convergence = new Convergence({ ...options, ...parts, writing, observed, scrubber, now });
    this.finalization = new Finalization({ operator, objects, children, sweep, ...parts });
  }

  /** A text of a handler that is in no report, without the values of the Secrets that handlers were given. */
  masked(text: string): string {
    return this.scrubber.text(text);
  }

  /** An object is gone. Nothing is kept of it. If it is being reconciled, its last reconcile ends by itself. */
  forget(name: ObjectName): void {
    this.unconfirmed.forget(name);
    this.outages.ended(keyOf(name));
  }

  /** Reconciles one object. Never throws: every error is in the outcome. Reports nothing itself. */
  async reconcile(name: ObjectName, attempt: number, context: ReconcileContext): Promise<Outcome> {
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
    const draft = new Draft({ ...about, attempt }, context);
    /** Undefined as long as the object has not even been read. */
    let client: KubernetesClient | undefined;
    try {
      const object = await timeline.step("read", () => objects.readToReconcile(name));
      client = context.client.with({ class: "work", fence: context.fence });
      writtenAt = object && lastWriteOf(object);
      if (object) draft.note({ uid: object.metadata.uid, generation: object.metadata.generation });
      const clearUp = async () => this.departures?.clearUp(name, object?.metadata.uid, context, draft);
      await timeline.step("sweep", clearUp, () => draft.changes.length > 0);
      if (!object) throw new ObjectGoneError();
      const memory = await this.options.memories.of(object);
      draft.events.push(...this.unconfirmed.take(name, memory.reportedEvents));
      const options = { resource, objects, scrubber, timeline, id: draft.report.id, attempt };
      const reconciliation = new Reconciliation(object, context, options);
      client = reconciliation.client;
      await this.handle(object, memory, reconciliation, draft);
      this.outages.ended(keyOf(name));
    } catch (error) {
      await this.fail(error, name, draft, context, client);
    }
    return scrubber.outcome(draft.outcome(timeline.timing(writtenAt)));
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
    } else if (await deleteIfExpired(object, reconciliation, this.options)) {
      draft.skip("gone");
    } else {
      await this.convergence.converge(object, memory, reconciliation, draft);
    }
  }

  /** Puts the consequences of an error into the outcome. */
  private async fail(
    error: unknown,
    name: ObjectName,
    draft: Draft,
    context: ReconcileContext,
    client: KubernetesClient | undefined,
  ): Promise<void> {
    const { objects } = this.options;
    const outage = whyEnded(context) ? undefined : await this.outageOf(error, name, client);
    const late = error instanceof ObjectGoneError && objects.isShown(name) ? new WatchLateError() : undefined;
    const consequence = consequenceOf(whyEnded(context) ?? outage ?? late ?? error, name.namespace);
    const { report, again } = consequence;
    // If the answer to a write was lost, the write may still have been done.
    if (again.kind === "again" || report.skipped === "gone" || outage) objects.invalidate(name);
    // Perhaps no later reconcile comes for this object, so forget it now.
    if (report.skipped === "gone") this.forget(name);
    draft.fail(consequence);
  }

  /** What {@link Outages.met} says of an error. */
  private outageOf(error: unknown, name: ObjectName, client: KubernetesClient | undefined) {
    const key = keyOf(name);
    if (client) {
      // The API server answers for the object, whatever it answers.
      const confirmOwner = async () => void (await client.get(this.options.resource, name));
      return this.outages.met(error, key, { confirmOwner, masked: (text) => this.masked(text) });
    }
    // Not even the object was read: what failed before failed because the API server was away.
    this.outages.ended(key);
    return undefined;
  }
}
