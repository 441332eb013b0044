import {
  groupOf,
  leaseNameOf,
  type Operator,
  type OperatorIdentity,
  type PolicyRule,
  workflowTemplateOf,
} from "../../../runtime/program";
import { handlerAccountOf } from "./names";

/**
 * What the engine needs of the objects that it reconciles. They hold in the whole cluster, also where the operator lists
 * its namespaces: the deletion of a namespace takes the bindings in it along before its objects, so that a finalizer
 * could never be removed with rights that hold only there, and the namespace would stay for ever.
 */
export function customResourceRules({ customResource: { group, plural } }: Operator): PolicyRule[] {
  const apiGroups = [group];
  return [
    { apiGroups, resources: [plural], verbs: ["get", "list", "watch", "patch"] },
    { apiGroups, resources: [`${plural}/status`], verbs: ["patch"] },
    // Without it the admission plugin OwnerReferencesPermissionEnforcement refuses owner references that block.
    { apiGroups, resources: [`${plural}/finalizers`], verbs: ["update"] },
  ];
}

/** What it needs of their children, and to tell what it does. */
export function childRules({ children }: Operator): PolicyRule[] {
  const answered = children.filter(({ retired }) => !retired);
  const retired = children.filter(({ retired }) => retired);
  return [
    ...kindRules(answered, ["get", "list", "watch", "create", "patch", "delete"]),
    // Nothing of them is ever applied again: what is left of them is found and deleted.
    ...kindRules(retired, ["get", "list", "watch", "delete"]),
    EVENT_RULE,
  ];
}

/** One rule for each API group, in the order in which the operator declares them. */
function kindRules(kinds: Operator["children"], verbs: readonly string[]): PolicyRule[] {
  const resources = new Map<string, string[]>();
  for (const { apiVersion, plural } of kinds) {
    const group = groupOf(apiVersion);
    resources.set(group, [...(resources.get(group) ?? []), plural]);
  }
  return [...resources].map(([group, plurals]) => ({ apiGroups: [group], resources: plurals, verbs }));
}

const EVENT_RULE: PolicyRule = {
  apiGroups: ["events.k8s.io"],
  resources: ["events"],
  verbs: ["create", "patch"],
};

/** What it takes to agree on a leader. */
export function leaseRules(operator: OperatorIdentity): PolicyRule[] {
  const lease = { apiGroups: ["coordination.k8s.io"], resources: ["leases"] };
  return [
    // A create cannot be narrowed by name: RBAC does not know the name of an object to come.
    { ...lease, verbs: ["create"] },
    { ...lease, verbs: ["get", "update", "patch"], resourceNames: [leaseNameOf(operator)] },
  ];
}

/**
 * What a resync needs of the objects: to look which of them need a run, and to tell those whose last one failed without
 * a word. It holds in the whole cluster, for the reason of {@link customResourceRules}.
 */
export function resyncRules({ customResource: { group, plural } }: Operator): PolicyRule[] {
  return [
    { apiGroups: [group], resources: [plural], verbs: ["get", "list"] },
    { apiGroups: [group], resources: [`${plural}/status`], verbs: ["patch"] },
  ];
}

/** What a resync needs of the children, to see which of them somebody changed, and to tell of runs that failed. */
export function resyncChildRules({ children }: Operator): PolicyRule[] {
  return [
    ...kindRules(
      children.filter(({ update }) => update !== "never"),
      ["list"],
    ),
    EVENT_RULE,
  ];
}

/** To fetch the token of the handler's own account, and of no other. */
export function tokenRules(operator: Operator): PolicyRule[] {
  const resourceNames = [handlerAccountOf(operator.name)];
  return [{ apiGroups: [""], resources: ["serviceaccounts/token"], verbs: ["create"], resourceNames }];
}

const ARGO = { apiGroups: ["argoproj.io"] };

/** A resident runner records its runs, reads what is submitted, and answers it. */
export const RESIDENT_WORKFLOW_RULES: readonly PolicyRule[] = [
  { ...ARGO, resources: ["workflows"], verbs: ["get", "create"] },
  { ...ARGO, resources: ["workflowtasksets"], verbs: ["list", "watch"] },
  { ...ARGO, resources: ["workflowtasksets/status"], verbs: ["patch"] },
];

/** Every pod of a Workflow reports by its executor (argo-workflows, docs/workflow-rbac.md). */
const EXECUTOR_RULE: PolicyRule = { ...ARGO, resources: ["workflowtaskresults"], verbs: ["create", "patch"] };

/** A run in a pod of its own reads what it was submitted with, and deletes those that it makes needless. */
export const RUN_WORKFLOW_RULES: readonly PolicyRule[] = [
  { ...ARGO, resources: ["workflows"], verbs: ["get", "list", "delete"] },
  EXECUTOR_RULE,
];

/** A resync sees which runs there are and why they failed, deletes those that will not begin, and submits others. */
export function resyncWorkflowRules(operator: Operator): PolicyRule[] {
  const resourceNames = [workflowTemplateOf(operator.name)];
  return [
    { ...ARGO, resources: ["workflows"], verbs: ["get", "list", "create", "delete"] },
    { ...ARGO, resources: ["workflowtemplates"], verbs: ["get"], resourceNames },
    EXECUTOR_RULE,
  ];
}
