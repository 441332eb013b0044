import { readdirSync, readFileSync } from "node:fs";

/** The processes of a program with this variable in their environment, if they run on this machine and we may look. */
export function processesOf(program: string, variable: string): number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => pid > 0 && isOf(pid, program, variable));
}

function isOf(pid: number, program: string, variable: string): boolean {
  try {
    const environment = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
    const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
    return environment.includes(variable) && command.some((word) => word.endsWith(program));
  } catch {
    return false;
  }
}
