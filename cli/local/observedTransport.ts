import type { HandlerProcess, HandlerProcessListener, HandlerTransport } from "../../runtime/cli";
import { type Silence, untilAnswered } from "./silence";

/** Handlers of which everything is told that is in no report: standard error between two requests, and a long silence. */
export class ObservedTransport implements HandlerTransport {
  /**
   * @param onStrayLog receives what was written between two requests
   * @param onSilence called if a handler has not answered for some seconds
   */
  constructor(
    private readonly transport: HandlerTransport,
    private readonly onStrayLog: (text: string) => void,
    private readonly onSilence: (silence: Silence) => void = () => {},
  ) {}

  start(listener: HandlerProcessListener): HandlerProcess {
    let asked = false;
    let answered = () => {};
    const inner = this.transport.start({
      output: (chunk) => {
        listener.output(chunk);
        if (!chunk.includes("\n")) return;
        answered();
        // The engine also counts the output of this turn of the event loop as part of the run.
        setImmediate(() => {
          asked = false;
        });
      },
      log: (chunk) => {
        listener.log(chunk);
        if (!asked) this.onStrayLog(chunk.toString("utf8"));
      },
      exited: (exit) => {
        answered();
        listener.exited(exit);
      },
    });
    return {
      write: (text) => {
        asked = true;
        answered();
        answered = untilAnswered(text, this.onSilence);
        inner.write(text);
      },
      end: () => inner.end(),
      kill: () => {
        answered();
        inner.kill();
      },
    };
  }
}
