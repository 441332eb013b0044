import { closeSync, constants, openSync } from "node:fs";
import path from "node:path";
import { within } from "../../base/clock";
import type { HandlerProcess, HandlerProcessListener, HandlerTransport } from "../handlerTransport";
import { removeName } from "./namedPipe";
import { PipeProcess } from "./pipeProcess";
import { type RunnerLife, ShellSession } from "./shellSession";

/**
 * How often the shell is looked for until it is found, in milliseconds. The kernel's watches of folders are few, and shared by all
 * pods of a node.
 */
const LOOK_EVERY_MS = 50;
/** How long the shell may take to end after we have asked it to. */
const CLOSE_MS = 5_000;
const CLOSED = "no handler is started any more";

/**
 * Runs handlers in the handler's container, by the shell there: see `handler.sh`. It looks for the shell from the
 * beginning. When a shell has ended, all its processes count as killed by SIGKILL, and the next shell is looked for.
 */
export class PipeTransport implements HandlerTransport {
  private readonly folder: string;
  /** Processes that have not ended. */
  private readonly processes = new Map<number, PipeProcess>();
  private session: ShellSession | undefined;
  private known: readonly string[] = [];
  private looking: NodeJS.Timeout | undefined;
  private lastId = 0;
  private closed = false;
  /** Called at the beginning and at the end of a session. */
  private changed: (() => void)[] = [];

  constructor(
    private readonly options: {
      /** The folder of the named pipes. */
      readonly folder: string;
      /**
       * "resident": if the runner ends unexpectedly, the shell waits for the next one. "run": the shell ends as well,
       * since otherwise the pod would not end. @default "resident"
       */
      readonly life?: RunnerLife;
      /** How long a process may take to start, including the wait for the handler's container. @default 10000 */
      readonly startTimeoutMs?: number;
    },
  ) {
    this.folder = options.folder;
    // An earlier runner may have asked the shell to end. This one keeps it.
    removeName(this.leftWord);
    this.look();
  }

  /** Why no handler can be started now. Undefined if the handler's container has started. */
  get whyNotReady(): string | undefined {
    return this.session ? undefined : 'the pod\'s container "handler" is not there';
  }

  /** Those of the last session, whose processes may still have something to say. */
  hidden(): readonly string[] {
    return this.known;
  }

  start(listener: HandlerProcessListener): HandlerProcess {
    const id = ++this.lastId;
    const { startTimeoutMs = 10_000 } = this.options;
    const process = new PipeProcess(id, listener, startTimeoutMs, () => this.processes.delete(id));
    this.processes.set(id, process);
    if (this.closed) setImmediate(() => process.refuse(CLOSED));
    else if (this.session) process.begin(this.session);
    return process;
  }

  /**
   * Resolves as soon as the handler's container has started. Its image may take long to be pulled.
   * @throws Error after `timeoutMs` without it
   */
  async ready(timeoutMs: number): Promise<void> {
    const until = performance.now() + timeoutMs;
    while (!this.session) {
      const left = until - performance.now();
      if (left <= 0 || this.closed)
        throw new Error(`the pod's container "handler" was not there within ${timeoutMs / 1000} s`);
      await this.change(left);
    }
  }

  /**
   * Ends the shell, and with it every process that is left, with exit code 0. A shell that comes later is asked to end at once.
   * Resolves when the shell has ended, or after 5 s.
   * @returns whether there was a shell. If not, the handler's container has ended before, or has never begun
   */
  async close(): Promise<boolean> {
    const wasThere = this.session !== undefined;
    this.closed = true;
    this.refuseWaiting();
    if (!this.session) {
      this.leaveWord();
      // A shell that came just before has not seen this.
      this.look();
    }
    clearInterval(this.looking);
    this.session?.tell("close");
    if (this.session) await this.change(CLOSE_MS);
    this.session?.leave();
    return wasThere;
  }

  private get leftWord(): string {
    return path.join(this.folder, "closed");
  }

  /** The handler may have put something else in its place: a pipe would block this process for ever. */
  private leaveWord(): void {
    const { O_WRONLY, O_CREAT, O_NONBLOCK, O_NOFOLLOW } = constants;
    try {
      closeSync(openSync(this.leftWord, O_WRONLY | O_CREAT | O_NONBLOCK | O_NOFOLLOW, 0o600));
    } catch {
      // A shell that comes later waits for a runner, and gives up.
    }
  }

  /** Greets the shell if it has started. Otherwise waits for it. */
  private look(): void {
    if (this.session) return;
    this.looking ??= setInterval(() => this.look(), LOOK_EVERY_MS).unref();
    this.session = ShellSession.greet(this.folder, this.options.life ?? "resident", {
      reported: (words) => this.reported(words),
      over: () => this.lost(),
    });
    if (!this.session) return;
    this.known = this.session.hidden;
    clearInterval(this.looking);
    this.looking = undefined;
    for (const process of this.waiting) process.begin(this.session);
    this.tellChange();
  }

  /** Processes for which no shell has been asked yet. */
  private get waiting(): PipeProcess[] {
    return [...this.processes.values()].filter(({ isWaiting }) => isWaiting);
  }

  private reported([what, id, ...details]: readonly string[]): void {
    const [detail = ""] = details;
    const process = this.processes.get(Number(id));
    if (what === "made") process ? process.made(detail) : this.session?.tell("forget", detail);
    if (what === "running") process ? process.running(detail) : this.session?.tell("kill", detail);
    if (what === "exit") process?.exited(Number(detail));
    if (what === "failed") process?.refuse(details.join(" "));
  }

  private lost(): void {
    this.session = undefined;
    for (const process of this.processes.values()) process.lost();
    this.tellChange();
    if (this.closed) this.refuseWaiting();
    else this.look();
  }

  private refuseWaiting(): void {
    for (const process of this.waiting) process.refuse(CLOSED);
  }

  /** Resolves when a session has begun or ended, or after `timeoutMs`. */
  private change(timeoutMs: number): Promise<void> {
    return within(timeoutMs, new Promise<void>((resolve) => this.changed.push(resolve)));
  }

  private tellChange(): void {
    for (const tell of this.changed.splice(0)) tell();
  }
}
