import {
  ANSWER_FILE,
  identityOf,
  instanceLabel,
  type Manifest,
  OPERATOR_LABEL,
  type Operator,
  PENDING_SECONDS,
  RUN_PARAMETERS,
  runSeconds,
  TIMINGS_FILE,
  TIMINGS_OUTPUT,
  USED_PARAMETER,
} from "../../../runtime/program";
import { labelsOf } from "../metadata";
import { runAccountOf, runnerNameOf } from "../names";
import { CONTAINER_SECURITY, POD_SECURITY, placementFields, podMetadata } from "../pods";
import type { OperatorFiles } from "./configMaps";
import {
  buildHandlerContainer,
  buildHandlerShellContainer,
  buildRunnerContainer,
  HANDLER_SHELL,
  needsHandlerShell,
} from "./containers";
import type { OperatorOptions } from "./options";
import { runLimitKeyOf, runPriorityClassOf } from "./quota";
import { buildVolumes } from "./volumes";

/**
 * The output of a run in a pod: the handler's answer if it was only tried, with the parameter `object`. The engine writes it. No
 * other run writes anything there.
 */
const ANSWER = { name: "answer", path: ANSWER_FILE } as const;
/** The output that says how long the steps of a run took. */
const TIMINGS = { name: TIMINGS_OUTPUT, path: TIMINGS_FILE } as const;

/**
 * The WorkflowTemplate of an operator's runs, by the operator's own name. A resident runner records its runs as Workflows of this
 * template, and answers submitted ones. In the form "pod" every run is such a Workflow, with a pod of its own.
 */
export function buildWorkflowTemplate(
  operator: Operator,
  options: OperatorOptions,
  files: OperatorFiles,
): Manifest {
  return {
    ...workflowHead(operator, options),
    spec: {
      ...workflowFields(operator, options),
      arguments: runArguments(operator),
      // Never the namespace's default account, although a resident runner answers without a pod.
      serviceAccountName:
        operator.execution === "pod" ? runAccountOf(operator.name) : runnerNameOf(operator.name),
      ...(operator.execution === "pod" ? podRun(operator, options, files) : residentRun(operator)),
    },
  };
}

/**
 * A run that the resident runner answers. The text of the template is constant: Argo would evaluate text between braces in an
 * object, so the runner reads the parameters from the Workflow itself. There are no retries: a failed run shows what happened,
 * and the runner's queue tries the object again by itself.
 */
function residentRun(operator: Operator) {
  return {
    // A runner that rolls out, or that has many objects before this one, is late but not gone.
    activeDeadlineSeconds: PENDING_SECONDS + runSeconds(operator),
    templates: [{ name: "reconcile", plugin: { argosy: { operator: operator.name } } }],
  };
}

/** How long a run may wait for its pod, in seconds. With heavy work that is long after it was submitted. */
const QUEUE_SECONDS = 3600;

/**
 * How long a run's pod may take on its node, in seconds: time for two reconciles, since the object may change during the first.
 */
function podSeconds(operator: Operator): number {
  return PENDING_SECONDS + 2 * runSeconds(operator);
}

/** A run in a pod of its own. */
function podRun(operator: Operator, options: OperatorOptions, files: OperatorFiles) {
  const hasHandlerShell = needsHandlerShell(operator, options);
  const containers = [
    // First, so that it has ended when the handler's container begins, which waits for it.
    ...(hasHandlerShell ? [buildHandlerShellContainer(operator, options, "pod")] : []),
    buildRunnerContainer(operator, options, "pod"),
    {
      ...buildHandlerContainer(operator, options, "pod"),
      ...(hasHandlerShell && { dependencies: [HANDLER_SHELL] }),
    },
  ];
  return {
    ...podFields(operator, options),
    // It is counted from the moment at which the run has its lock, so the wait for its pod counts as well.
    activeDeadlineSeconds: QUEUE_SECONDS + podSeconds(operator),
    // One run at a time of each object. Neither an operator's name nor a namespace's has a dot.
    synchronization: {
      mutexes: [
        {
          name: `${operator.name}.{{workflow.parameters.${RUN_PARAMETERS.namespace}}}.{{workflow.parameters.${RUN_PARAMETERS.name}}}`,
        },
      ],
    },
    templates: [
      {
        name: "reconcile",
        // The most pods of the operator at once. The semaphore is not next to the lock above: Argo grants it only in the order
        // of its queue, so a run that waits for its object would hold up all others (argo-workflows,
        // workflow/sync/semaphore.go, checkAcquire).
        synchronization: {
          semaphores: [{ configMapKeyRef: runLimitKeyOf(operator) }],
        },
        // Waits for the operator's turn, for a ResourceQuota that refuses the pod, and for room in the cluster: Argo tries
        // again each second (workflow/controller/operator.go, requeueIfTransientErr). There is no `retryStrategy`, not even for
        // a lost pod: with one, Argo checks only the phase of the retries' node, which is never pending
        // (checkTemplateTimeouts). The runner reports the failure and tries again.
        pendingTimeout: `${QUEUE_SECONDS}s`,
        // The kubelet counts it from the moment at which the pod has a node. It covers an image that cannot be pulled, and a run
        // that does not end.
        activeDeadlineSeconds: podSeconds(operator),
        // There is no init container of ours: the kubelet notices only once a second that one has ended (kubernetes,
        // pkg/kubelet/kubelet.go, genericPlegRelistPeriod), while Argo's executor watches for the end of a dependency. The other
        // two containers do not depend on each other: each waits for the other by itself, and if one failed, a dependency would
        // keep the other from ever starting.
        containerSet: { containers },
        podSpecPatch: JSON.stringify({
          "$setElementOrder/containers": startOrder(containers, options),
        }),
        outputs: {
          parameters: [ANSWER, TIMINGS].map(({ name, path }) => ({ name, valueFrom: { path, default: "" } })),
        },
        // These are not the Workflow's volumes. Only volumes of the Workflow that a template mounts as a whole get into the pod,
        // and Argo does not look at the mounts of a single container of a set (argo-workflows,
        // workflow/controller/workflowpod.go).
        volumes: buildVolumes(operator, options, files, "pod", hasHandlerShell),
      },
    ],
  };
}

