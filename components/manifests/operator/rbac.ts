import {
  groupOf,
  handlerAccountOf,
  identityOf,
  leaseNameOf,
  type Manifest,
  memoryResourceOf,
  OPERATOR_LABEL,
  type Operator,
  type OperatorIdentity,
  type PolicyRule,
  selectionsOf,
  type UsedSelection,
  workflowTemplateOf,
} from "../../../runtime/program";
import { buildAccount, buildGrant, pluralsByGroup } from "../access";
import { labelsOf, type ManifestSet } from "../metadata";
import { resyncNameOf, runnerNameOf } from "../names";
import { accountAnnotations } from "../pods";
import type { OperatorOptions } from "./options";
import { hasToken } from "./volumes";

/** The namespace of an operator's runner, and its account. */
export interface RunnerAccount {
  /** The runner's namespace, which is also its lease's. */
  readonly namespace: string;
  readonly serviceAccountName: string;
}

/**
 * The runner's service account and exactly the rights that the engine needs for what the operator declares: its custom resource
 * in the whole cluster, its children's kinds and events in the namespaces that the operator lists or in all of them, the rights
 * that its children may grant, and its lease. The author's `rules` are the handler's, not the runner's.
 */
export function buildRoles(operator: Operator, account: RunnerAccount): Manifest[] {
  const runner = { ...account, component: "runner" };
  // Without Argo every engine is a resident one, whatever the operator's form.
  return Object.values({
    ...runnerSet(operator, runner, "runner"),
    ...leaseSet(operator, runner),
    ...memorySet(operator, runner, RUNNER_MEMORY_VERBS),
  });
}

/**
 * The additions for a handler with `rules`: its service account, these rules, and the runner's right to fetch a token for it.
 * Empty for a handler without `rules`.
 */
export function buildHandlerRoles(operator: Operator, account: RunnerAccount): Manifest[] {
  return hasToken(operator) ? Object.values(handlerSet(operator, { ...account, component: "runner" })) : [];
}

/**
 * The service accounts of an operator in a cluster with Argo, with their rights: the runner's, that of a handler with `rules`,
 * and that of the resync if runs have pods of their own.
 */
export function buildAccess(operator: Operator, options: OperatorOptions): ManifestSet {
  const { namespace, argoWorkflows } = options.platform;
  const part = operator.execution === "pod" ? "run" : "runner";
  const annotations = accountAnnotations(part, options, operator.name);
  const runner = { ...accountOf("runner", runnerNameOf(operator.name), namespace), annotations };
  const resident = operator.execution === "resident";
  return {
    ...runnerSet(operator, runner, part),
    // A run in a pod of its own has the mutex of its Workflow, and is fenced by the end of that Workflow.
    ...(resident && leaseSet(operator, runner)),
    ...memorySet(operator, runner, resident ? RUNNER_MEMORY_VERBS : RUN_MEMORY_VERBS),
    ...(argoWorkflows &&
      buildGrants(operator, runner, {
        about: "workflows",
        namespaces: [namespace],
        rules: resident ? RESIDENT_WORKFLOW_RULES : RUN_WORKFLOW_RULES,
      })),
    ...(hasToken(operator) && handlerSet(operator, runner)),
    ...(!resident && resyncSet(operator, options)),
  };
}

function runnerSet(operator: Operator, runner: OperatorAccount, reader: UsedReader): ManifestSet {
  const { grants, namespaces } = operator;
  const seen = namespaceRules(operator);
  return {
    ...buildOperatorAccount(operator, runner),
    ...objectGrants(operator, runner, customResourceRules(operator), childRules(operator), reader, seen),
    // In roles of their own, because the engine uses none of these rights, and only passes them on.
    ...(grants.length > 0 && buildGrants(operator, runner, { about: "grants", namespaces, rules: grants })),
  };
}

/**
 * Rights to the custom resource in the whole cluster, and other rights in the namespaces that the operator looks after. Objects
 * that it uses in a namespace that the definition names are read only there.
 * @param everywhere further rights in the whole cluster
 */
