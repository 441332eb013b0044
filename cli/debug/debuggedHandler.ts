import type {
  HandlerExit,
  HandlerProcess,
  HandlerProcessListener,
  HandlerTransport,
} from "../../runtime/cli";
import { untilAnswered } from "../local/silence";

/** The callbacks of a {@link DebuggedHandler}. */
export interface DebuggedHandlerOptions {
  /** Starts the process, with its debugger. */
  readonly transport: HandlerTransport;
  /** Called with the standard error of the process between two requests. */
  readonly onLog: (text: string) => void;
  /** Called with a sentence when the process ends or is replaced. */
  readonly onNotice: (notice: string) => void;
  /** Called with each object whose request waits: for a debugger, or in one. */
  readonly onWait: (object: string) => void;
  /** The message of the process when a debugger is attached. Undefined: it has none, and waits by itself. */
  readonly attached?: RegExp | undefined;
  /** The pause before a process that ended by itself is started again, in milliseconds. @default 500 */
  readonly againMs?: number;
}

/** A request that waits for its answer, or for its turn. */
interface Request {
  readonly line: string;
  readonly listener: HandlerProcessListener;
  /** Called when the listener no longer waits for the answer. */
  readonly over: () => void;
}

const AGAIN_MS = 500;
/** An editor sets its breakpoints in a script a moment after it was attached. */
const BREAKPOINTS_MS = 1_000;
/** A debugger's port can stay in use for a moment after its process has ended. After this many tries, another program has the port. */
const MOST_TRIES = 10;
/** Node's message when another program has the port. It then runs without a debugger, and nobody could attach. */
const HAS_NO_DEBUGGER = /^Starting inspector on .* failed: /m;
/** Node's own messages about its inspector. */
const OF_INSPECTOR =
  /^(Debugger (listening|ending) on .*|For help, see: .*|Debugger attached\.|Waiting for the debugger to disconnect\.\.\.)\n/gm;

/**
 * The one process of a handler to which a debugger is attached. It starts at once, since a debugger needs a process. It gets one
 * request at a time, and is replaced after an edit or when it has ended.
 */
export class DebuggedHandler {
  private process: HandlerProcess | undefined;
  /** Whether the process has been killed. It may exist a moment longer, but gets no more requests. */
  private isEnding = false;
  private asked: Request | undefined;
  private readonly waiting: Request[] = [];
  private outdated = false;
  private closed = false;
  private tries = 0;
  private again: NodeJS.Timeout | undefined;
  private lastWords = "";
  /** Whether a debugger is attached, according to the process. */
  private isAttached = false;

  constructor(private readonly options: DebuggedHandlerOptions) {}

  /** Starts the process, unless it is running. */
  start(): void {
    if (this.process || this.closed) return;
    clearTimeout(this.again);
    this.outdated = false;
    this.isEnding = false;
    this.isAttached = this.options.attached === undefined;
    const process: HandlerProcess = this.options.transport.start({
      output: (chunk) => this.answered(chunk),
      log: (chunk) => this.log(chunk),
      exited: (exit) => {
        if (this.process === process) this.process = undefined;
        const { asked } = this;
        this.asked = undefined;
        asked?.over();
        asked?.listener.exited(exit);
        this.startAgain(asked !== undefined || this.isEnding);
      },
    });
    this.process = process;
    this.next();
  }

  /** Asks the process when it is free. The listener gets the answer, or the end of the process. */
  ask(line: string, listener: HandlerProcessListener): void {
    const over = untilAnswered(line, ({ object }) => this.options.onWait(object));
    this.waiting.push({ line, listener, over });
    this.tries = 0;
    this.start();
    this.next();
  }

  /** The listener no longer waits for the answer. A process with a request is replaced. */
  drop(listener: HandlerProcessListener): void {
    const index = this.waiting.findIndex((each) => each.listener === listener);
    if (index >= 0) for (const { over } of this.waiting.splice(index, 1)) over();
    if (this.asked?.listener === listener) this.kill();
  }

  /**
   * The handler's files or its environment have changed: another process replaces this one, once this one has answered.
   * @param news what happens then, as the beginning of a sentence.
   * @default "the edit is applied"
   */
  renew(news = "the edit is applied"): void {
    this.tries = 0;
    if (this.asked) {
      this.outdated = true;
      this.options.onNotice(`${news} after the answer that the debugger holds`);
    } else if (this.process) this.kill();
    else this.start();
  }

  /** Ends the process. Its pending requests fail. */
  close(): void {
    this.closed = true;
    clearTimeout(this.again);
    this.kill();
  }

  private kill(): void {
    this.isEnding = true;
    this.process?.kill();
  }

  private next(): void {
    if (this.asked || !this.process || this.isEnding || !this.isAttached) return;
    this.asked = this.waiting.shift();
    if (this.asked) this.process.write(this.asked.line);
  }

  private answered(chunk: Buffer): void {
    this.asked?.listener.output(chunk);
    if (!chunk.includes("\n")) return;
    this.asked?.over();
    this.tries = 0;
    // The rest of this turn of the event loop brings the log.
    setImmediate(() => {
      this.asked = undefined;
      if (this.outdated) this.kill();
      else this.next();
    });
  }

  private log(chunk: Buffer): void {
    const text = chunk.toString("utf8");
    if (this.options.attached?.test(text)) this.attached();
    if (HAS_NO_DEBUGGER.test(text)) this.process?.kill();
    const own = text.replace(OF_INSPECTOR, "");
    this.lastWords = own || this.lastWords;
    if (own === "") return;
    if (this.asked) this.asked.listener.log(Buffer.from(own));
    else this.options.onLog(own);
  }

  private attached(): void {
    this.options.onNotice("a debugger is attached");
    const { process } = this;
    setTimeout(() => {
      if (this.process !== process) return;
      this.isAttached = true;
      this.next();
    }, BREAKPOINTS_MS);
  }

  private refuseWaiting(exit: HandlerExit): void {
    for (const { listener, over } of this.waiting.splice(0)) {
      over();
      listener.exited(exit);
    }
  }

  /**
   * @param isMeant whether the process was replaced on purpose, or failed during a request, so that it is not broken by itself
   */
  private startAgain(isMeant: boolean): void {
    if (this.closed) return this.refuseWaiting({ code: null, signal: "SIGKILL" });
    this.tries = isMeant ? 0 : this.tries + 1;
    if (this.tries <= MOST_TRIES) {
      this.again = setTimeout(() => this.start(), isMeant ? 0 : (this.options.againMs ?? AGAIN_MS));
      return;
    }
    this.options.onNotice(`the debugged handler does not start: ${this.lastWords.trim()}`);
    this.refuseWaiting({ code: 1, signal: null });
  }
}
