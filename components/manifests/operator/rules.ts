import {
  groupOf,
  handlerAccountOf,
  leaseNameOf,
  type Operator,
  type OperatorIdentity,
  type PolicyRule,
  selectionsOf,
  type UsedSelection,
  workflowTemplateOf,
} from "../../../runtime/program";
import { pluralsByGroup } from "../access";

/** The rights of each account of an operator, as rules: exactly those that it needs for what the operator declares. */

/**
 * The rights of the engine to the objects that it reconciles. They hold in the whole cluster, even if the operator lists its
 * namespaces. The deletion of a namespace deletes its role bindings before its objects. With rights that hold only there, a
 * finalizer could never be removed, and the namespace would stay for ever.
 */
export function customResourceRules({ customResource: { group, plural }, watch }: Operator): PolicyRule[] {
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
export function namespaceRules({ namespaces }: Operator): PolicyRule[] {
  if (namespaces === "all") return [];
  return [{ apiGroups: [""], resources: ["namespaces"], verbs: ["get"], resourceNames: namespaces }];
}

/** The rights to the children of these objects, to Events about them, and to delete objects that were created from events. */
export function childRules({
  children,
  eventTtls,
  customResource: { group, plural },
}: Operator): PolicyRule[] {
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

/** The reader of the objects that an operator uses: a resident runner, or a run in a pod of its own. */
export type UsedReader = "runner" | "run";

/**
 * The rights to read the objects that an operator uses, and no more. If the definition names objects, these rights name them as
 * well.
 */
export function usedRules(
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
  // A run reads the objects that its object names.
  return uses[key]?.name !== undefined ? ["get"] : ["list"];
}

const EVENT_RULE: PolicyRule = {
  apiGroups: ["events.k8s.io"],
  resources: ["events"],
  verbs: ["create", "patch"],
};

/** The rights to elect a leader. */
export function leaseRules(operator: OperatorIdentity): PolicyRule[] {
  const lease = { apiGroups: ["coordination.k8s.io"], resources: ["leases"] };
  return [
    // A create cannot be restricted by name, because RBAC does not know the name of a new object.
    { ...lease, verbs: ["create"] },
    { ...lease, verbs: ["get", "update", "patch"], resourceNames: [leaseNameOf(operator)] },
  ];
}

/**
 * The rights to the objects of a runner that begins runs in pods: it sees which objects need one, and reports on those whose run does
 * not report by itself. They hold in the whole cluster, for the reason of {@link customResourceRules}.
 */
export function dispatcherRules({ customResource: { group, plural }, watch }: Operator): PolicyRule[] {
  const read = { apiGroups: [group], resources: [plural], verbs: ["get", "list", "watch"] };
  if (watch) return [read];
  return [read, { apiGroups: [group], resources: [`${plural}/status`], verbs: ["patch"] }];
}

/**
 * The rights of such a runner to the children: it sees which of them were changed, and deletes those that are left of objects that
 * are gone.
 */
export function dispatcherChildRules({ children }: Operator): PolicyRule[] {
  return [...kindRules(children, ["get", "list", "watch", "delete"]), EVENT_RULE];
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

/** A run in a pod of its own reads its Workflow, and whether that goes on. */
export const RUN_WORKFLOW_RULES: readonly PolicyRule[] = [
  { ...ARGO, resources: ["workflows"], verbs: ["get"] },
  EXECUTOR_RULE,
];

/**
 * The rights of a runner that begins runs in pods. It makes their Workflows and watches them, and deletes those that will never begin or
 * end. It has no right to change Workflows, with which it could give them any pod.
 */
export function dispatcherWorkflowRules({ name }: Pick<Operator, "name">): PolicyRule[] {
  const resourceNames = [workflowTemplateOf(name)];
  return [
    { ...ARGO, resources: ["workflows"], verbs: ["get", "list", "watch", "create", "delete"] },
    { ...ARGO, resources: ["workflowtemplates"], verbs: ["get", "list", "watch"], resourceNames },
  ];
}

/** An apply is a patch, and also a create if the object does not exist. */
export const RUNNER_MEMORY_VERBS = ["get", "list", "watch", "create", "patch", "delete"];
/** A run reads only the memory of its own object. */
export const RUN_MEMORY_VERBS = ["get", "create", "patch", "delete"];
