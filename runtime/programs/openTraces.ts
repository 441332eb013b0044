import { identityOf } from "../base/names";
import { TraceExporter } from "../report/traces/exporter";
import { readTraceSettings } from "../report/traces/settings";
import type { Pod } from "./pod";

/** How long the last spans may take to be sent when a process ends, in milliseconds. */
export const TRACES_GRACE_MS = 2_000;

/**
 * Traces the runs of this pod. Undefined if traces are off, or if the settings in the manifests cannot be used. The log says so
 * once, and no run waits for it.
 */
export function openTraces(
  { operator, environment, log }: Pick<Pod, "operator" | "environment" | "log">,
  onNotice: (notice: string) => void,
): TraceExporter | undefined {
  const { tracesEndpoint, tracesHeaders, tracesOneIn, namespace, pod } = environment;
  if (tracesEndpoint === "") return undefined;
  try {
    const settings = readTraceSettings({
      endpoint: tracesEndpoint,
      headers: tracesHeaders,
      oneIn: tracesOneIn,
    });
    const resource = {
      "service.name": identityOf(operator),
      "service.instance.id": pod,
      "k8s.namespace.name": namespace,
      "k8s.pod.name": pod,
    };
    return new TraceExporter({ ...settings, resource, onNotice });
  } catch (error) {
    log("warn", `traces are off: ${(error as Error).message}`);
    return undefined;
  }
}
