import { within } from "../base/clock";
import type { PipeTransport } from "../handler/container/pipeTransport";
import { handlerAccountOf, keepHandlerToken } from "./handlerToken";
import type { Pod } from "./pod";
import { pathOf } from "./pod";

/** If the handler's container has not started after this time, the log says so. Its image may take long to be pulled. */
const PATIENCE_MS = 60_000;

/**
 * Resolves when a handler can be started: its container has started, and its token exists if it has one. The token is then
 * renewed until the pod must end. If reconciling started earlier, every object would fail.
 * @param withinSeconds how long the container, and the token, may take
 * @throws AbortError if the pod must end before that
 * @throws Error if one of them is not ready in time
 */
export async function prepareHandler(
  pod: Pod,
  transport: Pick<PipeTransport, "ready">,
  withinSeconds = Number.POSITIVE_INFINITY,
): Promise<void> {
  await Promise.all([handlerThere(pod, transport, withinSeconds), tokenThere(pod, withinSeconds)]);
}

async function tokenThere(
  { operator, environment, settings, connection, log, stopping }: Pod,
  withinSeconds: number,
): Promise<void> {
  if (operator.rules.length === 0) return;
  let why = "";
  const token = keepHandlerToken({
    connection,
    namespace: environment.namespace,
    account: handlerAccountOf(operator.name),
    folder: pathOf(settings, "handlerToken"),
    signal: stopping,
    onError: ({ message }) => {
      why = `: ${message}`;
      log("error", `the handler's token${why}`);
    },
  });
  const isThere = await within(
    withinSeconds === Number.POSITIVE_INFINITY ? undefined : withinSeconds * 1000,
    token.then(() => true),
  );
  if (!isThere) throw new Error(`the handler's token was not there within ${withinSeconds} s${why}`);
}

async function handlerThere(
  { log, stopping }: Pod,
  transport: Pick<PipeTransport, "ready">,
  withinSeconds: number,
): Promise<void> {
  const until = performance.now() + withinSeconds * 1000;
  for (;;) {
    stopping.throwIfAborted();
    const left = until - performance.now();
    try {
      return await transport.ready(Math.min(PATIENCE_MS, left));
    } catch (error) {
      stopping.throwIfAborted();
      if (left <= PATIENCE_MS) {
        throw new Error(
          `the pod's container "handler" was not there within ${withinSeconds} s: the pod's events show whether its image could be pulled`,
        );
      }
      log("warn", (error as Error).message);
    }
  }
}
