import { invalid, quote, ReconcileFailure } from "../base/failure";
import { isRecord, isText } from "../base/json";
import { isSecretKind, secretDataOf } from "../base/kinds";
import {
  ADOPT_ANNOTATION,
  AFTER_ANNOTATION,
  allIdentitiesOf,
  CHILD_OF_LABEL,
  DOMAIN,
  EVENT_CONTENT_ANNOTATION,
  EVENT_ID_ANNOTATION,
  EVENT_LABEL,
  FOLLOWS_ANNOTATION,
  fieldManagerOf,
  identityOf,
  LEVEL_ANNOTATION,
  OBJECT_UID_LABEL,
  ONCE_ANNOTATION,
  OPERATOR_LABEL,
  type OperatorNames,
  OWNER_ANNOTATION,
  OWNER_RANGE_LABEL,
  OWNER_UID_LABEL,
  ownerRangeOf,
  PAUSED_ANNOTATION,
  PROGRAM_ANNOTATION,
  RECONCILE_AT_ANNOTATION,
  SKIP_FINALIZE_ANNOTATION,
  TRACE_ID_LABEL,
  TRUNCATED_ANNOTATION,
  USED_BY_LABEL,
} from "../base/names";
import { type KubernetesObject, type Manifest, type ObjectMeta, SERVER_METADATA } from "../base/objects";
import type { Resource, TypeMeta } from "../base/resource";
import { canReference, type Owner, ownerMark } from "./ownership";

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

/** What marks a child as its owner's. */
type Marks = Pick<ObjectMeta, "labels" | "annotations" | "ownerReferences">;

