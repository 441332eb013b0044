import { ReconcileFailure } from "../failure";
import { isRecord } from "../json/json";
import { isRace } from "../kubernetes/conflicts";
import {
  ApiError,
  isMisfit,
  isNamespaceMissing,
  isNamespaceTerminating,
  isRightMissing,
  isTooLarge,
  isUndecided,
} from "../kubernetes/errors";
import { kindAndName } from "../kubernetes/objects";
import type { Child } from "./childStore";
import type { DesiredChild } from "./desiredChildren";
import { marksIn } from "./marks";

/** What to do if the runner has no rights to a declared kind in the whole cluster. */
export const ROLE_REMEDY =
  "Somebody probably changed the runner's ClusterRole or its ClusterRoleBinding: run `pulumi up --refresh`.";

/** What to do if the runner has no rights in a namespace that the operator lists. */
export const GRANT_REMEDY =
  "The namespace was probably deleted and created again, and the runner's RoleBinding was deleted with it: run `pulumi up --refresh`. If it is gone for good, take it out of namespaces in operator.yaml.";

/** The failure of a child that the API server stored without our marks. */
export function marksTaken(child: DesiredChild): ReconcileFailure {
  const marks = Object.keys(marksIn(child.manifest).metadata.labels ?? {});
  return new ReconcileFailure(
    "ChildRefused",
    `the API server accepted ${nameOf(child)} but dropped the marks of a child: its owner reference, or one of the labels ${marks.join(", ")}. A mutating webhook or policy of the cluster removes them: make it keep them. Until then the child is neither watched nor deleted.`,
  );
}

/** The failure of a child that somebody offered for adoption, and that cannot be changed as the handler wants it. */
export function adoptionRefused(
  child: DesiredChild,
  cause: ApiError,
  { masked }: Pick<ChildOwner, "masked">,
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
  const isForbidden = isRightMissing(error);
  if (isNamespaced && namespace !== undefined && isForbidden)
    return new ReconcileFailure("NamespaceNotGranted", `${error.message}. ${GRANT_REMEDY}`, { cause: error });
  const isImmutable =
    child.update === "apply" && ((error.code === 422 && FIXED.test(error.message)) || isMisfit(error));
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
    pathRemedy(error, child) +
    (isTooLarge(error) ? " Spread its content over several children." : "");
  const message = `the API server refused ${nameOf(child)}: ${said}.${advice}`;
  return new ReconcileFailure("ChildRefused", message, { cause: error });
}

/**
 * The API server's refusal to delete a child, as a failure that names the child. Undefined for any other error.
 * @param change why the change was refused for which the child must be deleted and created again, without the values of Secrets.
 *   @default it is no longer wanted
 */
export function deletionRefused(
  error: unknown,
  { resource: { kind }, ...name }: Pick<Child, "resource" | "namespace" | "name">,
  change?: string,
): ReconcileFailure | undefined {
  if (!isRefusal(error)) return undefined;
  const why = change
    ? ` It must be deleted and created again, since the change was refused: ${brief(change)}.`
    : "";
  const message = `the API server refused to delete ${kindAndName(kind, name)}: ${withoutStop(error.message)}.${why}`;
  return new ReconcileFailure("ChildRefused", message, { cause: error });
}

/** Whether the API server refuses the request. A race is no refusal. */
function isRefusal(error: unknown): error is ApiError {
  return error instanceof ApiError && !isUndecided(error) && !isRace(error);
}

/** Where the right to a child is declared. The API server's message names the missing right. */
function rightsRemedy({ resource: { apiVersion, kind } }: DesiredChild): string {
  return ` This right follows from children in operator.yaml: declare { apiVersion: "${apiVersion}", kind: "${kind}" } there, with its plural if that is irregular, and deploy the operator again. If it is declared, somebody changed the runner's ClusterRole: run \`pulumi up --refresh\`.`;
}

/**
 * Whether a role or a binding would grant rights that the runner does not hold (kubernetes,
 * pkg/registry/rbac/validation/rule.go).
 */
function isEscalation({ code, message }: ApiError): boolean {
  return code === 403 && message.includes("RBAC permissions not currently held");
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

/** The message without the rules that are missing. There may be so many of them that nobody would read on. */
function withoutRules(message: string): string {
  return message.split(":\n", 1)[0] ?? message;
}

/** The rules that are missing, one in each line. */
function rulesIn(message: string): string {
  return message.slice(withoutRules(message).length);
}

/** What to do if a role or a binding is refused: where to declare the rights that it grants, or which role is missing. */
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

/** How the API server, or the CRD of a kind, says that a field cannot be changed. */
const FIXED = /immutable|may not (be )?change|cannot (be )?change|are forbidden|failed rule: .*\boldSelf\b/;

/** What to do if a field that needs a string, or base64, has another value. */
function textRemedy({ message }: ApiError): string {
  if (/\billegal base64 data\b/.test(message))
    return " Return plain text in stringData of a Secret, or in data of a ConfigMap.";
  return /: expected string, got /.test(message) ? ' Return a string there: "1" instead of 1.' : "";
}

/** What to do if the child's namespace does not exist or is being deleted. */
function namespaceRemedy(error: ApiError, namespace: string | undefined): string {
  const returnAnother = "or return the child in another namespace";
  if (isNamespaceMissing(error, namespace))
    return ` The namespace ${namespace} does not exist: create it, ${returnAnother}.`;
  return isNamespaceTerminating(error)
    ? ` The namespace ${namespace} is being deleted: create it again when it is gone, ${returnAnother}.`
    : "";
}

/** What to expect if there is nothing at the path of the child's kind. In that case the API server answers in plain text. */
function pathRemedy({ code, status }: ApiError, { resource: { apiVersion, kind } }: DesiredChild): string {
  if (code !== 404 || status.kind === "Status") return "";
  return ` The cluster no longer serves ${kind} (${apiVersion}) where it did. If its CRD was created again with another scope or plural, the next resync finds the kind there.`;
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
