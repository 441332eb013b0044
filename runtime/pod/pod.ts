import type { Operator } from "../definition/definition";
import { type ClusterConnection, inClusterConnection } from "../kubernetes/connection";
import { readDefinitionFile } from "./definitionFile";
import { type RunnerEnvironment, readEnvironment } from "./environment";
import type { EngineCommand } from "./layout";
import { type Log, logTo } from "./logLine";
import { type PodSettings, pathOf, readSettings } from "./podSettings";

/** What a command of the engine finds in its pod. */
export interface Pod {
  readonly operator: Operator;
  readonly environment: RunnerEnvironment;
  readonly settings: PodSettings;
  /** As the pod's service account. */
  readonly connection: ClusterConnection;
  readonly log: Log;
  /** Aborts when the pod is to end: SIGTERM. */
  readonly stopping: AbortSignal;
}

/** What a command of the engine does. @returns the exit code */
export type PodCommand = (pod: Pod) => Promise<number>;

/**
 * Reads all that the manifests gave to this pod.
 * @param write where the log goes
 * @throws Error, OperatorError where something of it is missing or unusable
 */
export function openPod(
  command: EngineCommand,
  env: Readonly<Record<string, string | undefined>>,
  stopping: AbortSignal,
  write: (line: string) => unknown,
): Pod {
  const settings = readSettings(env);
  const operator = readDefinitionFile(pathOf(settings, "definition"));
  return {
    operator,
    environment: readEnvironment(command, env),
    settings,
    connection: inClusterConnection(pathOf(settings, "serviceAccount"), env),
    log: logTo(write, { operator: operator.name }),
    stopping,
  };
}
