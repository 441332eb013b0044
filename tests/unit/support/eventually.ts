import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";

/** Waits until `condition` holds, and fails where it does not within a time that even a busy machine keeps. */
export async function eventually(
  what: string,
  condition: () => boolean | Promise<boolean>,
  withinMs = 20_000,
): Promise<void> {
  const until = performance.now() + withinMs;
  while (!(await condition())) {
    if (performance.now() > until) assert.fail(`${what}: not within ${withinMs} ms`);
    await pause(5);
  }
}
