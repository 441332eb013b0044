import { existsSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { ChildProcessTransport } from "../../../runtime/handler/childProcessTransport";

/** Runs a shell script as a handler: it starts within a few milliseconds, and every machine has it. */
export function shellHandler(
  script: string,
  env: Readonly<Record<string, string>> = {},
): ChildProcessTransport {
  return new ChildProcessTransport({ command: ["sh", "-c", script], folder: tmpdir(), env });
}

/** A handler that answers every line with itself. */
export const ECHO = 'while read -r line; do echo "$line"; done';

/** Whether a process is there and runs: one that has ended and only waits for its parent to notice does not. */
export function isAlive(pid: number): boolean {
  if (existsSync("/proc/self/stat")) return stateOf(pid) !== "Z";
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Linux' letter for a process's state, "Z" also where there is no such process. */
function stateOf(pid: number): string | undefined {
  try {
    return /\) (.)/.exec(readFileSync(`/proc/${pid}/stat`, "utf8"))?.[1];
  } catch {
    return "Z";
  }
}
