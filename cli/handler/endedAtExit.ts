import type { HandlerProcess, HandlerProcessListener, HandlerTransport } from "../../runtime/cli";

/** The living handler processes of all transports in this process. */
const alive = new Set<HandlerProcess>();

process.once("exit", () => {
  for (const handler of alive) handler.kill();
});

/**
 * The same handlers, which do not outlive this process: each is the leader of a group of its own, which Ctrl-C in a terminal does
 * not reach, and one that hangs does not notice that this process has ended.
 */
export function endedAtExit(transport: HandlerTransport): HandlerTransport {
  return {
    start: (listener: HandlerProcessListener): HandlerProcess => {
      const inner: HandlerProcess = transport.start({
        output: (chunk) => listener.output(chunk),
        log: (chunk) => listener.log(chunk),
        exited: (exit) => {
          alive.delete(inner);
          listener.exited(exit);
        },
      });
      alive.add(inner);
      return inner;
    },
  };
}
