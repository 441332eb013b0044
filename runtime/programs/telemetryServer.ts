import type { ServerResponse } from "node:http";
import { AggregatorRegistry, Registry } from "prom-client";
import { type HttpListener, listen } from "../base/http/listen";
import type { PodContext } from "./pod";
import { addressOf } from "./pod";

/**
 * Answers the kubelet and Prometheus:
 *
 * - `/livez`: this process answers. It does not depend on the API server, which a restart would not bring back.
 * - `/readyz`: hints are accepted and a handler can be started. It depends neither on who leads nor on the CRD, since `pulumi up`
 *   creates the CRD when the runner is ready.
 * - `/metrics`: Prometheus.
 *
 * @param whyNotReady why the runner can start no handler. Undefined if it can. @default it needs none
 * @throws Error if the address cannot be had
 */
export function startTelemetryServer(
  { settings, stopping }: Pick<PodContext, "settings" | "stopping">,
  registry: Registry,
  whyNotReady?: () => string | undefined,
): Promise<HttpListener> {
  return listen(addressOf(settings, "metrics"), ({ url }, response) => {
    const answer = (code: number, text: string) => {
      response.writeHead(code, { "content-type": "text/plain" }).end(`${text}\n`);
    };
    // A probe may add a query: "/readyz?verbose".
    switch (url?.split("?")[0]) {
      case "/livez":
        return answer(200, "ok");
      case "/readyz": {
        const why = stopping.aborted ? "the pod is to end" : whyNotReady?.();
        return answer(why === undefined ? 200 : 503, why ?? "ok");
      }
      case "/metrics":
        return void answerMetrics(response, [registry]);
      default:
        return answer(404, "the paths are /livez, /readyz and /metrics");
    }
  });
}

/**
 * Answers a scrape of Prometheus with the metrics of one or several engines as one text, with each metric's help in it once, as the
 * format demands. The label `operator` distinguishes the engines.
 */
export async function answerMetrics(
  response: ServerResponse,
  registries: readonly Registry[],
): Promise<void> {
  try {
    const metrics = await Promise.all(registries.map((registry) => registry.getMetricsAsJSON()));
    const text = await AggregatorRegistry.aggregate(metrics).metrics();
    response.writeHead(200, { "content-type": Registry.PROMETHEUS_CONTENT_TYPE }).end(text);
  } catch (error) {
    response.writeHead(500).end((error as Error).message);
  }
}
