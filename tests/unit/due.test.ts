import assert from "node:assert/strict";
import fc from "fast-check";
import { CronError, isDay, parseCron } from "../../runtime/operator/cron";
import { Occurrences } from "../../runtime/operator/occurrences";
import { doneAt, due } from "../../runtime/reconcile/due";
import type { ScheduleMemory } from "../../runtime/remember/memory";

const at = (text: string) => Date.parse(text);
const NIGHTLY = { cron: "0 3 * * *", timeZone: "UTC", spreadSeconds: 0 };
const CREATED = at("2026-01-01T12:00:00Z");
const look = (now: string, uid = "uid") => ({ now: at(now), createdAt: CREATED, uid });

/** An hour before clocks are set forward, an hour before they are set back, and a quiet day. */
const begins = fc
  .constantFrom("2026-03-28T23:00:00Z", "2026-10-24T22:00:00Z", "2026-06-01T00:00:00Z")
  .map(at);
const schedules = fc.record({
  cron: fc.constantFrom("30 2 * * *", "*/20 * * * *", "*/10 1-4 * * *", "0 3 * * *", "15 0,2,23 * * *"),
  timeZone: fc.constantFrom("Europe/Berlin", "UTC", "America/New_York", "Australia/Lord_Howe"),
  spreadSeconds: fc.constantFrom(0, 60, 3_600),
});
/** What happens at a look: how late it comes, in minutes, and whether the process dies before or after the act. */
const turns = fc.array(
  fc.record({
    lateMinutes: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 2_000 })),
    isEarly: fc.boolean(),
    ends: fc.constantFrom(
      "well",
      "well",
      "well",
      "dies before it remembers the first look",
      "dies before the act",
      "dies after the act",
      "fails",
    ),
  }),
  { maxLength: 40 },
);