/** The part of a child's manifest that marks it as its owner's: the owner reference, and our labels and annotations. */
export function marksIn(
  { apiVersion, kind, metadata }: Manifest,
  isMark = (key: string) => key.startsWith(`${DOMAIN}/`),
): Manifest {
  const { name, namespace, labels, annotations, ownerReferences } = metadata;
  const ours = (map: Record<string, string> | undefined) =>
    Object.fromEntries(Object.entries(map ?? {}).filter(([key]) => isMark(key)));
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

const OWNER_MARKS: readonly string[] = [CHILD_OF_LABEL, OWNER_UID_LABEL, OWNER_RANGE_LABEL, OWNER_ANNOTATION];

/** The part of it that names the owner and the operator. No handler chooses any of it, so that none is ever to be removed. */
export function ownerMarksIn(manifest: Manifest): Manifest {
  return marksIn(manifest, (key) => OWNER_MARKS.includes(key));
}

/**
 * Whether an object has all marks of its owner, as they were applied. An owner reference in another version of the owner's kind is
 * not: if the cluster stops serving that version, Kubernetes' garbage collector can no longer find out what has become of the owner.
 */
export function isMarked(object: KubernetesObject, manifest: Manifest): boolean {
  return hasMarks(object, marksIn(manifest).metadata);
}

/** Whether an object has these marks: see {@link isMarked}. */
export function hasMarks({ metadata }: KubernetesObject, marks: Marks): boolean {
  const { labels = {}, annotations = {}, ownerReferences = [] } = marks;
  return (
    Object.entries(labels).every(([key, value]) => metadata.labels?.[key] === value) &&
    Object.entries(annotations).every(([key, value]) => metadata.annotations?.[key] === value) &&
    ownerReferences.every(({ apiVersion, uid }) =>
      metadata.ownerReferences?.some((each) => each.uid === uid && each.apiVersion === apiVersion),
    )
  );
}

/** The keys of the children that a child follows, as its annotation has them. */
export function followedBy({ metadata: { annotations } }: KubernetesObject): readonly string[] {
  const follows = annotations?.[FOLLOWS_ANNOTATION];
  return follows ? follows.split(", ") : NONE;
}

/** A manifest that says that it follows these children, by their keys, and no others. */
export function following(manifest: Manifest, keys: readonly string[]): Manifest {
  const { annotations: given, ...metadata } = manifest.metadata;
  const { [FOLLOWS_ANNOTATION]: _, ...others } = given ?? {};
  const annotations =
    keys.length > 0 ? { ...others, [FOLLOWS_ANNOTATION]: [...keys].sort().join(", ") } : others;
  if (Object.keys(annotations).length === 0) return { ...manifest, metadata };
  return { ...manifest, metadata: { ...metadata, annotations } };
}

/** Most children follow none. */
const NONE: readonly string[] = [];

/** How many objects in a row may each be a child of the one before. Work that is divided among operators has two or three. */
const MOST_LEVELS = 12;

/** How many objects in a row led to an object, each as a child of the one before: 0 for an object that is no child. */
function levelOf({ metadata: { labels, annotations } }: Manifest): number {
  if (labels?.[CHILD_OF_LABEL] === undefined) return 0;
  const level = Number(annotations?.[LEVEL_ANNOTATION]);
  return Number.isSafeInteger(level) && level > 1 ? level : 1;
}

/** Why an object gets no children: operators seem to create each other's objects, without end. */
export function whyTooDeep(object: KubernetesObject): ReconcileFailure | undefined {
  if (levelOf(object) < MOST_LEVELS) return undefined;
  const message =
    `this object is the last in a chain of ${MOST_LEVELS} objects, each of which is a child of the one before. It gets no ` +
    "children, because operators that create each other's objects never stop. Let one of their handlers return no child for such " +
    "an object. Then delete the first object of the chain.";
  return new ReconcileFailure("ChildCycle", message, { permanent: true });
}

/** What happens to Argosy's own labels and annotations if a handler answers them on a child. All others are refused. */
interface Known {
  readonly applied: readonly string[];
  readonly leftOut: readonly string[];
  /** Which of them a handler may mean. */
  readonly meant: string;
}

const LABELS: Known = {
  applied: [USED_BY_LABEL],
  // Copied from the object or from another child. They would be wrong on this child: as marks of a second owner, of an event of
  // which the child was not made, or of the record of a run.
  leftOut: [
    CHILD_OF_LABEL,
    OWNER_UID_LABEL,
    OWNER_RANGE_LABEL,
    EVENT_LABEL,
    OPERATOR_LABEL,
    OBJECT_UID_LABEL,
    TRACE_ID_LABEL,
  ],
  meant: `the label for a child is ${USED_BY_LABEL}`,
};
const ANNOTATIONS: Known = {
  // A child may be another operator's custom resource.
  applied: [ADOPT_ANNOTATION, PAUSED_ANNOTATION, SKIP_FINALIZE_ANNOTATION, RECONCILE_AT_ANNOTATION],
  leftOut: [
    // Only the engine reads annotations about the order. It writes its own.
    AFTER_ANNOTATION,
    ONCE_ANNOTATION,
    FOLLOWS_ANNOTATION,
    // Copied, as the labels are.
    OWNER_ANNOTATION,
    LEVEL_ANNOTATION,
    EVENT_ID_ANNOTATION,
    EVENT_CONTENT_ANNOTATION,
    PROGRAM_ANNOTATION,
  ],
  meant: `the annotations for an order are ${AFTER_ANNOTATION} and ${ONCE_ANNOTATION}`,
};

/** What to say of an annotation that is refused, if it has a remedy of its own. */
const REMEDIES: Readonly<Record<string, string>> = {
  // Users guess it, since other tools have one of this name.
  [`${DOMAIN}/keep`]: `which Argosy does not know: ${ONCE_ANNOTATION} lets a child be created only once, and no annotation keeps a child when its object goes`,
  // Applied as it was given, the child would lose all its fields.
  [TRUNCATED_ANNOTATION]:
    "so it is the part of a child that the request had, because the children are too large together: return the whole child",
};

/**
 * Checks Argosy's own labels and annotations on an answered child. An unknown one is refused: it is a mistake that would go
 * unnoticed, or a later version may give it a meaning.
 * @param path of the child in the answer: "children[0]"
 * @throws ReconcileFailure `InvalidAnswer`
 */
export function checkMarks({ labels, annotations }: ObjectMeta, path: string): void {
  checkKnown(labels, LABELS, `${path}.metadata.labels`);
  checkKnown(annotations, ANNOTATIONS, `${path}.metadata.annotations`);
}

/** The labels and annotations of an answered child that are applied. */
export function appliedMarks({
  labels,
  annotations,
}: ObjectMeta): Required<Pick<ObjectMeta, "labels" | "annotations">> {
  return { labels: without(labels, LABELS.leftOut), annotations: without(annotations, ANNOTATIONS.leftOut) };
}

/** @param map a handler may answer null for it */
function checkKnown(map: Readonly<Record<string, string>> | undefined, known: Known, path: string): void {
  const { applied, leftOut, meant } = known;
  const unknown = Object.keys(map ?? {}).find(
    (key) => key.startsWith(`${DOMAIN}/`) && !applied.includes(key) && !leftOut.includes(key),
  );
  if (unknown === undefined) return;
  const remedy = REMEDIES[unknown] ?? `which Argosy does not know: ${meant}`;
  throw invalid(`${path} has ${quote(unknown)}, ${remedy}`);
}

function without(
  map: Readonly<Record<string, string>> | undefined,
  leftOut: readonly string[],
): Record<string, string> {
  return Object.fromEntries(Object.entries(map ?? {}).filter(([key]) => !leftOut.includes(key)));
}

/**
 * The manifest to apply for a child that a handler answered: in its namespace, marked as `object`'s, without the
 * fields that belong to the server.
 * @param identity the operator's, as `identityOf` gives it
 * @param isController whether the owner is the child's controller: see {@link marksOf}
 */
export function ownedManifest(
  child: Manifest,
  object: KubernetesObject,
  resource: Resource,
  identity: string,
  isController = true,
): Manifest {
  const { status: _, metadata: answered, ...content } = withSecretData(child);
  const metadata: ObjectMeta = { ...answered };
  // A handler may have copied them from an observed child. An apply must not contain them.
  for (const field of SERVER_METADATA) delete (metadata as unknown as Record<string, unknown>)[field];
  delete metadata.namespace;
  delete metadata.ownerReferences;
  const namespace = resource.namespaced ? (answered.namespace ?? object.metadata.namespace) : undefined;
  if (namespace !== undefined) metadata.namespace = namespace;
  const applied = appliedMarks(answered);
  const marks = marksOf(object, namespace, identity, isController);
  metadata.labels = { ...applied.labels, ...marks.labels };
  metadata.annotations = { ...applied.annotations, ...marks.annotations };
  const level = levelOf(object);
  // Without the annotation, the other marks mean the first level.
  if (level > 0) metadata.annotations[LEVEL_ANNOTATION] = String(level + 1);
  if (Object.keys(metadata.annotations).length === 0) delete metadata.annotations;
  if (marks.ownerReferences) metadata.ownerReferences = marks.ownerReferences;
  return { ...content, metadata };
}

/**
 * What marks a child as the object's: an owner reference, and labels with the operator and the object's uid, by which
 * children are found. If Kubernetes allows no owner reference, an annotation names the owner and its kind.
 * @param isController false for an owner that has a controller of its own, as a Deployment has: that controller would
 *   take such a child for its own
 */
export function marksOf(
  object: TypeMeta & { readonly metadata: Owner },
  childNamespace: string | undefined,
  identity: string,
  isController = true,
): Marks {
  const { apiVersion, kind } = object;
  const { name, uid } = object.metadata;
  const labels = {
    [CHILD_OF_LABEL]: identity,
    [OWNER_UID_LABEL]: uid,
    [OWNER_RANGE_LABEL]: ownerRangeOf(uid),
  };
  if (canReference(object, childNamespace)) {
    const reference = {
      ...{ apiVersion, kind, name, uid },
      ...(isController && { controller: true, blockOwnerDeletion: true }),
    };
    return { labels, ownerReferences: [reference] };
  }
  return { labels, annotations: { [OWNER_ANNOTATION]: ownerMark(object, object.metadata) } };
}

/**
 * A Secret's `stringData` as `data`, in which the API server stores it. Otherwise we would not own the keys, and could neither
 * restore nor remove them.
 */
function withSecretData(child: Manifest): Manifest {
  const { stringData, ...secret } = child;
  if (!isSecretKind(child) || !isRecord(stringData)) return child;
  // A value that is no text stays where the handler has put it: the API server reports it there.
  const others = Object.entries(stringData).filter(([, value]) => value !== null && !isText(value));
  const data = Object.entries(secretDataOf(child)).filter(
    ([key]) => !others.some(([other]) => other === key),
  );
  return {
    ...secret,
    data: Object.fromEntries(data),
    ...(others.length > 0 && { stringData: Object.fromEntries(others) }),
  };
}
