import assert from "node:assert/strict";

/**
 * Does some work of this process, and fails if it took more CPU time than this, in milliseconds. Unlike the time on the clock, CPU
 * time stays about the same while the machine has other work too.
 * @returns the result of the work
 */
export function withinCpuTime<Result>(mostMs: number, work: () => Result): Result {
  const before = process.cpuUsage();
  const result = work();
  const { user, system } = process.cpuUsage(before);
  const ms = (user + system) / 1000;
  assert.ok(ms < mostMs, `${Math.round(ms)} ms of CPU time`);
  return result;
}
