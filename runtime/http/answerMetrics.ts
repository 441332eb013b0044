import type { ServerResponse } from "node:http";
import { AggregatorRegistry, Registry } from "prom-client";

/** Answers a scrape of Prometheus with the metrics of one or several engines. */
export async function answerMetrics(
  response: ServerResponse,
  registries: readonly Registry[],
): Promise<void> {
  try {
    const text = await metricsText(registries);
    response.writeHead(200, { "content-type": Registry.PROMETHEUS_CONTENT_TYPE }).end(text);
  } catch (error) {
    response.writeHead(500).end((error as Error).message);
  }
}

/**
 * The metrics of all engines as one text, with each metric's help in it once, as the format demands. The label `operator`
 * distinguishes the engines.
 */
async function metricsText(registries: readonly Registry[]): Promise<string> {
  const metrics = await Promise.all(registries.map((registry) => registry.getMetricsAsJSON()));
  return AggregatorRegistry.aggregate(metrics).metrics();
}
