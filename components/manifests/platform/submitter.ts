import type { PolicyRule } from "../../../runtime/program";
import type { ManifestSet } from "../manifestSet";
import type { PlatformOptions } from "./options";
import { buildPersonalAccount, VIEW_RULES } from "./viewer";

const RULES: readonly PolicyRule[] = [
  ...VIEW_RULES,
  { apiGroups: ["argoproj.io"], resources: ["workflows"], verbs: ["create"] },
];

/**
 * An account that sees what the viewer sees, and may submit an operator's WorkflowTemplate and resubmit a recorded run.
 * So it may have any operator look at any of its objects, or try a handler on any example. It may not choose what runs, nor
 * as whom: our Workflow controller takes only Workflows of a template, with few fields of their own (argo-workflows,
 * docs/workflow-restrictions.md, Strict).
 */
export function buildSubmitter(options: PlatformOptions): ManifestSet {
  return buildPersonalAccount("submitter", RULES, options);
}
