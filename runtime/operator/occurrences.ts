import { type Cron, isDay } from "./cron";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Longer than any change of a clock: once, a whole day was skipped (Pacific/Apia, 2011). */
const LONGEST_CHANGE = 26 * HOUR;
/** Longer than a clock has been set back to have an hour twice. */
const LONGEST_REPEAT = 3 * HOUR;
/** 29 February may come only once in eight years. */
const MOST_DAYS = 9 * 366;

/**
 * The instants of a schedule, in milliseconds. A schedule names times on a wall clock, which are given here in milliseconds as if
 * the zone were UTC:
 *
 * - A time that is skipped, since clocks are set forward, comes at the next instant. Several skipped times are one.
 * - A time that comes twice, since clocks are set back, counts only the first time.
 * - A schedule of every hour is not about times on the wall: it has no skipped hour, and the hour that comes twice counts twice.
 *
 * Guarantees, each with a test in tests/unit/occurrences.test.ts: `next` and `last` agree with a look at every minute, in every
 * zone.
 */
export class Occurrences {
  private readonly isEveryHour: boolean;

  constructor(
    private readonly cron: Cron,
    private readonly timeZone: string,
  ) {
    this.isEveryHour = cron.hours.length === 24;
  }

  /** The first instant of the schedule after this one. */
  next(after: number): number {
    const from = this.wall(after);
    if (!this.isEveryHour) {
      for (let time = this.timeAfter(from); ; time = this.timeAfter(time)) {
        const instant = this.firstOf(time);
        if (instant > after) return instant;
      }
    }
    const found: number[] = [];
    // If clocks are set back soon, times before the one that is shown now come again.
    const change = this.changeIn(after, after + LONGEST_REPEAT);
    if (change !== undefined && this.offset(change) < this.offset(after))
      found.push(this.timeAfter(this.wall(change) - 1) - this.offset(change));
    for (let time = this.timeAfter(from); ; time = this.timeAfter(time)) {
      const instant = this.instantsOf(time).find((each) => each > after);
      if (instant === undefined) continue;
      return Math.min(instant, ...found);
    }
  }

  /** The last instant of the schedule that is not after this one. */
  last(until: number): number {
    const to = this.wall(until);
    if (!this.isEveryHour) {
      // If clocks were set back recently, later times than the one that is shown now have come already.
      const ahead = Math.max(0, this.offset(until - LONGEST_CHANGE) - this.offset(until));
      for (let time = this.timeBefore(to + ahead + 1); ; time = this.timeBefore(time)) {
        const instant = this.firstOf(time);
        if (instant <= until) return instant;
      }
    }
    const found: number[] = [];
    const change = this.changeIn(until - LONGEST_REPEAT, until);
    if (change !== undefined && this.offset(change) < this.offset(change - 1)) {
      const before = this.offset(change - 1);
      found.push(this.timeBefore(change + before) - before);
    }
    for (let time = this.timeBefore(to + 1); ; time = this.timeBefore(time)) {
      const instant = this.instantsOf(time).findLast((each) => each <= until);
      if (instant === undefined) continue;
      return Math.max(instant, ...found);
    }
  }

  private offset(instant: number): number {
    return offsetAt(this.timeZone, instant);
  }

  /** What the clock shows at an instant. */
  private wall(instant: number): number {
    return instant + this.offset(instant);
  }

  /** The instants at which the clock shows this time: one; two if clocks are set back; none if the time is skipped. */
  private instantsOf(time: number): number[] {
    const offsets = [
      this.offset(time - LONGEST_CHANGE),
      this.offset(time),
      this.offset(time + LONGEST_CHANGE),
    ];
    const instants = offsets.map((offset) => time - offset).filter((each) => this.wall(each) === time);
    return [...new Set(instants)].sort((a, b) => a - b);
  }

  /** The first instant at which the clock shows this time, or, if the time is skipped, the first one after it. */
  private firstOf(time: number): number {
    const [first] = this.instantsOf(time);
    if (first !== undefined) return first;
    // Clocks show less than `time` at the one and more at the other.
    return firstIn(time - LONGEST_CHANGE, time + LONGEST_CHANGE, (instant) => this.wall(instant) >= time);
  }

  /** When the clocks change within a span. Undefined if they show no change from its begin to its end. */
  private changeIn(begin: number, end: number): number | undefined {
    const offset = this.offset(begin);
    if (this.offset(end) === offset) return undefined;
    return firstIn(begin, end, (instant) => this.offset(instant) !== offset);
  }

  /** The first time on the wall after this one that the schedule names. */
  private timeAfter(time: number): number {
    return this.timeFrom(time, 1, this.cron.hours, this.cron.minutes);
  }

  /** The last time on the wall before this one that the schedule names. */
  private timeBefore(time: number): number {
    return this.timeFrom(time, -1, this.cron.hours.toReversed(), this.cron.minutes.toReversed());
  }

  private timeFrom(time: number, step: 1 | -1, hours: readonly number[], minutes: readonly number[]): number {
    const start = Math.floor(time / DAY) * DAY;
    for (let days = 0; days < MOST_DAYS; days++) {
      const day = start + step * days * DAY;
      if (!this.isDay(day)) continue;
      for (const hour of hours)
        for (const minute of minutes) {
          const found = day + hour * HOUR + minute * MINUTE;
          if (step * (found - time) > 0) return found;
        }
    }
    throw new Error("the schedule never comes");
  }

  private isDay(day: number): boolean {
    const date = new Date(day);
    return isDay(this.cron, date.getUTCDate(), date.getUTCMonth() + 1, date.getUTCDay());
  }
}

/** The first instant after `early` for which something holds that does not hold before, and holds at `late`. */
function firstIn(early: number, late: number, holds: (instant: number) => boolean): number {
  if (late - early <= 1) return late;
  const middle = Math.floor((early + late) / 2);
  return holds(middle) ? firstIn(early, middle, holds) : firstIn(middle, late, holds);
}

/** The form of a name in the time zone database. An offset such as "+01:00" is not a name: not every version of Node knows it. */
const NAME = /^[A-Za-z][A-Za-z0-9]*([_+-][A-Za-z0-9]+)*(\/[A-Za-z0-9]+([_+-]+[A-Za-z0-9]+)*)*$/;

/** What a clock on a wall of a time zone shows, for instants in milliseconds. It is built once for each zone. */
const CLOCKS = new Map<string, Intl.DateTimeFormat>();

/** Whether this machine knows a time zone with that name. */
export function isTimeZone(name: string): boolean {
  if (!NAME.test(name)) return false;
  try {
    clockOf(name);
    return true;
  } catch {
    return false;
  }
}

/** How far the clocks of a time zone are ahead of UTC at an instant, in milliseconds. */
function offsetAt(timeZone: string, instant: number): number {
  // "3/28/2026, 01:00:00". To format the parts one by one takes twice as long, and schedules ask often.
  const fields = clockOf(timeZone).format(instant).match(/\d+/g) ?? [];
  const [month = 0, day = 0, year = 0, hour = 0, minute = 0, second = 0] = fields.map(Number);
  const shown = Date.UTC(year, month - 1, day, hour, minute, second);
  return shown - Math.floor(instant / 1000) * 1000;
}

function clockOf(timeZone: string): Intl.DateTimeFormat {
  let clock = CLOCKS.get(timeZone);
  if (!clock) {
    clock = new Intl.DateTimeFormat("en-US", {
      timeZone,
      calendar: "gregory",
      numberingSystem: "latn",
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
    CLOCKS.set(timeZone, clock);
  }
  return clock;
}
