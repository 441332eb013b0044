import type { CustomResourceKind, Operator, UpdatePolicy, Watch } from "../definition/definition";
import { ReconcileFailure } from "../failure";
import { formatName, groupOf, type KubernetesObject, type Manifest } from "../kubernetes/objects";
import type { Resource } from "../kubernetes/resource";
import { finalizersOf, formerIdentitiesOf, identityOf } from "../names";
import { isSelected } from "../watch/watched";
import { type ChildOrder, orderOf } from "./childOrder";
import { ownedManifest } from "./ownership";

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
 * @throws ReconcileFailure `InvalidAnswer` if a kind is not declared or retired, a namespace is missing or not the operator's, or
 *   a child is answered twice, names another owner, has a finalizer of the operator, waits for a child that never becomes ready,
 *   or would itself be watched. `KindMissing` if the cluster does not serve a kind
 */
export function desiredChildren(
  answered: readonly Manifest[],
  object: KubernetesObject,
  operator: Operator,
  resources: readonly Resource[],
): DesiredChild[] {
  const seen = new Set<string>();
  const ownFinalizers = [operator, ...formerIdentitiesOf(operator)].flatMap(finalizersOf);
  const children = answered.map((child, position) => {
    const refuse = (problem: string) =>
      new ReconcileFailure(
        "InvalidAnswer",
        `the handler's answer is wrong: children[${position}] ${problem}.`,
      );
    const isKind = ({ apiVersion, kind }: { apiVersion: string; kind: string }) =>
      apiVersion === child.apiVersion && kind === child.kind;
    const resource = resources.find(isKind);
    const { update, retired } = operator.children.find(isKind) ?? {};
    if (retired) {
      throw refuse(
        `is a ${child.kind} (${child.apiVersion}), which operator.yaml declares as retired: the remaining objects of this kind are deleted`,
      );
    }
    if (!resource && update) {
      throw new ReconcileFailure(
        "KindMissing",
        `the cluster serves no kind ${child.kind} (${child.apiVersion}), but the handler answered a child of this kind. ${remedyFor(child, answered)}`,
        { retryAfterSeconds: 30 },
      );
    }
    if (!resource || !update) {
      const known = operator.children
        .filter((each) => !each.retired)
        .map(({ apiVersion, kind }) => `${kind} (${apiVersion})`)
        .join(", ");
      throw refuse(
        `is a ${child.kind} (${child.apiVersion}), which operator.yaml does not declare under "children": ${known}`,
      );
    }
    const manifest = ownedManifest(child, object, resource, identityOf(operator), !operator.watch);
    const { namespace } = manifest.metadata;
    if (resource.namespaced && namespace === undefined) {
      throw refuse(`needs a metadata.namespace, since a ${object.kind} itself has none`);
    }
    if (
      namespace !== undefined &&
      operator.namespaces !== "all" &&
      !operator.namespaces.includes(namespace)
    ) {
      throw refuse(`is in namespace ${namespace}, which operator.yaml does not list under "namespaces"`);
    }
    if (operator.watch && wouldBeWatched(child, operator.customResource, operator.watch)) {
      throw refuse(
        `is a ${child.kind} with the labels that operator.yaml lists under "watch": it would be watched too, and each object would lead to another one without end`,
      );
    }
    const foreign = child.metadata.ownerReferences?.find(({ uid }) => uid !== object.metadata.uid);
    if (foreign) throw refuse(`names ${foreign.kind} ${foreign.name} as its owner; Argosy sets the owner`);
    const finalizer = ownFinalizers.find((own) => child.metadata.finalizers?.includes(own));
    if (finalizer !== undefined) {
      throw refuse(
        `has the finalizer ${finalizer}, which is for objects of the operator itself: nobody would remove it from a child. Leave it out`,
      );
    }
    const name = `${child.kind} (${child.apiVersion}) ${formatName(manifest.metadata)}`;
    if (seen.has(name)) throw refuse(`is ${name}, which is answered twice`);
    seen.add(name);
    return { resource, update, manifest, ownerUid: object.metadata.uid };
  });
  const order = orderOf(answered, children);
  return children.map((child, index) => ({ ...child, ...order[index] }));
}

/** What to do if the cluster does not serve a child's kind. The answer itself may have its CustomResourceDefinition. */
function remedyFor({ apiVersion, kind }: Manifest, answered: readonly Manifest[]): string {
  const brings = answered.find((each) => {
    const spec = each["spec"] as { group?: unknown; names?: { kind?: unknown } } | undefined;
    const isCrd = each.kind === "CustomResourceDefinition";
    return isCrd && spec?.group === groupOf(apiVersion) && spec.names?.kind === kind;
  });
  if (!brings)
    return "Install the software that provides the kind: the object is reconciled again as soon as the cluster serves it.";
  return (
    `The same answer has its CustomResourceDefinition, and nothing of the answer is applied. Answer ${kind} only ` +
    `if ${brings.metadata.name} is among the observed children and has the condition Established.`
  );
}

/** Whether the operator would watch the child too, once it exists. */
function wouldBeWatched(child: Manifest, { group, kind }: CustomResourceKind, { labels }: Watch): boolean {
  return child.kind === kind && groupOf(child.apiVersion) === group && isSelected(child, labels);
}
