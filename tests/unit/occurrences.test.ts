import assert from "node:assert/strict";
import fc from "fast-check";
import { type Cron, isDay, parseCron } from "../../runtime/operator/cron";
import { isTimeZone, Occurrences } from "../../runtime/operator/occurrences";

const MINUTE = 60_000;
const DAY = 86_400_000;

/** Zones with every kind of change, each with days around one. */
const PLACES: readonly [zone: string, ...days: string[]][] = [
  ["UTC", "2026-01-01"],
  ["Europe/Berlin", "2026-03-29", "2026-10-25"],
  ["America/New_York", "2026-03-08", "2026-11-01"],
  ["America/Santiago", "2026-04-05", "2026-09-06"],
  ["Australia/Lord_Howe", "2026-04-05", "2026-10-04"],
  ["Africa/Casablanca", "2026-02-15", "2026-03-22"],
  ["Asia/Kolkata", "2026-06-01"],
  ["Pacific/Chatham", "2026-04-05", "2026-09-27"],
  // It skipped a whole day.
  ["Pacific/Apia", "2011-12-30"],
];

const place = fc.constantFrom(
  ...PLACES.flatMap(([zone, ...days]) => days.map((day) => [zone, Date.parse(day)] as const)),
);
const field = (least: number, most: number) =>
  fc.oneof(
    fc.constant("*"),
    fc.integer({ min: least, max: most }).map(String),
    fc.constantFrom("*/5", "*/2").map((step) => step),
    fc
      .uniqueArray(fc.integer({ min: least, max: most }), { minLength: 2, maxLength: 3 })
      .map((list) => list.join(",")),
  );
const cron = fc
  .tuple(
    field(0, 59),
    fc.oneof(field(0, 3), field(0, 23)),
    fc.constantFrom("*", "*/2"),
    fc.constantFrom("*", "*/3"),
  )
  .map(([minute, hour, day, weekday]) => `${minute} ${hour} ${day} * ${weekday}`);

const walls = new Map<string, Intl.DateTimeFormat>();

/** What was read of each, since the same days are looked at again and again. */
const read = new Map<string, Map<number, number>>(PLACES.map(([zone]) => [zone, new Map()]));

/** What a clock shows, told otherwise than the engine does. */
function wall(zone: string, instant: number): number {
  const known = read.get(zone)?.get(instant);
  if (known !== undefined) return known;
  const format =
    walls.get(zone) ??
    new Intl.DateTimeFormat("sv-SE", { timeZone: zone, dateStyle: "short", timeStyle: "medium" });
  walls.set(zone, format);
  const shown = Date.parse(`${format.format(instant).replace(" ", "T")}Z`);
  read.get(zone)?.set(instant, shown);
  return shown;
}

/** The instants of a schedule between two, by a look at every minute. */
function instantsOf(fields: Cron, zone: string, begin: number, end: number): number[] {
  const named = (time: number) => {
    const date = new Date(time);
    return (
      fields.minutes.includes(date.getUTCMinutes()) &&
      fields.hours.includes(date.getUTCHours()) &&
      isDay(fields, date.getUTCDate(), date.getUTCMonth() + 1, date.getUTCDay())
    );
  };
  const found = new Set<number>();
  const shown = new Set<number>();
  let latest = wall(zone, begin - MINUTE);
  for (let instant = begin; instant <= end; instant += MINUTE) {
    const time = wall(zone, instant);
    if (fields.hours.length === 24) {
      if (named(time)) found.add(instant);
      continue;
    }
    if (time <= latest && shown.has(time)) continue;
    for (let skipped = latest + MINUTE; skipped < time; skipped += MINUTE)
      if (named(skipped)) found.add(instant);
    if (named(time) && time > latest) found.add(instant);
    shown.add(time);
    latest = Math.max(latest, time);
  }
  return [...found];
}

const at = (text: string) => Date.parse(text);
const schedule = (text: string, zone = "Europe/Berlin") => new Occurrences(parseCron(text), zone);
const iso = (instant: number) => new Date(instant).toISOString();

