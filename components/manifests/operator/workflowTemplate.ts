import {
  ANSWER_FILE,
  type Manifest,
  type Operator,
  PENDING_SECONDS,
  RUN_PARAMETERS,
  runSeconds,
} from "../../../runtime/program";
import type { OperatorFiles } from "./configMaps";
import { buildHandlerContainer, buildKitContainer, buildRunnerContainer, KIT } from "./containers";
import { runnerNameOf } from "./names";
import type { OperatorOptions } from "./options";
import { buildVolumes } from "./volumes";
import { podFields, RUN_ARGUMENTS, workflowFields, workflowMetadata } from "./workflowParts";

/**
 * The output of a run in a pod: what the handler answered where it was only tried, with the parameter `object`. The
 * engine writes it there; nothing is written by any other run.
 */
export const ANSWER = { name: "answer", path: ANSWER_FILE } as const;

/**
 * The WorkflowTemplate of an operator's runs, by the operator's own name. A resident runner records its runs as
 * Workflows of it and answers those that are submitted; in the form "pod" every run is one, with a pod of its own.
 */
export function buildWorkflowTemplate(
  operator: Operator,
  options: OperatorOptions,
  files: OperatorFiles,
): Manifest {
  return {
    apiVersion: "argoproj.io/v1alpha1",
    kind: "WorkflowTemplate",
    metadata: workflowMetadata(operator, operator.name, options),
    spec: {
      ...workflowFields(operator, options),
      arguments: RUN_ARGUMENTS,
      // Never the namespace's default account, although a resident runner answers without a pod.
      serviceAccountName: runnerNameOf(operator.name),
      ...(operator.execution === "pod" ? podRun(operator, options, files) : residentRun(operator)),
    },
  };
}

/**
 * A run that the resident runner answers. The text of the template is constant: Argo would evaluate what it finds
 * between braces in an object, so that the runner reads the parameters from the Workflow itself. No retries: a run
 * that failed shows what happened, and the runner's queue tries the object again by itself.
 */
function residentRun(operator: Operator) {
  return {
    // A runner that rolls out, or that has many objects before this one, is late but not gone.
    activeDeadlineSeconds: PENDING_SECONDS + runSeconds(operator),
    templates: [{ name: "reconcile", plugin: { argosy: { operator: operator.name } } }],
  };
}

/** The container of Argo's own that waits for the end of the others (argo-workflows, workflow/common/common.go). */
const WAIT = "wait";

/** A run in a pod of its own. */
function podRun(operator: Operator, options: OperatorOptions, files: OperatorFiles) {
  const containers = [
    // First, so that it has ended when the handler's begins, which waits for it.
    buildKitContainer(operator, options, "pod"),
    buildRunnerContainer(operator, options, "pod"),
    { ...buildHandlerContainer(operator, options, "pod"), dependencies: [KIT] },
  ];
  return {
    ...podFields(operator, "run", options),
    // Counted from when the lock is had: time for a further reconcile of what has changed meanwhile.
    activeDeadlineSeconds: PENDING_SECONDS + 2 * runSeconds(operator),
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
        // An image that cannot be pulled, a cluster without room. No `retryStrategy` beside it, not even for a pod that was
        // lost: Argo would look at the phase of the retries' node alone, which is never pending (argo-workflows,
        // workflow/controller/operator.go, checkTemplateTimeouts). The next resync tells of the failure and tries again.
        pendingTimeout: `${PENDING_SECONDS}s`,
        // No init container of ours: the kubelet looks but once a second whether one has ended (kubernetes,
        // pkg/kubelet/kubelet.go, genericPlegRelistPeriod), while Argo's executor watches for the end of a dependency.
        // The pair has none: each waits for the other, and one that failed would keep the other from ever starting.
        containerSet: { containers },
        // The kubelet starts one after another in the order of the pod, and Argo puts its own first (argo-workflows,
        // workflow/controller/workflowpod.go).
        podSpecPatch: JSON.stringify({
          "$setElementOrder/containers": [...containers.map(({ name }) => ({ name })), { name: WAIT }],
        }),
        outputs: {
          parameters: [{ name: ANSWER.name, valueFrom: { path: ANSWER.path, default: "" } }],
        },
        // Not the Workflow's: of those only what a template mounts as a whole gets into the pod, and the mounts of one
        // container of a set are not looked at (argo-workflows, workflow/controller/workflowpod.go).
        volumes: buildVolumes(operator, files, "pod"),
      },
    ],
  };
}
