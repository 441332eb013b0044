import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, symlinkSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";

/**
 * Where tsx keeps compiled sources, in the folder of temporary files. All commands share it. Otherwise each would compile all sources
 * again, because each has a new folder of temporary files.
 */
const COMPILED = `tsx-${process.geteuid?.()}`;

/** A command of the command line, as a process of its own. */
export class CommandProcess {
  stdout = "";
  stderr = "";
  private readonly child: ChildProcess;
  private readonly closed: Promise<unknown>;

  /**
   * @param temporaryFolder what the command takes for the machine's folder of temporary files
   * @param env further variables of its environment
   */
  constructor(
    program: string,
    args: readonly string[],
    temporaryFolder: string,
    env: NodeJS.ProcessEnv = {},
  ) {
    const compiled = path.join(temporaryFolder, COMPILED);
    if (!existsSync(compiled)) symlinkSync(path.join(tmpdir(), COMPILED), compiled);
    this.child = spawn(program, args, {
      cwd: path.join(__dirname, "..", ".."),
      env: { ...process.env, TMPDIR: temporaryFolder, ...env },
      // A group of its own, to be interrupted as a terminal does it.
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.child.stdout?.on("data", (chunk: Buffer) => {
      this.stdout += chunk;
    });
    this.child.stderr?.on("data", (chunk: Buffer) => {
      this.stderr += chunk;
    });
    this.closed = once(this.child, "close");
  }

  /** Waits for its end; gives the exit code as a shell does: npm sends itself the signal that it was sent. */
  async ended(): Promise<number> {
    await this.closed;
    const { exitCode, signalCode } = this.child;
    return exitCode ?? 128 + (signalCode ? constants.signals[signalCode] : 0);
  }

  /** Waits until it has printed this; gives what was matched. Fails where it ends before. */
  async printed(pattern: RegExp): Promise<string> {
    for (;;) {
      const found = pattern.exec(this.stdout)?.[0];
      if (found !== undefined) return found;
      if (this.child.exitCode !== null || this.child.signalCode !== null) {
        throw new Error(`ended without ${pattern}:\n${this.stdout}\n${this.stderr}`);
      }
      await pause(25);
    }
  }

  /** Ctrl-C: to the whole process group. */
  interrupt(): void {
    this.signal("SIGINT");
  }

  /** For the end of a test, whatever has become of it. */
  kill(): void {
    this.signal("SIGKILL");
  }

  private signal(signal: NodeJS.Signals): void {
    try {
      if (this.child.pid !== undefined) process.kill(-this.child.pid, signal);
    } catch {
      // It has ended.
    }
  }
}

/** The command lines of running processes that name this folder. */
export async function processesNaming(folder: string): Promise<string[]> {
  const { stdout } = await promisify(execFile)("ps", ["-A", "-o", "args="]);
  return stdout.split("\n").filter((line) => line.includes(folder));
}
