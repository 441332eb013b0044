import { readFileSync } from "node:fs";

/**
 * Whether a process of any user runs. A process that has ended does not count as running, even if its parent has not noticed its
 * end. A killed process stays in that state for a moment, or in a container for ever.
 */
export function isRunning(processId: number): boolean {
  try {
    process.kill(processId, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return false;
  }
  return !/\) [ZX] /.test(statusOf(processId));
}

/** Linux' status of a process. Empty if the process no longer exists, or on other systems. */
function statusOf(processId: number): string {
  try {
    return readFileSync(`/proc/${processId}/stat`, "utf8");
  } catch {
    return "";
  }
}
