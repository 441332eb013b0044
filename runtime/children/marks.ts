import type { KubernetesObject, Manifest } from "../kubernetes/objects";
import {
  allIdentitiesOf,
  CHILD_OF_LABEL,
  DOMAIN,
  fieldManagerOf,
  identityOf,
  type OperatorNames,
} from "../names";

/** The field manager that restores the marks of a child which is never updated. */
export function markManagerOf(fieldManager: string): string {
  return `${fieldManager}/marks`;
}

/** All field managers that are an operator's own on its children, those of its former names too. */
export function managersOf(operator: OperatorNames): string[] {
  const managers = allIdentitiesOf(operator).map(fieldManagerOf);
  return managers.flatMap((manager) => [manager, markManagerOf(manager)]);
}

/** Selects all children of an operator, those under its former names too. */
export function childSelectorOf(operator: OperatorNames): string {
  return `${CHILD_OF_LABEL} in (${allIdentitiesOf(operator).map(identityOf).join(",")})`;
}

/** The part of a child's manifest that marks it as its owner's: the owner reference, and our labels and annotations. */
export function marksIn({ apiVersion, kind, metadata }: Manifest): Manifest {
  const { name, namespace, labels, annotations, ownerReferences } = metadata;
  const ours = (map: Record<string, string> | undefined) =>
    Object.fromEntries(Object.entries(map ?? {}).filter(([key]) => key.startsWith(`${DOMAIN}/`)));
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      ...(namespace !== undefined && { namespace }),
      labels: ours(labels),
      annotations: ours(annotations),
      ...(ownerReferences && { ownerReferences }),
    },
  };
}

/**
 * Whether an object has all marks of its owner, as they were applied. An owner reference in another version of the owner's kind is
 * not: if the cluster stops serving that version, Kubernetes' garbage collector can no longer find out what has become of the owner.
 */
export function isMarked({ metadata }: KubernetesObject, manifest: Manifest): boolean {
  const { labels = {}, annotations = {}, ownerReferences = [] } = marksIn(manifest).metadata;
  return (
    Object.entries(labels).every(([key, value]) => metadata.labels?.[key] === value) &&
    Object.entries(annotations).every(([key, value]) => metadata.annotations?.[key] === value) &&
    ownerReferences.every(({ apiVersion, uid }) =>
      metadata.ownerReferences?.some((each) => each.uid === uid && each.apiVersion === apiVersion),
    )
  );
}
