// Which of the schedules of an object are due. One pure function.
import { spread } from "../base/json";
import { timeOf } from "../base/objects";
import { parseCron } from "../operator/cron";
import type { CronSchedule } from "../operator/definition";
import { Occurrences } from "../operator/occurrences";
import type { ScheduleMemory } from "../remember/memory";

/** One look at an object. */
export interface Look {
  readonly now: number;
  /** When the object was created, by the API server's clock. */
  readonly createdAt: number;
  readonly uid: string;
}

/** The result of one look at a schedule of an object. */
export interface Timing {
  /** The instant that is due, in RFC 3339. Undefined: none is due. */
  readonly at: string | undefined;
  /** When to look again, in milliseconds. */
  readonly nextLook: number;
  /** The memory that must be written before the handler is asked. It differs from the present memory only at the first look. */
  readonly memory: ScheduleMemory;
}

/** A time that is further in the future than this comes from a wrong clock. It does not count. */
const LONGEST_FUTURE_MS = 24 * 3_600_000;

/**
 * The instant of a schedule that is due for an object.
 *
 * Guarantees, each with a test in tests/unit/due.test.ts, as long as {@link Timing.memory} is remembered before the handler is
 * asked, and {@link doneAt} after it has answered:
 * - Every instant after the object's creation and its first look is due at some look, or a later instant is: missed instants are
 *   made up for once.
 * - An instant that was remembered as done is not due again, unless a clock shows a time of more than 24 hours before the last such
 *   instant. Then the memory comes from a clock that was wrong, and does not count: what was done by that clock is due again at its
 *   own time.
 * - All objects keep their order, and their distances, from one instant to the next.
 *
 * Caveat: after a first look with a clock that was more than a day behind, one instant before the object's creation is due as soon
 * as the clock is corrected.
 */
export function due(schedule: CronSchedule, memory: ScheduleMemory | undefined, look: Look): Timing {
  const { now, createdAt, uid } = look;
  const occurrences = occurrencesOf(schedule);
  const begin = isPlausible(createdAt, now) ? createdAt : 0;
  const since = sinceIn(schedule, memory, now) ?? Math.max(now, begin);
  const lateMs = Math.floor(spread(uid) * schedule.spreadSeconds * 1000);
  const last = occurrences.last(now - lateMs);
  const isDue = last > since;
  return {
    at: isDue ? timeOf(new Date(last)) : undefined,
    nextLook: occurrences.next(Math.max(now - lateMs, since)) + lateMs,
    memory: memory && since === Date.parse(memory.at) ? memory : doneAt(schedule, timeOf(new Date(since))),
  };
}

/** The memory of a schedule when an instant is done. */
export function doneAt(schedule: CronSchedule, at: string): ScheduleMemory {
  return { at, of: timesOf(schedule) };
}

/** The instant up to which everything is done. Undefined if no usable memory says that. */
function sinceIn(
  schedule: CronSchedule,
  memory: ScheduleMemory | undefined,
  now: number,
): number | undefined {
  if (memory?.of !== timesOf(schedule)) return undefined;
  const at = Date.parse(memory.at);
  return isPlausible(at, now) ? at : undefined;
}

function isPlausible(time: number, now: number): boolean {
  return time <= now + LONGEST_FUTURE_MS;
}

/** The times of a schedule as one text. If that changes, the memory of the schedule no longer counts. */
function timesOf({ cron, timeZone }: CronSchedule): string {
  return `${cron} ${timeZone}`;
}

const KNOWN = new WeakMap<CronSchedule, Occurrences>();

function occurrencesOf(schedule: CronSchedule): Occurrences {
  let occurrences = KNOWN.get(schedule);
  if (!occurrences) {
    occurrences = new Occurrences(parseCron(schedule.cron), schedule.timeZone);
    KNOWN.set(schedule, occurrences);
  }
  return occurrences;
}

/** The schedules of an operator, for one object. */
export interface Timetable {
  /** The schedules that are due, each with its instant. */
  readonly due: readonly { readonly name: string; readonly at: string }[];
  /** What must be remembered before the handler is asked. */
  readonly before: Readonly<Record<string, ScheduleMemory>>;
  /** What must be remembered after it has answered. */
  readonly after: Readonly<Record<string, ScheduleMemory>>;
  /** When to look again, in milliseconds since 1970. Infinity: never. */
  readonly nextLook: number;
}

/** Looks at all schedules of an operator for one object. The result follows only from the schedules, the memory and the look. */
export function timetableOf(
  schedules: Readonly<Record<string, CronSchedule>> = {},
  memory: Readonly<Record<string, ScheduleMemory>> = {},
  {
    creationTimestamp = "",
    ...look
  }: Omit<Look, "createdAt"> & { readonly creationTimestamp?: string | undefined },
): Timetable {
  const createdAt = Date.parse(creationTimestamp) || 0;
  const dueNow: { name: string; at: string }[] = [];
  const before: Record<string, ScheduleMemory> = {};
  const after: Record<string, ScheduleMemory> = {};
  let nextLook = Number.POSITIVE_INFINITY;
  for (const [name, schedule] of Object.entries(schedules)) {
    const timing = due(schedule, memory[name], { ...look, createdAt });
    before[name] = timing.memory;
    after[name] = timing.at === undefined ? timing.memory : doneAt(schedule, timing.at);
    if (timing.at !== undefined) dueNow.push({ name, at: timing.at });
    nextLook = Math.min(nextLook, timing.nextLook);
  }
  return { due: dueNow, before, after, nextLook };
}
