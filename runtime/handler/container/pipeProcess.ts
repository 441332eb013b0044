import type { Socket } from "node:net";
import { constants } from "node:os";
import path from "node:path";
import {
  DEAF,
  DRAIN_MS,
  type HandlerExit,
  type HandlerProcess,
  type HandlerProcessListener,
} from "../handlerTransport";
import { openNamedPipe, removeName } from "./namedPipe";
import type { ShellSession } from "./shellSession";

/** How long the shell may take to report the end of a killed process. The shell's own watcher may be dead too. */
const KILL_MS = 5_000;
/** How much of standard error is searched for the reason why a program could not be executed. */
const REASON_BYTES = 1024;

const KILLED: HandlerExit = { code: null, signal: "SIGKILL" };
const ORPHANED = "argosy: the handler's container has ended; it may have run out of memory\n";

/** What a shell's status means: a status above 128 is a signal (POSIX, Shell Command Language, 2.8.2). */
function exitOf(status: number): HandlerExit {
  const signal = Object.entries(constants.signals).find(([, number]) => number === status - 128)?.[0];
  return signal ? { code: null, signal } : { code: status, signal: null };
}

/** One process in the handler's container, from the request to its end. */
export class PipeProcess implements HandlerProcess {
  private session: ShellSession | undefined;
  private pipes: ProcessPipes | undefined;
  /** The subshell that waits for it. Undefined until its pipes are made. */
  private supervisor: string | undefined;
  /** Its process group. Undefined until it runs. */
  private group: string | undefined;
  /** The input that was written before the process ran. */
  private early: string[] = [];
  private ending = false;
  private killing: NodeJS.Timeout | undefined;
  /** How the process ended, while its last output is still on the way. */
  private exit: HandlerExit | undefined;
  private over = false;
  /** Whether it ended because the shell did. */
  private orphaned = false;
  private saidNothing = true;
  private reason = "";
  private readonly patience: NodeJS.Timeout;

  /**
   * @param id its name between the shell and us, never used twice
   * @param startTimeoutMs how long it may take to run, the wait for the shell included
   * @param onOver called once, before the listener
   */
  constructor(
    private readonly id: number,
    private readonly listener: HandlerProcessListener,
    startTimeoutMs: number,
    private readonly onOver: () => void,
  ) {
    this.patience = setTimeout(() => {
      this.refuse(`the pod's container "handler" has not started it within ${startTimeoutMs / 1000} s`);
    }, startTimeoutMs);
  }

  /** Whether no shell was asked for it, or that shell has ended before. */
  get isWaiting(): boolean {
    return this.session === undefined;
  }

  /** Asks the shell of a session for it. */
  begin(session: ShellSession): void {
    this.session = session;
    session.tell("start", this.id);
  }

  /** The shell has made the pipes of the process, which runs once we have opened them. */
  made(supervisor: string): void {
    if (!this.session || this.pipes) return;
    this.supervisor = supervisor;
    try {
      this.pipes = new ProcessPipes(path.join(this.session.folder, String(this.id)), {
        output: (chunk) => {
          this.saidNothing = false;
          this.listener.output(chunk);
        },
        log: (chunk) => {
          if (this.reason.length < REASON_BYTES) this.reason += chunk.toString("utf8", 0, REASON_BYTES);
          this.listener.log(chunk);
        },
        deaf: () => setTimeout(() => this.finish(this.exit ?? DEAF), DRAIN_MS).unref(),
        ended: () => {
          if (this.exit) this.finish(this.exit);
        },
      });
      // What is written into a pipe without a reader is lost with it. The rest waits until the process runs.
      const [first] = this.early;
      if (first !== undefined) this.pipes.write(first);
    } catch (error) {
      this.refuse((error as Error).message);
    }
  }

  /** The process has its pipes open. Their names are not needed any more, and its input may end. */
  running(group: string): void {
    clearTimeout(this.patience);
    this.group = group;
    this.pipes?.running();
    const held = this.early.slice(1);
    this.early = [];
    for (const text of held) this.pipes?.write(text);
    if (this.ending) this.pipes?.end();
    if (this.killing) this.session?.tell("kill", group);
  }

  /** The process has ended, with this status of the shell. */
  exited(status: number): void {
    this.drain(exitOf(status));
  }

  /** The shell has ended, and every process with it. If this one had not begun, it waits for the next shell. */
  lost(): void {
    if (this.group === undefined && !this.killing) {
      this.pipes?.destroy();
      this.pipes = this.supervisor = this.session = undefined;
      return;
    }
    this.orphaned = this.exit === undefined;
    this.drain(KILLED);
  }

