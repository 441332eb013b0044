import { type Operator, RUNNER_ENVIRONMENT } from "../../../runtime/program";
import type { OperatorOptions } from "./options";
import type { EnvironmentVariable } from "./podParts";

/** Less than the container's limit: Node needs room beside its heap. In MiB. */
const OLD_SPACE_MEBIBYTES = 160;

/** What every engine is told of where it is. */
export function engineEnvironment({ platform }: OperatorOptions): EnvironmentVariable[] {
  return [
    field(RUNNER_ENVIRONMENT.namespace, "metadata.namespace"),
    field(RUNNER_ENVIRONMENT.pod, "metadata.name"),
    { name: RUNNER_ENVIRONMENT.instanceId, value: platform.instanceId },
    { name: "NODE_OPTIONS", value: `--max-old-space-size=${OLD_SPACE_MEBIBYTES}` },
  ];
}

/** A resident engine's further environment: where another one finds it, and how long what it records is kept. */
export function residentEnvironment(options: OperatorOptions): EnvironmentVariable[] {
  const { runsKeptSeconds, failedRunsKeptSeconds, platform } = options;
  return [
    field(RUNNER_ENVIRONMENT.address, "status.podIP"),
    { name: RUNNER_ENVIRONMENT.runsKept, value: String(runsKeptSeconds) },
    { name: RUNNER_ENVIRONMENT.failedRunsKept, value: String(failedRunsKeptSeconds) },
    ...(platform.archivesRuns ? [{ name: RUNNER_ENVIRONMENT.archive, value: "true" }] : []),
  ];
}

/** The further environment of an engine in a pod of a Workflow. */
export function workflowEnvironment(): EnvironmentVariable[] {
  return [{ name: RUNNER_ENVIRONMENT.workflow, value: "{{workflow.name}}" }];
}

/** The author's variables, as he wrote them, and a home that can be written to. */
export function handlerEnvironment({ env, secretEnv }: Operator): EnvironmentVariable[] {
  const home = "HOME" in env || "HOME" in secretEnv ? [] : [{ name: "HOME", value: "/tmp" }];
  return [
    ...home,
    ...Object.entries(env).map(([name, value]) => ({ name, value: literal(value) })),
    ...Object.entries(secretEnv).map(([name, { secret, key }]) => ({
      name,
      valueFrom: { secretKeyRef: { name: secret, key } },
    })),
  ];
}

/**
 * A text that the kubelet leaves as it is. Else it replaces $(NAME), and "$$" by "$", in commands and environments
 * (kubernetes, third_party/forked/golang/expansion/expand.go).
 */
export function literal(value: string): string {
  return value.replaceAll("$", "$$$$");
}

function field(name: string, fieldPath: string): EnvironmentVariable {
  return { name, valueFrom: { fieldRef: { fieldPath } } };
}
