import { execFileSync } from "node:child_process";
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

/**
 * When a process started, as a text that no other process with the same id has. Undefined if the system does not say it.
 *
 * A process id alone does not identify a process: a later process can get it.
 */
export function startOf(processId: number): string | undefined {
  // The name of the program comes before the bracket and may contain spaces: proc(5). The start is field 22, the state is field 3.
  const start = /.*\) (.*)$/s.exec(statusOf(processId))?.[1]?.split(" ")[19];
  if (start !== undefined || process.platform === "linux") return start;
  try {
    const options = { encoding: "utf8", env: { ...process.env, LC_ALL: "C", TZ: "UTC" } } as const;
    return execFileSync("ps", ["-o", "lstart=", "-p", String(processId)], options).trim() || undefined;
  } catch {
    return undefined;
  }
}

/** Linux' status of a process. Empty if the process no longer exists, or on other systems. */
function statusOf(processId: number): string {
  try {
    return readFileSync(`/proc/${processId}/stat`, "utf8");
  } catch {
    return "";
  }
}
