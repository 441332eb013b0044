// What a run leaves to remember, of the object and of its children.
import { isDeepStrictEqual } from "node:util";
import { ReconcileFailure } from "../base/failure";
import type { JsonObject, KubernetesObject } from "../base/objects";
import { isListed, kindKey } from "../base/resource";
import type { FinalizeAnswer, ReconcileAnswer } from "../handler/contract";
import type { Child } from "../observe/childStore";
import { canReference } from "../observe/ownership";
import type { StatusChange, Verdict } from "../remember/composeStatus";
import {
  isSameMemory,
  type Memories,
  type Memory,
  memoryOf,
  remembered,
  writtenMemory,
} from "../remember/memory";
import { childKey, contentOf, type DesiredChild } from "../write/desiredChildren";
import type { Parts, Run } from "./run";

// Writes what the next reconcile of an object must know: the handler's own fields, and the engine's memory.
//
// Guarantees, each with a test in tests/unit/reconcile.test.ts:
// - What was applied of an answer is remembered, even if the API server refused the rest of the answer, or if the children could not
//   be read to judge them.
// - A verdict goes along with a status that is written anyway, and names the record of the run.

/** What a reconcile did with a handler's answer. */
export interface Made {
  /** The object as it was then. */
  readonly object: KubernetesObject;
  readonly answer: ReconcileAnswer;
  readonly desired: readonly DesiredChild[];
  /** How far it came with the desired children. */
  readonly progress: Progress;
  /** The object's memory from before. */
  readonly before: Memory;
}

/** Remembers something in the middle of a reconcile. */
export async function remember(
  { memories }: { readonly memories: Memories },
  { client }: Run,
  object: KubernetesObject,
  memory: Memory,
): Promise<void> {
  await memories.write(client, object.metadata, { memory: remembered(memory) });
}

/**
 * Remembers the first look at a schedule, and restores the memory that another client removed from the object's status, before
 * anything is done.
 * @returns the object's memory then
 */
export async function rememberFirstLook(
  parts: Parts,
  run: Run,
  object: KubernetesObject,
  before: Memory,
  schedules: Memory["schedules"],
): Promise<Memory> {
  const memory = { ...before, schedules };
  const isFirst = !isDeepStrictEqual(schedules, before.schedules ?? {});
  if (!isFirst && (parts.others || !isTaken(object, before))) return before;
  await remember(parts, run, object, memory).catch((error: unknown) => {
    // This process still knows the removed memory. The end of the run tries once more, and says what is wrong.
    if (isFirst || !(error instanceof ReconcileFailure)) throw error;
  });
  return memory;
}

/** Whether another client removed the memory from the status of an object of our own. @param known the object's memory */
export function isTaken(object: KubernetesObject, known: Memory): boolean {
  return !writtenMemory(object) && !isDeepStrictEqual(known, memoryOf(object));
}

/**
 * Remembers a reconcile that made every child as desired.
 * @returns the object as it is then
 * @throws ReconcileFailure if the API server refuses the handler's fields: what was applied is still remembered; ApiError,
 *   ApiUnreachableError
 */
export async function rememberMade(
  parts: Parts,
  run: Run,
  made: Made,
  { reportedEvents, schedules }: Partial<Memory>,
  verdict: Verdict,
): Promise<KubernetesObject> {
  const { object, answer, desired, progress, before } = made;
  const { uid } = object.metadata;
  const memory: Memory = {
    ...memoryAfter(before, desired, parts.children.of(uid), progress),
    reportedEvents,
    schedules,
    ...parts.footprintOf?.(uid, run.report.againAfterMs),
    ...whereIn(parts, made),
  };
  const written = remembered(memory);
  const isEmpty = isDeepStrictEqual([written, remembered(before)], [{ kinds: [] }, { kinds: [] }]);
  const change = { ...saidIn(answer, object), asked: run.asked, ...(!isEmpty && { memory: written }) };
  // The class "later" lets the writes of other objects' children go first.
  const later = run.client.with({ class: "later", flow: "reports" });
  const record = parts.recordOf?.(run.report);
  const generation = run.report.generation ?? 1;
  const { digest } = run;
  const along = {
    verdict,
    generation,
    ...(record !== undefined && { run: record }),
    ...(digest !== undefined && { digest }),
  };
  try {
    return (await parts.memories.write(later, object.metadata, change, along)) ?? object;
  } catch (error) {
    // The handler's fields may be refused for as long as it answers them. The children still exist. A status of which the API
    // server only dropped a part is stored, with the memory.
    if (error instanceof ReconcileFailure && error.cause !== undefined) await rememberPart(parts, run, made);
    throw error;
  }
}

