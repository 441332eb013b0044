import assert from "node:assert/strict";
import fc from "fast-check";
import { CronError, isDay, parseCron } from "../../runtime/operator/cron";

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
