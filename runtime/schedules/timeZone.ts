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
export function offsetAt(timeZone: string, instant: number): number {
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
