import type { Manifest, Operator } from "../../../runtime/program";
import { buildCustomResourceDefinition } from "../customResourceDefinition";
import type { Deployment } from "../kinds";
import { awaited, type ManifestSet } from "../metadata";
import { transformed } from "../transform";
import type { OperatorFiles } from "./configMaps";
import { buildEgressPolicy } from "./egress";
import { buildGuards } from "./guards";
import type { OperatorOptions } from "./options";
import { buildQuota, buildRunLimit } from "./quota";
import { buildAccess, buildUserRoles } from "./rbac";
import { buildNetworkPolicy, buildPodDisruptionBudget, buildRunner, buildService } from "./runner";
import { buildWorkflowTemplate } from "./workflows";

/** Every manifest of an operator, except the engine's ConfigMap, which all operators share. */
export interface OperatorManifests {
  /** The objects before the runner and the CRD, in an order in which each finds the objects that it names. */
  readonly parts: ManifestSet;
  /** The Deployment of the runner. */
  readonly runner: Deployment;
  /** Pulumi waits until custom resources of it can be created. Undefined for an operator that watches others' objects. */
  readonly crd: Manifest | undefined;
}

/**
 * Builds an operator.
 * @throws TransformError if the program's transform does something that it may not
 */
export function buildOperator(
  operator: Operator,
  options: OperatorOptions,
  files: OperatorFiles,
): OperatorManifests {
  return {
    parts: buildParts(operator, options, files),
    runner: buildRunner(operator, options, files),
    crd: buildCrd(operator, options),
  };
}

function buildParts(operator: Operator, options: OperatorOptions, files: OperatorFiles): ManifestSet {
  const { argoWorkflows } = options.platform;
  const service = buildService(operator, options);
  const egress = buildEgressPolicy(operator, options);
  return {
    ...buildAccess(operator, options),
    ...buildUserRoles(operator),
    ...buildGuards(operator, options),
    ...handlerFileSet(files),
    definition: files.definition,
    // Before the template that names it, because a run without it fails.
    ...(operator.execution === "pod" && {
      ...buildQuota(operator, options),
      "run-limit": buildRunLimit(operator, options),
    }),
    ...(argoWorkflows && {
      template: transformed("workflowTemplate", buildWorkflowTemplate(operator, options, files), options),
    }),
    ...(service && { service: transformed("runnerService", service, options) }),
    "network-policy": transformed("runnerNetworkPolicy", buildNetworkPolicy(operator, options), options),
    ...(egress && { "egress-policy": egress }),
    "disruption-budget": transformed(
      "runnerDisruptionBudget",
      buildPodDisruptionBudget(operator, options),
      options,
    ),
  };
}

/** The first one has the name that an operator with a single one has. */
function handlerFileSet({ handler }: OperatorFiles): ManifestSet {
  const names = handler.map((_, index) => (index === 0 ? "handler-files" : `handler-files-${index + 1}`));
  return Object.fromEntries(handler.map(({ manifest }, index) => [names[index], manifest]));
}

function buildCrd(operator: Operator, options: OperatorOptions): Manifest | undefined {
  if (operator.watch) return undefined;
  const crd = buildCustomResourceDefinition(operator);
  const annotations = { ...crd.metadata.annotations, ...awaited("Established") };
  return transformed("crd", { ...crd, metadata: { ...crd.metadata, annotations } }, options);
}
