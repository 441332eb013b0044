import { childKey, contentOf } from "../children/childOrder";
import type { Child } from "../children/childStore";
import type { DesiredChild } from "../children/desiredChildren";
import type { ReconcileFailure } from "../failure";
import { kindKey } from "../kubernetes/resource";
import type { Memory } from "./memory";

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
  readonly left?: ReadonlyMap<string, ReconcileFailure>;
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
  const isCreated = (child: DesiredChild) =>
    !(waiting.includes(child) || going.has(child)) || wasCreated(before, child);
  return {
    kinds: [...left.keys(), ...[...desired, ...there].map(({ resource }) => kindKey(resource))],
    created: createdOnce(desired.filter(isCreated)),
    readyOnce: readyOnceOf(before, desired, ready),
    unknown: before.unknown,
  };
}

/**
 * The memory after a run that applied only some of the desired children: what was remembered before, and the children that exist.
 * @param there the object's children as they are known now
 * @param isThere whether one of the desired children is there
 */
export function memoryOfPart(
  before: Memory,
  desired: readonly DesiredChild[],
  there: readonly Child[],
  isThere: (child: DesiredChild) => boolean,
  { ready }: Progress,
): Memory {
  return {
    kinds: [...before.kinds, ...there.map(({ resource }) => kindKey(resource))],
    created: [...before.created, ...createdOnce(desired.filter(isThere))],
    readyOnce: readyOnceOf(before, desired, ready),
    reportedEvents: before.reportedEvents,
    schedules: before.schedules,
    unknown: before.unknown,
  };
}

/** The memory of an object with children that were ready when they went, as they should be now. */
export function withReady(memory: Memory, gone: readonly DesiredChild[]): Memory {
  const ready = new Map(gone.map((child) => [childKey(child), contentOf(child)]));
  return { ...memory, readyOnce: { ...memory.readyOnce, ...readyOnceOf(memory, gone, ready) } };
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

function createdOnce(children: readonly DesiredChild[]): string[] {
  return children
    .filter((child) => isCreatedOnce(child) && (child.update === "never" || !child.isAwaited))
    .map(childKey);
}

function readyOnceOf(
  before: Memory,
  desired: readonly DesiredChild[],
  now: ReadonlyMap<string, string>,
): Record<string, string> {
  const entries = desired.flatMap((child): [string, string][] => {
    if (!child.isAwaited || !isCreatedOnce(child)) return [];
    const key = childKey(child);
    const content = now.get(key) ?? (wasReady(before, child) ? before.readyOnce?.[key] : undefined);
    return content === undefined ? [] : [[key, content]];
  });
  return Object.fromEntries(entries);
}
