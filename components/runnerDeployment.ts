// The runner's pod, by kubernetesx.
import * as k8s from "@pulumi/kubernetes";
import * as kx from "@pulumi/kubernetesx";
import * as pulumi from "@pulumi/pulumi";
import { isRecord } from "../runtime/program";
import { hasPlaceholders, withInputs } from "./arguments/inputs";
import type { Deployment } from "./manifests/kinds";

/**
 * The Deployment of a resident operator's runner, with its pod built by kubernetesx. Only this file uses kubernetesx, whose
 * project is archived.
 *
 * Every container has its name, because kubernetesx cuts the names that it makes from images, so that two may become the same.
 * The selector is ours and not that of `asDeploymentSpec`, which would be the same for all operators. Volumes are given as plain
 * data and not by `ConfigMap.mount`, whose name is unknown in a preview, and with it the whole pod. For the same reason, values
 * that are known later are set in kubernetesx's result.
 */
export function registerRunnerDeployment(
  name: string,
  { metadata, spec }: Deployment,
  opts: pulumi.CustomResourceOptions,
): k8s.apps.v1.Deployment {
  const plain = spec.template.spec;
  const { podSpec } = new kx.PodBuilder(plain as kx.types.PodSpec);
  const template = {
    metadata: withInputs(spec.template.metadata),
    spec: laidOver(plain, podSpec.apply(withoutEmptyLists)),
  };
  const replicas = withInputs(spec.replicas);
  const deployment = { metadata: withInputs(metadata), spec: { ...spec, replicas, template } };
  // Pulumi's types know no lists that are read-only.
  return new k8s.apps.v1.Deployment(name, deployment as unknown as k8s.apps.v1.DeploymentArgs, opts);
}

/**
 * The Deployment that kubernetesx has made of plain data, with the values that are known later in it. Every other field is
 * kubernetesx' own.
 */
function laidOver(plain: unknown, made: pulumi.Output<unknown>): unknown {
  if (!hasPlaceholders(plain)) return made;
  const at = (key: string | number) =>
    made.apply((value) => (value as Record<string | number, unknown>)[key]);
  if (Array.isArray(plain)) return plain.map((each, index) => laidOver(each, at(index)));
  if (!isRecord(plain)) return withInputs(plain);
  return Object.fromEntries(Object.entries(plain).map(([key, each]) => [key, laidOver(each, at(key))]));
}

/** kubernetesx gives every container an empty list for fields that it does not have. */
function withoutEmptyLists(spec: k8s.types.input.core.v1.PodSpec): pulumi.Output<unknown> {
  const text = JSON.stringify(spec, (_key, value: unknown) =>
    Array.isArray(value) && value.length === 0 ? undefined : value,
  );
  return pulumi.output(JSON.parse(text) as unknown);
}
