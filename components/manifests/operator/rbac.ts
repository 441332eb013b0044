import {
  groupOf,
  handlerAccountOf,
  identityOf,
  type Manifest,
  memoryResourceOf,
  OPERATOR_LABEL,
  type Operator,
  type PolicyRule,
} from "../../../runtime/program";
import { buildAccount, buildGrant } from "../access";
import type { Role } from "../kinds";
import { labelsOf, type ManifestSet } from "../metadata";
import { runAccountOf, runnerNameOf } from "../names";
import type { Platform } from "../platform/options";
import { accountAnnotations, type PodsOptions } from "../pods";
import {
  childRules,
  customResourceRules,
  dispatcherChildRules,
  dispatcherRules,
  dispatcherWorkflowRules,
  leaseRules,
  namespaceRules,
  RESIDENT_WORKFLOW_RULES,
  RUN_MEMORY_VERBS,
  RUN_WORKFLOW_RULES,
  RUNNER_MEMORY_VERBS,
  tokenRule,
  type UsedReader,
  usedRules,
} from "./rules";
import { hasToken } from "./volumes";

/**
 * The runner's service account, with only the rights that the engine needs for what the operator declares. Rights to the custom
 * resource hold in the whole cluster. Rights to the children's kinds and to Events hold in the operator's namespaces. The runner
 * also has the rights that the children may grant, and rights to its Lease. The author's `rules` are the handler's, not the
 * runner's.
 * @param namespace the runner's, which is also its lease's
 */
