import { once } from "node:events";
import type { ListenAddress } from "../base/http/listen";
import { type ClusterConnection, inClusterConnection } from "../kubernetes/connection";
import type { Operator } from "../operator/definition";
import { readDefinitionFile } from "./definitionFile";
import {
  ARGO_HALVES,
  type ArgoHalf,
  type EngineCommand,
  POD_LAYOUT,
  RUNNER_ENVIRONMENT,
  RUNNER_PORTS,
} from "./layout";
import { type Log, logTo } from "./logLine";

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
export async function endOf({ stopping }: PodContext): Promise<void> {
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
 * @throws Error if its definition is missing or unusable
 */
export function openPod(context: PodContext): Pod {
  const operator = readDefinitionFile(pathOf(context.settings, "definition"));
  const log: Log = (level, message, fields) =>
    context.log(level, message, { operator: operator.name, ...fields });
  return { ...context, operator, log };
}

/** The environment that the manifests give a runner: see {@link RUNNER_ENVIRONMENT}. */
export interface RunnerEnvironment extends Readonly<Record<Exclude<Variable, "without">, string>> {
  readonly without: readonly ArgoHalf[];
}

type Variable = keyof typeof RUNNER_ENVIRONMENT;

/** The variables that each command needs. The others are "" if they are not set. */
const NEEDED: Readonly<Record<EngineCommand, readonly Variable[]>> = {
  resident: ["namespace", "pod", "address", "instanceId", "runsKept", "failedRunsKept"],
  run: ["namespace", "pod", "instanceId", "workflow"],
  keep: ["namespace", "pod", "eventPath"],
  intake: ["namespace", "pod"],
};
/** "" is an answer: there is none. */
const MAY_BE_EMPTY: readonly Variable[] = ["instanceId"];
/** A ConfigMap or a transform may have written something else. */
const NUMBERS: readonly Variable[] = ["concurrency", "resyncSeconds", "runsKept", "failedRunsKept"];

/**
 * Reads the environment that the manifests give the runner.
 * @throws Error that names every missing variable, a variable that is not a number, or an unknown half of Argo
 */
export function readEnvironment(
  command: EngineCommand,
  env: Readonly<Record<string, string | undefined>>,
): RunnerEnvironment {
  const missing = NEEDED[command].filter((variable) => {
    const value = env[RUNNER_ENVIRONMENT[variable]];
    return value === undefined || (value === "" && !MAY_BE_EMPTY.includes(variable));
  });
  if (missing.length > 0) {
    const names = missing.map((variable) => RUNNER_ENVIRONMENT[variable]).join(", ");
    throw new Error(`environment: ${names} must be set for "${command}". The operator's manifests do so.`);
  }
  for (const variable of NUMBERS) {
    const [name, value = ""] = [RUNNER_ENVIRONMENT[variable], env[RUNNER_ENVIRONMENT[variable]]];
    if (/^\d+$/.test(value) || (value === "" && !NEEDED[command].includes(variable))) continue;
    throw new Error(
      `environment: ${name} is ${JSON.stringify(value)}, not a whole number. Deploy the operator again.`,
    );
  }
  const without = (env[RUNNER_ENVIRONMENT.without] ?? "").split(",").filter((half) => half !== "");
  const unknown = without.find((half) => !(ARGO_HALVES as readonly string[]).includes(half));
  if (unknown !== undefined) {
    throw new Error(
      `environment: ${RUNNER_ENVIRONMENT.without} names "${unknown}", not one of ${ARGO_HALVES.join(", ")}.`,
    );
  }
  const all = Object.entries(RUNNER_ENVIRONMENT).map(([variable, name]) => [variable, env[name] ?? ""]);
  return { ...(Object.fromEntries(all) as Record<Variable, string>), without: without as ArgoHalf[] };
}

/** Where the parts of the pod are. */
export interface PodRoot {
  /** A prefix of every path of {@link POD_LAYOUT}. @default "" */
  readonly root: string;
}

/** The settings that are fixed for a runner in a pod. Tests run several runners on one machine and need other values. */
export interface PodSettings extends PodRoot {
  /** The address to listen on. @default every address of the pod */
  readonly host?: string;
  /** @default {@link RUNNER_PORTS} */
  readonly ports: { readonly hints: number; readonly metrics: number };
  /** How long a lease holds without renewal, in seconds. @default 15 */
  readonly leaseSeconds: number;
}

/** The environment variable by which a test gives other settings, as JSON. No manifest sets it. */
export const SETTINGS_VARIABLE = "ARGOSY_TEST_POD";

const IN_A_POD: PodSettings = { root: "", ports: RUNNER_PORTS, leaseSeconds: 15 };

/** The settings of this process. */
export function readSettings(env: Readonly<Record<string, string | undefined>>): PodSettings {
  const given = env[SETTINGS_VARIABLE];
  return given === undefined ? IN_A_POD : { ...IN_A_POD, ...(JSON.parse(given) as Partial<PodSettings>) };
}

/** The path of a part of the pod. */
export function pathOf({ root }: PodRoot, what: keyof typeof POD_LAYOUT): string {
  return root + POD_LAYOUT[what];
}

/** The address of one of the runner's servers. */
export function addressOf({ host, ports }: PodSettings, server: keyof PodSettings["ports"]): ListenAddress {
  return { port: ports[server], ...(host !== undefined && { host }) };
}
