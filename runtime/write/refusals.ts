import { kindMissing, MISSING_KIND_REMEDY, ReconcileFailure, ROLE_REMEDY } from "../base/failure";
import { isRecord } from "../base/json";
import {
  ADOPT_ANNOTATION,
  MANAGER_PREFIX,
  OWNER_ANNOTATION,
  OWNER_UID_LABEL,
  SKIP_FINALIZE_ANNOTATION,
} from "../base/names";
import { type KubernetesObject, kindAndName, type ObjectName } from "../base/objects";
import { groupKind, isListed, type Resource } from "../base/resource";
import {
  ApiError,
  isMisfit,
  isNamespaceMissing,
  isNamespaceTerminating,
  isNotFound,
  isRace,
  isRightMissing,
  isTooLarge,
  isUndecided,
  withRemedy,
} from "../kubernetes/errors";
import { SENTENCES } from "../kubernetes/sentences";
import { marksIn } from "../observe/marks";
import type { Conflict } from "../observe/ownership";
import type { Operator } from "../operator/definition";
import type { DesiredChild } from "./desiredChildren";

/** A child, by its kind and its name. */
export interface NamedChild extends ObjectName {
  readonly resource: Resource;
}

/** What to do if the runner has no rights in a namespace that the operator lists. */
export const GRANT_REMEDY =
  "The namespace was probably deleted and created again, and the runner's RoleBinding was deleted with it: run `pulumi up --refresh`. If it is gone for good, take it out of namespaces in operator.yaml.";

/** What to do if the cluster does not serve a kind where it did. */
const PATH_REMEDY = `${MISSING_KIND_REMEDY} If its CRD was created again with another scope or plural, the next resync finds the kind there.`;

/** The failure of a child that the API server stored without our marks. */
export function marksTaken(child: DesiredChild): ReconcileFailure {
  const marks = Object.keys(marksIn(child.manifest).metadata.labels ?? {});
  return new ReconcileFailure(
    "ChildRefused",
    `the API server accepted ${nameOf(child)} but dropped the marks of a child: its owner reference, or one of the labels ${marks.join(", ")}. A mutating webhook or policy of the cluster removes them: make it keep them. Until then the child is neither watched nor deleted.`,
  );
}

/** The failure of a child that a user offered for adoption, and that cannot be changed as the handler wants it. */
export function adoptionRefused(
  child: DesiredChild,
  cause: ApiError,
  { masked }: ChildOwner,
): ReconcileFailure {
  const said = brief(masked(cause.message));
  const message = `${nameOf(child)} cannot be adopted: the API server refuses the change: ${said}. Return a child that the API server accepts, or delete the object yourself. The operator never deletes an object that it did not create.`;
  return new ReconcileFailure("ChildRefused", message, { cause });
}

/** The owner of a refused child. A `WriteScope` is one. */
interface ChildOwner {
  readonly namespace: string | undefined;
  /** Takes the values of Secrets out of a text. */
  readonly masked: (text: string) => string;
}

/**
 * The API server's refusal of a child, as a failure that says what the author can do. Undefined for any other error.
 * @param scope the child's owner
 * @param isNamespaced whether the runner's rights over children are granted namespace by namespace
 */
export function childRefused(
  error: unknown,
  child: DesiredChild,
  { namespace: home, masked }: ChildOwner,
  isNamespaced: boolean,
): ReconcileFailure | undefined {
  if (!isRefusal(error)) return undefined;
  const { namespace } = child.manifest.metadata;
  // The object's own namespace is being deleted, or is gone. Nothing is reported about the object.
  const isGone = isNamespaceTerminating(error) || isNamespaceMissing(error, namespace);
  if (isGone && namespace === home) return undefined;
  // If an object is missing, such as a namespace or a role, the details name it. Otherwise there is nothing at the path of the kind.
  if (error.code === 404 && !isNotFound(error))
    return kindMissing(child.resource, "but the handler returned a child of this kind", PATH_REMEDY);
  const isForbidden = isRightMissing(error);
  if (isNamespaced && namespace !== undefined && isForbidden) {
    const message = `${error.message}. ${GRANT_REMEDY}`;
    return new ReconcileFailure("NamespaceNotGranted", message, { cause: error });
  }
  const isImmutable =
    child.update === "apply" &&
    ((error.code === 422 && SENTENCES.fixed.test(error.message)) || isMisfit(error));
  const remedy = isImmutable
    ? ` Declare update: recreate or never for ${child.resource.kind} in operator.yaml.`
    : textRemedy(error);
  const rights = isForbidden ? rightsRemedy(child) : "";
  const said = brief(masked(isEscalation(error) ? withoutRules(error.message) : error.message));
  const advice =
    remedy +
    rights +
    grantRemedy(error, child) +
    namespaceRemedy(error, namespace) +
    (isTooLarge(error) ? " Spread its content over several children." : "");
  const message = `${REFUSED}${nameOf(child)}: ${said}.${advice}`;
  return new ReconcileFailure("ChildRefused", message, { cause: error });
}

