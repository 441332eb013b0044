import {
  allIdentitiesOf,
  CHILD_OF_LABEL,
  DOMAIN,
  identityOf,
  MANAGER_PREFIX,
  type Manifest,
  type Operator,
} from "../../../runtime/program";
import { pluralsByGroup } from "../access";
import { labelsOf, type ManifestSet } from "../metadata";
import { runAccountOf, runnerNameOf } from "../names";
import { transformed } from "../transform";
import type { WorkloadOptions } from "../workloads";

/**
 * Guards: ValidatingAdmissionPolicies that let only Argosy write Argosy's fields and objects, whatever RBAC allows to others.
 */

/** Which guards an operator has. The argument `guards` says what each field means. */
export interface GuardOptions {
  readonly children?: boolean;
  readonly annotations?: { readonly groups: readonly string[] };
  readonly exempt?: readonly string[];
}

/** The options of guards. */
export interface GuardedOptions extends WorkloadOptions {
  readonly platform: { readonly namespace: string };
  /** @default none */
  readonly guards?: GuardOptions;
}

/** Cluster administrators, so that they can always repair an object. */
const ADMINISTRATORS = "system:masters";

/** Kubernetes' own controllers. By default the controller manager has an account for each of them, and otherwise one for all. */
const KUBERNETES = {
  users: ["system:kube-controller-manager", "system:kube-scheduler"],
  groups: ["system:serviceaccounts:kube-system", "system:nodes"],
};

/** The guards that a program has chosen for an operator. Each is a policy and the binding that puts it into force. */
export function buildGuards(operator: Operator, options: GuardedOptions): ManifestSet {
  const { children = false, annotations } = options.guards ?? {};
  return {
    ...(children && operator.children.length > 0 && guardSet("children", childrenGuard, operator, options)),
    ...(annotations && guardSet("annotations", annotationsGuard, operator, options)),
  };
}

/** The name of a guard, in a cluster. */
export function guardNameOf(operator: Operator, guard: keyof GuardOptions): string {
  return `${identityOf(operator)}-${guard}`;
}

const API_VERSION = "admissionregistration.k8s.io/v1";

function guardSet(
  guard: "children" | "annotations",
  build: (operator: Operator, options: GuardedOptions) => object,
  operator: Operator,
  options: GuardedOptions,
): ManifestSet {
  const name = guardNameOf(operator, guard);
  const metadata = { name, labels: labelsOf(operator.name, "guard") };
  const policy: Manifest = {
    apiVersion: API_VERSION,
    kind: "ValidatingAdmissionPolicy",
    metadata,
    spec: { ...build(operator, options), failurePolicy: "Fail" } as Manifest[string],
  };
  const binding: Manifest = {
    apiVersion: API_VERSION,
    kind: "ValidatingAdmissionPolicyBinding",
    metadata,
    spec: { policyName: name, validationActions: ["Deny"] },
  };
  return {
    [`${guard}-guard`]: transformed("guard", policy, options),
    [`${guard}-guard-binding`]: transformed("guardBinding", binding, options),
  };
}

/** Only the operator writes its children's content: everything except the status, and except the metadata of others. */
function childrenGuard(operator: Operator, { platform, guards }: GuardedOptions) {
  const identities = allIdentitiesOf(operator).map(identityOf);
  const { name, execution } = operator;
  // A run's pod has an account of its own. The dispatcher deletes the children of objects that are gone.
  const accounts = [runnerNameOf(name), ...(execution === "pod" ? [runAccountOf(name)] : [])];
  const users = accounts.map((account) => `system:serviceaccount:${platform.namespace}:${account}`);
  return {
    matchConstraints: {
      resourceRules: [...pluralsByGroup(operator.children)].map(([group, resources]) => ({
        apiGroups: [group],
        apiVersions: ["*"],
        operations: ["CREATE", "UPDATE", "DELETE"],
        // A write of a status can change annotations, and a write of `pods/ephemeralcontainers` the content.
        resources: resources.flatMap((resource) => [resource, `${resource}/*`]),
      })),
    },
    matchConditions: [
      STORED,
      // The old object counts too: otherwise a user could remove the mark, and then change the object.
      {
        name: "child",
        expression: someObject(
          `o.metadata.?labels[?${quote(CHILD_OF_LABEL)}].orValue("") in ${list(identities)}`,
        ),
      },
      stranger(guards, { users }),
    ],
    variables: [
      { name: "content", expression: sameContent() },
      { name: "marks", expression: `${sameMarks("labels")} && ${sameMarks("annotations")}` },
      { name: "owners", expression: sameOwners() },
      { name: "proof", expression: sameProof() },
    ],
    validations: [
      validation(
        'request.operation != "CREATE"',
        `with the mark of a child of ${identityOf(operator)}`,
        `Leave out the label ${CHILD_OF_LABEL}.`,
      ),
      validation(
        'request.operation != "DELETE"',
        `a child of the operator ${identityOf(operator)}`,
        `Change or delete the ${operator.customResource.kind} that it belongs to.`,
      ),
      validation(
        'request.operation != "UPDATE" || (variables.content && variables.marks && variables.owners && variables.proof)',
        `a child of the operator ${identityOf(operator)}`,
        `This account may change only the status, the scale, and labels, annotations and finalizers of its own. Change the ${operator.customResource.kind} that the child belongs to.`,
      ),
    ],
  };
}

