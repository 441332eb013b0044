import type { Registry } from "prom-client";
import { answerMetrics } from "../http/answerMetrics";
import { type HttpListener, type ListenAddress, listen } from "../http/listen";

/** The state that a telemetry server reports. */
export interface TelemetryServerOptions extends ListenAddress {
  readonly registry: Registry;
  /** Aborts when the pod must end. From then on the process is not ready. */
  readonly stopping: AbortSignal;
  /** Why the runner can start no handler. Undefined if it can. @default it needs none */
  readonly whyNotReady?: () => string | undefined;
}

/**
 * Answers the kubelet and Prometheus:
 *
 * - `/livez`: this process answers. It does not depend on the API server, which a restart would not bring back.
 * - `/readyz`: hints are taken and a handler can be started. It depends neither on who leads nor on the CRD, since
 *   `pulumi up` creates the CRD when the runner is ready.
 * - `/metrics`: Prometheus.
 *
 * @throws Error if the address cannot be had
 */
export function startTelemetryServer(options: TelemetryServerOptions): Promise<HttpListener> {
  const { registry, stopping, whyNotReady } = options;
  return listen(options, ({ url }, response) => {
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
