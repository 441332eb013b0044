import { buildArgoWorkflowsDefinitions } from "../../../components/manifests/platform/definitions";
import type { JsonObject, KubernetesObject, Manifest } from "../../../runtime/base/objects";
import type { PolicyRule } from "../../../runtime/operator/definition";
import type { KeptSeconds } from "../../../runtime/report/runRecorder";
import { RECONCILE_TEMPLATE, RUN_PARAMETERS, WORKFLOWS } from "../../../runtime/report/workflows";
import { announceKind } from "./cluster";
import type { TestOperator } from "./testOperator";

/** The Workflow controller's instance id in these tests. */
export const INSTANCE_ID = "argosy-test";
/** For how many seconds the Workflows of runs are kept in these tests. */
export const KEPT: KeptSeconds = { successes: 3_600, failures: 86_400 };

/**
 * Argo's kinds as the platform installs them, without Argo's controllers. A test writes what they would write. The e2e tests the
 * real ones.
 */
export function announceArgo(): void {
  const definitions = buildArgoWorkflowsDefinitions({
    namespace: "argosy",
    controllerNamespace: "argosy-system",
    createNamespaces: true,
    instanceId: INSTANCE_ID,
    argoEvents: "install",
    argoWorkflows: "install",
    placement: { imagePullSecrets: [], nodeSelector: {}, tolerations: [] },
  });
  for (const definition of Object.values(definitions)) announceKind(definition);
}

/** Gives the operator's runner further rights in its own namespace: those that it has where Argo is installed. */
export async function allowRunner(
  operator: TestOperator,
  name: string,
  rules: readonly PolicyRule[],
): Promise<void> {
  const { api } = operator.cluster;
  const metadata = { name, namespace: operator.runnerNamespace };
  const apiVersion = "rbac.authorization.k8s.io/v1";
  await api.apply({ apiVersion, kind: "Role", metadata, rules });
  const account = `${operator.operator.name}-runner`;
  const subjects = [{ kind: "ServiceAccount", name: account, namespace: operator.runnerNamespace }];
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name };
  await api.apply({ apiVersion, kind: "RoleBinding", metadata, roleRef, subjects });
}

/** Submits a Workflow of the operator's template, or of that of another one, as the Workflow API does. */
export function submit(
  operator: TestOperator,
  name: string,
  parameters: Partial<Record<keyof typeof RUN_PARAMETERS, string>>,
  labels: Record<string, string> = {},
  template = operator.operator.name,
): Promise<KubernetesObject> {
  const given = Object.entries(parameters).map(([key, value]) => ({
    name: RUN_PARAMETERS[key as keyof typeof RUN_PARAMETERS],
    value,
  }));
  return operator.cluster.api.create({
    apiVersion: WORKFLOWS.apiVersion,
    kind: WORKFLOWS.kind,
    metadata: {
      name,
      namespace: operator.runnerNamespace,
      labels: { "workflows.argoproj.io/controller-instanceid": INSTANCE_ID, ...labels },
    },
    spec: { workflowTemplateRef: { name: template }, arguments: { parameters: given } },
  });
}

/**
 * Creates the WorkflowTaskSet that the Workflow controller makes of a Workflow whose template is a plugin
 * (`createTaskSet` in workflow/controller/taskset.go of argo-workflows v4.1.2).
 */
export function createTaskSet(
  operator: TestOperator,
  workflow: KubernetesObject,
  plugin: JsonObject = { argosy: { operator: operator.operator.name } },
): Promise<KubernetesObject> {
  const { name, uid } = workflow.metadata;
  return operator.cluster.api.create({
    ...taskSetOf(operator, name),
    metadata: {
      ...taskSetOf(operator, name).metadata,
      labels: { "workflows.argoproj.io/controller-instanceid": INSTANCE_ID },
      ownerReferences: [{ apiVersion: WORKFLOWS.apiVersion, kind: WORKFLOWS.kind, name, uid }],
    },
    spec: { tasks: { [name]: { name: RECONCILE_TEMPLATE, plugin } } },
  });
}

/** The WorkflowTaskSet of a Workflow. */
export function taskSetOf(operator: TestOperator, name: string): Manifest {
  const metadata = { name, namespace: operator.runnerNamespace };
  return { apiVersion: WORKFLOWS.apiVersion, kind: "WorkflowTaskSet", metadata };
}
