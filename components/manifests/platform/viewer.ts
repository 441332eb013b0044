import type { PolicyRule } from "../../../runtime/program";
import { buildAccount, buildRole } from "../access";
import { labelsOf } from "../labels";
import type { ManifestSet } from "../manifestSet";
import type { PlatformOptions } from "./options";

const READ = ["get", "list", "watch"];

/** Everything of the event path and of the runs, their logs, and no Secret or ConfigMap. */
export const VIEW_RULES: readonly PolicyRule[] = [
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
 * An account that sees everything in the Argo UI and can change nothing: `kubectl create token argosy-viewer` makes a
 * token to log in with. No pod runs as it.
 */
export function buildViewer(options: PlatformOptions): ManifestSet {
  return buildPersonalAccount("viewer", VIEW_RULES, options);
}

/** An account for people, in the operators' namespace: its token is mounted nowhere. */
export function buildPersonalAccount(
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
