import { DOMAIN } from "../../runtime/program";
import type { ConfigMap, Container, Deployment, Volume } from "./kinds";
import { contentFingerprint } from "./placeholder";
import { CONTAINER_SECURITY, POD_SECURITY, type PodsOptions, placementFields, podMetadata } from "./pods";
import { type ResourceOptions, resourcesOf } from "./resources";
import { type TransformOptions, transformed } from "./transform";

/** An annotation of the pods that changes with the configuration that they read at their start, so that they start again. */
const CONFIGURATION_ANNOTATION = `${DOMAIN}/configuration`;

/** A program of Argo's, or the engine at work for all operators: a pod of one container. */
export interface ArgoProgram {
  readonly part: "argoEventsController" | "workflowController" | "argoServer" | "keeper" | "intake";
  /** Name of the Deployment, its container and its service account. */
  readonly name: string;
  readonly namespace: string;
  /** From `labelsOf`. */
  readonly labels: Readonly<Record<string, string>>;
  /** @default 1 */
  readonly replicas?: number;
  /** "Recreate": never two at once, not even for a moment. */
  readonly strategy: "Recreate" | "RollingUpdate";
  /**
   * The configuration that the program reads once, at its start. @default nothing, or objects that get another name with each
   * change
   */
  readonly configuration?: ConfigMap;
  /** The container's other fields. */
  readonly container: Omit<Container, "name" | "resources" | "securityContext">;
  /** @default none */
  readonly volumes?: readonly Volume[];
}

/** The Deployment of such a program, whose pods keep the `restricted` Pod Security Standard. */
export function buildDeployment(
  program: ArgoProgram,
  options: PodsOptions & ResourceOptions & TransformOptions,
): Deployment {
  const { part, name, namespace, labels, configuration, volumes } = program;
  const annotations = configuration && { [CONFIGURATION_ANNOTATION]: contentFingerprint(configuration.data) };
  const deployment: Deployment = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace, labels },
    spec: {
      replicas: program.replicas ?? 1,
      strategy: { type: program.strategy },
      selector: { matchLabels: selectorOf(labels) },
      template: {
        metadata: podMetadata(part, { labels, ...(annotations && { annotations }) }, options),
        spec: {
          serviceAccountName: name,
          securityContext: POD_SECURITY,
          ...placementFields(part, options),
          containers: [
            {
              name,
              ...program.container,
              resources: resourcesOf(part, options),
              securityContext: CONTAINER_SECURITY,
            },
          ],
          ...(volumes && { volumes }),
        },
      },
    },
  };
  return transformed(part, deployment, options);
}

/** The labels by which a program's pods are selected. A Deployment's selector can never change, so these are few. */
export function selectorOf(labels: Readonly<Record<string, string>>): Record<string, string> {
  const keys = ["app.kubernetes.io/name", "app.kubernetes.io/component"];
  return Object.fromEntries(Object.entries(labels).filter(([key]) => keys.includes(key)));
}
