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
import { resyncNameOf, runnerNameOf } from "../names";
import { CONTAINER_SECURITY, POD_SECURITY, placementFields, podMetadata } from "../pods";
import type { OperatorFiles } from "./configMaps";
import {
  buildHandlerContainer,
  buildHandlerShellContainer,
  buildResyncContainer,
  buildRunnerContainer,
  HANDLER_SHELL,
  needsHandlerShell,
} from "./containers";
import type { OperatorOptions } from "./options";
import { runLimitKeyOf, runPriorityClassOf } from "./quota";
import { buildVolumes, engineVolumes } from "./volumes";

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
    ...workflowHead("WorkflowTemplate", operator, operator.name, options),
    spec: {
      ...workflowFields(operator, options),
      arguments: runArguments(operator),
      // Never the namespace's default account, although a resident runner answers without a pod.
      serviceAccountName: runnerNameOf(operator.name),
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

/** How long a run's pod may take on its node, in seconds: time for a further reconcile of changes meanwhile. */
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
    ...podFields(operator, "run", options),
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
        // The most pods of the operator at once. It is not beside the lock above: Argo gives a semaphore only in the order of its
        // queue, so a run that waits for its object would hold up all others (argo-workflows, workflow/sync/semaphore.go,
        // checkAcquire).
        synchronization: {
          semaphores: [{ configMapKeyRef: runLimitKeyOf(operator) }],
        },
        // Waits for the operator's turn, for a ResourceQuota that refuses the pod, and for room in the cluster: Argo tries again
        // each second (workflow/controller/operator.go, requeueIfTransientErr). There is no `retryStrategy` beside it, not even
        // for a pod that was lost: Argo would then look only at the phase of the retries' node, which is never pending
        // (checkTemplateTimeouts). The next resync reports the failure and tries again.
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

/** How long a resync may take to look at all objects and to submit runs, in seconds. */
const RESYNC_SECONDS = 300;
/** How long the pod of a resync usually takes at most until its engine begins, in seconds. */
const RESYNC_START_SECONDS = 60;

/**
 * The WorkflowTemplate of the resync, which looks for objects that need a run, in the form "pod". Its Workflows only refer to it,
 * since our Workflow controller takes no others (workflowRestrictions: templateReferencing Strict).
 */
export function buildResyncTemplate(
  operator: Operator,
  options: OperatorOptions,
  files: OperatorFiles,
): Manifest {
  return {
    ...workflowHead("WorkflowTemplate", operator, resyncNameOf(operator.name), options),
    spec: {
      ...workflowFields(operator, options),
      ...podFields(operator, "resync", options),
      entrypoint: "resync",
      serviceAccountName: resyncNameOf(operator.name),
      activeDeadlineSeconds: PENDING_SECONDS + RESYNC_SECONDS,
      templates: [
        {
          name: "resync",
          pendingTimeout: `${PENDING_SECONDS}s`,
          // The kubelet counts it from the moment at which the pod has a node. It covers a container that is killed as a whole, as
          // by a kernel that has no memory left for it: Argo's executor in it cannot report its end any more. In a run, the other
          // container reports it. With the deadline above alone, the next resync after ten minutes would be skipped. An image that
          // takes longer to pull is there for the next resync.
          activeDeadlineSeconds: RESYNC_SECONDS + RESYNC_START_SECONDS,
          // There are no retries, because the next resync comes by itself.
          container: buildResyncContainer(operator, options),
          volumes: engineVolumes(files),
        },
      ],
    },
  };
}

/**
 * The CronWorkflow that submits the resync, every `resyncSeconds` or somewhat more often: see {@link resyncSchedule}. The resync
 * finds changes without an event, and tries failed objects again.
 */
export function buildCronWorkflow(operator: Operator, options: OperatorOptions): Manifest {
  const name = resyncNameOf(operator.name);
  return {
    ...workflowHead("CronWorkflow", operator, name, options),
    spec: {
      schedules: [resyncSchedule(operator.resyncSeconds)],
      concurrencyPolicy: "Forbid",
      // A resync that the controller missed while it was away is made up for, once.
      startingDeadlineSeconds: operator.resyncSeconds,
      successfulJobsHistoryLimit: 1,
      failedJobsHistoryLimit: 3,
      workflowSpec: { workflowTemplateRef: { name } },
    },
  };
}

const MINUTE = 60;
const HOUR = 60 * MINUTE;

/** Steps that divide an hour or a day, so that the times between two runs are all the same. */
const MINUTES = [1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30];
const HOURS = [1, 2, 3, 4, 6, 8, 12, 24];

/**
 * A schedule of cron for "at least this often": the longest even step that is not longer. 600 s are every ten minutes, and so are
 * 700 s. The shortest step is a minute, because cron has no shorter one.
 *
 * It is not "@every 700s", which the Workflow controller understands too. The controller counts that from the last change of the
 * CronWorkflow that it saw, and every run makes such a change (argo-workflows, workflow/cron/controller.go).
 */
export function resyncSchedule(seconds: number): string {
  if (seconds < HOUR) {
    const minutes = longest(MINUTES, seconds / MINUTE);
    return minutes === 1 ? "* * * * *" : `*/${minutes} * * * *`;
  }
  const hours = longest(HOURS, seconds / HOUR);
  if (hours === 24) return "0 0 * * *";
  return hours === 1 ? "0 * * * *" : `0 */${hours} * * *`;
}

function longest(steps: readonly number[], limit: number): number {
  return Math.max(...steps.filter((step, index) => index === 0 || step <= limit));
}

/** The beginning of an object of Argo Workflows that belongs to an operator. */
function workflowHead(
  kind: "WorkflowTemplate" | "CronWorkflow",
  operator: Operator,
  name: string,
  { platform: { namespace, instanceId } }: OperatorOptions,
): Manifest {
  const labels = {
    ...labelsOf(operator.name, "runs"),
    [OPERATOR_LABEL]: identityOf(operator),
    // The controller only looks after objects with its own label.
    ...instanceLabel(instanceId),
  };
  return { apiVersion: "argoproj.io/v1alpha1", kind, metadata: { name, namespace, labels } };
}

/**
 * How long the Workflow of a failed run is kept, in seconds. A run in a pod that could not report its failure is reported by the next
 * resync, which finds it by its Workflow, or by the one after that if the next is skipped.
 */
function failureKeptSeconds(
  { execution, resyncSeconds }: Operator,
  { failedRunsKeptSeconds }: OperatorOptions,
): number {
  return execution === "pod" ? Math.max(failedRunsKeptSeconds, 2 * resyncSeconds) : failedRunsKeptSeconds;
}

/** Fields of every WorkflowTemplate of ours: the entrypoint, and how long its Workflows are kept. */
function workflowFields(operator: Operator, options: OperatorOptions) {
  const failureSeconds = failureKeptSeconds(operator, options);
  return {
    entrypoint: "reconcile",
    // On every Workflow of the template, no matter who submits it.
    workflowMetadata: { labels: { [OPERATOR_LABEL]: identityOf(operator) } },
    ttlStrategy: {
      secondsAfterSuccess: options.runsKeptSeconds,
      secondsAfterFailure: failureSeconds,
      // A run whose pod was deleted, or could not be created, is in the phase Error. To the controller that is neither a
      // success nor a failure (argo-workflows, workflow/gccontroller/gc_controller.go, ttl).
      secondsAfterCompletion: failureSeconds,
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
  return platform.initlessPods ? { beside: "supervisor" } : { init: "init", beside: "wait" };
}

/**
 * The names of a pod's containers in the order in which the kubelet starts them, one after another. Argo's container comes last
 * if nothing waits for it, and first if it prepares the others. Argo puts it first in any case.
 */
function startOrder(containers: readonly { readonly name: string }[], options: OperatorOptions) {
  const { init, beside } = argoContainers(options);
  const names = containers.map(({ name }) => ({ name }));
  return init === undefined ? [{ name: beside }, ...names] : [...names, { name: beside }];
}

/**
 * Changes of the pods for which a Workflow has no field. The pods have no service links, as resident ones have none. Argo's own
 * containers keep the `restricted` Pod Security Standard even under a Workflow controller that is not ours and whose
 * configuration does not mention them.
 */
function podPatch(options: OperatorOptions) {
  const { init, beside } = argoContainers(options);
  const secure = (name: string) => [{ name, securityContext: CONTAINER_SECURITY }];
  return {
    enableServiceLinks: false,
    ...(init !== undefined && { initContainers: secure(init) }),
    containers: secure(beside),
  };
}

/** Fields of the WorkflowTemplates whose Workflows make pods. */
function podFields(operator: Operator, part: "run" | "resync", options: OperatorOptions) {
  const { priorityClassName: chosen, ...place } = placementFields(part, options, operator.name);
  const priorityClassName = part === "run" ? runPriorityClassOf(operator, options) : chosen;
  return {
    podMetadata: podMetadata(part, { labels: labelsOf(operator.name, part) }, options, operator.name),
    // The logs of a failed run stay as long as its Workflow.
    podGC: { strategy: "OnPodSuccess", deleteDelayDuration: "60s" },
    securityContext: POD_SECURITY,
    podSpecPatch: JSON.stringify(podPatch(options)),
    ...place,
    ...(priorityClassName !== undefined && { podPriorityClassName: priorityClassName }),
  };
}
