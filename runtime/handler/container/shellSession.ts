import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import type { Socket } from "node:net";
import path from "node:path";
import { LineSplitter } from "../../base/text";
import { openNamedPipe } from "./namedPipe";

/** How the runner lives. If the runner ends for good, the shell does not wait for another one. */
export type RunnerLife = "resident" | "run";

/** Longer than any report of the shell. */
const LONGEST_REPORT_BYTES = 64 * 1024;
/** A name as `mktemp` makes it. It cannot lead out of the pipes' folder. */
const SESSION_NAME = /^session\.\w+$/;

/** Receives what the shell reports. */
export interface ShellListener {
  /** The words of one report. */
  reported(words: readonly string[]): void;
  /** The shell has ended, or serves another runner. Called once, last. */
  over(): void;
}

/** One runner and one life of the shell in the handler's container: see `handler.sh`. */
export class ShellSession {
  private readonly lines = new LineSplitter(LONGEST_REPORT_BYTES);

  private constructor(
    /** The folder of the pipes of its processes. */
    readonly folder: string,
    /** The values in the handler's environment that must not be reported, in base64. */
    readonly hidden: readonly string[],
    private readonly reports: Socket,
    private readonly control: Socket,
    listener: ShellListener,
  ) {
    reports.on("data", (chunk: Buffer) => {
      try {
        for (const line of this.lines.push(chunk)) listener.reported(line.split(" "));
      } catch {
        this.leave();
      }
    });
    reports.on("close", () => {
      control.destroy();
      listener.over();
    });
    control.on("close", () => reports.destroy());
  }

  /**
   * Greets the shell that has published a session.
   * @param pipes the folder that both containers share
   * @returns undefined if there is no session, or if its shell has ended
   */
  static greet(pipes: string, life: RunnerLife, listener: ShellListener): ShellSession | undefined {
    let reports: Socket | undefined;
    try {
      const name = readBeginning(path.join(pipes, "session"), LONGEST_WORD_BYTES).trim();
      if (!SESSION_NAME.test(name)) return undefined;
      const folder = path.join(pipes, name);
      const hidden = hiddenIn(folder);
      reports = openNamedPipe(path.join(folder, "reports"), "read");
      // Linux reports the end of a pipe to a reader only if there was a writer (pipe_poll in fs/pipe.c). A shell that is dying
      // may still read "control" and never write. So we open the pipe as a writer for a moment.
      openNamedPipe(path.join(folder, "reports"), "write").destroy();
      const control = openNamedPipe(path.join(folder, "control"), "write");
      const session = new ShellSession(folder, hidden, reports, control, listener);
      session.tell("hello", life);
      return session;
    } catch {
      reports?.destroy();
      return undefined;
    }
  }

  /** Sends one command. Once the session is over, this does nothing. */
  tell(...words: readonly (string | number)[]): void {
    if (this.control.writable) this.control.write(`${words.join(" ")}\n`);
  }

  /** Leaves the shell, which then kills every process. */
  leave(): void {
    this.reports.destroy();
  }
}

/** Longer than any name of a session. */
const LONGEST_WORD_BYTES = 64;
/** More than Linux passes to a program, in base64. */
const LONGEST_ENVIRONMENT_BYTES = 3 * 1024 * 1024;
/** More values than an operator has, so that the handler's container cannot fill our memory with very many. */
const MOST_HIDDEN = 1_000;

/** What the shell of a session has hidden. The shell wrote it before it published the session. */
function hiddenIn(folder: string): string[] {
  const file = path.join(folder, "hidden");
  const lines = readBeginning(file, LONGEST_ENVIRONMENT_BYTES).split("\n", MOST_HIDDEN);
  return lines.filter((line) => line !== "");
}

/**
 * The beginning of a file. The handler's container may have put anything in its place: a pipe would block this process
 * for ever, and a link could lead to files that only the runner may read.
 * @throws Error if it is not a file
 */
function readBeginning(file: string, longest: number): string {
  const fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  try {
    const found = fstatSync(fd);
    if (!found.isFile()) throw new Error(`${file} is not a file`);
    const buffer = Buffer.alloc(Math.min(longest, found.size));
    return buffer.toString("utf8", 0, readSync(fd, buffer));
  } finally {
    closeSync(fd);
  }
}
