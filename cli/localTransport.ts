import type {
  HandlerProcess,
  HandlerProcessListener,
  HandlerTransport,
} from "../runtime/handler/handlerTransport";

/** Handler processes alive, of every transport here. */
const alive = new Set<HandlerProcess>();

process.once("exit", () => {
  for (const handler of alive) handler.kill();
});

/**
 * Handlers that are child processes, which do not outlive this one, however it exits. What one writes to standard error while
 * nobody has asked it anything is in no report: it is told here.
 */
export class LocalTransport implements HandlerTransport {
  /** @param onStrayLog receives what was written between two requests */
  constructor(
    private readonly transport: HandlerTransport,
    private readonly onStrayLog: (text: string) => void = () => {},
  ) {}

  start(listener: HandlerProcessListener): HandlerProcess {
    let asked = false;
    const inner = this.transport.start({
      output: (chunk) => {
        listener.output(chunk);
        if (!chunk.includes("\n")) return;
        // The engine too takes what comes in this turn of the event loop for a part of the run.
        setImmediate(() => {
          asked = false;
        });
      },
      log: (chunk) => {
        listener.log(chunk);
        if (!asked) this.onStrayLog(chunk.toString("utf8"));
      },
      exited: (exit) => {
        alive.delete(inner);
        listener.exited(exit);
      },
    });
    alive.add(inner);
    return {
      write: (text) => {
        asked = true;
        inner.write(text);
      },
      end: () => inner.end(),
      kill: () => inner.kill(),
    };
  }
}
