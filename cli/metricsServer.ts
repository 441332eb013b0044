import type { Registry } from "prom-client";
import { answerMetrics } from "../runtime/http/answerMetrics";
import { listen } from "../runtime/http/listen";
import { CommandError } from "./commandError";
import { portRefusal } from "./controlPlane/ports";

/** A server of Prometheus metrics on this machine. */
export interface MetricsServer {
  /** "http://127.0.0.1:PORT/metrics" */
  readonly url: string;
  close(): void;
}

const HOST = "127.0.0.1";

/**
 * Serves the metrics of several engines at /metrics.
 *
 * @param port 0: any free one
 * @param registries called for each request: engines come and go
 * @throws CommandError if the port cannot be used
 */
export async function startMetricsServer(
  port: number,
  registries: () => readonly Registry[],
): Promise<MetricsServer> {
  const listener = await listen({ host: HOST, port }, (request, response) => {
    if (request.url !== "/metrics") response.writeHead(404).end();
    else void answerMetrics(response, registries());
  }).catch((error: Error) => {
    throw new CommandError(portRefusal(port, "--metrics-port", error));
  });
  // The server alone must not keep the process alive.
  listener.unref();
  return { url: `http://${HOST}:${listener.port}/metrics`, close: () => void listener.close() };
}
