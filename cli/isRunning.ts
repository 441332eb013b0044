import { readFileSync } from "node:fs";

/**
 * Whether a process of any user runs. A process that has ended does not run, even if its parent has not noticed that. A killed
 * process stays in that state for a moment, and in a container for ever.
 */
export function isRunning(processId: number): boolean {
  try {
    process.kill(processId, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return false;
  }
  return !/\) [ZX] /.test(statusOf(processId));
}

/** What Linux says of a process. Empty where it has gone, or on other systems. */
function statusOf(processId: number): string {
  try {
    return readFileSync(`/proc/${processId}/stat`, "utf8");
  } catch {
    return "";
  }
}