describe("what is due of a schedule", () => {
  it("is nothing at the first look, and then each instant once", () => {
    const first = due(NIGHTLY, undefined, look("2026-01-05T04:00:00Z"));
    assert.deepEqual([first.at, first.memory.at], [undefined, "2026-01-05T04:00:00Z"]);
    assert.equal(first.nextLook, at("2026-01-06T03:00:00Z"));
    const second = due(NIGHTLY, first.memory, look("2026-01-06T03:00:00Z"));
    assert.equal(second.at, "2026-01-06T03:00:00Z");
    // Its run fails: it is due again as the same.
    assert.equal(due(NIGHTLY, second.memory, look("2026-01-06T03:05:00Z")).at, second.at);
    const third = due(NIGHTLY, doneAt(NIGHTLY, "2026-01-06T03:00:00Z"), look("2026-01-06T03:05:00Z"));
    assert.deepEqual([third.at, third.nextLook], [undefined, at("2026-01-07T03:00:00Z")]);
  });

  it("is made up for once after an outage, as the last instant that was missed", () => {
    const { at: missed, nextLook } = due(
      NIGHTLY,
      doneAt(NIGHTLY, "2026-01-06T03:00:00Z"),
      look("2026-01-10T05:00:00Z"),
    );
    assert.deepEqual([missed, nextLook], ["2026-01-10T03:00:00Z", at("2026-01-11T03:00:00Z")]);
  });

  it("is nothing of the time before the object, even if clocks differ", () => {
    const { at: none, memory } = due(NIGHTLY, undefined, {
      ...look("2026-01-01T02:59:00Z"),
      createdAt: at("2026-01-01T03:01:00Z"),
    });
    assert.deepEqual([none, memory.at], [undefined, "2026-01-01T03:01:00Z"]);
  });

  it("begins now if a clock that was wrong put the object's creation into the future", () => {
    const early = (now: string) => ({ ...look(now), createdAt: at("2026-02-01T12:00:00Z") });
    const first = due(NIGHTLY, undefined, early("2026-01-05T04:00:00Z"));
    assert.equal(first.memory.at, "2026-01-05T04:00:00Z");
    assert.equal(first.nextLook, at("2026-01-06T03:00:00Z"));
    assert.equal(due(NIGHTLY, first.memory, early("2026-01-06T03:00:00Z")).at, "2026-01-06T03:00:00Z");
    // What an engine remembered that did not know of this.
    assert.equal(
      due(NIGHTLY, doneAt(NIGHTLY, "2026-02-01T12:00:00Z"), early("2026-01-05T04:00:00Z")).nextLook,
      at("2026-01-06T03:00:00Z"),
    );
  });

  it("starts again for a schedule that was changed", () => {
    const hourly = { ...NIGHTLY, cron: "0 * * * *" };
    const changed = due(hourly, doneAt(NIGHTLY, "2026-01-06T03:00:00Z"), look("2026-01-06T14:20:00Z"));
    assert.deepEqual([changed.at, changed.memory], [undefined, doneAt(hourly, "2026-01-06T14:20:00Z")]);
    const spread = due(
      { ...NIGHTLY, spreadSeconds: 60 },
      doneAt(NIGHTLY, "2026-01-06T03:00:00Z"),
      look("2026-01-08T14:20:00Z"),
    );
    assert.equal(spread.at, "2026-01-08T03:00:00Z");
  });

  it("comes to no end by a memory that is broken, forged or of a clock that was wrong", () => {
    for (const broken of ["", "tomorrow", "2099-01-01T00:00:00Z"])
      assert.equal(
        due(NIGHTLY, doneAt(NIGHTLY, broken), look("2026-01-06T14:20:00Z")).memory.at,
        "2026-01-06T14:20:00Z",
      );
    // A clock that was set back a little brings nothing twice.
    assert.equal(
      due(NIGHTLY, doneAt(NIGHTLY, "2026-01-06T03:00:00Z"), look("2026-01-06T02:30:00Z")).at,
      undefined,
    );
  });

  it("comes again at its own time if it was done by a clock that was more than a day ahead", () => {
    const done = doneAt(NIGHTLY, "2026-01-08T03:00:00Z");
    const { memory } = due(NIGHTLY, done, look("2026-01-06T02:59:59Z"));
    assert.equal(memory.at, "2026-01-06T02:59:59Z");
    assert.equal(due(NIGHTLY, memory, look("2026-01-08T03:00:00Z")).at, "2026-01-08T03:00:00Z");
  });

  it("is not due again when it is done, however clocks are set, unless one shows a time of more than a day before the last", () => {
    const moves = fc.array(fc.integer({ min: -4_000, max: 4_000 }), { maxLength: 40 });
    fc.assert(
      fc.property(schedules, begins, moves, fc.uuid(), (schedule, begin, moves, uid) => {
        let memory: ScheduleMemory | undefined;
        let now = begin;
        let done: string[] = [];
        for (const minutes of moves) {
          now += minutes * 60_000;
          const timing = due(schedule, memory, { now, createdAt: begin, uid });
          memory = timing.memory;
          if (Date.parse(done.at(-1) ?? "") > now + 86_400_000) done = [];
          if (timing.at === undefined) continue;
          assert.ok(!done.includes(timing.at), `${timing.at} twice`);
          done.push(timing.at);
          memory = doneAt(schedule, timing.at);
        }
      }),
      { numRuns: 300 },
    );
  });

  it("is spread over the objects by their uids, evenly, always in the same order and never beyond its window", () => {
    const schedule = { ...NIGHTLY, cron: "0 0 * * *", spreadSeconds: 60 };
    const uids = Array.from(
      { length: 2_400 },
      (_, index) => `0b6a3fb2-5c0e-4a57-8f0e-${index.toString(16).padStart(12, "0")}`,
    );
    const turnsOf = (day: string) =>
      uids.map(
        (uid) =>
          due(schedule, doneAt(schedule, `2026-01-0${day}T12:00:00Z`), look(`2026-01-0${day}T12:00:00Z`, uid))
            .nextLook,
      );
    const monday = turnsOf("5");
    const midnight = at("2026-01-06T00:00:00Z");
    const seconds = new Map<number, number>();
    for (const turn of monday) {
      assert.ok(turn >= midnight && turn < midnight + 60_000);
      const second = Math.floor((turn - midnight) / 1000);
      seconds.set(second, (seconds.get(second) ?? 0) + 1);
    }
    assert.equal(seconds.size, 60);
    // 40 each, if it were perfect.
    assert.ok(Math.max(...seconds.values()) < 80, `${Math.max(...seconds.values())} in one second`);
    assert.deepEqual(
      turnsOf("6").map((turn, index) => turn - (monday[index] ?? 0)),
      uids.map(() => 86_400_000),
    );
  });

  it("is never missed for good and never twice by its key, whatever comes between while clocks only go on", () => {
    fc.assert(
      fc.property(schedules, begins, turns, fc.uuid(), (schedule, begin, turns, uid) => {
        const occurrences = new Occurrences(parseCron(schedule.cron), schedule.timeZone);
        let memory: ScheduleMemory | undefined;
        let now = begin;
        let wake = begin;
        /** The acts that were done, and the last one if its end was not remembered. */
        const done: string[] = [];
        let open: string | undefined;
        let since: number | undefined;
        for (const { lateMinutes, isEarly, ends } of turns) {
          // A timer, or anything else that wakes the object before its time.
          now = isEarly
            ? Math.floor((now + Math.max(now, wake)) / 2)
            : Math.max(now, wake) + lateMinutes * 60_000;
          const timing = due(schedule, memory, { now, createdAt: begin, uid });
          assert.ok(timing.nextLook > now - schedule.spreadSeconds * 1000);
          if (ends === "dies before it remembers the first look") continue;
          memory = timing.memory;
          since ??= Date.parse(memory.at);
          wake = timing.nextLook;
          if (timing.at === undefined || ends === "dies before the act") continue;
          const instant = Date.parse(timing.at);
          assert.equal(occurrences.last(instant), instant, "no instant of the schedule");
          assert.ok(instant > since && instant <= now);
          if (ends === "fails") continue;
          assert.ok(!done.includes(timing.at), `${timing.at} twice`);
          if (open !== undefined && open !== timing.at) assert.ok(timing.at > open);
          open = timing.at;
          if (ends === "dies after the act") continue;
          done.push(timing.at);
          memory = doneAt(schedule, timing.at);
        }
        if (memory === undefined || since === undefined) return;
        // At last everything is well for a day: whatever was missed is made up for.
        now = Math.max(now, wake) + 86_400_000;
        const timing = due(schedule, memory, { now, createdAt: begin, uid });
        const last = occurrences.last(now - schedule.spreadSeconds * 1000);
        const latest = Date.parse(timing.at ?? done.at(-1) ?? memory.at);
        if (last > since) assert.ok(latest >= last, `${new Date(last).toISOString()} was missed`);
        assert.deepEqual(done, [...done].sort());
      }),
      { numRuns: 300 },
    );
  });
});

