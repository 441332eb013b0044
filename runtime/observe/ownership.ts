import {
  ADOPT_ANNOTATION,
  annotated,
  CHILD_OF_LABEL,
  OWNER_ANNOTATION,
  OWNER_UID_LABEL,
} from "../base/names";
import { type JsonObject, type KubernetesObject, keyOf, kindAndName, type ObjectName } from "../base/objects";
import { groupKind, type Resource, type TypeMeta } from "../base/resource";
import { applyEntries } from "../kubernetes/managedFields";

/** The custom resource that owns a child, as named on the child. */
export interface Owner extends ObjectName {
  readonly uid: string;
}

/**
 * What the annotation {@link OWNER_ANNOTATION} says of an owner. It has the owner's kind: if an operator keeps its name and gets another
 * kind, an object of that kind may have the name of one that lives.
 */
export function ownerMark(kind: TypeMeta, owner: ObjectName): string {
  return `${groupKind(kind)}/${keyOf(owner)}`;
}

/**
 * Whether Kubernetes lets `object` own such a child by reference. An owner with a namespace can own only what is in that
 * namespace.
 * @see https://kubernetes.io/docs/concepts/architecture/garbage-collection/#owners-dependents
 */
export function canReference(
  { metadata: { namespace } }: { readonly metadata: Owner },
  childNamespace: string | undefined,
): boolean {
  return namespace === undefined || namespace === childNamespace;
}

/** Where an object has children, as far as that is remembered. */
export interface RememberedPlaces {
  /** The kinds of the children, as "apps/v1/Deployment", sorted. */
  readonly kinds: readonly string[];
  /**
   * Other namespaces in which there are children, sorted. Only for objects that we own. If one is no longer among the operator's,
   * nothing else says that children are left there. @default none
   */
  readonly namespaces?: readonly string[] | undefined;
  /** Whether there are children that no owner reference covers: in other namespaces, or of cluster scope. */
  readonly elsewhere?: true | undefined;
}

/**
 * Whether an object has children that no owner reference can cover, as far as that is known. As long as it has, it needs its
 * finalizer for them, whether its handler still returns them or not.
 * @param remembered what its memory says of them
 * @param children those that are known
 */
export function hasElsewhere(
  object: KubernetesObject,
  { elsewhere, namespaces = [] }: RememberedPlaces,
  children: readonly ObjectName[],
): boolean {
  return (
    elsewhere === true ||
    namespaces.length > 0 ||
    children.some(({ namespace }) => !canReference(object, namespace))
  );
}

/**
 * The owner of an object, if we applied the marks that name the owner. One of our entries in `managedFields` must own the owner
 * reference, or the label and the annotation that name the owner. An entry of ours that owns no mark proves nothing, and neither
 * does a mark that another client wrote under another name.
 *
 * Caveat: a client that applies the marks under our manager's name forges this proof, since the API server does not record who
 * sent an apply (docs/security.md, "Forged children"). Only the guard `children` prevents that.
 * @param managers the field managers that are ours
 */
export function provenOwner(
  object: KubernetesObject,
  kind: Resource,
  managers: readonly string[],
): Owner | undefined {
  const found = markedOwners(object, managers).find((each) => each.kind === groupKind(kind));
  if (!found) return undefined;
  const { uid, name, isReferenced } = found;
  // An owner without a namespace may own an object that has one.
  const namespace = isReferenced && kind.namespaced ? object.metadata.namespace : found.namespace;
  return namespace ? { uid, namespace, name } : { uid, name };
}

/**
 * The owner of an object if it is of another kind, and we applied the marks that name the owner: the operator had that kind before.
 * @returns the kind, and the owner as "Kind.group namespace/name", without the namespace if a reference names it
 */
export function ownerOfAnotherKind(
  object: KubernetesObject,
  ownKind: TypeMeta,
  managers: readonly string[],
): { readonly kind: string; readonly owner: string } | undefined {
  const owners = markedOwners(object, managers);
  const [other] = owners.some(({ kind }) => kind === groupKind(ownKind)) ? [] : owners;
  return other && { kind: other.kind, owner: kindAndName(other.kind, other) };
}