  /** The process cannot be started. */
  refuse(why: string): void {
    this.finish({ code: null, signal: null, startError: new Error(why) });
  }

  write(text: string): void {
    if (this.over || this.ending) return;
    if (this.group === undefined) this.early.push(text);
    if (this.group !== undefined || this.early.length === 1) this.pipes?.write(text);
  }

  end(): void {
    if (this.ending) return;
    this.ending = true;
    if (this.group !== undefined) this.pipes?.end();
  }

  kill(): void {
    if (this.over || this.killing) return;
    this.killing = setTimeout(() => this.finish(KILLED), this.session ? KILL_MS : 0);
    if (this.group !== undefined) this.session?.tell("kill", this.group);
  }

  private drain(exit: HandlerExit): void {
    if (this.exit) return;
    this.exit = exit;
    if (!this.pipes || this.pipes.ended) this.finish(exit);
    else setTimeout(() => this.finish(exit), DRAIN_MS);
  }

  private finish(exit: HandlerExit): void {
    if (this.over) return;
    this.over = true;
    clearTimeout(this.patience);
    clearTimeout(this.killing);
    this.pipes?.unlink();
    this.pipes?.destroy();
    // Its own child processes are killed too, and the shell may forget it.
    if (this.group !== undefined) this.session?.tell("kill", this.group);
    if (this.supervisor !== undefined) this.session?.tell("forget", this.supervisor);
    this.onOver();
    if (this.orphaned) this.listener.log(Buffer.from(ORPHANED));
    this.listener.exited(this.unstarted(exit) ?? exit);
  }

  /** A program that cannot be executed ends as 126 or 127, after setsid has said why. */
  private unstarted({ code }: HandlerExit): HandlerExit | undefined {
    const why = this.saidNothing && (code === 126 || code === 127) && /^setsid: (.+)/.exec(this.reason)?.[1];
    return why ? { code: null, signal: null, startError: new Error(why) } : undefined;
  }
}

/** Receives the output of a process. */
interface ProcessOutput {
  output(chunk: Buffer): void;
  log(chunk: Buffer): void;
  /** Something was written after the process had closed its input. */
  deaf(): void;
  /** Both outputs have ended: nothing more will come. */
  ended(): void;
}

/** Our ends of one process's standard streams. */
class ProcessPipes {
  /** Keeps what is written until the process has its pipes open. */
  private readonly feed: Socket;
  private input: Socket;
  private readonly outputs: Socket[] = [];
  private open = 2;

  /**
   * @param name path of its pipes without their ".in", ".out" and ".err"
   * @throws NodeJS.ErrnoException if one cannot be opened; the others are closed
   */
  constructor(
    private readonly name: string,
    private readonly receiver: ProcessOutput,
  ) {
    try {
      this.read("out", (chunk) => receiver.output(chunk), receiver);
      this.read("err", (chunk) => receiver.log(chunk), receiver);
      this.feed = this.input = openNamedPipe(`${name}.in`, "feed");
    } catch (error) {
      for (const output of this.outputs) output.destroy();
      throw error;
    }
  }

  /** Whether both outputs have ended. */
  get ended(): boolean {
    return this.open === 0;
  }

  write(text: string): void {
    if (this.input.writable) this.input.write(text);
    else this.receiver.deaf();
  }

  /**
   * The process has its pipes open, so their names are not needed any more. From now on only the process reads its input: if it
   * closes the pipe, the next write fails.
   */
  running(): void {
    this.feed.end();
    try {
      const input = openNamedPipe(`${this.name}.in`, "write");
      input.on("error", () => this.receiver.deaf());
      // What was written before goes first.
      input.cork();
      this.feed.once("close", () => input.uncork());
      this.input = input;
    } catch {
      // The process has closed it already.
    }
    this.unlink();
  }

  /**
   * Ends its input, after the bytes that were written. Call it only when the process has the pipe open: otherwise the input is
   * lost.
   */
  end(): void {
    this.input.end();
  }

  /** Removes the names of the pipes. Open pipes stay open. */
  unlink(): void {
    for (const pipe of ["in", "out", "err"]) removeName(`${this.name}.${pipe}`);
  }

  destroy(): void {
    for (const socket of [this.feed, this.input, ...this.outputs]) socket.destroy();
  }

  private read(pipe: "out" | "err", receive: (chunk: Buffer) => void, receiver: ProcessOutput): void {
    const output = openNamedPipe(`${this.name}.${pipe}`, "read");
    this.outputs.push(output);
    output.on("data", receive);
    output.on("close", () => {
      this.open--;
      if (this.open === 0) receiver.ended();
    });
  }
}
