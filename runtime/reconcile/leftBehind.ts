import { GRANT_REMEDY, ROLE_REMEDY } from "../children/refusals";
import type { Operator } from "../definition/definition";
import { ReconcileFailure } from "../failure";
import { isListed, type Resource } from "../kubernetes/resource";
import { SKIP_FINALIZE_ANNOTATION } from "../names";

/**
 * The failure that says that children may be left in namespaces in which the operator has no rights.
 * @param namespaces those that it lists
 */
export function namespacesLeft(
  left: readonly string[],
  namespaces: Operator["namespaces"],
): ReconcileFailure {
  const unlisted = left.filter((each) => !isListed(namespaces, each));
  const why =
    unlisted.length > 0
      ? `had children in ${whereIn(unlisted)}, which "namespaces" no longer lists: the runner may not delete them. List it again until no object with children there is left.`
      : `may have children in ${whereIn(left)}, where the runner may not list any. ${GRANT_REMEDY}`;
  return new ReconcileFailure("NamespaceNotGranted", `the object ${why}`, { retryAfterSeconds: 30 });
}

/** "namespace a", or "namespaces a, b". */
function whereIn(namespaces: readonly string[]): string {
  return `namespace${namespaces.length > 1 ? "s" : ""} ${namespaces.slice(0, 10).join(", ")}`;
}

/**
 * The failure that says that children of a kind may be left, to which the operator has no rights.
 * @param isDeclared whether the operator still declares the kind, so that somebody must have taken the right away
 */
export function kindNotGranted(
  { apiVersion, kind }: Resource,
  namespace?: string,
  isDeclared = false,
): ReconcileFailure {
  const where = namespace === undefined ? "" : ` in namespace ${namespace}`;
  const grant = namespace === undefined ? ROLE_REMEDY : GRANT_REMEDY;
  const remedy = isDeclared
    ? grant
    : `Declare { apiVersion: "${apiVersion}", kind: "${kind}", retired: true } under "children" until none is left, then deploy the operator again.`;
  return new ReconcileFailure(
    "ChildRefused",
    `the object had children of kind ${kind} (${apiVersion})${where}, which the runner may not list or delete any more. ${remedy}`,
  );
}

/** Such a failure for an object that is being deleted: it names the other way out too. */
export function unlessTheyMayStay({ reason, message }: ReconcileFailure): ReconcileFailure {
  const text = `${message} If nothing is left there, or if it may stay, annotate the object with ${SKIP_FINALIZE_ANNOTATION}: "true".`;
  return new ReconcileFailure(reason, text, { retryAfterSeconds: 30 });
}