const REFUSED = "the API server refused ";

/** Whether the message of a {@link childRefused} is about a child of that kind. */
export function isRefusalOf(kind: string, message: string): boolean {
  return message.startsWith(`${REFUSED}${kind} `);
}

/**
 * The API server's refusal to delete a child, as a failure that names the child. Undefined for any other error.
 * @param change why the change was refused for which the child must be deleted and created again, without the values of Secrets.
 *   @default it is no longer wanted
 */
export function deletionRefused(
  error: unknown,
  { resource: { kind }, ...name }: NamedChild,
  change?: string,
): ReconcileFailure | undefined {
  if (!isRefusal(error)) return undefined;
  const why = change
    ? ` It must be deleted and created again, since the change was refused: ${brief(change)}.`
    : "";
  const message = `the API server refused to delete ${kindAndName(kind, name)}: ${withoutStop(withRemedy(error))}.${why}`;
  return new ReconcileFailure("ChildRefused", message, { cause: error });
}

/** Whether the API server refuses the request. A race is no refusal. */
function isRefusal(error: unknown): error is ApiError {
  return error instanceof ApiError && !isUndecided(error) && !isRace(error);
}

/** Where the right to a child is declared. The API server's message names the missing right. */
function rightsRemedy({ resource: { apiVersion, kind } }: DesiredChild): string {
  return ` This right follows from children in operator.yaml: declare { apiVersion: "${apiVersion}", kind: "${kind}" } there, with its plural if that is irregular, and deploy the operator again. If it is declared, the operator's ClusterRole was changed by hand: run \`pulumi up --refresh\`.`;
}

/** Whether a role or a binding would grant rights that the runner does not hold. */
function isEscalation({ code, message }: ApiError): boolean {
  return code === 403 && SENTENCES.escalation.test(message);
}

/** The most characters of the API server's message before the remedy. A condition has room for about 1,000 in all. */
const LONGEST_SAID = 600;
/** How many of these characters are from the end of the message, which says why. */
const SAID_AT_THE_END = 200;

/**
 * The API server's message as a part of a sentence: without a full stop, and without the middle of a long one. For a Job's template
 * that may not change, the API server quotes the whole template.
 */
function brief(said: string): string {
  const message = withoutStop(said);
  if (message.length <= LONGEST_SAID) return message;
  return `${message.slice(0, LONGEST_SAID - SAID_AT_THE_END)} … ${message.slice(-SAID_AT_THE_END)}`;
}

/** A policy or a webhook ends its message with a full stop. A sentence that has this message as its part has its own. */
function withoutStop(message: string): string {
  return message.replace(/\.$/, "");
}

/** The message without the rules that are missing. There may be too many of them to read. */
function withoutRules(message: string): string {
  return message.split(":\n", 1)[0] ?? message;
}

/** The rules that are missing, one in each line. */
function rulesIn(message: string): string {
  return message.slice(withoutRules(message).length);
}

/** The remedy for a refused role or binding: where to declare the rights that it grants, or which role is missing. */
function grantRemedy(error: ApiError, { manifest: { roleRef } }: DesiredChild): string {
  const role = isRecord(roleRef) ? `${roleRef.kind}/${roleRef.name}` : undefined;
  if (isEscalation(error)) {
    if (role) return ` Add this to grants in operator.yaml: [${role}].`;
    // The author of an object may have written into the rules. Twice the length takes four times as long to read.
    if (rulesIn(error.message).length > LONGEST_SAID)
      return " Add the rules of this role to grants in operator.yaml.";
    const grants = [...rulesIn(error.message).matchAll(/^\{.*\}$/gm)].map(([rule]) => asYaml(rule));
    return ` Add this to grants in operator.yaml: [${grants.join(", ")}].`;
  }
  // The API server names the binding, but means the role (kubernetes, pkg/registry/rbac/rolebinding/policybased).
  return role && error.code === 404 ? ` The role ${role} does not exist: return it too, or create it.` : "";
}

/** What to do if a field that needs a string, or base64, has another value. */
function textRemedy({ message }: ApiError): string {
  if (SENTENCES.noBase64.test(message))
    return " Return plain text in stringData of a Secret, or in data of a ConfigMap.";
  return SENTENCES.noString.test(message) ? ' Return a string there: "1" instead of 1.' : "";
}

