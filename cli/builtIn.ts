import { isNamespaced, pluralOf } from "../runtime/kubernetes/kinds";
import type { Resource } from "../runtime/kubernetes/resource";

/** A kind of Kubernetes' own as every API server serves it. */
export function builtIn(apiVersion: string, kind: string): Resource {
  return {
    apiVersion,
    kind,
    plural: pluralOf(apiVersion, kind),
    namespaced: isNamespaced(apiVersion, kind) ?? false,
  };
}
