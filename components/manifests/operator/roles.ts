import type { Manifest, Operator, PolicyRule } from "../../../runtime/program";
import type { ManifestSet } from "../manifestSet";
import { buildGrant, buildOperatorAccount, type OperatorAccount } from "./grant";
import { handlerAccountOf, resyncNameOf, runnerNameOf } from "./names";
import type { OperatorOptions } from "./options";
import {
  childRules,
  customResourceRules,
  leaseRules,
  RESIDENT_WORKFLOW_RULES,
  RUN_WORKFLOW_RULES,
  resyncChildRules,
  resyncRules,
  resyncWorkflowRules,
  tokenRules,
} from "./rules";
import { hasToken } from "./volumes";

/** Where an operator's runner lives and what it runs as. */
export interface RunnerAccount {
  /** The runner's namespace; its lease is there as well. */
  readonly namespace: string;
  readonly serviceAccountName: string;
}

/**
 * The runner's service account and exactly the rights that the engine needs for what the operator declares:
 * its custom resource in the whole cluster, its children's kinds and events in the namespaces that the operator lists or
 * in all of them, and its lease. The author's `rules` are his handler's, not the runner's.
 */
export function buildRoles(operator: Operator, account: RunnerAccount): Manifest[] {
  const runner = { ...account, component: "runner" };
  return Object.values({ ...runnerSet(operator, runner), ...leaseSet(operator, runner) });
}

/**
 * The service accounts of an operator in a cluster with Argo, with their rights: the runner's, that of a handler with
 * `rules`, and that of the resync where runs have pods of their own.
 */
export function buildAccess(operator: Operator, { platform: { namespace } }: OperatorOptions): ManifestSet {
  const runner = accountOf("runner", runnerNameOf(operator.name), namespace);
  const resident = operator.execution === "resident";
  return {
    ...runnerSet(operator, runner),
    // A run in a pod of its own is fenced by its Workflow's mutex.
    ...(resident && leaseSet(operator, runner)),
    ...buildGrant(operator, runner, {
      about: "workflows",
      namespaces: [namespace],
      rules: resident ? RESIDENT_WORKFLOW_RULES : RUN_WORKFLOW_RULES,
    }),
    ...(hasToken(operator) && handlerSet(operator, runner)),
    ...(!resident && resyncSet(operator, namespace)),
  };
}

function runnerSet(operator: Operator, runner: OperatorAccount): ManifestSet {
  return {
    ...buildOperatorAccount(operator, runner),
    ...objectGrants(operator, runner, customResourceRules(operator), childRules(operator)),
  };
}

/** Rights to the custom resource in the whole cluster, and others where the operator looks after objects. */
function objectGrants(
  operator: Operator,
  account: OperatorAccount,
  own: readonly PolicyRule[],
  others: readonly PolicyRule[],
): ManifestSet {
  const { namespaces } = operator;
  if (namespaces === "all") return buildGrant(operator, account, { namespaces, rules: [...own, ...others] });
  return {
    ...buildGrant(operator, account, { namespaces: "all", rules: own }),
    ...buildGrant(operator, account, { namespaces, rules: others }),
  };
}

function leaseSet(operator: Operator, runner: OperatorAccount): ManifestSet {
  const rules = leaseRules(operator);
  return buildGrant(operator, runner, { about: "lease", namespaces: [runner.namespace], rules });
}

/** The account that a handler with `rules` has, these rules, and the runner's right to fetch a token for it. */
function handlerSet(operator: Operator, runner: OperatorAccount): ManifestSet {
  const { namespace } = runner;
  const handler = accountOf("handler", handlerAccountOf(operator.name), namespace);
  const { namespaces, rules } = operator;
  return {
    ...buildGrant(operator, runner, { about: "token", namespaces: [namespace], rules: tokenRules(operator) }),
    ...buildOperatorAccount(operator, handler),
    ...buildGrant(operator, handler, { namespaces, rules }),
  };
}

function resyncSet(operator: Operator, namespace: string): ManifestSet {
  const resync = accountOf("resync", resyncNameOf(operator.name), namespace);
  const rules = resyncWorkflowRules(operator);
  return {
    ...buildOperatorAccount(operator, resync),
    ...objectGrants(operator, resync, resyncRules(operator), resyncChildRules(operator)),
    ...buildGrant(operator, resync, { about: "workflows", namespaces: [namespace], rules }),
  };
}

function accountOf(component: string, serviceAccountName: string, namespace: string): OperatorAccount {
  return { component, serviceAccountName, namespace };
}
