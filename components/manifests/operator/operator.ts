import type { Manifest, Operator } from "../../../runtime/program";
import { buildCustomResourceDefinition } from "../customResourceDefinition";
import { awaited, type ManifestSet } from "../metadata";
import { transformed } from "../transform";
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
  const { argoEvents, argoWorkflows } = options.platform;
  return {
    ...buildAccess(operator, options),
    "handler-files": files.handler,
    definition: files.definition,
    ...(argoWorkflows && {
      template: transformed("workflowTemplate", buildWorkflowTemplate(operator, options, files), options),
    }),
    ...(operator.execution === "pod"
      ? {
          "resync-template": transformed(
            "resyncTemplate",
            buildResyncTemplate(operator, options, files),
            options,
          ),
          resync: transformed("resync", buildCronWorkflow(operator, options), options),
        }
      : {
          ...(argoEvents && {
            service: transformed("runnerService", buildService(operator, options), options),
          }),
          "network-policy": transformed(
            "runnerNetworkPolicy",
            buildNetworkPolicy(operator, options),
            options,
          ),
          "disruption-budget": transformed(
            "runnerDisruptionBudget",
            buildPodDisruptionBudget(operator, options),
            options,
          ),
        }),
  };
}

/**
 * The CRD of an operator, as it is registered. Pulumi waits until custom resources of it can be created.
 * @throws TransformError where the program's transform does what it may not
 */
export function buildCrd(operator: Operator, options: OperatorOptions): Manifest {
  const crd = buildCustomResourceDefinition(operator);
  const annotations = { ...crd.metadata.annotations, ...awaited("Established") };
  return transformed("crd", { ...crd, metadata: { ...crd.metadata, annotations } }, options);
}