function objectGrants(
  operator: Operator,
  account: OperatorAccount,
  own: readonly PolicyRule[],
  others: readonly PolicyRule[],
  reader: UsedReader,
  everywhere: readonly PolicyRule[] = [],
): ManifestSet {
  const { namespaces, watch } = operator;
  const elsewhere = [...new Set(Object.values(operator.uses).flatMap(({ namespace = [] }) => namespace))];
  const used = Object.assign(
    {},
    ...elsewhere.map((namespace) =>
      buildGrants(operator, account, {
        about: "used",
        namespaces: [namespace],
        rules: usedRules(operator, namespace, reader),
      }),
    ),
  );
  const all = [...others, ...usedRules(operator, undefined, reader)];
  // Watched objects have no finalizer of the operator, so no right to them needs to outlive a namespace.
  const isHere = watch || namespaces === "all";
  const outliving = [...(isHere ? [] : own), ...everywhere];
  return {
    ...(outliving.length > 0 && buildGrants(operator, account, { namespaces: "all", rules: outliving })),
    ...buildGrants(operator, account, { namespaces, rules: isHere ? [...own, ...all] : all }),
    ...used,
  };
}

/** Rights to the memories of objects that are not ours, in the account's own namespace. */
function memorySet(operator: Operator, account: OperatorAccount, verbs: readonly string[]): ManifestSet {
  if (!operator.watch) return {};
  const { apiVersion, plural } = memoryResourceOf(operator);
  const rules = [{ apiGroups: [groupOf(apiVersion)], resources: [plural], verbs }];
  return buildGrants(operator, account, { about: "memories", namespaces: [account.namespace], rules });
}

/** An apply is a patch, and also a create if the object is not there. */
const RUNNER_MEMORY_VERBS = ["get", "list", "watch", "create", "patch", "delete"];
/** A run reads only the memory of its own object. */
const RUN_MEMORY_VERBS = ["get", "create", "patch", "delete"];
/** A resync looks which objects need a run, and writes the verdict about a run that did not report. */
const RESYNC_MEMORY_VERBS = ["get", "list", "create", "patch"];

function leaseSet(operator: Operator, runner: OperatorAccount): ManifestSet {
  const rules = leaseRules(operator);
  return buildGrants(operator, runner, { about: "lease", namespaces: [runner.namespace], rules });
}

/** The account that a handler with `rules` has, these rules, and the runner's right to fetch a token for it. */
function handlerSet(operator: Operator, runner: OperatorAccount): ManifestSet {
  const { namespace } = runner;
  const handler = accountOf("handler", handlerAccountOf(operator.name), namespace);
  const { namespaces, rules } = operator;
  return {
    ...buildGrants(operator, runner, {
      about: "token",
      namespaces: [namespace],
      rules: [tokenRule(operator)],
    }),
    ...buildOperatorAccount(operator, handler),
    ...buildGrants(operator, handler, { namespaces, rules }),
  };
}

function resyncSet(operator: Operator, options: OperatorOptions): ManifestSet {
  const { namespace } = options.platform;
  const annotations = accountAnnotations("resync", options, operator.name);
  const resync = { ...accountOf("resync", resyncNameOf(operator.name), namespace), annotations };
  const rules = resyncWorkflowRules(operator);
  // Rights to our own custom resources hold in the whole cluster, so a namespace that is gone hides none of them.
  const seen = operator.watch ? namespaceRules(operator) : [];
  return {
    ...buildOperatorAccount(operator, resync),
    ...objectGrants(operator, resync, resyncRules(operator), resyncChildRules(operator), "resync", seen),
    ...buildGrants(operator, resync, { about: "workflows", namespaces: [namespace], rules }),
    ...memorySet(operator, resync, RESYNC_MEMORY_VERBS),
  };
}

function accountOf(component: string, serviceAccountName: string, namespace: string): OperatorAccount {
  return { component, serviceAccountName, namespace };
}

/** A service account of an operator, and its purpose. */
interface OperatorAccount {
  readonly namespace: string;
  readonly serviceAccountName: string;
  /** "runner", "handler" or "resync": in labels, and the beginning of keys and of the roles' names. */
  readonly component: string;
  /** @default none */
  readonly annotations?: Readonly<Record<string, string>> | undefined;
}

/** Rights of an account. */
interface Rights {
  /** Their subject, as a part of keys and names. @default nothing, for the account's main rights */
  readonly about?: string;
  /** In which namespaces they hold, or in the whole cluster. */
  readonly namespaces: Operator["namespaces"];
  readonly rules: readonly PolicyRule[];
}

