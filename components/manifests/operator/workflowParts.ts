import {
  identityOf,
  instanceLabel,
  type ObjectMeta,
  OPERATOR_LABEL,
  type Operator,
  RUN_PARAMETERS,
} from "../../../runtime/program";
import { placementFields } from "../../placement";
import { labelsOf } from "../labels";
import { CONTAINER_SECURITY, POD_SECURITY } from "../podSecurity";
import type { OperatorOptions } from "./options";

/** The metadata of an object of Argo Workflows that belongs to an operator. */
export function workflowMetadata(
  operator: Operator,
  name: string,
  { platform: { namespace, instanceId } }: OperatorOptions,
): ObjectMeta {
  return {
    name,
    namespace,
    labels: {
      ...labelsOf(operator.name, "runs"),
      [OPERATOR_LABEL]: identityOf(operator),
      // The controller looks only after what carries its own.
      ...instanceLabel(instanceId),
    },
  };
}

/** Fields of every WorkflowTemplate of ours: the entrypoint, and how long its Workflows are kept. */
export function workflowFields(operator: Operator, options: OperatorOptions) {
  return {
    entrypoint: "reconcile",
    // On every Workflow of the template, whoever submits it.
    workflowMetadata: { labels: { [OPERATOR_LABEL]: identityOf(operator) } },
    ttlStrategy: {
      secondsAfterSuccess: options.runsKeptSeconds,
      secondsAfterFailure: options.failedRunsKeptSeconds,
    },
  };
}

/** Parameters of a run, each with a default, so that any of them may be left out. */
export const RUN_ARGUMENTS = {
  parameters: Object.values(RUN_PARAMETERS).map((name) => ({ name, value: "" })),
} as const;

/**
 * What a Workflow has no field of its own for. Its pods have no service links, as resident ones have none; and Argo's own
 * two containers keep the `restricted` Pod Security Standard under a Workflow controller that is not ours as well, whose
 * configuration says nothing of them (argo-workflows, workflow/controller/workflowpod.go, initContainers, `wait`).
 */
const POD_PATCH = {
  enableServiceLinks: false,
  initContainers: [{ name: "init", securityContext: CONTAINER_SECURITY }],
  containers: [{ name: "wait", securityContext: CONTAINER_SECURITY }],
};

/** Fields of the WorkflowTemplates whose Workflows make pods. */
export function podFields(operator: Operator, component: string, { placement }: OperatorOptions) {
  return {
    podMetadata: { labels: labelsOf(operator.name, component) },
    // The logs of a run that failed are there as long as its Workflow.
    podGC: { strategy: "OnPodSuccess", deleteDelayDuration: "60s" },
    securityContext: POD_SECURITY,
    podSpecPatch: JSON.stringify(POD_PATCH),
    ...placementFields(placement),
  };
}
