import { isOver, liveSelector, WORKFLOW_TEMPLATES, WORKFLOWS, workflowTemplateOf } from "../argo/workflows";
import type { Operator } from "../definition/definition";
import { isRecord } from "../definition/shape";
import type { KubernetesClient } from "../kubernetes/client";
import type { KubernetesObject } from "../kubernetes/objects";
import { OBJECT_UID_LABEL } from "../names";

/** Whose runs are looked at, and where. */
export interface OutdatedRunsOptions {
  readonly operator: Operator;
  readonly client: KubernetesClient;
  /** The namespace of the operator's Workflows. */
  readonly namespace: string;
  /** The Workflow controller's instance id; "" for none. */
  readonly instanceId: string;
}

/** What a Workflow's `status` says of its beginning (argo-workflows, pkg/apis/workflow/v1alpha1/workflow_types.go). */
interface Beginning {
  /** The template as it was when the controller first saw the Workflow, which is long before it has its lock. */
  readonly storedWorkflowTemplateSpec?: unknown;
  readonly nodes?: Readonly<Record<string, { readonly phase?: string }>>;
  /** `nodes`, where they are many. */
  readonly compressedNodes?: string;
  readonly offloadNodeStatusVersion?: string;
}

/**
 * Deletes the Workflows of runs that have not begun and name other ConfigMaps than the WorkflowTemplate does now. A
 * roll-out removes the ConfigMaps that it has replaced, and a pod that names one of these never begins: it would keep its
 * object locked until it is given up. Only those that carry an object's uid as a label, which the Sensor and the resync
 * give them: what somebody submits is run.
 *
 * @returns how many there were
 * @throws ApiError, ApiUnreachableError
 */
export async function deleteOutdatedRuns(options: OutdatedRunsOptions): Promise<number> {
  const { operator, client, namespace, instanceId } = options;
  const name = workflowTemplateOf(operator.name);
  const template = await client.get(WORKFLOW_TEMPLATES, { namespace, name });
  if (!template) return 0;
  const current = configMapsOf(template["spec"]);
  const outdated: KubernetesObject[] = [];
  const labelSelector = `${liveSelector(instanceId)},${OBJECT_UID_LABEL}`;
  await client.list(WORKFLOWS, { namespace, labelSelector }, (workflows) => {
    outdated.push(...workflows.filter((workflow) => isOutdated(workflow, name, current)));
  });
  const deleted = await Promise.all(
    outdated.map(({ metadata }) => client.delete(WORKFLOWS, metadata, { uid: metadata.uid })),
  );
  return deleted.filter((done) => done).length;
}

function isOutdated(workflow: KubernetesObject, template: string, current: ReadonlySet<string>): boolean {
  const { spec, status = {} } = workflow as {
    spec?: { workflowTemplateRef?: { name?: string } };
    status?: Beginning;
  };
  if (spec?.workflowTemplateRef?.name !== template || isOver(workflow) || hasBegun(status)) return false;
  return [...configMapsOf(status.storedWorkflowTemplateSpec)].some((name) => !current.has(name));
}

function hasBegun({ nodes = {}, compressedNodes, offloadNodeStatusVersion }: Beginning): boolean {
  if (compressedNodes || offloadNodeStatusVersion) return true;
  return Object.values(nodes).some(({ phase }) => phase !== "Pending");
}

/** The ConfigMaps that the volumes of a Workflow's templates name. */
function configMapsOf(spec: unknown): Set<string> {
  const names = new Set<string>();
  const each = (value: unknown) => (Array.isArray(value) ? value.filter(isRecord) : []);
  for (const { volumes } of each(isRecord(spec) ? spec["templates"] : undefined)) {
    for (const { configMap } of each(volumes)) {
      if (isRecord(configMap) && typeof configMap["name"] === "string") names.add(configMap["name"]);
    }
  }
  return names;
}
