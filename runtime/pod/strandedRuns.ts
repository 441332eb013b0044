import {
  isOver,
  liveSelector,
  specOf,
  WORKFLOW_TEMPLATES,
  WORKFLOWS,
  workflowTemplateOf,
} from "../argo/workflows";
import type { Operator } from "../definition/definition";
import { isRecord } from "../definition/shape";
import type { KubernetesClient } from "../kubernetes/client";
import type { KubernetesObject } from "../kubernetes/objects";
import { OBJECT_UID_LABEL } from "../names";

/** Whose runs are looked at, and where. */
export interface StrandedRunsOptions {
  readonly operator: Operator;
  readonly client: KubernetesClient;
  /** The namespace of the operator's Workflows. */
  readonly namespace: string;
  /** The Workflow controller's instance id; "" for none. */
  readonly instanceId: string;
  /** A run that the Workflow controller has not touched for so long is one that it passed over, in milliseconds. @default 120000 */
  readonly untouchedMs?: number;
}

const UNTOUCHED_MS = 120_000;

/** What a Workflow's `status` says of its beginning (argo-workflows, pkg/apis/workflow/v1alpha1/workflow_types.go). */
interface Beginning {
  /** "" until the controller has written once: also one that waits for its lock or its turn has a phase. */
  readonly phase?: string;
  /** The template as it was when the controller first saw the Workflow, which is long before it has its lock. */
  readonly storedWorkflowTemplateSpec?: unknown;
  readonly nodes?: Readonly<Record<string, { readonly phase?: string }>>;
  /** `nodes`, where they are many. */
  readonly compressedNodes?: string;
  readonly offloadNodeStatusVersion?: string;
}

/**
 * Deletes the Workflows of runs that will not begin, and would keep every other run of their object from it:
 *
 * - Those that name other ConfigMaps than the WorkflowTemplate does now. A roll-out removes the ConfigMaps that it has
 *   replaced, and a pod that names one of these never begins.
 * - Those that the Workflow controller has passed over: one whose beginning it could not write, since the API server was
 *   away, it takes up again only after a long while, or when it is restarted (argo-workflows,
 *   workflow/controller/operator.go, setExecWorkflow and persistUpdates).
 *
 * Only those that carry an object's uid as a label, which the Sensor and the resync give them: what somebody submits is
 * run.
 *
 * @returns how many there were
 * @throws ApiError, ApiUnreachableError
 */
export async function deleteStrandedRuns(options: StrandedRunsOptions): Promise<number> {
  const { operator, client, namespace, instanceId } = options;
  const name = workflowTemplateOf(operator.name);
  const template = await client.get(WORKFLOW_TEMPLATES, { namespace, name });
  if (!template) return 0;
  const current = configMapsOf(template["spec"]);
  const untouchedSince = Date.now() - (options.untouchedMs ?? UNTOUCHED_MS);
  const stranded: KubernetesObject[] = [];
  const labelSelector = `${liveSelector(instanceId)},${OBJECT_UID_LABEL}`;
  await client.list(WORKFLOWS, { namespace, labelSelector }, (workflows) => {
    const ours = workflows.filter((workflow) => specOf(workflow).workflowTemplateRef?.name === name);
    stranded.push(
      ...ours.filter(
        (workflow) =>
          !isOver(workflow) && (isOutdated(workflow, current) || isPassedOver(workflow, untouchedSince)),
      ),
    );
  });
  const deleted = await Promise.all(
    stranded.map(({ metadata }) => client.delete(WORKFLOWS, metadata, { uid: metadata.uid })),
  );
  return deleted.filter((done) => done).length;
}

function isOutdated(workflow: KubernetesObject, current: ReadonlySet<string>): boolean {
  const status = beginningOf(workflow);
  if (hasBegun(status)) return false;
  return [...configMapsOf(status.storedWorkflowTemplateSpec)].some((name) => !current.has(name));
}

function isPassedOver(workflow: KubernetesObject, untouchedSince: number): boolean {
  const { phase = "" } = beginningOf(workflow);
  return phase === "" && Date.parse(workflow.metadata.creationTimestamp ?? "") < untouchedSince;
}

function beginningOf(workflow: KubernetesObject): Beginning {
  return (workflow["status"] ?? {}) as Beginning;
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
