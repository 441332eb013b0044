import type { JsonObject } from "../../../runtime/base/objects";
import type { HandlerRequest } from "../../../runtime/handler/contract";
import type { HandlerTransport } from "../../../runtime/handler/handlerTransport";

/** What a handler does that answers nothing and ends. */
export class Crash {
  /** @param words what the process writes to standard error */
  constructor(readonly words: string) {}
}

/** Handler processes that are none. @param answer undefined: the process is dead, and says nothing */
export function inProcess(
  answer: (question: HandlerRequest) => JsonObject | Crash | undefined,
): HandlerTransport {
  return {
    start: (listener) => ({
      write: (text) => {
        const question = JSON.parse(text) as HandlerRequest;
        const answered = answer(question);
        if (!answered) return;
        if (answered instanceof Crash) {
          listener.log(Buffer.from(answered.words));
          return void setImmediate(() => listener.exited({ code: 1, signal: null }));
        }
        // JavaScript has no such number.
        const line = JSON.stringify({ id: question.id, ...answered }).replace(/"number:(\d+)"/g, "$1");
        setImmediate(() => listener.output(Buffer.from(`${line}\n`)));
      },
      end: () => setImmediate(() => listener.exited({ code: 0, signal: null })),
      kill: () => setImmediate(() => listener.exited({ code: null, signal: "SIGKILL" })),
    }),
  };
}
