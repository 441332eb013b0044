import type { Resource } from "../../runtime/base/resource";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import { builtIn } from "../../runtime/kubernetes/discovery";

/** The place of a run. */
export interface Ground {
  /** A client with every right, on a path that no fault affects. */
  readonly client: KubernetesClient;
  /** The custom resources. */
  readonly resource: Resource;
  /** The namespace of the custom resources. Nothing else uses it. */
  readonly namespace: string;
  /** Another namespace, for children that owner references cannot cover. Nothing else uses it either. */
  readonly far: string;
}

/** The kinds of the children. */
export const CHILD_RESOURCES: readonly Resource[] = ["ConfigMap", "Secret", "Service"].map((kind) =>
  builtIn("v1", kind),
);

/** The resource of a child's kind. @throws Error if children cannot have this kind */
export function childResource(kind: string): Resource {
  const found = CHILD_RESOURCES.find((resource) => resource.kind === kind);
  if (!found) throw new Error(`children cannot have the kind ${kind}`);
  return found;
}