/**
 * The service account itself: `<component>-account`. Its name does not contain the installation, and a label does: so another
 * program sees that the name is taken.
 */
function buildOperatorAccount(operator: Operator, account: OperatorAccount): ManifestSet {
  const { component, namespace, serviceAccountName, annotations } = account;
  const labels = { ...labelsOf(operator.name, component), [OPERATOR_LABEL]: identityOf(operator) };
  return { [`${component}-account`]: buildAccount(serviceAccountName, namespace, labels, annotations) };
}

/**
 * Roles with these rights, bound to the account: one in each namespace, or one in the whole cluster. In a cluster they are named by
 * the operator's identity, because another program may have an operator of this name, and rights in the same namespaces.
 */
function buildGrants(operator: Operator, account: OperatorAccount, rights: Rights): ManifestSet {
  const { component, namespace: home, serviceAccountName } = account;
  const { about, namespaces, rules } = rights;
  const prefix = about === undefined ? component : `${component}-${about}`;
  const scopes = namespaces === "all" ? [undefined] : namespaces;
  const sets = scopes.map((namespace) =>
    buildGrant(prefix, {
      name: `${identityOf(operator)}-${prefix}`,
      namespace,
      labels: labelsOf(operator.name, component),
      rules,
      account: { name: serviceAccountName, namespace: home },
    }),
  );
  return Object.assign({}, ...sets);
}

/**
 * The rights of the engine to the objects that it reconciles. They hold in the whole cluster, even if the operator lists its
 * namespaces. The deletion of a namespace deletes its role bindings before its objects. With rights that hold only there, a
 * finalizer could never be removed, and the namespace would stay for ever.
 */
function customResourceRules({ customResource: { group, plural }, watch }: Operator): PolicyRule[] {
  const apiGroups = [group];
  // Objects that are not ours are only read.
  if (watch) return [{ apiGroups, resources: [plural], verbs: ["get", "list", "watch"] }];
  return [
    { apiGroups, resources: [plural], verbs: ["get", "list", "watch", "patch"] },
    { apiGroups, resources: [`${plural}/status`], verbs: ["patch"] },
    // Without this right the admission plugin OwnerReferencesPermissionEnforcement refuses owner references that block.
    { apiGroups, resources: [`${plural}/finalizers`], verbs: ["update"] },
  ];
}

/**
 * The right to see that a listed namespace is gone. All other rights there go with the namespace. An object elsewhere that had
 * children there could never go without this right, and a watched object in it could never be forgotten.
 */
function namespaceRules({ namespaces }: Operator): PolicyRule[] {
  if (namespaces === "all") return [];
  return [{ apiGroups: [""], resources: ["namespaces"], verbs: ["get"], resourceNames: namespaces }];
}

/** The rights to the children of these objects, to Events about them, and to delete objects that were made of events. */
function childRules({ children, eventTtls, customResource: { group, plural } }: Operator): PolicyRule[] {
  const answered = children.filter(({ retired }) => !retired);
  const retired = children.filter(({ retired }) => retired);
  return [
    ...kindRules(answered, ["get", "list", "watch", "create", "patch", "delete"]),
    // A retired kind is never applied again. Its remaining children are found and deleted.
    ...kindRules(retired, ["get", "list", "watch", "delete"]),
    ...(eventTtls ? [{ apiGroups: [group], resources: [plural], verbs: ["delete"] }] : []),
    EVENT_RULE,
  ];
}

/** One rule for each API group. */
function kindRules(kinds: Operator["children"], verbs: readonly string[]): PolicyRule[] {
  return [...pluralsByGroup(kinds)].map(([group, resources]) => ({ apiGroups: [group], resources, verbs }));
}

/** The reader of the objects that an operator uses: a resident runner, a run in a pod of its own, or a resync. */
type UsedReader = "runner" | "run" | "resync";

/**
 * The rights to read the objects that an operator uses, and no more. If the definition names objects, these rights name them as
 * well.
 */
function usedRules(
  operator: Operator,
  namespace: string | undefined,
  reader: UsedReader,
): readonly PolicyRule[] {
  const rules = new Map<string, PolicyRule & { resourceNames?: string[] }>();
  for (const selection of selectionsOf(operator)) {
    if (operator.uses[selection.key]?.namespace !== namespace) continue;
    const { apiVersion, plural, name } = selection;
    const rule = {
      apiGroups: [groupOf(apiVersion)],
      resources: [plural],
      verbs: usedVerbs(operator, selection, reader),
    };
    const key = JSON.stringify([rule, name === undefined]);
    const names = name === undefined ? undefined : [...(rules.get(key)?.resourceNames ?? []), name];
    rules.set(key, { ...rule, ...(names && { resourceNames: [...new Set(names)] }) });
  }
  return [...rules.values()];
}

