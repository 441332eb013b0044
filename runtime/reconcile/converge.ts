// What is done for an object that is to exist: the steps, in order.
import { formerManagersOf } from "../base/names";
import type { KubernetesObject } from "../base/objects";
import type { ReconcileAnswer } from "../handler/contract";
import { readInParts } from "../kubernetes/list";
import type { ChildStore } from "../observe/childStore";
import { canReference, hasElsewhere } from "../observe/ownership";
import type { Verdict } from "../remember/composeStatus";
import { isSameMemory, type Memory } from "../remember/memory";
import { releaseFormer } from "../write/childSender";
import { areOrdered } from "../write/deletionOrder";
import { childKey, type DesiredChild, desiredChildren, shortName } from "../write/desiredChildren";
import { ask, gather } from "./ask";
import { digestIfWhole, digestThatStands, needNotBeAsked } from "./askOnce";
import { timetableOf } from "./due";
import {
  type Made,
  type Progress,
  remember,
  rememberFirstLook,
  rememberMade,
  rememberPart,
  wasCreated,
  withReady,
} from "./remember";
import { type ChildrenFound, newEventsIn } from "./report";
import { withheldDeletion } from "./rolloutGate";
import type { Parts, Run } from "./run";
import { writeChildren } from "./writeChildren";

/**
 * What is done for an object that is not being deleted: its handler is asked, its children and its status become as the handler
 * answered, and what the next reconcile must know is remembered.
 */
export async function converge(
  parts: Parts,
  run: Run,
  object: KubernetesObject,
  known: Memory,
): Promise<void> {
  const { operator, children, now = Date.now } = parts;
  const { uid, creationTimestamp } = object.metadata;
  const from = now();
  const timetable = timetableOf(operator.schedules, known.schedules, { now: from, uid, creationTimestamp });
  run.dueAfter(timetable.nextLook - from);
  const finalizers = object.metadata.finalizers && parts.finalizers;
  const isElsewhere = finalizers?.areOn(object, "elsewhere") || hasElsewhere(object, known, children.of(uid));
  const refused = parts.whyNot("reconcile", object, known, isElsewhere);
  if (refused) throw refused;
  if (finalizers) run.events.push(...finalizers.warnings(object));
  const isInOrder = areOrdered(children.of(uid));
  const held = await ensureFinalizers(parts, run, object, isElsewhere, isInOrder);
  const memory = await rememberFirstLook(parts, run, held, known, timetable.before);
  const byHand = (run.context.startedByHand ?? []).filter(
    ({ name }) => !timetable.due.some((each) => each.name === name),
  );
  const due = [...timetable.due, ...byHand];
  const gathered = await gather(parts, { event: "reconcile", object: held, state: memory.state, due });
  const asked = parts.standing && digestIfWhole(parts, gathered);
  if (asked !== undefined && needNotBeAsked(parts, run, held, memory, asked)) return run.skip("unchanged");
  const answer = await ask<ReconcileAnswer>(parts, run, gathered);
  const made = await write(parts, run, held, { isElsewhere, isInOrder }, memory, answer);
  if (asked !== undefined) run.digest = await digestThatStands(parts, run, made, asked);
  await conclude(parts, run, made, { schedules: timetable.after, reportedEvents: memory.reportedEvents });
}

/** Writes the children of an answer, when the whole answer has been checked. */
async function write(
  parts: Parts,
  run: Run,
  held: KubernetesObject,
  { isElsewhere, isInOrder }: { readonly isElsewhere: boolean; readonly isInOrder: boolean },
  before: Memory,
  answer: ReconcileAnswer,
): Promise<Made> {
  for (const child of answer.children) {
    const problem = parts.whyUnknown(child);
    if (!problem) continue;
    // It is not known whether the cluster serves this kind. A busy API server does not answer for the object either, and then the
    // kind is not at fault.
    await run.confirmOwner();
    throw problem;
  }
  const answered = desiredChildren(answer.children, held, parts.operator, parts.childResources);
  const { uid } = held.metadata;
  const withheld =
    parts.rollout?.withholds(uid) && withheldDeletion(parts.children.of(uid), answered, parts.operator);
  if (withheld) throw withheld;
  const memory = await rememberGone(parts, run, held, before, answered);
  const desired = answered.map((child) => ({ ...child, isCreated: wasCreated(memory, child) }));
  const isFar = desired.some(({ manifest }) => !canReference(held, manifest.metadata.namespace));
  const follows = desired.some(({ after = [] }) => after.length > 0);
  const isHeld = (isElsewhere || !isFar) && (isInOrder || !follows);
  const object = isHeld ? held : await ensureFinalizers(parts, run, held, isElsewhere || isFar, follows);
  const writing = { ...parts, remember: (kept: Memory) => remember(parts, run, object, kept) };
  const written = await writeChildren(writing, object, desired, memory, run);
  run.changes.push(...written.changes);
  for (const { reason, message } of written.progress.left?.values() ?? [])
    run.events.push({ type: "Warning", reason, note: message });
  const made = { object, answer, desired, progress: written.progress, before: written.memory };
  if (!written.failure) return made;
  await rememberPart(parts, run, made);
  throw written.failure.error;
}

