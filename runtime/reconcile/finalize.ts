// What is done for an object that is being deleted.
import { annotated, SKIP_FINALIZE_ANNOTATION } from "../base/names";
import type { KubernetesObject } from "../base/objects";
import type { FinalizeAnswer } from "../handler/contract";
import { hasElsewhere } from "../observe/ownership";
import type { Memory } from "../remember/memory";
import { areOrdered, heldUp } from "../write/deletionOrder";
import { unlessTheyMayStay } from "../write/refusals";
import { ask, gather } from "./ask";
import { rememberUnfinished } from "./remember";
import { newEventsIn, type ObjectEvent } from "./report";
import type { Parts, Run } from "./run";

/** When a handler that has not finished finalizing is asked again, in seconds, unless it says when. */
const FINALIZE_AGAIN_SECONDS = 5;

/**
 * What is done for an object that is being deleted: its handler is asked to finalize, the children that go in an order go, children
 * that no owner reference covers are deleted, and then our finalizers are removed.
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
  if (!finalizers?.areOn(object)) return run.skip("gone");
  let current = object;
  const isElsewhere = finalizers.areOn(object, "elsewhere") || hasElsewhere(object, memory, children.of(uid));
  const isSkipped = annotated(object.metadata, SKIP_FINALIZE_ANNOTATION);
  const events: ObjectEvent[] = isSkipped ? [skipped(FINALIZE_SKIPPED)] : [];
  if (operator.finalize && finalizers.areOn(object, "handler") && !isSkipped) {
    const refused = parts.whyNot("finalize", object, memory, isElsewhere);
    if (refused) throw refused;
    const news = await askToFinalize(parts, run, object, memory);
    if (!news) return;
    events.push(...news);
  }
  if (!isSkipped && areOrdered(children.of(uid))) {
    const refused = parts.whyNot("finalize", object, memory, isElsewhere);
    if (refused) throw refused;
    // The children may take long to go, and the handler has finished.
    if (finalizers.areOn(object, "order")) {
      const removing = () => finalizers.removeFrom(run.client, object, "handler");
      current = await run.timeline.step("finalizer", removing);
      if (current !== object) objects.learn(current);
    }
    if (await waitsForChildren(parts, run, current)) return void run.events.push(...events);
  }
  const left = isElsewhere ? await deleteElsewhere(parts, run, object, memory, isSkipped) : undefined;
  if (left !== undefined) events.push(left);
  await run.timeline.step("finalizer", () => finalizers.removeFrom(run.client, current));
  if (left === undefined) children.emptied(uid);
  // Until the watch shows this, another reconcile would ask the handler again.
  objects.invalidate(object.metadata);
  run.events.push(...events);
}

/**
 * Deletes the children that follow others, as far as nothing is left that follows them.
 * @returns whether some still exist. Then the object says which, and what holds them
 */
async function waitsForChildren(parts: Parts, run: Run, object: KubernetesObject): Promise<boolean> {
  const { sweep, children, isFollowed } = parts;
  const deleting = () => sweep.deleteInOrder(run.client, object, isFollowed, run.changes);
  const there = await run.timeline.step("sweep", deleting, (left) => left.length > 0);
  if (there.length === 0) return false;
  const waiting = heldUp(there);
  const reasons: string[] = [];
  for (const child of there.filter((each) => !waiting.includes(each))) {
    const state = await children.readChild(child);
    const why = (state && children.whyNotReady(state)) ?? "is not gone yet";
    reasons.push(`${child.resource.kind} ${child.name} ${why}`);
  }
  const names = waiting.map(({ resource, name }) => `${resource.kind} ${name}`);
  if (names.length > 0) reasons.push(`then ${names.join(", ")}`);
  run.verdict = { kind: "finalizing", message: `children go in order: ${reasons.join("; ")}` };
  const all = children.of(object.metadata.uid);
  const unready = all.filter(({ facts }) => !facts.isReady).length;
  run.note({
    ...{ ready: false, waits: true, unready },
    children: { ready: all.length - unready, total: all.length },
  });
  return true;
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
  run.events.push(...news.events);
  await run.timeline.step("status", writing);
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
  // The list of a kind whose server is away fails as with a busy API server. Then the object would not say why it waits.
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
