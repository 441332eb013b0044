/** The times that five fields of cron name, on a wall clock. */
export interface Cron {
  /** Each list is sorted and has at least one entry. */
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  /** Days of the month, from 1. */
  readonly days: readonly number[];
  /** From 1. */
  readonly months: readonly number[];
  /** From 0, Sunday. */
  readonly weekdays: readonly number[];
  /** Whether a day counts that only one of `days` and `weekdays` names. If not, both must name the day. */
  readonly isEitherDay: boolean;
}

/** Five fields of cron that cannot be understood, or name a time that never comes. The message completes "cron ...". */
export class CronError extends Error {}

interface Field {
  readonly name: string;
  readonly least: number;
  readonly most: number;
  /** Names of the values, the least first. */
  readonly words?: readonly string[];
}

const FIELDS: readonly [Field, Field, Field, Field, Field] = [
  { name: "minute", least: 0, most: 59 },
  { name: "hour", least: 0, most: 23 },
  { name: "day of the month", least: 1, most: 31 },
  { name: "month", least: 1, most: 12, words: "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split(" ") },
  // Sunday is 0 and 7.
  { name: "day of the week", least: 0, most: 7, words: "SUN MON TUE WED THU FRI SAT".split(" ") },
];

const LONGEST_MONTHS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/**
 * Reads five fields: minute, hour, day of the month, month and day of the week, each `*`, a number, a name, a range or a list,
 * with steps. If neither field of days has a `*`, a day matches if one of them names it, as in Kubernetes' CronJob: `1-31` is no
 * `*`, and a step of more than 1 counts as no star (robfig/cron, parser.go, getRange).
 * @throws CronError
 */
export function parseCron(text: string): Cron {
  const parts = text.trim().split(/\s+/);
  if (parts.length !== FIELDS.length) {
    const found =
      text.trim() === "" ? "no fields" : parts.length === 1 ? "one field" : `${parts.length} fields`;
    throw new CronError(`has ${found}, not the five of minute, hour, day, month and day of the week`);
  }
  const [minutes, hours, days, months, weekdays] = FIELDS.map((field, index) =>
    valuesOf(parts[index] ?? "", field),
  ) as [number[], number[], number[], number[], number[]];
  const isEitherDay = ![parts[2], parts[4]].some((text = "") =>
    text.split(",").some((part) => /^\*(\/0*1)?$/.test(part)),
  );
  const cron = {
    minutes,
    hours,
    days,
    months,
    weekdays: [...new Set(weekdays.map((day) => day % 7))].sort((a, b) => a - b),
    isEitherDay,
  };
  const isThere = months.some((month) => days.some((day) => day <= (LONGEST_MONTHS[month - 1] ?? 0)));
  if (!isEitherDay && !isThere)
    throw new CronError(`never comes: no month that it names has a day ${days[0]}`);
  return cron;
}

/** Whether a day is one that the fields name. */
export function isDay(cron: Cron, day: number, month: number, weekday: number): boolean {
  if (!cron.months.includes(month)) return false;
  const byDay = cron.days.includes(day);
  const byWeekday = cron.weekdays.includes(weekday);
  return cron.isEitherDay ? byDay || byWeekday : byDay && byWeekday;
}

function valuesOf(text: string, field: Field): number[] {
  const values = new Set<number>();
  for (const part of text.split(",")) {
    const [range = "", step, ...more] = part.split("/");
    if (more.length > 0) throw wrong(part, field, "has two steps");
    const [first, last] = boundsOf(range, part, field);
    if (step !== undefined && !range.includes("-") && range !== "*")
      throw wrong(part, field, `has a step without a range: write ${range}-${field.most}/${step}`);
    const by = step === undefined ? 1 : Number(step);
    if (step !== undefined && !(/^\d+$/.test(step) && by >= 1 && by <= field.most))
      throw wrong(part, field, `has the step "${step}", not one of 1 to ${field.most}`);
    for (let value = first; value <= last; value += by) values.add(value);
  }
  return [...values].sort((a, b) => a - b);
}

function boundsOf(range: string, part: string, field: Field): [number, number] {
  // Every day of the week is 0 to 6. Only in a given number, 7 is Sunday too.
  if (range === "*") return [field.least, field.words && field.least === 0 ? 6 : field.most];
  const [from = "", to = from, ...more] = range.split("-");
  if (more.length > 0) throw wrong(part, field, "has more than one range");
  const first = numberOf(from, part, field);
  const last = numberOf(to, part, field);
  if (first > last) throw wrong(part, field, "ends before it begins");
  return [first, last];
}

function numberOf(text: string, part: string, field: Field): number {
  const word = field.words?.indexOf(text.toUpperCase()) ?? -1;
  if (word >= 0) return field.least + word;
  const value = Number(text);
  if (/^\d{1,2}$/.test(text) && value >= field.least && value <= field.most) return value;
  const names = field.words ? `, or ${field.words[0]} to ${field.words.at(-1)}` : "";
  throw wrong(part, field, `is not a number of ${field.least} to ${field.most}${names}`);
}

function wrong(part: string, { name }: Field, complaint: string): CronError {
  return new CronError(`has ${JSON.stringify(part.slice(0, 40))} as the ${name}, which ${complaint}`);
}
