import { DOMAIN, fingerprint, type Json, type JsonObject, type Manifest } from "../../runtime/program";
import { CONTAINER_SECURITY, POD_SECURITY, type PodPlacement, placementFields } from "./pods";

/** On the pods: changes with the configuration that they read when they start, so that they start anew. */
const CONFIGURATION_ANNOTATION = `${DOMAIN}/configuration`;

/** One of Argo's programs: a pod of one container. */
export interface ArgoProgram {
  /** Name of the Deployment, its container and its service account. */
  readonly name: string;
  readonly namespace: string;
  /** From `labelsOf`. */
  readonly labels: Readonly<Record<string, string>>;
  readonly placement: PodPlacement;
  /** "Recreate": never two at once, also not for a moment. */
  readonly strategy: "Recreate" | "RollingUpdate";
  /** What the program reads once, at its start. @default nothing, or what has another name whenever it changes */
  readonly configuration?: Manifest;
  /** Fields of the container beside its name and its security. */
  readonly container: JsonObject;
  /** @default none */
  readonly volumes?: readonly Json[];
}

/** The Deployment of one of Argo's programs, as the `restricted` Pod Security Standard wants its pods. */
export function buildDeployment(program: ArgoProgram): Manifest {
  const { name, namespace, labels, configuration, volumes } = program;
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace, labels },
    spec: {
      replicas: 1,
      strategy: { type: program.strategy },
      selector: { matchLabels: selectorOf(labels) },
      template: {
        metadata: {
          labels,
          ...(configuration && {
            annotations: { [CONFIGURATION_ANNOTATION]: fingerprint(configuration.data) },
          }),
        },
        spec: {
          serviceAccountName: name,
          securityContext: POD_SECURITY,
          ...placementFields(program.placement),
          containers: [{ name, ...program.container, securityContext: CONTAINER_SECURITY }],
          ...(volumes && { volumes }),
        },
      },
    },
  };
}

/** By which labels a program's pods are found. A Deployment's selector can never change: the fewer the better. */
export function selectorOf(labels: Readonly<Record<string, string>>): Record<string, string> {
  const keys = ["app.kubernetes.io/name", "app.kubernetes.io/component"];
  return Object.fromEntries(Object.entries(labels).filter(([key]) => keys.includes(key)));
}
