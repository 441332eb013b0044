import { ARGO_HALVES, type ArgoHalf, type EngineCommand, RUNNER_ENVIRONMENT } from "./layout";

/** The environment that the manifests give a runner: see {@link RUNNER_ENVIRONMENT}. */
export interface RunnerEnvironment extends Readonly<Record<Exclude<Variable, "without">, string>> {
  readonly without: readonly ArgoHalf[];
}

type Variable = keyof typeof RUNNER_ENVIRONMENT;

/** The variables that each command needs. The others are "" if they are not set. */
const NEEDED: Readonly<Record<EngineCommand, readonly Variable[]>> = {
  resident: ["namespace", "pod", "address", "instanceId", "runsKept", "failedRunsKept"],
  run: ["namespace", "pod", "instanceId", "workflow"],
  resync: ["namespace", "pod", "instanceId", "workflow", "concurrency", "resyncSeconds"],
  keep: ["namespace", "pod", "eventPath"],
  intake: ["namespace", "pod"],
};
/** "" is an answer: there is none. */
const MAY_BE_EMPTY: readonly Variable[] = ["instanceId"];
/** The first variable is from a ConfigMap, into which anybody may have written something else. */
const NUMBERS: readonly Variable[] = ["concurrency", "resyncSeconds"];

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
  for (const variable of NEEDED[command].filter((each) => NUMBERS.includes(each))) {
    const [name, value = ""] = [RUNNER_ENVIRONMENT[variable], env[RUNNER_ENVIRONMENT[variable]]];
    if (/^\d+$/.test(value)) continue;
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
