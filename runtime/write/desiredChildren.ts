import { invalid, kindMissing, quote, shown } from "../base/failure";
import { fingerprint } from "../base/json";
import { hasDnsNames } from "../base/kinds";
import { AFTER_ANNOTATION, allIdentitiesOf, finalizersOf, identityOf, ONCE_ANNOTATION } from "../base/names";
import {
  formatName,
  groupOf,
  isDnsName,
  type KubernetesObject,
  type Manifest,
  type ObjectName,
} from "../base/objects";
import { isKindKey, isListed, kindKey, type Resource, type TypeMeta } from "../base/resource";
import { checkMarks, following, ownedManifest, whyTooDeep } from "../observe/marks";
import { hasLabels } from "../observe/watched";
import type { Operator, UpdatePolicy } from "../operator/definition";

/** A child to bring about. Without an order it is applied at once. */
export interface DesiredChild extends Partial<ChildOrder> {
  readonly resource: Resource;
  readonly update: UpdatePolicy;
  /** The child as the handler answered it, in its namespace and marked as its owner's. */
  readonly manifest: Manifest;
  /** The uid of the custom resource that it belongs to. */
  readonly ownerUid: string;
  /** Whether the child was created before and must not be created again. @default false */
  readonly isCreated?: boolean;
}

/**
 * Checks the answered children against the operator's definition, and marks them as the object's.
 *
 * @param resources the declared kinds as the API serves them
 * @throws ReconcileFailure `InvalidAnswer` if a kind is not declared or retired, a kind does not allow the name of its child, a
 *   namespace is missing or not the operator's, or a child is answered twice, names another owner, has a finalizer of the operator or
 *   an unknown label or annotation of Argosy's, waits for a child that never becomes ready, would itself be watched, or is the object.
 *   `KindMissing` if the cluster does not serve a kind. `ChildCycle` if too many objects in a row led to this one
 */
export function desiredChildren(
  answered: readonly Manifest[],
  object: KubernetesObject,
  operator: Operator,
  resources: readonly Resource[],
): DesiredChild[] {
  const tooDeep = answered.length > 0 ? whyTooDeep(object) : undefined;
  if (tooDeep) throw tooDeep;
  const seen = new Set<string>();
  const children = answered.map((child, position) => {
    const refuse = (problem: string) => invalid(`children[${position}] ${problem}`);
    const { update, retired } = operator.children.find((each) => isKindOf(each, child)) ?? {};
    if (!update || retired) throw refuse(undeclared(child, operator));
    const resource = resources.find((each) => isKindOf(each, child));
    if (!resource)
      throw kindMissing(child, "but the handler returned a child of this kind", remedyFor(child, answered));
    checkMarks(child.metadata, `children[${position}]`);
    const manifest = ownedManifest(child, object, resource, identityOf(operator), !operator.watch);
    const problem =
      misnamed(manifest) ??
      misplaced(manifest, object, resource, operator) ??
      whyNotOurs(manifest, child.metadata, object, operator);
    if (problem !== undefined) throw refuse(problem);
    const name = `${child.kind} (${child.apiVersion}) ${formatName(manifest.metadata)}`;
    if (seen.has(name)) throw refuse(`is ${name}, which the answer contains twice`);
    seen.add(name);
    return { resource, update, manifest, ownerUid: object.metadata.uid };
  });
  const isOrdered = ({ metadata: { annotations } }: Manifest) =>
    annotations && (AFTER_ANNOTATION in annotations || ONCE_ANNOTATION in annotations);
  if (!answered.some(isOrdered)) return children;
  const order = orderOf(answered, children);
  return children.map((child, index) => ({
    ...child,
    ...order[index],
    manifest: following(child.manifest, order[index]?.after ?? []),
  }));
}

function isKindOf({ apiVersion, kind }: TypeMeta, child: Manifest): boolean {
  return apiVersion === child.apiVersion && kind === child.kind;
}

/** Says that a child is of a kind that the operator does not declare, or no longer. */
function undeclared(child: Manifest, { name, children }: Operator): string {
  const what = `is of kind ${child.kind} (${child.apiVersion})`;
  if (children.some((each) => each.retired && isKindOf(each, child)))
    return `${what}, which operator.yaml declares as retired: the remaining objects of this kind are deleted`;
  const known = children
    .filter((each) => !each.retired)
    .map(({ apiVersion, kind }) => `${kind} (${apiVersion})`);
  const all = known.length > 0 ? `: ${known.join(", ")}` : ", which is empty";
  const key = kindKey(child);
  const how = isKindKey(key) ? `. To declare it: argosy add child ${name} ${key}` : "";
  return `${what}, which operator.yaml does not declare under "children"${all}${how}`;
}

/** Says what is wrong with the name of a child. Undefined if nothing is, or if only the API server knows. */
function misnamed({ apiVersion, kind, metadata: { name } }: Manifest): string | undefined {
  if (!hasDnsNames(apiVersion, kind) || isDnsName(name)) return undefined;
  return `has the name ${shown(name)}, and each ${kind} has one of lower-case letters, digits, "-" and "."`;
}

