import { isRecord } from "../json/json";
import { isSecretKind, secretDataOf } from "../kubernetes/kinds";
import {
  type KubernetesObject,
  type Manifest,
  type ObjectMeta,
  SERVER_METADATA,
} from "../kubernetes/objects";
import type { Resource } from "../kubernetes/resource";
import { CHILD_OF_LABEL, OWNER_ANNOTATION, OWNER_UID_LABEL } from "../names";
import { appliedMarks } from "./answeredMarks";
import { levelAnnotation } from "./levels";
import { canReference, type Owner } from "./ownership";

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
  metadata.annotations = { ...applied.annotations, ...marks.annotations, ...levelAnnotation(object) };
  if (Object.keys(metadata.annotations).length === 0) delete metadata.annotations;
  if (marks.ownerReferences) metadata.ownerReferences = marks.ownerReferences;
  return { ...content, metadata };
}

/**
 * What marks a child as the object's: an owner reference, and labels with the operator and the object's uid, by which
 * children are found. If Kubernetes allows no owner reference, an annotation names the owner.
 * @param isController false for an owner that has a controller of its own, as a Deployment has: that controller would
 *   take such a child for its own
 */
export function marksOf(
  object: Pick<KubernetesObject, "apiVersion" | "kind"> & { readonly metadata: Owner },
  childNamespace: string | undefined,
  identity: string,
  isController = true,
): Pick<ObjectMeta, "labels" | "annotations" | "ownerReferences"> {
  const { apiVersion, kind } = object;
  const { name, namespace, uid } = object.metadata;
  const labels = { [CHILD_OF_LABEL]: identity, [OWNER_UID_LABEL]: uid };
  if (canReference(object, childNamespace)) {
    const reference = {
      ...{ apiVersion, kind, name, uid },
      ...(isController && { controller: true, blockOwnerDeletion: true }),
    };
    return { labels, ownerReferences: [reference] };
  }
  return {
    labels,
    annotations: { [OWNER_ANNOTATION]: `${namespace}/${name}` },
  };
}

/**
 * A Secret's `stringData` as `data`, in which the API server stores it. Otherwise we would not own the keys, and could neither
 * restore nor remove them.
 */
function withSecretData(child: Manifest): Manifest {
  const { stringData, ...secret } = child;
  if (!isSecretKind(child) || !isRecord(stringData)) return child;
  return { ...secret, data: secretDataOf(child) };
}
