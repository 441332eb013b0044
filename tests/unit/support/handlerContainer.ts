import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  watch,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { HandlerProgram } from "../../../definition/handlerProgram";

/** A shell that `handler.sh` is run with. */
export interface Shell {
  readonly name: string;
  readonly command: readonly string[];
  /** Where busybox is. Undefined: the tools are the machine's. */
  readonly busybox?: string;
}

/** Busybox, as in a pod, where the machine has it; the machine's own shell and tools in any case. */
export function shells(): Shell[] {
  const busybox = spawnSync("sh", ["-c", "command -v busybox"], { encoding: "utf8" }).stdout.trim();
  const own: Shell = { name: "sh", command: ["sh"] };
  return busybox ? [{ name: "busybox", command: [busybox, "sh"], busybox }, own] : [own];
}

/** By this variable all processes of a container are found, whatever group and parent they have. */
const MARK = "ARGOSY_TEST_CONTAINER";

/** The handler's container, without the container: its shell, and the folders of the pod's layout. */
export class HandlerContainer {
  readonly root = mkdtempSync(path.join(tmpdir(), "argosy-pod-"));
  readonly pipes = path.join(this.root, "pipes");
  /** The working directory. */
  readonly folder = path.join(this.root, "handler");
  /** The exit code of the last shell that ended by itself or by a signal of a test. */
  exitCode: number | null | undefined;
  shell: ChildProcess | undefined;
  private readonly words: readonly string[];

  constructor(
    private readonly kind: Shell,
    program: HandlerProgram | readonly string[],
    private readonly env: Readonly<Record<string, string>> = {},
  ) {
    const { command, isFunction } = "command" in program ? program : { command: program, isFunction: false };
    this.words = [...(isFunction ? ["--function"] : []), ...command];
    for (const name of ["engine", "pipes", "handler-shell", "handler"]) mkdirSync(path.join(this.root, name));
    const source = path.join(__dirname, "../../../runtime/handler/container/handler.sh");
    copyFileSync(source, path.join(this.root, "engine/handler.sh"));
    if (kind.busybox) symlinkSync(kind.busybox, path.join(this.root, "handler-shell/busybox"));
  }

  /** Begins the shell, or begins it again. */
  start(): this {
    const [program = "", ...args] = this.kind.command;
    this.exitCode = undefined;
    const shell = spawn(program, [...args, path.join(this.root, "engine/handler.sh"), ...this.words], {
      cwd: this.folder,
      env: { PATH: process.env.PATH, ...this.env, [MARK]: this.root },
      stdio: ["ignore", "ignore", process.env.ARGOSY_TEST_VERBOSE ? "inherit" : "ignore"],
      detached: true,
    });
    shell.on("exit", (code) => {
      if (shell === this.shell) this.exitCode = code;
    });
    this.shell = shell;
    return this;
  }

  /** Resolves as soon as the shell waits for a runner. */
  async waiting(): Promise<void> {
    const changes = watch(this.pipes);
    try {
      while (!this.files().includes("session")) await once(changes, "change");
    } finally {
      changes.close();
    }
  }

  /** Ends everything in it at once, the shell first, as the kernel does with a container. */
  async kill(): Promise<void> {
    const { shell } = this;
    if (shell && shell.exitCode === null && shell.signalCode === null) {
      const exited = once(shell, "exit");
      shell.kill("SIGKILL");
      await exited;
    }
    for (let alive = this.processes(); alive.length > 0; alive = this.processes()) {
      for (const pid of alive) killIfThere(pid);
    }
  }

  /** Ids of the processes in it, the shell's included. */
  processes(): number[] {
    return readdirSync("/proc")
      .map(Number)
      .filter((pid) => pid > 0 && this.owns(pid));
  }

  /** Files in the folder of the pipes, with those of its folders. */
  files(): string[] {
    return readdirSync(this.pipes, { recursive: true }).map(String).sort();
  }

  async remove(): Promise<void> {
    await this.kill();
    rmSync(this.root, { recursive: true });
  }

  /** Whether a process is of this container, and runs: one that has ended has no environment any more. */
  private owns(pid: number): boolean {
    try {
      return readFileSync(`/proc/${pid}/environ`, "utf8").includes(`${MARK}=${this.root}`);
    } catch {
      return false;
    }
  }
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended already.
  }
}
