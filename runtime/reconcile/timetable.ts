import type { Operator } from "../definition/definition";
import type { DueSchedule } from "../handler/contract";
import type { KubernetesObject } from "../kubernetes/objects";
import type { Memory } from "../memory/memory";
import { doneAt, due, type ScheduleMemory } from "../schedules/due";

/** The schedules of an operator, for one object. */
export interface Timetable {
  readonly due: readonly DueSchedule[];
  /** What must be remembered before the handler is asked. */
  readonly before: Memory["schedules"];
  /** What must be remembered after it has answered. */
  readonly after: Memory["schedules"];
  /** When to look again, in milliseconds since 1970. Infinity: never. */
  readonly nextLook: number;
}

/**
 * Looks at all schedules of an operator for one object. The result follows only from the schedules, the memory and the clock.
 */
export function timetableOf(
  { schedules = {}, execution }: Pick<Operator, "schedules" | "execution">,
  object: KubernetesObject,
  memory: Memory,
  now: number,
): Timetable {
  const { uid, creationTimestamp } = object.metadata;
  const createdAt = Date.parse(creationTimestamp ?? "") || 0;
  const dueNow: DueSchedule[] = [];
  const before: Record<string, ScheduleMemory> = {};
  const after: Record<string, ScheduleMemory> = {};
  let nextLook = Number.POSITIVE_INFINITY;
  for (const [name, schedule] of Object.entries(schedules)) {
    // A resync looks at all objects at once, and limits how many runs are in progress.
    const look = { now, createdAt, uid, isSpread: execution === "resident" };
    const timing = due(schedule, memory.schedules?.[name], look);
    before[name] = timing.memory;
    after[name] = timing.at === undefined ? timing.memory : doneAt(schedule, timing.at);
    if (timing.at !== undefined) dueNow.push({ name, at: timing.at });
    nextLook = Math.min(nextLook, timing.nextLook);
  }
  return { due: dueNow, before, after, nextLook };
}