/**
 * Remembers a reconcile that wrote only a part of the answer: some of the children, or all of them and not the status. An error of
 * this write is not reported.
 */
export async function rememberPart(parts: Parts, run: Run, made: Made): Promise<void> {
  const { object, desired, progress, before } = made;
  const { children, writer, objects } = parts;
  const isThere = (child: DesiredChild) => writer.known(child)?.deleting === false;
  const there = children.of(object.metadata.uid);
  const memory: Memory = {
    ...memoryOfPart(before, desired, there, isThere, progress),
    ...whereIn(parts, made, true),
  };
  if (isSameMemory(memory, before)) return;
  // The error that ended the reconcile says more. But the memory may have been written.
  await remember(parts, run, object, memory).catch(() => objects.invalidate(run.name));
}

/** Remembers the answer of a handler that has not finished finalizing. Parts that the answer leaves out stay as they are. */
export async function rememberUnfinished(
  { memories, footprintOf }: Parts,
  { client, asked }: Run,
  object: KubernetesObject,
  answer: FinalizeAnswer,
  before: Memory,
  reportedEvents: readonly string[],
  againAfterMs: number,
): Promise<void> {
  const { fields, conditions } = saidIn(answer, object);
  const dueAt = footprintOf?.(object.metadata.uid, againAfterMs).dueAt;
  const memory = { ...before, reportedEvents, ...(footprintOf && { dueAt }) };
  const change = {
    ...(answer.status && { fields, asked }),
    ...(answer.conditions && { conditions }),
    ...(!isSameMemory(memory, before) && { memory: remembered(memory) }),
  };
  if (Object.keys(change).length > 0) await memories.write(client, object.metadata, change);
}

/**
 * Where the children are, and, for an object that we do not own, the state that the handler wants to get back. If the handler
 * answers no state, the object keeps the one that it has.
 * @param isPart whether there may be children where there were some before. @default if some of a kind may be left
 */
function whereIn(
  { others, children, operator }: Parts,
  { object, answer: { state }, desired, before, progress }: Made,
  isPart = (progress.left?.size ?? 0) > 0,
): Partial<Memory> {
  const there = [...desired.map(({ manifest }) => manifest.metadata), ...children.of(object.metadata.uid)];
  const far = there.filter(({ namespace }) => !canReference(object, namespace));
  // No watch shows the children that are left in a namespace that the operator no longer lists.
  const left = (before.namespaces ?? []).filter((each) => isPart || !isListed(operator.namespaces, each));
  const isElsewhere = far.length > 0 || left.length > 0 || (isPart && before.elsewhere === true);
  const namespaces = [...far.flatMap(({ namespace }) => namespace ?? []), ...left];
  return {
    ...(isElsewhere && { elsewhere: true as const }),
    ...(others ? { state: (state as JsonObject | undefined) ?? before.state } : { namespaces }),
  };
}

/** All parts of the status that belong to the handler. */
export function saidIn(
  { status, conditions }: ReconcileAnswer | FinalizeAnswer,
  { metadata: { generation = 1 } }: KubernetesObject,
): StatusChange {
  return { fields: status ?? {}, conditions: { statements: conditions ?? [], generation } };
}

/** How far a run came with the children of an answer. */
export interface Progress {
  /** The children that wait for others, and were not applied. */
  readonly waiting: readonly DesiredChild[];
  /** The children of which an old one is being deleted. They are created when that is gone, unless they were created before. */
  readonly going: ReadonlySet<DesiredChild>;
  /**
   * The children for which others wait and that were ready, by their keys, each with a fingerprint of its content: see
   * `Memory.readyOnce`.
   */
  readonly ready: ReadonlyMap<string, string>;
  /** The kinds of which children may be left although they are no longer declared, each with the reason. @default none */
  readonly left?: ReadonlyMap<string, ReconcileFailure> | undefined;
}

