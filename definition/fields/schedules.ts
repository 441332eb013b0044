import { CronError, parseCron } from "../../runtime/operator/cron";
import { isTimeZone } from "../../runtime/operator/occurrences";
import { fields, integer, mapOf, pattern, quoted, text } from "../checks";

const SCHEDULES_REMEDY =
  'Write, for example, schedules: { nightly: { cron: "0 3 * * *", timeZone: Europe/Berlin } }.';

const schedule = fields(
  {
    cron: text('Write five fields, for example cron: "0 3 * * *" for every night at three.', (fields) => {
      try {
        parseCron(fields);
        return undefined;
      } catch (error) {
        if (error instanceof CronError) return error.message;
        throw error;
      }
    }).describe("Minute, hour, day of the month, month and day of the week, as in Kubernetes' CronJob."),
    timeZone: text(
      "Use a name of the time zone database, for example Europe/Berlin, or leave it out for UTC.",
      (name) => (isTimeZone(name) ? undefined : `is ${quoted(name)}, which is not a known time zone`),
    )
      .default("UTC")
      .describe("A name of the time zone database. Default: UTC."),
    spreadSeconds: integer(0, 86400, "Leave it out for 60.")
      .default(60)
      .describe(
        "The objects' turns are spread over this many seconds, depending on their uids. 0 to 86400. Default: 60.",
      ),
  },
  SCHEDULES_REMEDY,
);

/** The schedules of an operator, by names. */
export const SCHEDULES = mapOf(
  pattern(
    /^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$/,
    "the name of a schedule",
    'Use at most 40 lower-case letters, digits and "-", a letter first, for example nightly.',
  ),
  schedule,
  SCHEDULES_REMEDY,
);
