import type { Operator } from "../../../runtime/program";
import type { ManifestSet } from "../metadata";
import type { OperatorFiles } from "./configMaps";
import type { OperatorOptions } from "./options";
import { buildAccess } from "./rbac";
import { buildNetworkPolicy, buildPodDisruptionBudget, buildService } from "./runner";
import { buildCronWorkflow, buildResyncTemplate, buildWorkflowTemplate } from "./workflows";

/**
 * All manifests of an operator but three: its CRD, the Deployment of a resident runner, and the engine's ConfigMap,
 * which all operators share. In an order in which each finds what it names.
 */
export function buildOperator(
  operator: Operator,
  options: OperatorOptions,
  files: OperatorFiles,
): ManifestSet {
  return {
    ...buildAccess(operator, options),
    "handler-files": files.handler,
    definition: files.definition,
    template: buildWorkflowTemplate(operator, options, files),
    ...(operator.execution === "pod"
      ? {
          "resync-template": buildResyncTemplate(operator, options, files),
          resync: buildCronWorkflow(operator, options),
        }
      : {
          service: buildService(operator, options),
          "network-policy": buildNetworkPolicy(operator, options),
          "disruption-budget": buildPodDisruptionBudget(operator, options),
        }),
  };
}