/** Only named groups set Argosy's annotations on the operator's custom resources. */
function annotationsGuard({ customResource }: Operator, { platform, guards }: GuardedOptions) {
  const { group, plural } = customResource;
  // Also the intake, which creates objects from events from outside and marks them.
  const argosy = `system:serviceaccounts:${platform.namespace}`;
  return {
    matchConstraints: {
      resourceRules: [
        {
          apiGroups: [group],
          apiVersions: ["*"],
          operations: ["CREATE", "UPDATE"],
          resources: [plural, `${plural}/status`],
        },
      ],
    },
    matchConditions: [
      STORED,
      {
        name: "annotated",
        expression: someObject(`o.metadata.?annotations.orValue({}).exists(key, ${isOurs})`),
      },
      stranger(guards, { groups: [argosy, ...(guards?.annotations?.groups ?? [])] }),
    ],
    validations: [
      validation(
        sameMarks("annotations"),
        `with changed ${DOMAIN} annotations`,
        "Leave these annotations as they are, or ask a member of the groups in guards.annotations.",
      ),
    ],
  };
}

const quote = (text: string) => JSON.stringify(text);
const list = (texts: readonly string[]) => `[${texts.map(quote).join(", ")}]`;

/** Whether the new object, or the old one, fulfils an expression about `o`. */
function someObject(expression: string): string {
  return `[object, oldObject].exists(o, o != null && ${expression})`;
}

/** Whether the request stores something. A dry run is always allowed. */
const STORED = { name: "stored", expression: "!request.?dryRun.orValue(false)" };

/** Whether the requester is none of these, and none of those that no guard stops. */
function stranger(
  { exempt = [] }: GuardOptions = {},
  { users = [], groups = [] }: { readonly users?: readonly string[]; readonly groups?: readonly string[] },
) {
  const allUsers = list([...users, ...KUBERNETES.users]);
  const allGroups = list([ADMINISTRATORS, ...KUBERNETES.groups, ...groups, ...exempt]);
  const isGroup = `request.userInfo.?groups.orValue([]).exists(group, group in ${allGroups})`;
  return { name: "stranger", expression: `!(request.userInfo.username in ${allUsers}) && !${isGroup}` };
}

/** Whether the `key` of a label or an annotation is Argosy's. */
const isOurs = `key.startsWith(${quote(`${DOMAIN}/`)})`;

/** Whether Argosy's labels, or its annotations, are the same as before. */
function sameMarks(field: "labels" | "annotations"): string {
  const of = (object: string) => `(${object} == null ? {} : ${object}.metadata[?"${field}"].orValue({}))`;
  const within = (one: string, other: string) =>
    `${of(one)}.all(key, !${isOurs} || ${of(other)}[?key].orValue("") == ${of(one)}[key])`;
  return `${within("object", "oldObject")} && ${within("oldObject", "object")}`;
}

/** Whether all fields but metadata and status are the same as before, whatever fields the kind has. */
function sameContent(): string {
  const isOther = 'field in ["metadata", "status"]';
  const within = (one: string, other: string) =>
    `dyn(${one}).all(field, ${isOther} || (field in dyn(${other}) && dyn(${one})[field] == dyn(${other})[field]))`;
  return `object == null || oldObject == null || (${within("object", "oldObject")} && ${within("oldObject", "object")})`;
}

/**
 * Whether the owner references are the same as before. If an object has references and no owner in them exists, the garbage
 * collector deletes the object, no matter who wrote them.
 */
function sameOwners(): string {
  const of = (object: string) => `${object}.metadata.?ownerReferences.orValue([])`;
  return `object == null || oldObject == null || ${of("object")} == ${of("oldObject")}`;
}

/**
 * Whether the fields that we applied are still ours. By these entries we recognise a child, so no other client may write them.
 */
function sameProof(): string {
  const of = (object: string) =>
    `${object}.metadata.?managedFields.orValue([]).filter(m, m.?operation.orValue("") == "Apply" && m.?manager.orValue("").startsWith(${quote(MANAGER_PREFIX)})).map(m, [m.manager, m.?fieldsV1.orValue({})])`;
  return `object == null || oldObject == null || ${of("object")} == ${of("oldObject")}`;
}

/**
 * A rule, and the message for a user who breaks it.
 * @param what the object, to follow "<user> may not update ConfigMap cache"
 */
function validation(expression: string, what: string, remedy: string) {
  const verb = '{"CREATE": "create", "UPDATE": "update", "DELETE": "delete"}[request.operation]';
  const object = "request.kind.kind + (request.name == '' ? '' : ' ' + request.name)";
  const exempt = "Or add a group of this account to guards.exempt of the program.";
  return {
    expression,
    reason: "Forbidden",
    messageExpression: `request.userInfo.username + " may not " + ${verb} + " " + ${object} + ${quote(`, ${what}. ${remedy} ${exempt}`)}`,
  };
}