/** The beginning of the WorkflowTemplate. */
function workflowHead(operator: Operator, { platform }: OperatorOptions): Manifest {
  const { namespace, instanceId } = platform;
  const labels = {
    ...labelsOf(operator.name, "runs"),
    [OPERATOR_LABEL]: identityOf(operator),
    // The controller only looks after objects with its own label.
    ...instanceLabel(instanceId),
  };
  return {
    apiVersion: "argoproj.io/v1alpha1",
    kind: "WorkflowTemplate",
    metadata: { name: operator.name, namespace, labels },
  };
}

/** Fields of the WorkflowTemplate in both forms: the entrypoint, and how long its Workflows are kept. */
function workflowFields(operator: Operator, options: OperatorOptions) {
  return {
    entrypoint: "reconcile",
    // On every Workflow of the template, no matter who submits it.
    workflowMetadata: { labels: { [OPERATOR_LABEL]: identityOf(operator) } },
    ttlStrategy: {
      secondsAfterSuccess: options.runsKeptSeconds,
      secondsAfterFailure: options.failedRunsKeptSeconds,
      // A run whose pod was deleted, or could not be created, is in the phase Error. To the controller that is neither a
      // success nor a failure (argo-workflows, workflow/gccontroller/gc_controller.go, ttl).
      secondsAfterCompletion: options.failedRunsKeptSeconds,
    },
  };
}

/** Parameters of a run, each with a default, so that any of them may be left out. */
function runArguments({ uses, schedules = {} }: Operator) {
  const more = Object.keys(uses).length > 0 ? Object.values(USED_PARAMETER) : [];
  const names = Object.keys(schedules);
  const { schedule, ...others } = RUN_PARAMETERS;
  return {
    parameters: [
      ...[...Object.values(others), ...more].map((name) => ({ name, value: "" })),
      // Argo's UI shows them as a list to choose from.
      ...(names.length > 0 ? [{ name: schedule, value: "", enum: ["", ...names] }] : []),
    ],
  };
}

/**
 * The containers that Argo adds to a Workflow's pod: `init` prepares the others, and `wait` waits for their end. Without an init
 * container, `supervisor` does both (argo-workflows, workflow/controller/workflowpod_layout.go).
 */
function argoContainers({ platform }: OperatorOptions) {
  return platform.initlessPods ? { sidecar: "supervisor" } : { init: "init", sidecar: "wait" };
}

/**
 * The names of a pod's containers in the order in which the kubelet starts them, one after another. Argo's container comes last
 * if nothing waits for it, and first if it prepares the others. Argo puts it first in any case.
 */
function startOrder(containers: readonly { readonly name: string }[], options: OperatorOptions) {
  const { init, sidecar } = argoContainers(options);
  const names = containers.map(({ name }) => ({ name }));
  return init === undefined ? [{ name: sidecar }, ...names] : [...names, { name: sidecar }];
}

/**
 * Changes of the pods for which a Workflow has no field. The pods have no service links, as resident ones have none. Argo's own
 * containers keep the `restricted` Pod Security Standard even under a Workflow controller that is not ours and whose
 * configuration does not mention them.
 */
function podPatch(options: OperatorOptions) {
  const { init, sidecar } = argoContainers(options);
  const secure = (name: string) => [{ name, securityContext: CONTAINER_SECURITY }];
  return {
    enableServiceLinks: false,
    ...(options.runtimeClassName !== undefined && { runtimeClassName: options.runtimeClassName }),
    ...(init !== undefined && { initContainers: secure(init) }),
    containers: secure(sidecar),
  };
}

/** Fields of a WorkflowTemplate whose Workflows make pods. */
function podFields(operator: Operator, options: OperatorOptions) {
  const { priorityClassName: _, ...place } = placementFields("run", options, operator.name);
  const priorityClassName = runPriorityClassOf(operator, options);
  return {
    podMetadata: podMetadata("run", { labels: labelsOf(operator.name, "run") }, options, operator.name),
    // The logs of a failed run stay as long as its Workflow.
    podGC: { strategy: "OnPodSuccess", deleteDelayDuration: "60s" },
    securityContext: POD_SECURITY,
    podSpecPatch: JSON.stringify(podPatch(options)),
    ...place,
    ...(priorityClassName !== undefined && { podPriorityClassName: priorityClassName }),
  };
}
