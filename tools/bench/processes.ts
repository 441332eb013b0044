import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { promisify } from "node:util";

/** The resources that processes use. */
export interface Use {
  readonly residentKiB: number;
  /** CPU time so far. */
  readonly cpuMs: number;
}

/** One process. */
export interface Process extends Use {
  readonly pid: number;
  readonly parent: number;
}

/** How memory is measured, as an explanation of the figures. */
export const memoryMethod =
  process.platform === "linux"
    ? "resident set (VmRSS of /proc/<pid>/status), summed over the operator's process tree"
    : "resident set (rss of ps), summed over the operator's process tree";

/** How CPU time is measured, as an explanation of the figures. */
export const cpuMethod =
  process.platform === "linux"
    ? "of the operator's process tree (/proc/<pid>/stat), and the API server's own process_cpu_seconds_total"
    : "of the operator's process tree (time of ps), and the API server's own process_cpu_seconds_total";

/** Linux counts CPU time in hundredths of a second for every program (USER_HZ), whatever its kernel's own clock is. */
const MS_PER_TICK = 10;

/** The resources of a process and all its descendants. Pages that two of them share count twice. */
export async function useOfTree(root: number): Promise<Use> {
  return sumTree(await processes(), root);
}

/** The resources of a process by itself, and with all its descendants. */
export async function usesOf(root: number): Promise<{ readonly own: Use; readonly all: Use }> {
  const all = await processes();
  const own = all.find(({ pid }) => pid === root) ?? { residentKiB: 0, cpuMs: 0 };
  return { own, all: sumTree(all, root) };
}

function processes(): Promise<Process[]> {
  return process.platform === "linux" ? readProc() : readPs();
}

/** The sum over a process and all its descendants. */
export function sumTree(processes: readonly Process[], root: number): Use {
  const own = processes.find(({ pid }) => pid === root) ?? { residentKiB: 0, cpuMs: 0 };
  return processes
    .filter(({ parent }) => parent === root)
    .map(({ pid }) => sumTree(processes, pid))
    .reduce(
      (sum, { residentKiB, cpuMs }) => ({
        residentKiB: sum.residentKiB + residentKiB,
        cpuMs: sum.cpuMs + cpuMs,
      }),
      { residentKiB: own.residentKiB, cpuMs: own.cpuMs },
    );
}

/**
 * Reads a `/proc/<pid>/status` and the `/proc/<pid>/stat` next to it. Kernel threads and zombies have no memory. The CPU time of
 * children that have ended counts for their parent.
 * @see https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
 */
export function parseProc(status: string, stat: string): Process {
  const field = (name: string) => Number(new RegExp(`^${name}:\\s*(\\d+)`, "m").exec(status)?.[1] ?? 0);
  // After the name, which may contain spaces and brackets: state, parent, and from the twelfth field on the times.
  const [utime = 0, stime = 0, childrenUtime = 0, childrenStime = 0] = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .slice(11, 15)
    .map(Number);
  const ticks = utime + stime + childrenUtime + childrenStime;
  return {
    pid: field("Pid"),
    parent: field("PPid"),
    residentKiB: field("VmRSS"),
    cpuMs: ticks * MS_PER_TICK,
  };
}

/** Reads what `ps -axo pid=,ppid=,rss=,time=` prints. */
export function parsePs(text: string): Process[] {
  return text
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .map(([pid, parent, residentKiB, time = ""]) => ({
      pid: Number(pid),
      parent: Number(parent),
      residentKiB: Number(residentKiB),
      cpuMs: parseTime(time),
    }));
}

/** Reads "[[days-]hours:]minutes:seconds", in milliseconds. */
function parseTime(text: string): number {
  const [, days = 0, hours = 0, minutes = 0, seconds = 0] =
    /^(?:(?:(\d+)-)?(\d+):)?(\d+):([\d.]+)$/.exec(text) ?? [];
  const wholeHours = Number(days) * 24 + Number(hours);
  return Math.round(((wholeHours * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000);
}

async function readProc(): Promise<Process[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  // A process may end between the listing and the reading.
  const read = (pid: string, file: string) => readFile(`/proc/${pid}/${file}`, "utf8").catch(() => "");
  const texts = await Promise.all(
    pids.map(async (pid) => [await read(pid, "status"), await read(pid, "stat")] as const),
  );
  return texts.filter(([status]) => status !== "").map(([status, stat]) => parseProc(status, stat));
}

async function readPs(): Promise<Process[]> {
  const { stdout } = await promisify(execFile)("ps", ["-axo", "pid=,ppid=,rss=,time="]);
  return parsePs(stdout);
}
