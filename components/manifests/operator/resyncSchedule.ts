const MINUTE = 60;
const HOUR = 60 * MINUTE;

/** Steps that divide an hour or a day: the times between two runs are then all the same. */
const MINUTES = [1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30];
const HOURS = [1, 2, 3, 4, 6, 8, 12, 24];

/**
 * A schedule of cron for "at least this often": the longest even step that is not longer. 600 s are every ten
 * minutes, and so are 700 s. The shortest step is a minute, as cron has it.
 *
 * Not "@every 700s", which the Workflow controller understands too: it reckons that from when it last saw the
 * CronWorkflow change, which every run does (argo-workflows, workflow/cron/controller.go).
 */
export function resyncSchedule(seconds: number): string {
  if (seconds < HOUR) {
    const minutes = longest(MINUTES, seconds / MINUTE);
    return minutes === 1 ? "* * * * *" : `*/${minutes} * * * *`;
  }
  const hours = longest(HOURS, seconds / HOUR);
  if (hours === 24) return "0 0 * * *";
  return hours === 1 ? "0 * * * *" : `0 */${hours} * * *`;
}

function longest(steps: readonly number[], limit: number): number {
  return Math.max(...steps.filter((step, index) => index === 0 || step <= limit));
}
