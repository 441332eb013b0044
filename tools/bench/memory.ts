import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { promisify } from "node:util";

/** One process, as far as memory is concerned. */
export interface ProcessMemory {
  readonly pid: number;
  readonly parent: number;
  readonly residentKiB: number;
}

/** How {@link residentMiB} measures, for the reader of its figures. */
export const memoryMethod =
  process.platform === "linux"
    ? "resident set (VmRSS of /proc/<pid>/status), summed over the operator's process tree"
    : "resident set (rss of ps), summed over the operator's process tree";

/** Resident memory of a process and all its descendants, in MiB. Pages that two of them share count twice. */
export async function residentMiB(root: number): Promise<number> {
  return sumTree(await (process.platform === "linux" ? readProc() : readPs()), root) / 1024;
}

/** The sum over a process and all its descendants, in KiB. */
export function sumTree(processes: readonly ProcessMemory[], root: number): number {
  const own = processes.find(({ pid }) => pid === root)?.residentKiB ?? 0;
  const children = processes.filter(({ parent }) => parent === root);
  return children.reduce((sum, { pid }) => sum + sumTree(processes, pid), own);
}

/** Reads a `/proc/<pid>/status`. Kernel threads and zombies have no memory. */
export function parseStatus(text: string): ProcessMemory {
  const field = (name: string): number => Number(new RegExp(`^${name}:\\s*(\\d+)`, "m").exec(text)?.[1] ?? 0);
  return { pid: field("Pid"), parent: field("PPid"), residentKiB: field("VmRSS") };
}

/** Reads what `ps -axo pid=,ppid=,rss=` prints. */
export function parsePs(text: string): ProcessMemory[] {
  return text
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/).map(Number))
    .map(([pid = 0, parent = 0, residentKiB = 0]) => ({ pid, parent, residentKiB }));
}

async function readProc(): Promise<ProcessMemory[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  // A process may end between the listing and the reading.
  const texts = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/status`, "utf8").catch(() => "")));
  return texts.filter((text) => text !== "").map(parseStatus);
}

async function readPs(): Promise<ProcessMemory[]> {
  const { stdout } = await promisify(execFile)("ps", ["-axo", "pid=,ppid=,rss="]);
  return parsePs(stdout);
}
