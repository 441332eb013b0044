import path from "node:path";
import { programOf, workingFolderOf } from "../../../definition/handlerProgram";
import {
  ARGO_HALVES,
  type EngineCommand,
  HANDLER_ACCOUNT_VARIABLE,
  type Operator,
  PENDING_SECONDS,
  POD_LAYOUT,
  RUNNER_ENVIRONMENT,
  RUNNER_PORTS,
} from "../../../runtime/program";
import {
  engineCommand,
  engineProbe,
  fieldVariable,
  placeEnvironment,
  STARTUP_PROBE,
} from "../engineContainer";
import { handlerImageOf, hasFunctionImage, imageOf } from "../images";
import type { Container, EnvVar } from "../kinds";
import { CONTAINER_SECURITY } from "../pods";
import { heapOption, resourcesOf } from "../resources";
import { handlerResources } from "./handlerResources";
import type { OperatorOptions } from "./options";
import { ENGINE_MOUNTS, handlerMounts, hasToken, type PodForm, runnerMounts, tokenMounts } from "./volumes";

/**
 * The container of the engine. In a pod of its own it is called "main": Argo takes outputs from a container of that
 * name only (argo-workflows, workflow/validate/validate.go and cmd/argoexec/commands/emissary.go).
 */
export function buildRunnerContainer(operator: Operator, options: OperatorOptions, form: PodForm): Container {
  if (form === "pod") {
    const env = [...runEnvironment(options), ...tracesEnvironment(options)];
    const volumeMounts = runnerMounts(operator, form);
    return { ...engineContainer("main", "run", options), env, volumeMounts };
  }
  return {
    ...engineContainer("runner", "resident", options),
    env: [
      ...engineEnvironment("runner", options),
      ...residentEnvironment(operator, options),
      // Runs in pods have traces of their own.
      ...(operator.execution === "pod" ? [] : tracesEnvironment(options)),
    ],
    resources: resourcesOf("runner", options),
    ports: Object.entries(RUNNER_PORTS).map(([name, containerPort]) => ({ name, containerPort })),
    startupProbe: STARTUP_PROBE,
    readinessProbe: engineProbe("/readyz", 5, 2),
    // An engine that is frozen has lost its lease long before. If an engine only gets too little CPU, a restart would make that
    // worse.
    livenessProbe: engineProbe("/livez", 10, 6),
    volumeMounts: runnerMounts(operator, form),
  };
}

/**
 * The container of the author's program. It has no probes: the runner watches whether the program lives, and when the container
 * ends, the kubelet starts it again.
 */
export function buildHandlerContainer(
  operator: Operator,
  options: OperatorOptions,
  form: PodForm,
): Container {
  const { command, isFunction } = programOf(operator, POD_LAYOUT.engine);
  return {
    name: "handler",
    image: handlerImageOf(operator, options),
    command: [
      ...(needsHandlerShell(operator, options) ? [`${POD_LAYOUT.handlerShell}/busybox`] : []),
      "sh",
      `${POD_LAYOUT.engine}/handler.sh`,
      ...(form === "pod" ? [`--patience=${PENDING_SECONDS}`] : []),
      ...(isFunction ? ["--function"] : []),
      ...Object.keys(operator.secretEnv).map((name) => `--hidden=${name}`),
      // In a Workflow's pod, Argo's executor is the first process, but the kubelet reads the message all the same.
      ...command.map(literal),
    ],
    workingDir: path.posix.join(POD_LAYOUT.handler, workingFolderOf(operator)),
    env: handlerEnvironment(operator),
    resources: handlerResources(operator),
    securityContext: CONTAINER_SECURITY,
    volumeMounts: handlerMounts(operator, form, needsHandlerShell(operator, options)),
  };
}

/**
 * Whether another container must put a shell there for the author's image. A function in a default image does not need that, and
 * a pod with one container less starts sooner. A `PATH` of the author's own may hide the image's tools.
 */
export function needsHandlerShell(operator: Operator, options: OperatorOptions): boolean {
  return !hasFunctionImage(operator, options) || "PATH" in { ...operator.env, ...operator.secretEnv };
}

/** The name of {@link buildHandlerShellContainer}'s container. */
export const HANDLER_SHELL = "handler-shell";

const SHELL_COPY = ["cp", "/bin/busybox", `${POD_LAYOUT.handlerShell}/busybox`];
/**
 * The command that tells Argo's executors that the container has ended. It writes the file that the container's own executor
 * would write. That executor notices the end of the program only once a second. The executor of the handler's container, which
 * waits for this container, watches the file (argo-workflows, workflow/executor/osspecific/signal_linux.go and
 * cmd/argoexec/commands/emissary.go). If another version of Argo has the file elsewhere, the start takes a second longer.
 */
const SHELL_ENDS = `{ echo 0 >/var/run/argo/ctr/${HANDLER_SHELL}/exitcode; } 2>/dev/null; exit 0`;

/**
 * The container that puts a shell there for any image of the author's. It ends before the handler's container begins its work.
 */
