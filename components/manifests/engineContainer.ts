import { type EngineCommand, POD_LAYOUT, RUNNER_ENVIRONMENT } from "../../runtime/program";
import type { EnvVar, Probe } from "./kinds";

/**
 * The option of Node for the space of new objects, 8 MiB. V8 begins with 1 MiB, and the answers of the API server in a burst fill
 * that space many times a second. `NODE_OPTIONS` refuses this option, so the command has to hold it.
 */
export const NEW_SPACE_OPTION = "--min-semi-space-size=8";

/** The command of a container that runs the engine. */
export function engineCommand(command: EngineCommand): string[] {
  return ["node", NEW_SPACE_OPTION, `${POD_LAYOUT.engine}/engine.js`, command];
}

/** The namespace and the pod of an engine. */
export function placeEnvironment(): EnvVar[] {
  return [
    fieldVariable(RUNNER_ENVIRONMENT.namespace, "metadata.namespace"),
    fieldVariable(RUNNER_ENVIRONMENT.pod, "metadata.name"),
  ];
}

/** An environment variable with a field of the pod, for example `status.podIP`. */
export function fieldVariable(name: string, fieldPath: string): EnvVar {
  return { name, valueFrom: { fieldRef: { fieldPath } } };
}

/**
 * A probe of an engine, which answers on the port of its metrics.
 * @param failureThreshold after this many failures the probe fails. @default 3, Kubernetes' own
 */
export function engineProbe(
  path: "/livez" | "/readyz",
  periodSeconds: number,
  failureThreshold?: number,
): Probe {
  return {
    httpGet: { path, port: "metrics" },
    periodSeconds,
    timeoutSeconds: 5,
    ...(failureThreshold !== undefined && { failureThreshold }),
  };
}

/** An engine has a minute to start. The kubelet does not restart it earlier. */
export const STARTUP_PROBE: Probe = engineProbe("/livez", 1, 60);