export function buildRoles(operator: Operator, namespace: string): Manifest[] {
  const runner = runnerOf(operator, namespace);
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
 * @param namespace the runner's
 */
export function buildHandlerRoles(operator: Operator, namespace: string): Manifest[] {
  return hasToken(operator) ? Object.values(handlerSet(operator, runnerOf(operator, namespace))) : [];
}

/** The options of an operator's accounts and rights. */
export interface AccessOptions extends PodsOptions {
  readonly platform: Pick<Platform, "namespace" | "argoWorkflows">;
}

/**
 * The service accounts of an operator in a cluster with Argo, with their rights: the runner's, that of a handler with `rules`,
 * and that of runs if these have pods of their own.
 */
export function buildAccess(operator: Operator, options: AccessOptions): ManifestSet {
  const { namespace, argoWorkflows } = options.platform;
  const annotations = accountAnnotations("runner", options, operator.name);
  const runner = { ...runnerOf(operator, namespace), annotations };
  if (operator.execution === "pod")
    return { ...dispatcherSet(operator, runner), ...runSet(operator, runOf(operator, options)) };
  return {
    ...runnerSet(operator, runner, "runner"),
    ...leaseSet(operator, runner),
    ...memorySet(operator, runner, RUNNER_MEMORY_VERBS),
    ...(argoWorkflows && workflowSet(operator, runner, RESIDENT_WORKFLOW_RULES)),
    ...(hasToken(operator) && handlerSet(operator, runner)),
  };
}

/**
 * The rights of users, if the operator has `userRoles`. By these labels, Kubernetes adds them to its own roles view, edit and
 * admin. A user with one of these roles in a namespace has the rights there
 * (https://kubernetes.io/docs/reference/access-authn-authz/rbac/#user-facing-roles). Admin gets the same verbs as edit, because a
 * kind has no others. No user may write a status, which is the engine's.
 */
export function buildUserRoles({ name, installation, customResource, userRoles }: Operator): ManifestSet {
  if (!userRoles) return {};
  const { group, plural } = customResource;
  const roleOf = (word: string, receivers: readonly string[], rules: NonNullable<Role["rules"]>): Role => ({
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: {
      name: `${identityOf({ name, installation })}-users-${word}`,
      labels: {
        ...labelsOf(name, "users"),
        ...Object.fromEntries(receivers.map((receiver) => [`${AGGREGATE}${receiver}`, "true"])),
      },
    },
    rules,
  });
  const rule = (resource: string, verbs: readonly string[]) => ({
    apiGroups: [group],
    resources: [resource],
    verbs,
  });
  return {
    "users-view-role": roleOf(
      "view",
      ["view", "edit", "admin"],
      [rule(plural, ["get", "list", "watch"]), rule(`${plural}/status`, ["get"])],
    ),
    "users-edit-role": roleOf(
      "edit",
      ["edit", "admin"],
      [rule(plural, ["create", "update", "patch", "delete", "deletecollection"])],
    ),
  };
}

/** The beginning of the labels by which Kubernetes' controller adds a role's rules to another role. */
const AGGREGATE = "rbac.authorization.k8s.io/aggregate-to-";

/** The runner's rights if runs in pods do its work. */
function dispatcherSet(operator: Operator, runner: OperatorAccount): ManifestSet {
  const objects = {
    own: dispatcherRules(operator),
    others: dispatcherChildRules(operator),
    everywhere: namespaceRules(operator),
    reader: "runner" as const,
  };
  return {
    ...buildOperatorAccount(operator, runner),
    ...objectGrants(operator, runner, objects),
    ...leaseSet(operator, runner),
    ...memorySet(operator, runner, RUNNER_MEMORY_VERBS),
    ...workflowSet(operator, runner, dispatcherWorkflowRules(operator)),
  };
}

/** The rights of runs in pods. Each has the lock of its Workflow, and is fenced by the end of that Workflow. */
function runSet(operator: Operator, run: OperatorAccount): ManifestSet {
  return {
    ...runnerSet(operator, run, "run"),
    ...memorySet(operator, run, RUN_MEMORY_VERBS),
    ...workflowSet(operator, run, RUN_WORKFLOW_RULES),
    ...(hasToken(operator) && handlerSet(operator, run)),
  };
}

function workflowSet(
  operator: Operator,
  account: OperatorAccount,
  rules: readonly PolicyRule[],
): ManifestSet {
  return buildGrants(operator, account, { about: "workflows", namespaces: [account.namespace], rules });
}

function runnerSet(operator: Operator, runner: OperatorAccount, reader: UsedReader): ManifestSet {
  const { grants, namespaces } = operator;
  const objects = {
    own: customResourceRules(operator),
    others: childRules(operator),
    everywhere: namespaceRules(operator),
    reader,
  };
  return {
    ...buildOperatorAccount(operator, runner),
    ...objectGrants(operator, runner, objects),
    // In roles of their own, because the engine uses none of these rights, and only passes them on.
    ...(grants.length > 0 && buildGrants(operator, runner, { about: "grants", namespaces, rules: grants })),
  };
}

/** The rights of one account to the objects that an operator looks after. */
interface ObjectRules {
  /** Rights to the custom resources. */
  readonly own: readonly PolicyRule[];
  /** Rights to children, and further ones in the namespaces that the operator looks after. */
  readonly others: readonly PolicyRule[];
  /** Rights that must outlive a namespace: they hold in the whole cluster. */
  readonly everywhere: readonly PolicyRule[];
  /** Who reads the objects that the operator uses. */
  readonly reader: UsedReader;
}

/**
 * Rights to the custom resource and to the listed Namespaces themselves in the whole cluster, and other rights in these. Objects
 * that it uses in a namespace that the definition names are read only there.
 */
function objectGrants(operator: Operator, account: OperatorAccount, objects: ObjectRules): ManifestSet {
  const { own, others, everywhere, reader } = objects;
  const { namespaces, watch } = operator;
  const elsewhere = [...new Set(Object.values(operator.uses).flatMap(({ namespace = [] }) => namespace))];
  const used = elsewhere.map((namespace) =>
    buildGrants(operator, account, {
      about: "used",
      namespaces: [namespace],
      rules: usedRules(operator, namespace, reader),
    }),
  );
  const all = [...others, ...usedRules(operator, undefined, reader)];
  // Watched objects have no finalizer of the operator, so no right to them needs to outlive a namespace.
  const isHere = watch || namespaces === "all";
  const outliving = [...(isHere ? [] : own), ...everywhere];
  return Object.assign(
    outliving.length > 0 ? buildGrants(operator, account, { namespaces: "all", rules: outliving }) : {},
    buildGrants(operator, account, { namespaces, rules: isHere ? [...own, ...all] : all }),
    ...used,
  );
}

/** Rights to the memories of objects that are not ours, in the account's own namespace. */
function memorySet(operator: Operator, account: OperatorAccount, verbs: readonly string[]): ManifestSet {
  if (!operator.watch) return {};
  const { apiVersion, plural } = memoryResourceOf(operator);
  const rules = [{ apiGroups: [groupOf(apiVersion)], resources: [plural], verbs }];
  return buildGrants(operator, account, { about: "memories", namespaces: [account.namespace], rules });
}

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

function runnerOf({ name }: Operator, namespace: string): OperatorAccount {
  return accountOf("runner", runnerNameOf(name), namespace);
}

function runOf({ name }: Operator, options: AccessOptions): OperatorAccount {
  const annotations = accountAnnotations("run", options, name);
  return { ...accountOf("run", runAccountOf(name), options.platform.namespace), annotations };
}

function accountOf(component: string, serviceAccountName: string, namespace: string): OperatorAccount {
  return { component, serviceAccountName, namespace };
}

/** A service account of an operator, and its purpose. */
interface OperatorAccount {
  readonly namespace: string;
  readonly serviceAccountName: string;
  /** "runner", "run" or "handler": in labels, and the beginning of keys and of the roles' names. */
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