/**
 * The memory after a run in which all children are as desired, or wait.
 * @param there the object's children as they are known now
 */
export function memoryAfter(
  before: Memory,
  desired: readonly DesiredChild[],
  there: readonly Child[],
  { waiting, going, ready, left = new Map() }: Progress,
): Memory {
  const once = desired.filter(isCreatedOnce);
  const isCreated = (child: DesiredChild) =>
    !(waiting.includes(child) || going.has(child)) || wasCreated(before, child);
  return {
    kinds: [...left.keys(), ...[...desired, ...there].map(({ resource }) => kindKey(resource))],
    created: createdIn(once.filter(isCreated)),
    readyOnce: readyOnceOf(before, once, ready),
    unknown: before.unknown,
  };
}

/**
 * The memory after a run that applied only some of the desired children: what was remembered before, and the children that exist.
 * @param there the object's children as they are known now
 * @param isThere whether one of the desired children exists
 */
export function memoryOfPart(
  before: Memory,
  desired: readonly DesiredChild[],
  there: readonly Child[],
  isThere: (child: DesiredChild) => boolean,
  { ready }: Progress,
): Memory {
  const once = desired.filter(isCreatedOnce);
  return {
    kinds: [...before.kinds, ...there.map(({ resource }) => kindKey(resource))],
    created: [...before.created, ...createdIn(once.filter(isThere))],
    readyOnce: readyOnceOf(before, once, ready),
    reportedEvents: before.reportedEvents,
    schedules: before.schedules,
    unknown: before.unknown,
  };
}

/** The memory of an object with children that were ready when they went, as they should be now. */
export function withReady(memory: Memory, gone: readonly DesiredChild[]): Memory {
  const ready = new Map(gone.map((child) => [childKey(child), contentOf(child)]));
  return {
    ...memory,
    readyOnce: { ...memory.readyOnce, ...readyOnceOf(memory, gone.filter(isCreatedOnce), ready) },
  };
}

/** The memory of an object without one of its children, which counts as never created then. */
export function withoutChild(memory: Memory, child: DesiredChild): Memory {
  const key = childKey(child);
  const { [key]: _, ...readyOnce } = memory.readyOnce ?? {};
  return { ...memory, created: memory.created.filter((each) => each !== key), readyOnce };
}

/**
 * Whether a child has existed and must not be created again. If other children wait for a child with `isOnce`, it counts only after
 * it has been ready. Otherwise, if it were gone before that, the others would wait for ever.
 */
export function wasCreated(memory: Memory, child: DesiredChild): boolean {
  if (!isCreatedOnce(child)) return false;
  const isCreated = memory.created.includes(childKey(child));
  if (!child.isOnce) return isCreated;
  return wasReady(memory, child) || (!child.isAwaited && isCreated);
}

/** Whether a child that is not created again was ready, with the content that it should have now. */
export function wasReady({ readyOnce = {} }: Memory, child: DesiredChild): boolean {
  const key = childKey(child);
  if (!isCreatedOnce(child) || !Object.hasOwn(readyOnce, key)) return false;
  // A child that is never updated keeps its content.
  return child.update === "never" || !child.isAwaited || readyOnce[key] === contentOf(child);
}

/** Whether a child is not created again. */
function isCreatedOnce({ update, isOnce }: DesiredChild): boolean {
  return update === "never" || isOnce === true;
}

/** The keys of those that count as created before they are ready. @param once children that are not created again */
function createdIn(once: readonly DesiredChild[]): string[] {
  return once.filter((child) => child.update === "never" || !child.isAwaited).map(childKey);
}

/** @param once children that are not created again */
function readyOnceOf(
  before: Memory,
  once: readonly DesiredChild[],
  now: ReadonlyMap<string, string>,
): Record<string, string> {
  const entries = once.flatMap((child): [string, string][] => {
    if (!child.isAwaited) return [];
    const key = childKey(child);
    const content = now.get(key) ?? (wasReady(before, child) ? before.readyOnce?.[key] : undefined);
    return content === undefined ? [] : [[key, content]];
  });
  return Object.fromEntries(entries);
}
