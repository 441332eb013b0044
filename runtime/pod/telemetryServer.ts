import type { Registry } from "prom-client";
import { answerMetrics } from "../http/answerMetrics";
import { type HttpListener, type ListenAddress, listen } from "../http/listen";

/** What a telemetry server tells of. */
export interface TelemetryServerOptions extends ListenAddress {
  readonly registry: Registry;
  /** Why the runner can take no hints or start no handler; undefined where it can. */
  readonly whyNotReady: () => string | undefined;
}

/**
 * Serves what a kubelet and Prometheus ask for. `/livez`: this process answers, whatever the API server does: a restart
 * would not bring that back. `/readyz`: hints are taken and a handler can be started, whether this one leads or not, and
 * whether its CRD is there or not: `pulumi up` makes the CRD when the runner is ready. `/metrics`: Prometheus.
 * @throws Error where the address cannot be had
 */
export function startTelemetryServer(options: TelemetryServerOptions): Promise<HttpListener> {
  const { registry, whyNotReady } = options;
  return listen(options, ({ url }, response) => {
    const answer = (code: number, text: string) => {
      response.writeHead(code, { "content-type": "text/plain" }).end(`${text}\n`);
    };
    // Whoever probes may add a query: "/readyz?verbose".
    switch (url?.split("?")[0]) {
      case "/livez":
        return answer(200, "ok");
      case "/readyz": {
        const why = whyNotReady();
        return answer(why === undefined ? 200 : 503, why ?? "ok");
      }
      case "/metrics":
        return void answerMetrics(response, [registry]);
      default:
        return answer(404, "there are /livez, /readyz and /metrics");
    }
  });
}
