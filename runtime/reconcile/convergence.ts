import { type DesiredChild, desiredChildren } from "../children/desiredChildren";
import type { Operator } from "../definition/definition";
import type { ReconcileAnswer } from "../handler/contract";
import type { KubernetesObject, Manifest } from "../kubernetes/objects";
import type { Resource } from "../kubernetes/resource";
import { isSameMemory, type Memory } from "../memory/memory";
import { wasCreated, withReady } from "../memory/rememberedChildren";
import type { KnownObjects } from "../watch/customResources";
import type { Asking } from "./asking";
import type { Completeness } from "./completeness";
import type { Draft } from "./draft";
import { hasElsewhere } from "./elsewhere";
import type { Finalizers } from "./finalizers";
import type { Made, MemoryWriter } from "./memoryWriter";
import { newEventsIn, type UnconfirmedEvents } from "./newEvents";
import type { Judgement, ObservedChildren } from "./observedChildren";
import type { Reconciliation } from "./reconciliation";
import type { Scrubber } from "./scrubber";
import { type Timetable, timetableOf } from "./timetable";
import { type WritingOptions, writeChildren } from "./writeChildren";

/** What {@link Convergence} works with. */
export interface ConvergenceOptions {
  readonly operator: Operator;
  /** The kinds of the declared children that the API serves. */
  readonly childResources: readonly Resource[];
  readonly objects: Pick<KnownObjects, "learn">;
  /** Undefined if the objects are not ours. */
  readonly finalizers: Finalizers | undefined;
  readonly observed: ObservedChildren;
  readonly writing: WritingOptions;
  readonly asking: Asking;
  readonly memoryWriter: MemoryWriter;
  readonly scrubber: Scrubber;
  readonly unconfirmed: UnconfirmedEvents;
  /** Why nobody knows whether the cluster serves a declared kind. Undefined if that is known. */
  readonly whyUnknown: Completeness["whyUnknown"];
  /** The clock of schedules, in milliseconds since 1970. */
  readonly now: () => number;
}

/** A handler's answer about an object. */
interface Asked {
  /** What was due then. */
  readonly timetable: Timetable;
  /** The object as the handler saw it. */
  readonly object: KubernetesObject;
  /** Its memory then. */
  readonly memory: Memory;
  readonly answer: ReconcileAnswer;
}

/**
 * What is done for an object that is not being deleted: its handler is asked, its children and its status become as the handler
 * answered, and what the next reconcile must know is remembered.
 */
export class Convergence {
  constructor(private readonly options: ConvergenceOptions) {}

  /** Makes the object's children and status as its handler wants them. */
  async converge(
    object: KubernetesObject,
    known: Memory,
    reconciliation: Reconciliation,
    draft: Draft,
  ): Promise<void> {
    const asked = await this.ask(object, known, reconciliation, draft);
    const { made, judgement } = await this.write(asked, reconciliation, draft);
    await this.remember(asked, made, judgement, reconciliation, draft);
  }

  /** Asks the handler about an object, which has its finalizer by then. */
  private async ask(
    object: KubernetesObject,
    known: Memory,
    reconciliation: Reconciliation,
    draft: Draft,
  ): Promise<Asked> {
    const { operator, finalizers, asking, memoryWriter, writing, now } = this.options;
    const timetable = timetableOf(operator, object, known, now());
    if (Number.isFinite(timetable.nextLook)) draft.nextLook = timetable.nextLook;
    const isElsewhere =
      finalizers?.forElsewhere(object) ||
      hasElsewhere(object, known, writing.children.of(object.metadata.uid));
    asking.assertPossible("reconcile", object, known, isElsewhere);
    draft.events.push(...(finalizers?.warnings(object) ?? []));
    const held = await this.ensureFinalizers(object, reconciliation, isElsewhere);
    const memory = await memoryWriter.writeFirstLook(reconciliation.client, held, known, timetable.before);
    const byHand = reconciliation.startedByHand.filter(
      ({ name }) => !timetable.due.some((each) => each.name === name),
    );
    const due = [...timetable.due, ...byHand];
    const subject = { event: "reconcile", object: held, state: memory.state, due } as const;
    const question = await asking.prepare<ReconcileAnswer>(subject, reconciliation);
    draft.prepared(question, due);
    return { timetable, object: held, memory, answer: draft.answered(await question.ask()) };
  }