function complaint(text: string): string {
  try {
    parseCron(text);
  } catch (error) {
    assert.ok(error instanceof CronError, String(error));
    assert.ok(error.message.length < 200);
    return error.message;
  }
  assert.fail(`${text} was accepted`);
}

describe("five fields of cron", () => {
  it("are numbers, names, ranges, lists and steps", () => {
    const cron = parseCron(" 0,30 8-10,*/12\t1-31/10 JAN,mar-May  mon,5-7 ");
    assert.deepEqual(cron, {
      minutes: [0, 30],
      hours: [0, 8, 9, 10, 12],
      days: [1, 11, 21, 31],
      months: [1, 3, 4, 5],
      weekdays: [0, 1, 5, 6],
      isEitherDay: true,
    });
  });

  it("name every day by stars, and Sunday by 0 and by 7", () => {
    const { days, weekdays, isEitherDay } = parseCron("0 3 * * *");
    assert.deepEqual([days.length, weekdays, isEitherDay], [31, [0, 1, 2, 3, 4, 5, 6], false]);
    for (const sunday of ["0", "7", "SUN"]) assert.deepEqual(parseCron(`0 3 * * ${sunday}`).weekdays, [0]);
  });

  it("mean a day that one of two restricted fields names, and else one that both name", () => {
    const either = parseCron("0 0 13 * FRI");
    assert.deepEqual(
      [isDay(either, 13, 5, 2), isDay(either, 14, 5, 5), isDay(either, 14, 5, 4)],
      [true, true, false],
    );
    const both = parseCron("0 0 13 * *");
    assert.deepEqual([isDay(both, 13, 5, 2), isDay(both, 14, 5, 5)], [true, false]);
    assert.ok(!isDay(parseCron("0 0 * 2 *"), 1, 3, 1));
  });

  it("restrict the days as in a CronJob: only by a star does a field leave them to the other one", () => {
    const isEither = (text: string) => parseCron(text).isEitherDay;
    for (const days of ["1-31 * 1", "*/2 * 1", "*/2,7 * 1", "1 * 0-6", "1 * */2", "31 2 0-7"])
      assert.equal(isEither(`0 0 ${days}`), true, days);
    for (const days of ["* * 1", "*/1 * 1", "*/01 * 1", "3,* * 1", "1 * *", "1 * */1", "1 * MON,*"])
      assert.equal(isEither(`0 0 ${days}`), false, days);
  });

  const refused: [string, RegExp][] = [
    ["", /has no fields/],
    ["@daily", /has one field, not the five of minute, hour, day, month and day of the week/],
    ["0 3 * *", /has 4 fields/],
    ["0 0 3 * * *", /has 6 fields/],
    ["60 * * * *", /"60" as the minute, which is not a number of 0 to 59$/],
    ["* 24 * * *", /"24" as the hour/],
    ["* * 0 * *", /"0" as the day of the month, which is not a number of 1 to 31/],
    ["* * * 13 *", /as the month, which is not a number of 1 to 12, or JAN to DEC/],
    ["* * * * 8", /as the day of the week, which is not a number of 0 to 7, or SUN to SAT/],
    ["* * L * *", /"L" as the day of the month/],
    ["* * 15W * *", /"15W"/],
    ["* * * * 5#2", /"5#2" as the day of the week/],
    ["* * ? * *", /"\?" as the day/],
    ["5/15 * * * *", /has a step without a range: write 5-59\/15/],
    ["*/0 * * * *", /has the step "0", not one of 1 to 59/],
    ["*/x * * * *", /has the step "x"/],
    ["*/5/5 * * * *", /has two steps/],
    ["1-2-3 * * * *", /more than one range/],
    ["30-10 * * * *", /ends before it begins/],
    ["* * * * FRI-MON", /ends before it begins/],
    [", * * * *", /"" as the minute/],
    ["-5 * * * *", /"-5"/],
    ["1.5 * * * *", /"1.5"/],
    ["0 0 31 2 *", /never comes: no month that it names has a day 31/],
    ["0 0 30,31 FEB *", /never comes/],
    ["0 0 31 4,6,9,11 *", /never comes/],
    [`${"9".repeat(10_000)} * * * *`, /as the minute/],
  ];
  for (const [text, problem] of refused) {
    it(`are refused as ${JSON.stringify(text.slice(0, 20))}`, () => assert.match(complaint(text), problem));
  }

  it("come even if that is rare", () => {
    for (const text of ["0 0 29 2 *", "0 0 31 * *", "0 0 31 2 MON", "0 0 31 JAN,FEB *"]) parseCron(text);
  });

  it("are read or refused, whatever they are", () => {
    const piece = fc.constantFrom("*", "0", "7", "31", "59", "MON", "feb", "-", ",", "/", "L", "x", " ");
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.array(piece).map((all) => all.join("")),
        ),
        (text) => {
          try {
            const cron = parseCron(text);
            for (const list of [cron.minutes, cron.hours, cron.days, cron.months, cron.weekdays])
              assert.ok(list.length > 0);
          } catch (error) {
            assert.ok(error instanceof CronError, String(error));
          }
        },
      ),
    );
  });
});
