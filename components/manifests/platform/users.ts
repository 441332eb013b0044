import type { PolicyRule } from "../../../runtime/program";
import { buildAccount, buildRole } from "../access";
import { labelsOf, type ManifestSet } from "../metadata";
import type { PlatformOptions } from "./options";

const READ = ["get", "list", "watch"];

/** The rights to everything of the event path and of the runs, and their logs, but to no Secret or ConfigMap. */
const VIEW_RULES: readonly PolicyRule[] = [
  {
    apiGroups: ["argoproj.io"],
    resources: [
      "workflows",
      "workflowtemplates",
      "cronworkflows",
      "workfloweventbindings",
      "workflowtasksets",
      "workflowtaskresults",
      "eventsources",
      "sensors",
      "eventbus",
    ],
    verbs: READ,
  },
  { apiGroups: [""], resources: ["pods", "events"], verbs: READ },
  { apiGroups: [""], resources: ["pods/log"], verbs: ["get"] },
];

/**
 * An account that sees everything in the Argo UI and can change nothing: `kubectl create token argosy-viewer` makes a token to
 * log in with. No pod runs as it. Without Argo Workflows there is no UI, and no such account.
 */
export function buildViewer(options: PlatformOptions): ManifestSet {
  if (options.argoWorkflows === "none") return {};
  return buildPersonalAccount("viewer", VIEW_RULES, options);
}

/** An account for people who use the Argo UI, in the operators' namespace. Its token is mounted nowhere. */
function buildPersonalAccount(
  role: string,
  rules: readonly PolicyRule[],
  { namespace }: PlatformOptions,
): ManifestSet {
  const name = `argosy-${role}`;
  const labels = labelsOf("argosy", role);
  const account = { name, namespace };
  return {
    account: { ...buildAccount(name, namespace, labels), automountServiceAccountToken: false },
    ...buildRole({ name, namespace, labels, rules, account }),
  };
}

const RULES: readonly PolicyRule[] = [
  ...VIEW_RULES,
  { apiGroups: ["argoproj.io"], resources: ["workflows"], verbs: ["create"] },
];

/**
 * An account that sees what the viewer sees, and may submit an operator's WorkflowTemplate and resubmit a recorded run. So it
 * can make any operator look at any of its objects, or try a handler on any example. It cannot choose which program runs, nor
 * with which account: our Workflow controller accepts only Workflows of a template, with few fields of their own
 * (argo-workflows, docs/workflow-restrictions.md, Strict).
 *
 * The account is made only if Argo Workflows is ours alone. Another installation's controller may manage the operators'
 * namespace too, and may accept any Workflow there. Its submitter could then run any pod as any account of the namespace.
 */
export function buildSubmitter(options: PlatformOptions): ManifestSet {
  if (options.argoWorkflows !== "install") return {};
  return buildPersonalAccount("submitter", RULES, options);
}
