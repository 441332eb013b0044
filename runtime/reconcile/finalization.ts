import type { ChildStore } from "../children/childStore";
import type { Operator } from "../definition/definition";
import type { ReconcileFailure } from "../failure";
import type { FinalizeAnswer } from "../handler/contract";
import type { KubernetesObject } from "../kubernetes/objects";
import type { Memory } from "../memory/memory";
import { annotated, SKIP_FINALIZE_ANNOTATION } from "../names";
import type { KnownObjects } from "../watch/customResources";
import type { Asking } from "./asking";
import type { Draft } from "./draft";
import { hasElsewhere } from "./elsewhere";
import type { Finalizers } from "./finalizers";
import { unlessTheyMayStay } from "./leftBehind";
import type { MemoryWriter } from "./memoryWriter";
import { newEventsIn, type UnconfirmedEvents } from "./newEvents";
import type { ObjectEvent } from "./outcome";
import type { Reconciliation } from "./reconciliation";
import type { Sweep } from "./sweep";

/** What {@link Finalization} works with. */
export interface FinalizationOptions {
  readonly operator: Operator;
  readonly objects: Pick<KnownObjects, "invalidate">;
  readonly children: Pick<ChildStore, "of">;
  /** Undefined if the objects are not ours. */
  readonly finalizers: Finalizers | undefined;
  readonly sweep: Sweep;
  readonly asking: Asking;
  readonly memoryWriter: MemoryWriter;
  readonly unconfirmed: UnconfirmedEvents;
}

/** When a handler that has not finished finalizing is asked again, in seconds, unless it says when. */
const FINALIZE_AGAIN_SECONDS = 5;

/**
 * What is done for an object that is being deleted: its handler is asked to finalize, children that no owner reference covers are
 * deleted, and then our finalizers are removed.
 */
export class Finalization {
  constructor(private readonly options: FinalizationOptions) {}

  /** Finalizes an object. */
  async finalize(
    object: KubernetesObject,
    memory: Memory,
    reconciliation: Reconciliation,
    draft: Draft,
  ): Promise<void> {
    const { operator, objects, children, finalizers } = this.options;
    const { client, timeline } = reconciliation;
    draft.note({ event: "finalize" });
    if (!finalizers?.hold(object)) return draft.skip("gone");
    const isElsewhere =
      finalizers.forElsewhere(object) || hasElsewhere(object, memory, children.of(object.metadata.uid));
    const isSkipped = annotated(object.metadata, SKIP_FINALIZE_ANNOTATION);
    const events: ObjectEvent[] = isSkipped ? [FINALIZE_SKIPPED] : [];
    if (operator.finalize && finalizers.forHandler(object) && !isSkipped) {
      this.options.asking.assertPossible("finalize", object, memory, isElsewhere);
      const news = await this.ask(object, memory, reconciliation, draft);
      if (!news) return;
      events.push(...news);
    }
    if (isElsewhere) events.push(...(await this.sweep(object, memory, isSkipped, reconciliation, draft)));
    await timeline.step("finalizer", () => finalizers.removeAll(client, object));
    // Until the watch shows this, another reconcile would ask the handler again.
    objects.invalidate(object.metadata);
    draft.events.push(...events);
  }

  /**
   * Asks the handler. If the handler has not finished, its answer is remembered, and the object is due again.
   * @returns the new Events in its answer, to be reported when the object goes. Undefined: the handler has not finished
   */
  private async ask(
    object: KubernetesObject,
    memory: Memory,
    reconciliation: Reconciliation,
    draft: Draft,
  ): Promise<readonly ObjectEvent[] | undefined> {
    const { asking, memoryWriter, unconfirmed } = this.options;
    const { client, timeline } = reconciliation;
    const subject = { event: "finalize", object, state: memory.state } as const;
    const question = await asking.prepare<FinalizeAnswer>(subject, reconciliation);
    draft.prepared(question);
    const answer = draft.answered(await question.ask());
    const { generation = 1 } = object.metadata;
    const news = newEventsIn(answer.events ?? [], generation, memory.reportedEvents);
    if (answer.finalized) return news.events;
    draft.verdict = { kind: "finalizing" };
    const remember = () => memoryWriter.writeUnfinished(client, object, answer, memory, news.fingerprints);
    await timeline.step("status", () => unconfirmed.while(object.metadata, news, remember));
    draft.events.push(...news.events);
    draft.againAfter((answer.requeueAfterSeconds ?? FINALIZE_AGAIN_SECONDS) * 1000);
    return undefined;
  }

  /**
   * Deletes the children that no owner reference covers.
   * @param mayStay whether the object goes even if children are left
   * @returns a warning about children that are left
   * @throws ReconcileFailure if children are left that may not stay
   */
  private async sweep(
    object: KubernetesObject,
    memory: Memory,
    mayStay: boolean,
    { client, timeline }: Reconciliation,
    draft: Draft,
  ): Promise<ObjectEvent[]> {
    const { asking, sweep } = this.options;
    // If the server of a kind is away, its list fails as if the API server were busy, and the object would not say why it waits.
    const listed = { ...memory, kinds: sweep.listed(memory.kinds) };
    if (!mayStay) asking.assertPossible("finalize", object, listed, true);
    const left = await timeline.step("sweep", () =>
      sweep.deleteElsewhere(client, object, memory, draft.changes),
    );
    if (left && !mayStay) throw unlessTheyMayStay(left);
    return left ? [childrenLeft(left)] : [];
  }
}

function childrenLeft({ message }: ReconcileFailure): ObjectEvent {
  const note = `children are left, as the annotation ${SKIP_FINALIZE_ANNOTATION} says: ${message}`;
  return { type: "Warning", reason: "FinalizeSkipped", note };
}

const FINALIZE_SKIPPED: ObjectEvent = {
  type: "Warning",
  reason: "FinalizeSkipped",
  note: `deleted without asking the handler, as the annotation ${SKIP_FINALIZE_ANNOTATION} says: things that only the handler knows still exist`,
};
