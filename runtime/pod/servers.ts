import type { Engine } from "../engine/engine";
import type { HttpListener } from "../http/listen";
import type { PipeTransport } from "./handlerContainer/pipeTransport";
import type { ChangesWithoutHint } from "./hints/changesWithoutHint";
import { forwardHint } from "./hints/forwardHint";
import { startHintServer } from "./hints/hintServer";
import { type HintParts, takeHint } from "./hints/takeHint";
import type { Pod } from "./pod";
import { addressOf } from "./podSettings";
import { startTelemetryServer } from "./telemetryServer";

/** What a resident runner's servers work with. */
export interface ServerParts {
  readonly engine: Engine;
  readonly changesWithoutHint: ChangesWithoutHint;
  readonly transport: Pick<PipeTransport, "whyNotReady">;
}

/**
 * Starts a resident runner's servers: one takes hints, the other answers the kubelet and Prometheus.
 * @throws Error if a port cannot be had
 */
export async function startServers(
  { operator, environment, settings, stopping }: Pod,
  { engine, changesWithoutHint, transport }: ServerParts,
): Promise<{ readonly hints: HttpListener; readonly telemetry: HttpListener }> {
  const { metrics } = engine;
  const { port } = addressOf(settings, "hints");
  const parts: HintParts = {
    engine,
    changesWithoutHint,
    forward: (hint, address) => forwardHint(hint, { address, port, from: environment.pod }),
  };
  const hints = await startHintServer({
    ...addressOf(settings, "hints"),
    operator,
    take: (hint, forwarded) => takeHint(parts, hint, forwarded),
    onResult: (result) => metrics.hinted(result),
  });
  // Started second, because a Sensor that learns that we are ready can send hints at once.
  const telemetry = await startTelemetryServer({
    ...addressOf(settings, "metrics"),
    registry: metrics.registry,
    stopping,
    whyNotReady: () => transport.whyNotReady,
  });
  return { hints, telemetry };
}