/** Judges the children, and writes what the object must remember together with the verdict. */
async function conclude(
  parts: Parts,
  run: Run,
  made: Made,
  { schedules, reportedEvents }: Partial<Memory>,
): Promise<void> {
  const { scrubber, operator, resource, objects, others } = parts;
  const { answer, object, progress } = made;
  const { verdict, ...found } = await judge(parts.children, object, progress).catch(
    async (error: unknown) => {
      await rememberPart(parts, run, made);
      throw error;
    },
  );
  run.note(found);
  // The verdict may be written with the handler's status, before the outcome is complete.
  run.verdict = scrubber.said(verdict);
  const masked = run.verdict;
  if (answer.requeueAfterSeconds !== undefined) run.againAfter(answer.requeueAfterSeconds * 1000);
  const news = newEventsIn(answer.events ?? [], object.metadata.generation ?? 1, reportedEvents);
  run.events.push(...news.events);
  await run.timeline.step("status", async () => {
    const all = { reportedEvents: news.fingerprints, schedules };
    const now = await rememberMade(parts, run, made, all, masked);
    if (parts.standing) run.remembered = (await parts.memories.of(now)).digest;
    if (now.metadata.resourceVersion !== object.metadata.resourceVersion) run.note({ statusChanged: true });
    if (others || operator.formerNames.length === 0) return;
    const released = await releaseFormer(run.client, resource, now, formerManagersOf(operator));
    if (released !== now) objects.learn(released);
  });
}

/** Remembers which of the answered children were ready when they went. @returns the object's memory then */
async function rememberGone(
  parts: Parts,
  run: Run,
  object: KubernetesObject,
  memory: Memory,
  answered: readonly DesiredChild[],
): Promise<Memory> {
  const gone = parts.children.readyWhenGone(answered, object.metadata.uid);
  if (gone.length === 0) return memory;
  const known = withReady(memory, gone);
  if (!isSameMemory(known, memory)) await remember(parts, run, object, known);
  parts.children.forgetGone(gone, object.metadata.uid);
  return known;
}

async function ensureFinalizers(
  { finalizers, operator, objects }: Parts,
  { client, timeline }: Run,
  object: KubernetesObject,
  elsewhere: boolean,
  order: boolean,
): Promise<KubernetesObject> {
  const wanted = { handler: operator.finalize, elsewhere, order };
  if (!finalizers || !(object.metadata.finalizers || wanted.handler || elsewhere || order)) return object;
  const ensuring = () => finalizers.ensure(client, object, wanted);
  const current = await timeline.step("finalizer", ensuring, (ensured) => ensured !== object);
  if (current !== object) objects.learn(current);
  return current;
}

/** How an object's children are. */
export interface Judgement extends ChildrenFound {
  /** Whether they are ready, and none waits for another. */
  readonly verdict: Verdict;
}

/** Judges the children as they are now. */
export async function judge(
  children: ChildStore,
  object: KubernetesObject,
  { waiting, going, ready }: Progress,
): Promise<Judgement> {
  const reasons: string[] = [];
  const expected = new Set(waiting.map(childKey));
  let count = 0;
  // The children are not kept: together they may be large, and others may have written into them since the handler was asked.
  const there = children.of(object.metadata.uid);
  for await (const state of readInParts(there, (each) => children.readChild(each))) {
    const why = children.whyNotReady(state);
    if (why) reasons.push(`${state.kind} ${state.metadata.name} ${why}`);
    expected.add(childKey({ resource: state, manifest: state }));
    count++;
  }
  const unready = reasons.length;
  // We have deleted it, and no watch has shown yet that it still exists.
  for (const { resource, manifest } of [...going].filter((child) => !expected.has(childKey(child)))) {
    reasons.push(`${manifest.kind} ${manifest.metadata.name} is being deleted`);
    expected.add(childKey({ resource, manifest }));
  }
  for (const { manifest, after = [] } of waiting) {
    const names = after
      .filter((key) => !ready.has(key))
      .map((key) =>
        expected.has(key) ? shortName(key) : `${shortName(key)}, which is gone and is not created again`,
      );
    reasons.push(`${manifest.kind} ${manifest.metadata.name} waits for ${names.join(", ")}`);
  }
  return {
    verdict: reasons.length === 0 ? { kind: "ready" } : { kind: "progressing", message: reasons.join("; ") },
    ready: reasons.length === 0,
    unready,
    children: { ready: count - unready, total: expected.size },
    waits: waiting.length > 0,
  };
}