/** What to do if the child's namespace does not exist or is being deleted. */
function namespaceRemedy(error: ApiError, namespace: string | undefined): string {
  if (isNamespaceMissing(error, namespace))
    return ` The namespace ${namespace} does not exist: create it, or return the child in another namespace.`;
  return isNamespaceTerminating(error)
    ? ` The namespace ${namespace} is being deleted: leave out namespaces with a metadata.deletionTimestamp.`
    : "";
}

/** A rule as the API server names it, `{APIGroups:["batch"], Verbs:["get" "list"]}`, in the form of operator.yaml. */
function asYaml(rule: string): string {
  const fields = [...rule.matchAll(/(\w+):\[([^\]]*)\]/g)].map(([, field = "", values = ""]) => {
    const list = values.match(/"[^"]*"/g) ?? [];
    return `${field === "APIGroups" ? "apiGroups" : field[0]?.toLowerCase() + field.slice(1)}: [${list.join(", ")}]`;
  });
  return `{ ${fields.join(", ")} }`;
}

function nameOf({ manifest }: DesiredChild): string {
  return kindAndName(manifest.kind, manifest.metadata);
}

/**
 * The failure of a child whose name is taken by an object that we do not own.
 * @param conflict why it is not ours: see `conflictWith`
 * @param managers the field managers that are ours
 */
export function childConflict(
  child: DesiredChild,
  found: KubernetesObject,
  conflict: Conflict,
  managers: readonly string[],
): ReconcileFailure {
  const name = kindAndName(child.manifest.kind, child.manifest.metadata);
  const isPredecessors = belongsToPredecessor(found, child);
  const owner = `${conflict.why}${isPredecessors ? ", an earlier object of this name" : ""}`;
  return new ReconcileFailure(
    "ChildConflict",
    `${name} does not belong to this object: ${owner}. ${whyHeld(found) ?? remedyFor(found, managers, conflict)}`,
    // The child belongs to a custom resource that was deleted and created again. The garbage collector will soon delete the child.
    // If it is being deleted already, a finalizer may hold it for long. The watch then reports its end to this object.
    isPredecessors && !found.metadata.deletionTimestamp ? { retryAfterSeconds: 1 } : {},
  );
}

/** What an object that has the child's name waits for, if it is being deleted. */
function whyHeld({ metadata: { deletionTimestamp, finalizers = [] } }: KubernetesObject): string | undefined {
  if (deletionTimestamp === undefined) return undefined;
  const held = finalizers.length > 0 ? ` and is held by the finalizer ${finalizers.join(", ")}` : "";
  return `It is being deleted${held}: the child is created when it is gone.`;
}

/**
 * What to do about an object that has the child's name. If an operator of Argosy applied it, that may be this operator under a
 * former name.
 */
function remedyFor(
  found: KubernetesObject,
  managers: readonly string[],
  { hasOwner, isOfOurKind = false }: Conflict,
): string {
  const former = found.metadata.managedFields
    ?.filter(({ manager = "", subresource }) => !subresource && !managers.includes(manager))
    .filter(({ manager = "" }) => manager.startsWith(MANAGER_PREFIX))
    .map(({ manager = "" }) => manager.slice(MANAGER_PREFIX.length))
    .find((identity) => identity !== "" && !identity.includes("/"));
  // Neither of two objects that exchange names deletes its child before it has the other one's.
  const exchanged = " If that object waits for a child of this one, delete one of the two children.";
  // No garbage collector takes this mark away.
  const isNamed = found.metadata.annotations?.[OWNER_ANNOTATION] !== undefined;
  const left = isNamed
    ? ` If it is gone, remove the label ${OWNER_UID_LABEL}, and this object takes the child over.`
    : "";
  const adopt = hasOwner
    ? `Rename the child, or remove the object's current owner first: ${ADOPT_ANNOTATION} does not override an owner.${isOfOurKind ? exchanged : ""}${left}`
    : `Rename the child, delete the existing object, or annotate that object with ${ADOPT_ANNOTATION}=true to hand it over.`;
  return former === undefined
    ? adopt
    : `If this operator was called ${former} before, add that to "formerNames" in its definition. Otherwise: ${adopt}`;
}

/**
 * Whether an object belongs to a custom resource that had the name of the child's owner before. If it belongs to that owner
 * itself, then another operator made it for the same custom resource, and it is not about to be removed.
 */
function belongsToPredecessor(found: KubernetesObject, { manifest }: DesiredChild): boolean {
  const [ours] = manifest.metadata.ownerReferences ?? [];
  const theirs = found.metadata.ownerReferences?.find(({ controller }) => controller);
  if (!ours || !theirs) return false;
  return groupKind(theirs) === groupKind(ours) && theirs.name === ours.name && theirs.uid !== ours.uid;
}

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
 * @param isDeclared whether the operator still declares the kind, so that a user must have removed the right
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
