import { applyEntries } from "../kubernetes/managedFields";
import { groupOf, type JsonObject, type KubernetesObject, type ObjectName } from "../kubernetes/objects";
import type { Resource } from "../kubernetes/resource";
import { ADOPT_ANNOTATION, annotated, CHILD_OF_LABEL, OWNER_ANNOTATION, OWNER_UID_LABEL } from "../names";

/** The custom resource that owns a child, as named on the child. */
export interface Owner extends ObjectName {
  readonly uid: string;
}

/**
 * Whether Kubernetes lets `object` own such a child by reference. An owner with a namespace can own only what is in that
 * namespace.
 * @see https://kubernetes.io/docs/concepts/architecture/garbage-collection/#owners-dependents
 */
export function canReference(
  { metadata: { namespace } }: { readonly metadata: Pick<Owner, "namespace"> },
  childNamespace: string | undefined,
): boolean {
  return namespace === undefined || namespace === childNamespace;
}

/**
 * The owner of an object, if we applied the marks that name the owner. One of our entries in `managedFields` must own the owner
 * reference, or the label and the annotation that name the owner. A field manager's name by itself proves nothing. A reference or
 * a label that somebody else wrote proves nothing either.
 * @param managers the field managers that are ours
 */
export function provenOwner(
  object: KubernetesObject,
  kind: Pick<Resource, "apiVersion" | "kind" | "namespaced">,
  managers: readonly string[],
): Owner | undefined {
  const { metadata } = object;
  const owned = appliedMetadata(object, managers);
  const reference = metadata.ownerReferences?.find(
    ({ apiVersion, kind: name, uid }) =>
      name === kind.kind &&
      groupOf(apiVersion) === groupOf(kind.apiVersion) &&
      owned.some(
        (fields) => inner(fields, "f:ownerReferences")?.[`k:${JSON.stringify({ uid })}`] !== undefined,
      ),
  );
  // An owner without a namespace may own an object that has one.
  if (reference)
    return ownerOf(reference.uid, kind.namespaced ? metadata.namespace : undefined, reference.name);
  // If somebody else changed the owner's name on it, the child would be treated as that owner's.
  const { uid, named } = namedOwner(object, managers);
  const [namespace, name] = named?.split("/") ?? [];
  return uid && name ? ownerOf(uid, namespace, name) : undefined;
}

/**
 * Whether an object is a child of this owner that no owner reference covers, and has lost one of the two marks that name the owner.
 * The other one must be ours. If the uid is lost, an earlier owner of the same name may be meant, unless the child was created later
 * than this owner.
 */
export function isStrippedChildOf(
  object: KubernetesObject,
  { metadata: owner }: KubernetesObject,
  managers: readonly string[],
): boolean {
  const { uid, named } = namedOwner(object, managers);
  if (uid !== undefined) return uid === owner.uid && named === undefined && !wasReferenced(object, managers);
  const hasUid = object.metadata.labels?.[OWNER_UID_LABEL] !== undefined;
  // RFC 3339 in UTC sorts as text.
  const isLater = (object.metadata.creationTimestamp ?? "") >= (owner.creationTimestamp ?? "");
  return !hasUid && named === `${owner.namespace}/${owner.name}` && isLater;
}

/**
 * Whether one of our entries owns an owner reference, which may be gone. Then the object is a copy of a child beside its owner, that a
 * backup tool has restored into another namespace.
 */
function wasReferenced(object: KubernetesObject, managers: readonly string[]): boolean {
  return appliedMetadata(object, managers).some((fields) => inner(fields, "f:ownerReferences") !== undefined);
}

/** The two marks that name the owner of a child that no owner reference covers: each only if we applied it. */
function namedOwner(object: KubernetesObject, managers: readonly string[]) {
  const { labels, annotations } = object.metadata;
  const owned = appliedMetadata(object, managers);
  const ours = (map: string, key: string, value: string | undefined) =>
    owned.some((fields) => inner(fields, `f:${map}`)?.[`f:${key}`] !== undefined) ? value : undefined;
  return {
    uid: ours("labels", OWNER_UID_LABEL, labels?.[OWNER_UID_LABEL]),
    named: ours("annotations", OWNER_ANNOTATION, annotations?.[OWNER_ANNOTATION]),
  };
}

/** Why an object must not be touched. */
export interface Conflict {
  /** As the second half of a sentence: "it belongs to Memcached shop/cache". */
  readonly why: string;
  /** Whether the object has another owner. Then an annotation for adoption does not help. */
  readonly hasOwner: boolean;
  /** Whether that owner is of the operator's own kind. @default false */
  readonly isOfOurKind?: boolean;
}

/**
 * Why an object with a child's name must not be touched. Undefined if it may be touched: the object is this owner's, or it is
 * ours and somebody removed its marks, or it is offered for adoption.
 */
export function conflictWith(
  found: KubernetesObject,
  uid: string,
  kind: Pick<Resource, "apiVersion" | "kind" | "namespaced">,
  managers: readonly string[],
): Conflict | undefined {
  const { metadata } = found;
  const belongsTo = (other: string) => ({ why: `it belongs to ${other}`, hasOwner: true });
  const owner = provenOwner(found, kind, managers);
  if (owner) {
    if (owner.uid === uid) return undefined;
    const name = `${kind.kind} ${owner.namespace ? `${owner.namespace}/` : ""}${owner.name}`;
    return { ...belongsTo(name), isOfOurKind: true };
  }
  const controller = metadata.ownerReferences?.find((reference) => reference.controller);
  if (controller && controller.uid !== uid) return belongsTo(`${controller.kind} ${controller.name}`);
  if (bearsOurMark(found, managers) || annotated(metadata, ADOPT_ANNOTATION)) return undefined;
  // Who writes only its status did not create it.
  const entries = metadata.managedFields?.filter(({ subresource }) => !subresource);
  const writers = [...new Set(entries?.map(({ manager = "unknown" }) => manager))].join(", ");
  const why = writers
    ? `it was created by ${writers}`
    : "its metadata.managedFields do not say who created it";
  return { why, hasOwner: false };
}

/** Whether one of our entries owns the label that all our children have. The garbage collector leaves that label in place. */
export function bearsOurMark(object: KubernetesObject, managers: readonly string[]): boolean {
  return appliedMetadata(object, managers).some(
    (fields) => inner(fields, "f:labels")?.[`f:${CHILD_OF_LABEL}`] !== undefined,
  );
}

/** The fields of an object's metadata that we applied, one part for each of our entries. */
function appliedMetadata(object: KubernetesObject, managers: readonly string[]) {
  return applyEntries(object, managers).map(({ fieldsV1 }) => inner(fieldsV1, "f:metadata"));
}

function inner(fields: JsonObject | undefined, key: string): JsonObject | undefined {
  return fields?.[key] as JsonObject | undefined;
}

function ownerOf(uid: string, namespace: string | undefined, name: string): Owner {
  return namespace ? { uid, namespace, name } : { uid, name };
}
