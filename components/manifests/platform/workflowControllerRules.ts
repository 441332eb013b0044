import type { PolicyRule } from "../../../runtime/program";
import { ARCHIVING_RULE, archiveRules } from "./archive";
import type { PlatformOptions } from "./options";
import { WORKFLOW_CONFIGURATION } from "./workflowControllerConfiguration";

/**
 * What the Workflow controller does in the namespace that it manages, for the Workflows that Argosy makes
 * (argo-workflows, workflow/controller, workflow/cron, workflow/gccontroller). Nobody's token is read, no volume or
 * disruption budget made. It watches neither ClusterWorkflowTemplates nor namespaces where it may not.
 *
 * Without pods/exec it cannot signal a container: the pod of a run that is terminated by hand goes on until its clean-up
 * or its deadline, which the kubelet keeps. With it, it could enter the runners.
 */
const WORKFLOW_CONTROLLER_RULES: readonly PolicyRule[] = [
  // Created for CronWorkflows, deleted when their time to live is over.
  argo(["workflows"], ["get", "list", "watch", "create", "update", "delete"]),
  argo(["workflowtemplates"], ["get", "list", "watch"]),
  argo(["cronworkflows"], ["list", "watch", "patch"]),
  // Without it the admission plugin OwnerReferencesPermissionEnforcement refuses pods, and Workflows of CronWorkflows.
  argo(["workflows/finalizers", "cronworkflows/finalizers"], ["update"]),
  argo(["workflowtasksets"], ["list", "watch", "create", "patch"]),
  argo(["workflowtasksets/status"], ["patch"]),
  argo(["workflowtaskresults"], ["list", "watch", "deletecollection"]),
  // It waits for its caches of all kinds before it begins.
  argo(["workflowartifactgctasks"], ["list", "watch"]),
  core(["pods"], ["get", "list", "watch", "create", "patch", "delete"]),
  // Created where a template is too large for an environment variable, as it is with a large `object` parameter.
  core(["configmaps"], ["get", "list", "watch", "create"]),
  core(["events"], ["create", "patch"]),
];

/** All that the Workflow controller may do there; with an archive, also mark the Workflows that it has archived. */
export function workflowControllerRules({ archive }: PlatformOptions): readonly PolicyRule[] {
  return [...WORKFLOW_CONTROLLER_RULES, ...(archive ? [ARCHIVING_RULE] : [])];
}

/**
 * What the Workflow controller and argo-server do in their own namespace: read their configuration, and the credentials
 * of their archive.
 */
export function workflowConfigurationRules({ archive }: PlatformOptions): readonly PolicyRule[] {
  return [
    { ...core(["configmaps"], ["get"]), resourceNames: [WORKFLOW_CONFIGURATION] },
    ...(archive ? archiveRules(archive) : []),
  ];
}

function argo(resources: readonly string[], verbs: readonly string[]): PolicyRule {
  return { apiGroups: ["argoproj.io"], resources, verbs };
}

function core(resources: readonly string[], verbs: readonly string[]): PolicyRule {
  return { apiGroups: [""], resources, verbs };
}
