import assert from "node:assert/strict";
import { SLOWER } from "./eventually";

/** How often the work is tried that seems to take too much. */
const TURNS = 3;

/**
 * Does some work of this process, which may be repeated, and fails if it took more CPU time than this each time. A busy machine costs CPU
 * time too: other work empties the processor's caches, and V8 compiles later.
 * @param mostMs on an idle machine, in milliseconds
 * @returns the result of the work
 */
export function withinCpuTime<Result>(mostMs: number, work: () => Result): Result {
  const taken: number[] = [];
  while (taken.length < TURNS) {
    const before = process.cpuUsage();
    const result = work();
    const { user, system } = process.cpuUsage(before);
    const ms = (user + system) / 1000;
    if (ms < mostMs * SLOWER) return result;
    taken.push(Math.round(ms));
  }
  assert.fail(`${taken.join(", ")} ms of CPU time`);
}
