import type {
  KubernetesObject,
  ManagedFieldsEntry,
  Manifest,
  ObjectMeta,
  ObjectName,
} from "../kubernetes/objects";
import type { Resource } from "../kubernetes/resource";
import {
  ADOPT_ANNOTATION,
  annotated,
  CHILD_OF_LABEL,
  identityOf,
  type OperatorIdentity,
  OWNER_ANNOTATION,
  OWNER_UID_LABEL,
} from "../names";

/** The custom resource that owns a child, and that is known from the child alone. */
export interface Owner extends ObjectName {
  readonly uid: string;
}

/** Server-set fields that a handler may have copied from an observed child, and that an apply must not carry. */
const SERVER_FIELDS = [
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "managedFields",
  "selfLink",
] as const;

/**
 * Whether Kubernetes lets `object` own such a child by reference: an owner with a namespace only owns what is in
 * that namespace.
 * @see https://kubernetes.io/docs/concepts/architecture/garbage-collection/#owners-dependents
 */
export function canReference(object: KubernetesObject, childNamespace: string | undefined): boolean {
  const { namespace } = object.metadata;
  return namespace === undefined || namespace === childNamespace;
}

/**
 * The manifest to apply for a child that a handler answered: in its namespace, marked as `object`'s, without the
 * fields that belong to the server.
 */
export function ownedManifest(
  child: Manifest,
  object: KubernetesObject,
  resource: Resource,
  operator: OperatorIdentity,
): Manifest {
  const { status: _, metadata: answered, ...content } = child;
  const metadata: ObjectMeta = { ...answered };
  for (const field of SERVER_FIELDS) delete (metadata as unknown as Record<string, unknown>)[field];
  delete metadata.namespace;
  delete metadata.ownerReferences;
  const namespace = resource.namespaced ? (answered.namespace ?? object.metadata.namespace) : undefined;
  if (namespace !== undefined) metadata.namespace = namespace;
  // Marks that the handler copied from another child would name a second owner.
  metadata.labels = { ...without(metadata.labels, OWNER_UID_LABEL), [CHILD_OF_LABEL]: identityOf(operator) };
  if (metadata.annotations) metadata.annotations = without(metadata.annotations, OWNER_ANNOTATION);
  if (canReference(object, namespace)) {
    const { apiVersion, kind } = object;
    const { name, uid } = object.metadata;
    metadata.ownerReferences = [{ apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }];
  } else {
    const { uid, name } = object.metadata;
    metadata.labels = { ...metadata.labels, [OWNER_UID_LABEL]: uid };
    metadata.annotations = {
      ...metadata.annotations,
      [OWNER_ANNOTATION]: `${object.metadata.namespace}/${name}`,
    };
  }
  return { ...content, metadata };
}

/**
 * The owner of an object, where one of two proofs holds: a controller owner reference to a custom resource of
 * this kind, or the label with its uid together with our field manager's own entry (anyone can write a label).
 */
export function ownerOf(
  object: KubernetesObject,
  kind: Pick<Resource, "apiVersion" | "kind" | "namespaced">,
  manager: string,
) {
  const { metadata } = object;
  const group = (apiVersion: string) => apiVersion.slice(0, apiVersion.lastIndexOf("/"));
  const reference = metadata.ownerReferences?.find(
    (candidate) =>
      candidate.controller &&
      candidate.kind === kind.kind &&
      group(candidate.apiVersion) === group(kind.apiVersion),
  );
  // An owner without a namespace may own what is in one.
  if (reference)
    return owner(reference.uid, kind.namespaced ? metadata.namespace : undefined, reference.name);
  const uid = metadata.labels?.[OWNER_UID_LABEL];
  const [namespace, name] = metadata.annotations?.[OWNER_ANNOTATION]?.split("/") ?? [];
  return uid && name && applyEntry(object, manager) ? owner(uid, namespace, name) : undefined;
}

/** Our field manager's entry: the fields of the object that we have applied. */
export function applyEntry(object: KubernetesObject, manager: string): ManagedFieldsEntry | undefined {
  return object.metadata.managedFields?.find(
    (entry) => entry.manager === manager && entry.operation === "Apply" && !entry.subresource,
  );
}

/**
 * Why an object that bears a child's name must not be touched; undefined where it may be: it is this owner's, or
 * what is left of our own when somebody took its marks away, or its owner has offered it for adoption.
 */
export function conflictWith(found: KubernetesObject, uid: string, manager: string): string | undefined {
  const { metadata } = found;
  const controller = metadata.ownerReferences?.find((reference) => reference.controller);
  if (controller) {
    return controller.uid === uid ? undefined : `it belongs to ${controller.kind} ${controller.name}`;
  }
  const labelled = metadata.labels?.[OWNER_UID_LABEL];
  if (labelled && labelled !== uid && applyEntry(found, manager)) {
    return `it belongs to ${metadata.annotations?.[OWNER_ANNOTATION] ?? labelled}`;
  }
  if (applyEntry(found, manager) || annotated(metadata, ADOPT_ANNOTATION)) return undefined;
  const managers = [...new Set(metadata.managedFields?.map((entry) => entry.manager ?? "unknown"))];
  return `it was made by ${managers.join(", ") || "somebody else"}`;
}

function owner(uid: string, namespace: string | undefined, name: string): Owner {
  return namespace ? { uid, namespace, name } : { uid, name };
}

function without(map: Record<string, string> | undefined, key: string): Record<string, string> {
  const { [key]: _, ...rest } = map ?? {};
  return rest;
}