export function buildHandlerShellContainer(
  operator: Operator,
  options: OperatorOptions,
  form: PodForm,
): Container {
  return {
    name: HANDLER_SHELL,
    image: imageOf("handlerShell", options),
    command: form === "pod" ? ["sh", "-c", `${SHELL_COPY.join(" ")} || exit; ${SHELL_ENDS}`] : SHELL_COPY,
    resources: resourcesOf(form === "pod" ? "runHandlerShell" : "handlerShell", options),
    securityContext: CONTAINER_SECURITY,
    volumeMounts: [
      { name: "handler-shell", mountPath: POD_LAYOUT.handlerShell },
      ...tokenMounts(operator, form),
    ],
  };
}

function engineContainer(name: string, command: EngineCommand, options: OperatorOptions): Container {
  return {
    name,
    image: imageOf("engine", options),
    command: engineCommand(command),
    resources: resourcesOf("run", options),
    securityContext: CONTAINER_SECURITY,
    volumeMounts: ENGINE_MOUNTS,
  };
}

/** The environment that tells every engine where it is. */
function engineEnvironment(container: "runner" | "run", options: OperatorOptions): EnvVar[] {
  return [
    ...placeEnvironment(),
    { name: RUNNER_ENVIRONMENT.instanceId, value: options.platform.instanceId },
    { name: "NODE_OPTIONS", value: heapOption(container, options) },
  ];
}

/**
 * The further environment of a resident engine: its address for other runners, how long its records are kept, and which halves of
 * Argo are missing.
 */
function residentEnvironment(operator: Operator, options: OperatorOptions): EnvVar[] {
  const { runsKeptSeconds, failedRunsKeptSeconds, platform } = options;
  const without = ARGO_HALVES.filter(
    (half) => !(half === "events" ? platform.argoEvents : platform.argoWorkflows),
  );
  return [
    fieldVariable(RUNNER_ENVIRONMENT.address, "status.podIP"),
    ...(operator.ask === "changed" || operator.rollout
      ? [fieldVariable(RUNNER_ENVIRONMENT.template, "metadata.labels['pod-template-hash']")]
      : []),
    { name: RUNNER_ENVIRONMENT.runsKept, value: String(runsKeptSeconds) },
    { name: RUNNER_ENVIRONMENT.failedRunsKept, value: String(failedRunsKeptSeconds) },
    ...(platform.archivesRuns ? [{ name: RUNNER_ENVIRONMENT.archive, value: "true" }] : []),
    ...(without.length > 0 ? [{ name: RUNNER_ENVIRONMENT.without, value: without.join(",") }] : []),
    // The definition of runs in pods does not have them: see `definitionFileContent`.
    ...(operator.execution === "pod"
      ? [
          { name: RUNNER_ENVIRONMENT.concurrency, value: String(operator.concurrency) },
          { name: RUNNER_ENVIRONMENT.resyncSeconds, value: String(operator.resyncSeconds) },
        ]
      : []),
  ];
}

/** The environment that tells an engine where to send traces. A missing Secret does not prevent the engine from working. */
function tracesEnvironment({ traces }: OperatorOptions): EnvVar[] {
  if (!traces) return [];
  const { endpoint, headers, oneIn } = traces;
  const { secret: name = "", key = "" } = headers ?? {};
  const valueFrom = { secretKeyRef: { name, key, optional: true } };
  return [
    { name: RUNNER_ENVIRONMENT.tracesEndpoint, value: literal(endpoint) },
    ...(headers ? [{ name: RUNNER_ENVIRONMENT.tracesHeaders, valueFrom }] : []),
    ...(oneIn === undefined ? [] : [{ name: RUNNER_ENVIRONMENT.tracesOneIn, value: String(oneIn) }]),
  ];
}

/** The environment of an engine in a pod of a Workflow. */
function runEnvironment(options: OperatorOptions): EnvVar[] {
  return [
    ...engineEnvironment("run", options),
    { name: RUNNER_ENVIRONMENT.workflow, value: "{{workflow.name}}" },
  ];
}

/**
 * The author's variables as they were written, a home folder that can be written to, and the folder of the token if there is one.
 */
export function handlerEnvironment(operator: Operator): EnvVar[] {
  const { env, secretEnv } = operator;
  const own = [
    { name: "HOME", value: "/tmp" },
    ...(hasToken(operator) ? [{ name: HANDLER_ACCOUNT_VARIABLE, value: POD_LAYOUT.serviceAccount }] : []),
  ];
  return [
    ...own.filter(({ name }) => !(name in env || name in secretEnv)),
    ...Object.entries(env).map(([name, value]) => ({ name, value: literal(value) })),
    ...Object.entries(secretEnv).map(([name, { secret, key }]) => ({
      name,
      valueFrom: { secretKeyRef: { name: secret, key } },
    })),
  ];
}

/**
 * A text that the kubelet leaves as it is. Otherwise the kubelet replaces $(NAME), and "$$" by "$", in commands and environments
 * (kubernetes, third_party/forked/golang/expansion/expand.go).
 */
function literal(value: string): string {
  return value.replaceAll("$", "$$$$");
}
