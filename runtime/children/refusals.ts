import { ReconcileFailure } from "../failure";
import { ApiError, isBusy, isNamespaceTerminating } from "../kubernetes/errors";
import { formatName, type KubernetesObject } from "../kubernetes/objects";
import { ADOPT_ANNOTATION, MANAGER_PREFIX } from "../names";
import type { DesiredChild } from "./desiredChildren";

/** What to do if the runner has no rights in a namespace that the operator lists. */
export const GRANT_REMEDY =
  "The namespace was probably deleted and created again, which took the runner's RoleBinding along: run `pulumi up --refresh`.";

/**
 * The failure of a child whose name is taken by an object that is not ours.
 * @param conflict why it is not ours, as `conflictWith` says it
 * @param managers the field managers that are ours
 */
export function childConflict(
  child: DesiredChild,
  found: KubernetesObject,
  conflict: string,
  managers: readonly string[],
): ReconcileFailure {
  return new ReconcileFailure(
    "ChildConflict",
    `${nameOf(child)} is not ours: ${conflict}. ${remedyFor(found, managers)}`,
    // It belongs to a custom resource that was deleted and created again. The garbage collector will soon remove it.
    belongsToPredecessor(found, child) ? { retryAfterSeconds: 1 } : {},
  );
}

/**
 * The API server's refusal of a child, as a failure that the author can act on. Undefined for any other error.
 * @param home the namespace of the child's owner
 * @param isNamespaced whether the runner's rights over children are granted namespace by namespace
 */
export function childRefused(
  error: unknown,
  child: DesiredChild,
  home: string | undefined,
  isNamespaced: boolean,
): ReconcileFailure | undefined {
  if (!(error instanceof ApiError) || isBusy(error)) return undefined;
  if (![400, 403, 404, 413, 422, 500].includes(error.code)) return undefined;
  const { namespace } = child.manifest.metadata;
  // The object is deleted with its own namespace. Nothing is reported about it.
  if (isNamespaceTerminating(error) && namespace === home) return undefined;
  const isForbidden = error.code === 403 && /\bcannot \w+ resource\b/.test(error.message);
  if (isNamespaced && namespace !== undefined && isForbidden)
    return new ReconcileFailure("NamespaceNotGranted", `${error.message}. ${GRANT_REMEDY}`, { cause: error });
  const isImmutable =
    child.update === "apply" &&
    error.code === 422 &&
    /immutable|may not change|are forbidden/.test(error.message);
  const remedy = isImmutable
    ? ` Declare update: recreate or never for ${child.resource.kind} in operator.yaml.`
    : "";
  const message = `the API server refused ${nameOf(child)}: ${error.message}.${remedy}`;
  return new ReconcileFailure("ChildRefused", message, { cause: error });
}

/** What to do about an object in the way. If an operator of Argosy applied it, that may be this one under a former name. */
function remedyFor(found: KubernetesObject, managers: readonly string[]): string {
  const former = found.metadata.managedFields
    ?.filter(({ manager = "" }) => !managers.includes(manager))
    .filter(({ manager = "" }) => manager.startsWith(MANAGER_PREFIX))
    .map(({ manager = "" }) => manager.slice(MANAGER_PREFIX.length))
    .find((identity) => identity !== "" && !identity.includes("/"));
  const adopt = `Rename or delete it, or annotate it ${ADOPT_ANNOTATION}=true to hand it over.`;
  return former === undefined
    ? adopt
    : `If this operator was called ${former} before, add that to "formerNames" in its definition. Otherwise: ${adopt}`;
}

/** Whether an object belongs to another custom resource of the same kind and name as the child's. */
function belongsToPredecessor(found: KubernetesObject, { manifest }: DesiredChild): boolean {
  const [ours] = manifest.metadata.ownerReferences ?? [];
  const theirs = found.metadata.ownerReferences?.find(({ controller }) => controller);
  return ours !== undefined && theirs?.kind === ours.kind && theirs.name === ours.name;
}

function nameOf({ manifest }: DesiredChild): string {
  return `${manifest.kind} ${formatName(manifest.metadata)}`;
}
