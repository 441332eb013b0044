import { managersOf } from "../../children/marks";
import { isWatchedBy } from "../../children/ownership";
import type { Operator } from "../../definition/definition";
import type { KubernetesClient } from "../../kubernetes/client";
import { findResource } from "../../kubernetes/discovery";
import { apiVersionOf, type KubernetesObject } from "../../kubernetes/objects";

/**
 * Whether the operator looks after an object: after every custom resource of its own, and after others' objects that it watches.
 */
export function isWatched(object: KubernetesObject, operator: Operator): boolean {
  if (!operator.watch) return true;
  return isWatchedBy(object, operator.watch.labels, managersOf(operator));
}

/**
 * The operator with its kind as the API serves it: a definition knows neither plural nor scope of a kind that is not its
 * own, nor Kubernetes' own.
 * @throws UnknownKindError if the cluster does not serve the kind
 */
export async function withServedKind(operator: Operator, client: KubernetesClient): Promise<Operator> {
  const { customResource, watch } = operator;
  if (!watch) return operator;
  const apiVersion = apiVersionOf(customResource);
  const { plural, namespaced } = await findResource(client, apiVersion, customResource.kind);
  return { ...operator, customResource: { ...customResource, plural, namespaced } };
}