/** Says what is wrong with the namespace of a child. Undefined if nothing is. */
function misplaced(
  { metadata: { namespace } }: Manifest,
  object: KubernetesObject,
  resource: Resource,
  { namespaces }: Operator,
): string | undefined {
  if (resource.namespaced && namespace === undefined)
    return `needs a metadata.namespace, since the ${object.kind} itself has none`;
  if (!isListed(namespaces, namespace))
    return `is in namespace ${namespace}, which operator.yaml does not list under "namespaces"`;
  return undefined;
}

/**
 * Says why a child cannot be the object's: it is the object, it would be watched itself, or it names an owner, or a finalizer of the
 * operator.
 * @param answered its metadata as the handler answered them
 */
function whyNotOurs(
  child: Manifest,
  { ownerReferences, finalizers }: Manifest["metadata"],
  object: KubernetesObject,
  operator: Operator,
): string | undefined {
  const isItself =
    child.kind === object.kind &&
    groupOf(child.apiVersion) === groupOf(object.apiVersion) &&
    formatName(child.metadata) === formatName(object.metadata);
  if (isItself) return "is the watched object itself, and an object cannot be its own child";
  const { watch, customResource: own } = operator;
  const isOfKind = child.kind === own.kind && groupOf(child.apiVersion) === own.group;
  if (watch && isOfKind && hasLabels(child, watch.labels))
    return `is of kind ${child.kind}, with the labels that operator.yaml lists under "watch": it would be watched too, and each object would lead to another one without end`;
  // A handler may answer null for either.
  const foreign = ownerReferences?.find(({ uid }) => uid !== object.metadata.uid);
  if (foreign) return `names ${foreign.kind} ${foreign.name} as its owner; Argosy sets the owner`;
  if (!finalizers) return undefined;
  const ours = allIdentitiesOf(operator).flatMap(finalizersOf);
  const finalizer = finalizers.find((each) => ours.includes(each));
  return finalizer === undefined
    ? undefined
    : `has the finalizer ${finalizer}, which is for objects of the operator itself: nobody would remove it from a child. Leave it out`;
}

/** What to do if the answer itself has the CustomResourceDefinition of a child's kind. Undefined: it has none. */
function remedyFor({ apiVersion, kind }: Manifest, answered: readonly Manifest[]): string | undefined {
  const brings = answered.find((each) => {
    const spec = each["spec"] as { group?: unknown; names?: { kind?: unknown } } | undefined;
    const isCrd = each.kind === "CustomResourceDefinition";
    return isCrd && spec?.group === groupOf(apiVersion) && spec.names?.kind === kind;
  });
  if (!brings) return undefined;
  return (
    `The same answer has its CustomResourceDefinition, and nothing of the answer is applied. Return ${kind} only ` +
    `if ${brings.metadata.name} is among the observed children and has the condition Established.`
  );
}

/** When a child is applied, and whether it is created more than once, as its answer's annotations say. */
interface ChildOrder {
  /** The keys of the children that must be ready before this one is applied: see {@link childKey}. */
  readonly after: readonly string[];
  /** Whether the child is created only once. */
  readonly isOnce: boolean;
  /** Whether another child is applied only after this one is ready. */
  readonly isAwaited: boolean;
}

/** A child of an answer, in its namespace. */
interface Named {
  readonly resource: TypeMeta;
  readonly manifest: Manifest;
}

/**
 * The key that distinguishes a child from all others of its owner: "batch/Job/shop/migrate". The key has no version, so a child
 * stays the same when the operator declares another version of its kind.
 */
export function childKey({ resource, manifest }: Named): string {
  return childKeyOf(resource, manifest.metadata);
}

/** The {@link childKey} of the child with that name. */
export function childKeyOf({ apiVersion, kind }: TypeMeta, name: ObjectName): string {
  const group = groupOf(apiVersion);
  return `${group && `${group}/`}${kind}/${formatName(name)}`;
}

/** A fingerprint of a child's content without its metadata: a new label does not lead to another Job. */
export function contentOf({ manifest }: Named): string {
  const { apiVersion: _a, kind: _k, metadata: _m, ...content } = manifest;
  return fingerprint(content);
}

/** "Job/migrate", "Job.batch/migrate", "Job/shop/migrate". */
const REFERENCE = /^([A-Z][A-Za-z0-9]*)(?:\.([a-z0-9.-]+))?\/(?:([^/]+)\/)?([^/]+)$/;
/** The name of the core group in a reference. The group itself has no name. */
const CORE = "core";

/**
 * Reads the order of an answer's children from their annotations.
 * @param answered the children as the handler answered them
 * @param children the same children, each in its namespace
 * @throws ReconcileFailure `InvalidAnswer` if an annotation cannot be understood, if it names no child of the answer or several, or
 *   if children wait for each other
 */