describe("the instants of a schedule", () => {
  it("agree with a look at every minute, in every zone, around every change of the clocks", function () {
    this.timeout(120_000);
    fc.assert(
      fc.property(
        place,
        cron,
        fc.array(fc.integer({ min: -2 * DAY, max: 2 * DAY }), { maxLength: 8 }),
        ([zone, day], text, looks) => {
          const [begin, end] = [day - 6 * DAY, day + 6 * DAY];
          const fields = parseCron(text);
          const expected = instantsOf(fields, zone, begin, end);
          const occurrences = new Occurrences(fields, zone);
          for (const look of looks.map((ms) => day + ms)) {
            const [last, next] = [
              expected.findLast((each) => each <= look),
              expected.find((each) => each > look),
            ];
            if (last !== undefined)
              assert.equal(iso(occurrences.last(look)), iso(last), `last of ${text} at ${iso(look)} ${zone}`);
            if (next !== undefined)
              assert.equal(iso(occurrences.next(look)), iso(next), `next of ${text} at ${iso(look)} ${zone}`);
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  it("follow one another, forward and backward, over years", () => {
    fc.assert(
      fc.property(
        place,
        cron,
        fc.integer({ min: at("2000-01-01"), max: at("2040-01-01") }),
        ([zone], text, begin) => {
          const occurrences = new Occurrences(parseCron(text), zone);
          let instant = begin;
          for (let steps = 0; steps < 10; steps++) {
            const next = occurrences.next(instant);
            assert.ok(next > instant);
            assert.equal(occurrences.last(next), next);
            assert.ok(occurrences.last(next - 1) <= instant, `between ${iso(instant)} and ${iso(next)}`);
            instant = next;
          }
        },
      ),
    );
  });

  it("that are skipped come at the next instant, and several such are one", () => {
    const spring = at("2026-03-29T00:00:00Z");
    assert.equal(iso(schedule("30 2 * * *").next(spring)), "2026-03-29T01:00:00.000Z");
    assert.equal(iso(schedule("*/15 2 * * *").next(spring)), "2026-03-29T01:00:00.000Z");
    assert.equal(iso(schedule("*/15 2 * * *").next(at("2026-03-29T01:00:00Z"))), "2026-03-30T00:00:00.000Z");
  });

  it("that come twice come the first time only", () => {
    const autumn = schedule("30 2 * * *");
    assert.equal(iso(autumn.next(at("2026-10-25T00:00:00Z"))), "2026-10-25T00:30:00.000Z");
    assert.equal(iso(autumn.next(at("2026-10-25T00:30:00Z"))), "2026-10-26T01:30:00.000Z");
    assert.equal(iso(autumn.last(at("2026-10-25T01:45:00Z"))), "2026-10-25T00:30:00.000Z");
  });

  it("of every hour are an hour apart whatever the clocks do", () => {
    for (const day of ["2026-03-28T20:30:00Z", "2026-10-24T20:30:00Z"]) {
      const hourly = schedule("30 * * * *");
      for (let hour = 0, instant = at(day); hour < 10; hour++, instant = hourly.next(instant))
        assert.equal(hourly.next(instant) - instant, 3_600_000, iso(instant));
    }
  });

  it("of a leap day are found over a century", () => {
    assert.equal(iso(schedule("0 0 29 2 *", "UTC").next(at("2096-03-01"))), "2104-02-29T00:00:00.000Z");
    assert.equal(iso(schedule("0 0 29 2 *", "UTC").last(at("2104-02-28"))), "2096-02-29T00:00:00.000Z");
  });
});

describe("a time zone", () => {
  it("is one that this machine knows, by its name", () => {
    for (const [zone] of PLACES) assert.ok(isTimeZone(zone), zone);
    for (const zone of ["America/Port-au-Prince", "Etc/GMT+1", "America/Argentina/Buenos_Aires"])
      assert.ok(isTimeZone(zone), zone);
    for (const zone of ["", "Mars/Olympus", "Local", "+01:00", "GMT+1", "Europe/Berlin ", "../etc"])
      assert.ok(!isTimeZone(zone), zone);
  });

  it("is found to be none at once, however long a wrong name is", () => {
    // With a pattern that tries every way to divide the letters, this would not end in a lifetime.
    assert.ok(!isTimeZone(`Europe/Berlin${"n".repeat(200)}!`));
    assert.ok(!isTimeZone(`${"E".repeat(200)}urope!`));
  });
});
