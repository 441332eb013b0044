import { once } from "node:events";
import type { Operator } from "../definition/definition";
import { type ClusterConnection, inClusterConnection } from "../kubernetes/connection";
import { readDefinitionFile } from "./definitionFile";
import { type RunnerEnvironment, readEnvironment } from "./environment";
import type { EngineCommand } from "./layout";
import { type Log, logTo } from "./logLine";
import { type PodSettings, pathOf, readSettings } from "./podSettings";

/** The context that every command of the engine finds in its pod. */
export interface PodContext {
  readonly environment: RunnerEnvironment;
  readonly settings: PodSettings;
  /** The connection of the pod's service account. */
  readonly connection: ClusterConnection;
  readonly log: Log;
  /** Aborts when the pod must end: SIGTERM. */
  readonly stopping: AbortSignal;
}

/** The context that a command of the engine finds in a pod of an operator. */
export interface Pod extends PodContext {
  readonly operator: Operator;
}

/** Resolves when the pod must end. */
export async function endOf({ stopping }: Pick<PodContext, "stopping">): Promise<void> {
  if (!stopping.aborted) await once(stopping, "abort");
}

/** A command of the engine. @returns the exit code */
export type PodCommand = (pod: Pod) => Promise<number>;

/**
 * Reads what the manifests give to this pod.
 * @param write writes to the log
 * @throws Error if a part of it is missing or unusable
 */
export function openPodContext(
  command: EngineCommand,
  env: Readonly<Record<string, string | undefined>>,
  stopping: AbortSignal,
  write: (line: string) => unknown,
): PodContext {
  const settings = readSettings(env);
  return {
    environment: readEnvironment(command, env),
    settings,
    connection: inClusterConnection(pathOf(settings, "serviceAccount"), env),
    log: logTo(write),
    stopping,
  };
}

/**
 * Reads the operator of a pod.
 * @throws DefinitionFileError if its definition is missing or unusable
 */
export function openPod(context: PodContext): Pod {
  const operator = readDefinitionFile(pathOf(context.settings, "definition"));
  const log: Log = (level, message, fields) =>
    context.log(level, message, { operator: operator.name, ...fields });
  return { ...context, operator, log };
}
