import type {
  HandlerExit,
  HandlerProcess,
  HandlerProcessListener,
  HandlerTransport,
} from "../../runtime/cli";
import type { DebuggedHandler } from "./debuggedHandler";

/** The transports between which a {@link DebugTransport} chooses. */
export interface DebugTransportOptions {
  /** Handler processes as they are without a debugger. */
  readonly others: HandlerTransport;
  readonly debugged: DebuggedHandler;
  /** Whether a request, given as its line, is for the debugged process. */
  readonly isDebugged: (line: string) => boolean;
  /** How many requests the other processes get at the same time. A request that waits in a debugger does not count. */
  readonly atOnce: number;
}

/**
 * Gives the requests about one object to the process to which a debugger is attached, and all others to other processes, which
 * are not held up.
 */
export class DebugTransport implements HandlerTransport {
  private asked = 0;
  private readonly waiting: (() => void)[] = [];

  constructor(private readonly options: DebugTransportOptions) {}

  start(listener: HandlerProcessListener): HandlerProcess {
    const { others, debugged, isDebugged } = this.options;
    let [isOver, isDebugging, isAsked] = [false, false, false];
    let inner: HandlerProcess | undefined;
    const exited = (exit: HandlerExit) => {
      if (isOver) return;
      isOver = true;
      if (isAsked) this.leave();
      inner?.kill();
      listener.exited(exit);
    };
    const over = (code: number | null, signal: string | null) => setImmediate(() => exited({ code, signal }));
    const fromDebugged: HandlerProcessListener = {
      output: (chunk) => {
        if (chunk.includes("\n")) isDebugging = false;
        listener.output(chunk);
      },
      log: (chunk) => listener.log(chunk),
      exited,
    };
    const fromOthers: HandlerProcessListener = {
      output: (chunk) => {
        listener.output(chunk);
        if (!chunk.includes("\n") || !isAsked) return;
        isAsked = false;
        this.leave();
      },
      log: (chunk) => listener.log(chunk),
      exited,
    };
    const askOthers = (text: string) =>
      this.enter(() => {
        if (isOver) return this.leave();
        isAsked = true;
        inner ??= others.start(fromOthers);
        inner.write(text);
      });
    return {
      write: (text) => {
        if (!isDebugged(text)) return askOthers(text);
        isDebugging = true;
        debugged.ask(text, fromDebugged);
      },
      end: () => {
        if (isDebugging) return;
        if (inner) inner.end();
        else over(0, null);
      },
      kill: () => {
        if (isDebugging) debugged.drop(fromDebugged);
        if (inner) inner.kill();
        else over(null, "SIGKILL");
      },
    };
  }

  private enter(begin: () => void): void {
    if (this.asked >= this.options.atOnce) {
      this.waiting.push(begin);
      return;
    }
    this.asked += 1;
    begin();
  }

  private leave(): void {
    this.asked -= 1;
    const begin = this.waiting.shift();
    if (begin) this.enter(begin);
  }
}