  /** Writes the children of an answer, when the whole answer has been checked, and judges them. */
  private async write(
    asked: Asked,
    reconciliation: Reconciliation,
    draft: Draft,
  ): Promise<{ readonly made: Made; readonly judgement: Judgement }> {
    const { operator, childResources, observed, writing, memoryWriter } = this.options;
    const { object: held, answer } = asked;
    await this.assertKnownKinds(answer.children, reconciliation);
    const answered = desiredChildren(answer.children, held, operator, childResources);
    const memory = await this.rememberGone(asked, answered, reconciliation);
    const desired = answered.map((child) => ({ ...child, isCreated: wasCreated(memory, child) }));
    const wanted = desired.map(({ manifest }) => manifest.metadata);
    const object = await this.ensureFinalizers(held, reconciliation, hasElsewhere(held, memory, wanted));
    const written = await writeChildren(writing, object, desired, memory, reconciliation);
    draft.changes.push(...written.changes);
    for (const { reason, message } of written.progress.left?.values() ?? [])
      draft.events.push({ type: "Warning", reason, note: message });
    const made = { object, answer, desired, progress: written.progress, before: written.memory };
    try {
      if (written.failure) throw written.failure.error;
      return { made, judgement: await observed.judge(object, written.progress) };
    } catch (error) {
      await memoryWriter.writePart(reconciliation.client, made);
      throw error;
    }
  }

  /** Writes what the object must remember, with the verdict on its children. */
  private async remember(
    { timetable, object: { metadata }, memory, answer }: Asked,
    made: Made,
    { verdict, ...found }: Judgement,
    { client, timeline }: Reconciliation,
    draft: Draft,
  ): Promise<void> {
    const { scrubber, memoryWriter, unconfirmed } = this.options;
    draft.note(found);
    // The verdict may be written with the handler's status, before the outcome is complete.
    const masked = scrubber.said(verdict);
    draft.verdict = masked;
    if (answer.requeueAfterSeconds !== undefined) draft.againAfter(answer.requeueAfterSeconds * 1000);
    const news = newEventsIn(answer.events ?? [], metadata.generation ?? 1, memory.reportedEvents);
    const all = { reportedEvents: news.fingerprints, schedules: timetable.after };
    const write = async () => {
      const now = await memoryWriter.writeAfter(client, made, all, masked, draft.report);
      if (now.metadata.resourceVersion !== made.object.metadata.resourceVersion)
        draft.note({ statusChanged: true });
      await memoryWriter.releaseFormer(client, now);
    };
    await timeline.step("status", () => unconfirmed.while(metadata, news, write));
    draft.events.push(...news.events);
  }

  /** Remembers which of the answered children were ready when they went. @returns the object's memory then */
  private async rememberGone(
    { object, memory }: Asked,
    answered: readonly DesiredChild[],
    { client }: Reconciliation,
  ): Promise<Memory> {
    const { memoryWriter, writing } = this.options;
    const gone = writing.children.readyWhenGone(answered, object.metadata.uid);
    if (gone.length === 0) return memory;
    const known = withReady(memory, gone);
    if (!isSameMemory(known, memory)) await memoryWriter.write(client, object, known);
    writing.children.forgetGone(gone);
    return known;
  }

  /** Throws if nobody knows whether the cluster serves the kind of a child. */
  private async assertKnownKinds(
    children: readonly Manifest[],
    reconciliation: Reconciliation,
  ): Promise<void> {
    const problem = children
      .map((child) => this.options.whyUnknown(child))
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
    const { finalizers, operator, objects } = this.options;
    if (!finalizers) return object;
    const wanted = { handler: operator.finalize, elsewhere };
    const ensuring = () => finalizers.ensure(client, object, wanted);
    const current = await timeline.step("finalizer", ensuring, (ensured) => ensured !== object);
    if (current !== object) objects.learn(current);
    return current;
  }
}
