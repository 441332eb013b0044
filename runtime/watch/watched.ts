import type { Watch, WatchedPart } from "../definition/definition";
import type { KubernetesObject, Manifest, ObjectMeta } from "../kubernetes/objects";
import { DOMAIN, OWNER_UID_LABEL } from "../names";

/** The annotation in which `kubectl apply` keeps the applied manifest. Everything in it is in the object too. */
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/** The selector of objects with these labels. Undefined: every object. */
export function labelSelectorOf({ labels }: Watch): string | undefined {
  const terms = Object.entries(labels).map(([label, value]) => `${label}=${value}`);
  return terms.length > 0 ? terms.join(",") : undefined;
}

/** Whether an object has all of these labels. */
export function hasLabels({ metadata }: Manifest, labels: Watch["labels"]): boolean {
  return Object.entries(labels).every(([label, value]) => metadata.labels?.[label] === value);
}

/**
 * The parts of an object that count as a change of it. They never include the API server's counters and the last writer of the
 * object. So an object that is only touched has not changed.
 */
export function partsOf(object: KubernetesObject, on: readonly WatchedPart[]): unknown {
  const { apiVersion: _a, kind: _k, metadata, status, ...content } = object;
  return [
    on.includes("spec") && content,
    on.includes("status") && status,
    on.includes("labels") && [Object.entries(metadata.labels ?? {}).sort(), annotationsOf(object)],
  ];
}

/**
 * The uids of the objects that led to an object, by its owner references, or by Argosy's label if no reference can be set.
 */
export function madeOf({ metadata }: KubernetesObject): string[] {
  const label = metadata.labels?.[OWNER_UID_LABEL];
  return [...(metadata.ownerReferences ?? []).map(({ uid }) => uid), ...(label === undefined ? [] : [label])];
}

/** An object's annotations, sorted, except that of `kubectl apply`. */
export function annotationsOf({ metadata }: KubernetesObject): [string, string][] {
  return Object.entries(metadata.annotations ?? {})
    .filter(([key]) => key !== LAST_APPLIED)
    .sort();
}

/** The same metadata without the annotation of `kubectl apply`. */
export function withoutLastApplied<Metadata extends Pick<ObjectMeta, "annotations">>(
  metadata: Metadata,
): Metadata {
  if (metadata.annotations?.[LAST_APPLIED] === undefined) return metadata;
  const { [LAST_APPLIED]: _, ...annotations } = metadata.annotations;
  return { ...metadata, annotations };
}

/** Its annotations of Argosy's, by which people ask for something. */
export function ownAnnotationsOf(object: KubernetesObject): [string, string][] {
  return annotationsOf(object).filter(([key]) => key.startsWith(`${DOMAIN}/`));
}
