// What is done for an object that is being deleted.
import { annotated, SKIP_FINALIZE_ANNOTATION } from "../base/names";
import type { KubernetesObject } from "../base/objects";
import type { FinalizeAnswer } from "../handler/contract";
import { hasElsewhere } from "../observe/ownership";
import type { Memory } from "../remember/memory";
import { unlessTheyMayStay } from "../write/refusals";
import { ask, gather } from "./ask";
import { rememberUnfinished } from "./remember";
import { newEventsIn, type ObjectEvent } from "./report";
import type { Parts, Run } from "./run";

/** When a handler that has not finished finalizing is asked again, in seconds, unless it says when. */
const FINALIZE_AGAIN_SECONDS = 5;

/**
 * What is done for an object that is being deleted: its handler is asked to finalize, children that no owner reference covers are
 * deleted, and then our finalizers are removed.
 */
export async function finalize(
  parts: Parts,
  run: Run,
  object: KubernetesObject,
  memory: Memory,
): Promise<void> {
  const { operator, objects, children, finalizers } = parts;
  const { uid } = object.metadata;
  run.note({ event: "finalize" });
  if (!finalizers?.hold(object)) return run.skip("gone");
  const isElsewhere = finalizers.forElsewhere(object) || hasElsewhere(object, memory, children.of(uid));
  const isSkipped = annotated(object.metadata, SKIP_FINALIZE_ANNOTATION);
  const events: ObjectEvent[] = isSkipped ? [skipped(FINALIZE_SKIPPED)] : [];
  if (operator.finalize && finalizers.forHandler(object) && !isSkipped) {
    const refused = parts.whyNot("finalize", object, memory, isElsewhere);
    if (refused) throw refused;
    const news = await askToFinalize(parts, run, object, memory);
    if (!news) return;
    events.push(...news);
  }
  const left = isElsewhere ? await deleteElsewhere(parts, run, object, memory, isSkipped) : undefined;
  if (left !== undefined) events.push(left);
  await run.timeline.step("finalizer", () => finalizers.removeAll(run.client, object));
  if (left === undefined) children.emptied(uid);
  // Until the watch shows this, another reconcile would ask the handler again.
  objects.invalidate(object.metadata);
  run.events.push(...events);
}

/**
 * Asks the handler. If the handler has not finished, its answer is remembered, and the object is due again.
 * @returns the new Events in its answer, to be reported when the object goes. Undefined: the handler has not finished
 */
async function askToFinalize(
  parts: Parts,
  run: Run,
  object: KubernetesObject,
  memory: Memory,
): Promise<readonly ObjectEvent[] | undefined> {
  const subject = { event: "finalize", object, state: memory.state } as const;
  const answer = await ask<FinalizeAnswer>(parts, run, await gather(parts, subject));
  const news = newEventsIn(answer.events ?? [], object.metadata.generation ?? 1, memory.reportedEvents);
  if (answer.finalized) return news.events;
  run.verdict = { kind: "finalizing" };
  const againAfterMs = (answer.requeueAfterSeconds ?? FINALIZE_AGAIN_SECONDS) * 1000;
  const writing = () =>
    rememberUnfinished(parts, run, object, answer, memory, news.fingerprints, againAfterMs);
  await run.timeline.step("status", () => parts.unconfirmed.while(run.name, news, writing));
  run.events.push(...news.events);
  run.againAfter(againAfterMs);
  return undefined;
}

/**
 * Deletes the children that no owner reference covers.
 * @param mayStay whether the object goes even if children are left
 * @returns a warning about children that are left
 * @throws ReconcileFailure if children are left that may not stay
 */
async function deleteElsewhere(
  parts: Parts,
  { client, timeline, changes }: Run,
  object: KubernetesObject,
  memory: Memory,
  mayStay: boolean,
): Promise<ObjectEvent | undefined> {
  const { sweep } = parts;
  // If the server of a kind is away, its list fails as if the API server were busy, and the object would not say why it waits.
  const listed = { ...memory, kinds: sweep.listed(memory.kinds) };
  const refused = mayStay ? undefined : parts.whyNot("finalize", object, listed, true);
  if (refused) throw refused;
  const left = await timeline.step("sweep", () => sweep.deleteElsewhere(client, object, memory, changes));
  if (left && !mayStay) throw unlessTheyMayStay(left);
  return (
    left && skipped(`children are left, as the annotation ${SKIP_FINALIZE_ANNOTATION} says: ${left.message}`)
  );
}

function skipped(note: string): ObjectEvent {
  return { type: "Warning", reason: "FinalizeSkipped", note };
}

const FINALIZE_SKIPPED = `deleted without asking the handler, as the annotation ${SKIP_FINALIZE_ANNOTATION} says: things that only the handler knows still exist`;
