import type { JsonObject } from "../../../runtime/base/objects";
import type { HandlerRequest } from "../../../runtime/handler/contract";
import type { HandlerTransport } from "../../../runtime/handler/handlerTransport";

/** What a handler does that answers nothing and ends. */
export class Crash {
  /** @param words what the process writes to standard error */
  constructor(readonly words: string) {}
}

/** An answer that comes late. */
export class Late {
  /** @param ms after this time, in milliseconds */
  constructor(
    readonly ms: number,
    readonly answer: JsonObject,
  ) {}
}

/** Handler processes that are none. @param answer undefined: the process is dead, and says nothing */
export function inProcess(
  answer: (question: HandlerRequest) => JsonObject | Crash | Late | undefined,
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
        const isLate = answered instanceof Late;
        const content = isLate ? answered.answer : answered;
        // JavaScript has no such number.
        const line = JSON.stringify({ id: question.id, ...content }).replace(/"number:(\d+)"/g, "$1");
        const say = () => listener.output(Buffer.from(`${line}\n`));
        if (isLate) setTimeout(say, answered.ms);
        else setImmediate(say);
      },
      end: () => setImmediate(() => listener.exited({ code: 0, signal: null })),
      kill: () => setImmediate(() => listener.exited({ code: null, signal: "SIGKILL" })),
    }),
  };
}