export function orderOf(answered: readonly Manifest[], children: readonly Named[]): ChildOrder[] {
  const byName = new Map<string, Named[]>();
  for (const child of children) {
    const name = `${child.resource.kind}/${child.manifest.metadata.name}`;
    byName.set(name, [...(byName.get(name) ?? []), child]);
  }
  const annotationsOf = answered.map(({ metadata: { annotations } }) => annotations ?? {});
  const after = annotationsOf.map((annotations, index) => {
    const path = pathOf(index);
    const names = (annotations[AFTER_ANNOTATION] ?? "").split(",").map((name) => name.trim());
    const keys = names
      .filter((name) => name !== "")
      .map((name) => childKey(find(byName, name, `${path}["${AFTER_ANNOTATION}"]`)));
    return [...new Set(keys)];
  });
  const keys = children.map(childKey);
  checkCycle(new Map(keys.map((key, index) => [key, after[index] ?? []])));
  const awaited = new Set(after.flat());
  return annotationsOf.map((annotations, index) => ({
    after: after[index] ?? [],
    isOnce: isOnceIn(annotations, pathOf(index)),
    isAwaited: awaited.has(keys[index] ?? ""),
  }));
}

const pathOf = (index: number) => `children[${index}].metadata.annotations`;

/** Whether a child is created only once. */
function isOnceIn(annotations: Readonly<Record<string, string>>, path: string): boolean {
  const once = annotations[ONCE_ANNOTATION] ?? "false";
  if (once === "true" || once === "false") return once === "true";
  throw invalid(`${path}["${ONCE_ANNOTATION}"] is ${quote(once)}, and must be "true" or "false"`);
}

function find(byName: ReadonlyMap<string, readonly Named[]>, reference: string, path: string): Named {
  const [, kind, group, namespace, name] = REFERENCE.exec(reference) ?? [];
  if (kind === undefined) throw invalid(`${path} has ${quote(reference)}, which is not like "Job/migrate"`);
  const found = (byName.get(`${kind}/${name}`) ?? []).filter(
    ({ resource, manifest }) =>
      (group === undefined || (groupOf(resource.apiVersion) || CORE) === group) &&
      (namespace === undefined || manifest.metadata.namespace === namespace),
  );
  const [first, another] = found;
  if (!first) throw invalid(`${path} names ${quote(reference)}, which is not a child in this answer`);
  if (!another) return first;
  throw invalid(
    `${path} names ${quote(reference)}, but this answer has several such children: write Kind.group/name or Kind/namespace/name`,
  );
}

/** @throws ReconcileFailure `InvalidAnswer` if children wait for each other, naming them */
function checkCycle(after: ReadonlyMap<string, readonly string[]>): void {
  const waits = new Map([...after].map(([key, names]) => [key, names.length]));
  const dependents = new Map<string, string[]>();
  for (const [key, names] of after)
    for (const name of names) dependents.set(name, [...(dependents.get(name) ?? []), key]);
  const free = [...waits].filter(([, left]) => left === 0).map(([key]) => key);
  for (let key = free.pop(); key !== undefined; key = free.pop()) {
    waits.delete(key);
    for (const dependent of dependents.get(key) ?? []) {
      const left = (waits.get(dependent) ?? 0) - 1;
      waits.set(dependent, left);
      if (left === 0) free.push(dependent);
    }
  }
  // Each child that is left waits for another child that is left. Following them leads back to the first.
  const way: string[] = [];
  for (let key = [...waits.keys()][0]; key !== undefined; ) {
    if (way.includes(key)) {
      const round = [...way.slice(way.indexOf(key)), key].map(shortName);
      throw invalid(`children wait for each other by ${AFTER_ANNOTATION}: ${namesIn(round)}`);
    }
    way.push(key);
    key = after.get(key)?.find((name) => waits.has(name));
  }
}

/** "Job migrate" of the {@link childKey} "batch/Job/shop/migrate". */
export function shortName(key: string): string {
  const [, kind] = /^(?:[a-z0-9.-]+\/)?([A-Z][^/]*)\//.exec(key) ?? [];
  return `${kind} ${key.slice(key.lastIndexOf("/") + 1)}`;
}

const MOST_NAMED = 6;

function namesIn(round: readonly string[]): string {
  const isLong = round.length > MOST_NAMED;
  return (isLong ? [...round.slice(0, MOST_NAMED - 1), "…"] : round).join(" after ");
}

/** Kinds that others need, in the order in which they are applied. All other kinds come after them. */
const EARLY_KINDS: readonly (readonly string[])[] = [
  ["Namespace", "CustomResourceDefinition", "PriorityClass", "StorageClass"],
  [
    "ServiceAccount",
    "Secret",
    "ConfigMap",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "ResourceQuota",
    "LimitRange",
    "Role",
    "ClusterRole",
  ],
  ["RoleBinding", "ClusterRoleBinding", "NetworkPolicy"],
];

/** Groups of children to apply one after another. Within a group no child waits for another. */
export function inApplyOrder<Child extends { resource: { readonly kind: string } }>(
  children: readonly Child[],
): Child[][] {
  const groups: Child[][] = [];
  for (const child of children) {
    const early = EARLY_KINDS.findIndex((kinds) => kinds.includes(child.resource.kind));
    const place = early < 0 ? EARLY_KINDS.length : early;
    groups[place] ??= [];
    groups[place].push(child);
  }
  // It has no entry for a group without children.
  return Object.values(groups);
}
