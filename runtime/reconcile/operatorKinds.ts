import type { Operator } from "./definition/definition";
import type { Resource } from "./kubernetes/resource";

/** An operator's kinds as the API serves them. */
export interface OperatorKinds {
  readonly resource: Resource;
  /** In the order of `operator.children`. */
  readonly childResources: readonly Resource[];
}

/**
 * Finds the custom resource and every declared child.
 * @param find asks the API for one kind: `discover`, or `awaitKind` for those that may come later
 */
export async function findOperatorKinds(
  { customResource, children }: Pick<Operator, "customResource" | "children">,
  find: (apiVersion: string, kind: string) => Promise<Resource>,
): Promise<OperatorKinds> {
  const { group, version, kind } = customResource;
  const [resource, ...childResources] = await Promise.all([
    find(`${group}/${version}`, kind),
    ...children.map((child) => find(child.apiVersion, child.kind)),
  ]);
  return { resource, childResources };
}