function usedVerbs({ uses }: Operator, { key, isPolled }: UsedSelection, reader: UsedReader): string[] {
  if (isPolled) return ["get"];
  if (reader === "runner") return ["get", "list", "watch"];
  // A run reads the objects that its object names. A resync compares the objects that all objects use.
  return reader === "run" && uses[key]?.name !== undefined ? ["get"] : ["list"];
}

const EVENT_RULE: PolicyRule = {
  apiGroups: ["events.k8s.io"],
  resources: ["events"],
  verbs: ["create", "patch"],
};

/** The rights to elect a leader. */
function leaseRules(operator: OperatorIdentity): PolicyRule[] {
  const lease = { apiGroups: ["coordination.k8s.io"], resources: ["leases"] };
  return [
    // A create cannot be restricted by name, because RBAC does not know the name of a new object.
    { ...lease, verbs: ["create"] },
    { ...lease, verbs: ["get", "update", "patch"], resourceNames: [leaseNameOf(operator)] },
  ];
}

/**
 * The rights of a resync to the objects: to look which of them need a run, and to report on those whose last run failed without a
 * report. They hold in the whole cluster, for the reason of {@link customResourceRules}.
 */
function resyncRules({ customResource: { group, plural }, watch }: Operator): PolicyRule[] {
  const read = { apiGroups: [group], resources: [plural], verbs: ["get", "list"] };
  if (watch) return [read];
  return [read, { apiGroups: [group], resources: [`${plural}/status`], verbs: ["patch"] }];
}

/**
 * The rights of a resync to the children, to see which of them somebody changed, and which are left of deleted objects, and to
 * report runs that failed.
 */
function resyncChildRules({ children }: Operator): PolicyRule[] {
  return [...kindRules(children, ["list"]), EVENT_RULE];
}

/** The right to fetch the token of the handler's own account, and of no other. */
export function tokenRule({ name }: Pick<Operator, "name">): PolicyRule {
  const resourceNames = [handlerAccountOf(name)];
  return { apiGroups: [""], resources: ["serviceaccounts/token"], verbs: ["create"], resourceNames };
}

const ARGO = { apiGroups: ["argoproj.io"] };

/** The rights of a resident runner to record its runs, to read submitted Workflows, and to answer them. */
export const RESIDENT_WORKFLOW_RULES: readonly PolicyRule[] = [
  { ...ARGO, resources: ["workflows"], verbs: ["get", "create"] },
  { ...ARGO, resources: ["workflowtasksets"], verbs: ["list", "watch"] },
  { ...ARGO, resources: ["workflowtasksets/status"], verbs: ["patch"] },
];

/** Every pod of a Workflow reports by its executor (argo-workflows, docs/workflow-rbac.md). */
const EXECUTOR_RULE: PolicyRule = { ...ARGO, resources: ["workflowtaskresults"], verbs: ["create", "patch"] };

/** A run in a pod of its own reads its Workflow and whether that goes on, and deletes the runs that it makes needless. */
export const RUN_WORKFLOW_RULES: readonly PolicyRule[] = [
  { ...ARGO, resources: ["workflows"], verbs: ["get", "list", "delete"] },
  EXECUTOR_RULE,
];

/**
 * A resync sees which runs exist and why they failed, deletes runs that will not begin, and submits others. It sees whose pods
 * have ended. To remind the Workflow controller of those it needs no right to change Workflows, with which it could give them any
 * pod: a WorkflowTaskResult reminds the controller too.
 */
export function resyncWorkflowRules(operator: Operator): PolicyRule[] {
  const resourceNames = [workflowTemplateOf(operator.name)];
  return [
    { ...ARGO, resources: ["workflows"], verbs: ["get", "list", "create", "delete"] },
    { ...ARGO, resources: ["workflowtemplates"], verbs: ["get"], resourceNames },
    { apiGroups: [""], resources: ["pods"], verbs: ["list"] },
    EXECUTOR_RULE,
  ];
}
