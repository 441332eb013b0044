import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { AggregatorRegistry, Registry } from "prom-client";
import { CommandError } from "./commandError";

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
 * @throws CommandError where the port cannot be had
 */
export async function startMetricsServer(
  port: number,
  registries: () => readonly Registry[],
): Promise<MetricsServer> {
  const server = createServer((request, response) => {
    if (request.url !== "/metrics") return void response.writeHead(404).end();
    metricsOf(registries()).then(
      (text) => response.writeHead(200, { "content-type": Registry.PROMETHEUS_CONTENT_TYPE }).end(text),
      (error: Error) => response.writeHead(500).end(error.message),
    );
  });
  server.listen(port, HOST);
  await once(server, "listening").catch((error: Error) => {
    throw new CommandError(`there can be no metrics on port ${port}: ${error.message}`);
  });
  // Metrics alone keep nothing running.
  server.unref();
  const { port: actual } = server.address() as AddressInfo;
  return {
    url: `http://${HOST}:${actual}/metrics`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** As one text, each metric's help in it once, as the format demands; the label `operator` tells the engines apart. */
async function metricsOf(registries: readonly Registry[]): Promise<string> {
  const metrics = await Promise.all(registries.map((registry) => registry.getMetricsAsJSON()));
  return AggregatorRegistry.aggregate(metrics).metrics();
}
