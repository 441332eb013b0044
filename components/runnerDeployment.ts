import * as k8s from "@pulumi/kubernetes";
import * as kx from "@pulumi/kubernetesx";
import * as pulumi from "@pulumi/pulumi";
import type { Operator } from "../runtime/program";
import type { OperatorFiles } from "./manifests/operator/configMaps";
import type { OperatorOptions } from "./manifests/operator/options";
import { buildRunner } from "./manifests/operator/runner";

/**
 * The Deployment of a resident operator's runner, its pod built with kubernetesx. The one file that uses it: its
 * project is archived.
 *
 * Every container has its name: kubernetesx cuts the names that it makes from images, so that two differ no more. The
 * selector is ours and not that of `asDeploymentSpec`, which would be the same for all operators. Volumes are given
 * as plain data and not by `ConfigMap.mount`, whose name is unknown in a preview, and with it the whole pod.
 */
export function registerRunnerDeployment(
  name: string,
  operator: Operator,
  options: OperatorOptions,
  files: OperatorFiles,
  opts: pulumi.CustomResourceOptions,
): k8s.apps.v1.Deployment {
  const { metadata, spec } = buildRunner(operator, options, files);
  const { podSpec } = new kx.PodBuilder(spec.template.spec as kx.types.PodSpec);
  const template = { metadata: spec.template.metadata, spec: podSpec.apply(withoutEmptyLists) };
  // Pulumi's types know no lists that are read-only.
  const args = { metadata, spec: { ...spec, template } };
  return new k8s.apps.v1.Deployment(name, args as unknown as k8s.apps.v1.DeploymentArgs, opts);
}

/** kubernetesx gives every container an empty list for what it does not have. */
function withoutEmptyLists(
  spec: k8s.types.input.core.v1.PodSpec,
): pulumi.Output<k8s.types.input.core.v1.PodSpec> {
  const text = JSON.stringify(spec, (_key, value: unknown) =>
    Array.isArray(value) && value.length === 0 ? undefined : value,
  );
  return pulumi.output(JSON.parse(text) as k8s.types.input.core.v1.PodSpec);
}
