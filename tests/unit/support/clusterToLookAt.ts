import type { KubernetesObject, ObjectName } from "../../../runtime/base/objects";
import type { Resource } from "../../../runtime/base/resource";
import type { KubernetesClient } from "../../../runtime/kubernetes/client";
import { ApiError } from "../../../runtime/kubernetes/errors";

/** Whether an account may not read objects of a kind in one way or the other. */
export type Refusal = (verb: "get" | "list", kind: string) => boolean;

/** A client of a cluster with these objects, for what only looks at one. It selects by nothing but kind and name. */
export function clusterToLookAt(
  objects: readonly KubernetesObject[],
  isRefused: Refusal = () => false,
): KubernetesClient {
  const read = (verb: "get" | "list", { kind }: Resource) => {
    if (isRefused(verb, kind)) throw new ApiError(403, { message: "you may not" }, "GET");
    return objects.filter((each) => each.kind === kind);
  };
  return {
    get: async (resource: Resource, { name }: ObjectName) =>
      read("get", resource).find(({ metadata }) => metadata.name === name),
    listAll: async (resource: Resource) => read("list", resource),
    list: async ({ kind }: Resource, _: unknown, onPage: (items: readonly KubernetesObject[]) => void) =>
      onPage(objects.filter((each) => each.kind === kind)),
    read: async () => ({ gitVersion: "v1.34.0", resources: [] }),
  } as unknown as KubernetesClient;
}
