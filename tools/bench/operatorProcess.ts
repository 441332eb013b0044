import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { PeerStart, RunningPeer } from "./peer";
import { useOfTree, usesOf } from "./processes";

/** The command that starts an operator. */
export interface OperatorCommand extends Pick<PeerStart, "kubeconfig" | "logFile"> {
  readonly program: string;
  readonly args: readonly string[];
  /** The operator prints this once it watches the API. */
  readonly readyText: string;
  /** Added to the benchmark's own environment. */
  readonly env?: Readonly<Record<string, string>>;
}

const READY_TIMEOUT_MS = 60_000;
const READY_POLL_MS = 50;
const STOP_TIMEOUT_MS = 15_000;

/** Starts an operator as a process group of its own, with KUBECONFIG set and its output in a log file. */
export function startOperator(command: OperatorCommand): RunningPeer {
  const log = openSync(command.logFile, "w");
  const child = spawn(command.program, command.args, {
    env: { ...process.env, ...command.env, KUBECONFIG: command.kubeconfig },
    // The output goes into a file and not into a pipe, because reading it would cost the driver time.
    stdio: ["ignore", log, log],
    detached: true,
  });
  closeSync(log);

  let stopping = false;
  const failed = new Promise<never>((_resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code, signal) => {
      if (!stopping) reject(new Error(`the operator ended by itself (${signal ?? `exit code ${code}`})`));
    });
  });
  failed.catch(() => {}); // a caller that awaits the operator sees it, and there may be none

  return {
    memoryMiB: async () => (await useOfTree(child.pid ?? Number.NaN)).residentKiB / 1024,
    use: () => usesOf(child.pid ?? Number.NaN),
    cpuMs: async () => (await useOfTree(child.pid ?? Number.NaN)).cpuMs,
    ready: Promise.race([untilPrinted(command.logFile, command.readyText), failed]),
    failed,
    stop: async () => {
      stopping = true;
      if (child.pid === undefined) return;
      const exited = child.exitCode === null && child.signalCode === null ? once(child, "exit") : undefined;
      signalGroup(child.pid, "SIGTERM");
      if (exited) await Promise.race([exited, sleep(STOP_TIMEOUT_MS, undefined, { ref: false })]);
      // This also kills processes that the operator has left behind.
      signalGroup(child.pid, "SIGKILL");
      await exited;
    },
  };
}

/**
 * Waits until an operator has printed a text.
 * @throws Error after a minute, or after the given time
 */
export async function untilPrinted(
  logFile: string,
  text: string,
  timeoutMs = READY_TIMEOUT_MS,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await readFile(logFile, "utf8")).includes(text)) {
    if (Date.now() > deadline) throw new Error(`"${text}" was not printed within ${timeoutMs / 1000} s`);
    await sleep(READY_POLL_MS, undefined, { ref: false });
  }
}

function signalGroup(leader: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-leader, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