/** An owner of whatever kind, as the marks that we applied name it. */
interface MarkedOwner extends Owner {
  /** As `groupKind` gives it. */
  readonly kind: string;
  /** Whether an owner reference names it, which says nothing of a namespace. */
  readonly isReferenced: boolean;
}

function markedOwners(object: KubernetesObject, managers: readonly string[]): MarkedOwner[] {
  const owned = appliedMetadata(object, managers);
  const owners = (object.metadata.ownerReferences ?? [])
    .filter(({ uid }) =>
      owned.some(
        (fields) => inner(fields, "f:ownerReferences")?.[`k:${JSON.stringify({ uid })}`] !== undefined,
      ),
    )
    .map((reference): MarkedOwner => {
      const { uid, name } = reference;
      return { uid, name, kind: groupKind(reference), isReferenced: true };
    });
  // Another client may have changed the owner's name on it. Then the child would be treated as that owner's.
  const { uid, mark } = ownMarks(object, managers);
  const [kind, namespace, name] = mark?.split("/") ?? [];
  return uid && kind && name ? [...owners, { uid, kind, namespace, name, isReferenced: false }] : owners;
}

/**
 * Whether an object is a child of this owner that no owner reference covers, and has lost one of the two marks that name the
 * owner. The other one must be ours. If the uid is lost, a child that is older than this owner may be that of an earlier owner of
 * the same name.
 */
export function isStrippedChildOf(
  object: KubernetesObject,
  owner: KubernetesObject,
  managers: readonly string[],
): boolean {
  const { uid, mark } = ownMarks(object, managers);
  if (uid !== undefined)
    return uid === owner.metadata.uid && mark === undefined && !wasReferenced(object, managers);
  const hasUid = object.metadata.labels?.[OWNER_UID_LABEL] !== undefined;
  // RFC 3339 in UTC sorts as text.
  const isLater = (object.metadata.creationTimestamp ?? "") >= (owner.metadata.creationTimestamp ?? "");
  return !hasUid && mark === ownerMark(owner, owner.metadata) && isLater;
}

/**
 * Whether one of our entries owns an owner reference, which may be gone. Then the object is a copy of a child in its owner's
 * namespace, which a backup tool has restored into another one.
 */
function wasReferenced(object: KubernetesObject, managers: readonly string[]): boolean {
  return appliedMetadata(object, managers).some((fields) => inner(fields, "f:ownerReferences") !== undefined);
}

/** As {@link ownerMark} makes it. Without the kind, as in earlier versions, it counts as lost: the uid is left. */
const OWNER_MARK = /^[^/]+\/[^/]*\/[^/]+$/;

/** The two marks that name the owner of a child that no owner reference covers: each only if we applied it. */
function ownMarks(object: KubernetesObject, managers: readonly string[]) {
  const { labels, annotations } = object.metadata;
  const owned = appliedMetadata(object, managers);
  const ours = (map: string, key: string, value: string | undefined) =>
    owned.some((fields) => inner(fields, `f:${map}`)?.[`f:${key}`] !== undefined) ? value : undefined;
  const mark = ours("annotations", OWNER_ANNOTATION, annotations?.[OWNER_ANNOTATION]);
  return {
    uid: ours("labels", OWNER_UID_LABEL, labels?.[OWNER_UID_LABEL]),
    mark: mark !== undefined && OWNER_MARK.test(mark) ? mark : undefined,
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
 * Why an object with a child's name must not be touched. Undefined if it may be touched: the object is this owner's, it is ours
 * and has lost its marks, or it is offered for adoption.
 */
export function conflictWith(
  found: KubernetesObject,
  uid: string,
  kind: Resource,
  managers: readonly string[],
): Conflict | undefined {
  const { metadata } = found;
  const belongsTo = (other: string) => ({ why: `it belongs to ${other}`, hasOwner: true });
  const owner = provenOwner(found, kind, managers);
  if (owner) {
    if (owner.uid === uid) return undefined;
    return { ...belongsTo(kindAndName(kind.kind, owner)), isOfOurKind: true };
  }
  const other = ownerOfAnotherKind(found, kind, managers);
  if (other) return belongsTo(other.owner);
  const controller = metadata.ownerReferences?.find((reference) => reference.controller);
  if (controller && controller.uid !== uid)
    return belongsTo(kindAndName(groupKind(controller), { name: controller.name }));
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
