import type { CustomResourceKind, Operator, UpdatePolicy, Watch } from "../definition/definition";
import { kindMissing } from "../failure";
import { invalid, shown } from "../handler/invalidAnswer";
import { hasDnsNames } from "../kubernetes/kinds";
import { formatName, groupOf, isDnsName, type KubernetesObject, type Manifest } from "../kubernetes/objects";
import { isListed, type Resource } from "../kubernetes/resource";
import { allIdentitiesOf, finalizersOf, identityOf } from "../names";
import { hasLabels } from "../watch/watched";
import { checkMarks } from "./answeredMarks";
import { type ChildOrder, orderOf } from "./childOrder";
import { whyTooDeep } from "./levels";
import { ownedManifest } from "./ownedManifest";

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
  const order = orderOf(answered, children);
  return children.map((child, index) => ({ ...child, ...order[index] }));
}

function isKindOf(
  { apiVersion, kind }: { readonly apiVersion: string; readonly kind: string },
  child: Manifest,
): boolean {
  return apiVersion === child.apiVersion && kind === child.kind;
}

/** Says that a child is of a kind that the operator does not declare, or no longer. */
function undeclared(child: Manifest, { children }: Operator): string {
  const what = `is a ${child.kind} (${child.apiVersion})`;
  if (children.some((each) => each.retired && isKindOf(each, child)))
    return `${what}, which operator.yaml declares as retired: the remaining objects of this kind are deleted`;
  const known = children
    .filter((each) => !each.retired)
    .map(({ apiVersion, kind }) => `${kind} (${apiVersion})`);
  const all = known.length > 0 ? `: ${known.join(", ")}` : ", which is empty";
  return `${what}, which operator.yaml does not declare under "children"${all}`;
}

/** Says what is wrong with the name of a child. Undefined if nothing is, or if only the API server knows. */
function misnamed({ apiVersion, kind, metadata: { name } }: Manifest): string | undefined {
  if (!hasDnsNames(apiVersion, kind) || isDnsName(name)) return undefined;
  return `has the name ${shown(name)}, and a ${kind} has one of lower-case letters, digits, "-" and "."`;
}

/** Says what is wrong with the namespace of a child. Undefined if nothing is. */
function misplaced(
  { metadata: { namespace } }: Manifest,
  object: KubernetesObject,
  resource: Resource,
  { namespaces }: Operator,
): string | undefined {
  if (resource.namespaced && namespace === undefined)
    return `needs a metadata.namespace, since a ${object.kind} itself has none`;
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
  if (operator.watch && wouldBeWatched(child, operator.customResource, operator.watch))
    return `is a ${child.kind} with the labels that operator.yaml lists under "watch": it would be watched too, and each object would lead to another one without end`;
  // A handler may answer null for either.
  const foreign = ownerReferences?.find(({ uid }) => uid !== object.metadata.uid);
  if (foreign) return `names ${foreign.kind} ${foreign.name} as its owner; Argosy sets the owner`;
  const ours = allIdentitiesOf(operator).flatMap(finalizersOf);
  const finalizer = finalizers?.find((each) => ours.includes(each));
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

/** Whether the operator would watch the child too, once it exists. */
function wouldBeWatched(child: Manifest, { group, kind }: CustomResourceKind, { labels }: Watch): boolean {
  return child.kind === kind && groupOf(child.apiVersion) === group && hasLabels(child, labels);
}
