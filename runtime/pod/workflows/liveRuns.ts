import { RUN_PARAMETERS } from "../../argo/runParameters";
import { type RunTarget, runTargetOf } from "../../argo/runTarget";
import {
  hasEnded,
  liveSelector,
  parameterOf,
  specOf,
  WORKFLOWS,
  workflowTemplateOf,
} from "../../argo/workflows";
import type { Operator } from "../../definition/definition";
import type { KubernetesClient } from "../../kubernetes/client";
import { isApiError } from "../../kubernetes/errors";
import { type KubernetesObject, keyOf, type ObjectName } from "../../kubernetes/objects";
import { OBJECT_UID_LABEL } from "../../names";
import { whyStuck } from "./stuckRuns";

/** Which runs are looked at. */
export interface LiveRunsOptions {
  readonly operator: Operator;
  readonly client: KubernetesClient;
  /** The namespace of the operator's Workflows. */
  readonly namespace: string;
  /** The Workflow controller's instance id; "" for none. */
  readonly instanceId: string;
}

/**
 * Gives every Workflow of the operator's runs that has not ended, one after another: there may be thousands. A run whose end
 * somebody has asked for is among them, since it may keep its lock. Some of the runs are no use any more:
 *
 * | file | runs that | what is done |
 * | --- | --- | --- |
 * | strandedRuns.ts | will never begin, or should have ended long ago | the resync deletes them and submits others |
 * | stuckRuns.ts | hold their object's lock until somebody acts | the resync reports them on the object |
 * | needlessRuns.ts | wait for the same object as a newer one does | the run in progress deletes them |
 * | silentRuns.ts | have failed before they could report | the resync reports them on the object |
 * | endedRuns.ts | have failed before another failed run of the object | the resync deletes them |
 * | forgottenRuns.ts | have not ended although their pods have | the resync reminds the Workflow controller of them, or deletes them |
 *
 * @throws ApiError, ApiUnreachableError
 */
export async function eachLiveRun(
  { operator, client, namespace, instanceId }: LiveRunsOptions,
  look: (run: KubernetesObject) => void,
): Promise<void> {
  await client.list(WORKFLOWS, { namespace, labelSelector: liveSelector(instanceId) }, (workflows) => {
    for (const workflow of workflows) if (isRunOf(workflow, operator) && !hasEnded(workflow)) look(workflow);
  });
}

/** Whether a Workflow is a run of the operator. Another operator in the namespace may watch the same objects. */
export function isRunOf(workflow: KubernetesObject, operator: Operator): boolean {
  return specOf(workflow).workflowTemplateRef?.name === workflowTemplateOf(operator.name);
}

/**
 * Whether another run of the same object does what this one would: the Sensor or a resync submitted it, which write the object's uid
 * as a label. A Workflow that somebody submits by hand has no such label. If somebody resubmits a run, Argo copies its labels, so a
 * run that starts a schedule counts as submitted by hand whatever its labels are.
 */
export function isReplaceable(run: KubernetesObject): boolean {
  return (
    run.metadata.labels?.[OBJECT_UID_LABEL] !== undefined && parameterOf(run, RUN_PARAMETERS.schedule) === ""
  );
}

/** The object that a run is about. Undefined if it is only tried on an example, or if its parameters make no sense. */
export function objectOfRun(
  run: KubernetesObject,
  operator: Operator,
): Extract<RunTarget, { kind: "object" }> | undefined {
  try {
    // The run itself finds out whether the operator handles the object's namespace.
    const target = runTargetOf(run, { ...operator, namespaces: "all" });
    return target.kind === "object" ? target : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The objects of an operator's runs that have not ended. Each object has one lock, so at most one run of each is in
 * progress, and all others of the object wait for that one.
 */
export class LiveRuns {
  private readonly objects = new Set<string>();
  private readonly stuck = new Map<string, KubernetesObject>();

  /** @param now when the runs were listed, by the API server's clock, in milliseconds since 1970 */
  constructor(readonly now: number) {}

  add(run: KubernetesObject): void {
    const object = objectOf(run);
    this.objects.add(object);
    if (whyStuck(run, this.now)) this.stuck.set(object, run);
  }

  /** How many objects have a run, and no run that does not end by itself. */
  get live(): number {
    return this.objects.size - this.stuck.size;
  }

  /** Whether the object has a run. */
  has(object: ObjectName): boolean {
    return this.objects.has(keyOf(object));
  }

  /** The run of the object that does not end by itself. Undefined if there is none. */
  stuckOf(object: ObjectName): KubernetesObject | undefined {
    return this.stuck.get(keyOf(object));
  }
}

/**
 * The runs that have not ended.
 * @throws ApiError, ApiUnreachableError
 */
export async function listLiveRuns(options: LiveRunsOptions): Promise<LiveRuns> {
  const runs = new LiveRuns(options.client.now());
  await eachLiveRun(options, (run) => runs.add(run));
  return runs;
}

/** The object that a run is about, as a key. */
function objectOf(run: KubernetesObject): string {
  const name = parameterOf(run, RUN_PARAMETERS.name);
  const namespace = parameterOf(run, RUN_PARAMETERS.namespace) || undefined;
  return keyOf({ namespace, name });
}

/** One version of a Workflow. */
export interface Version {
  readonly metadata: ObjectName & { readonly uid: string; readonly resourceVersion: string };
}

/** The version of a Workflow that was seen. There may be thousands, so no more of them is kept. */
export function versionOf({ metadata }: KubernetesObject): Version {
  const { namespace, name, uid, resourceVersion } = metadata;
  return { metadata: { namespace, name, uid, resourceVersion } };
}

/**
 * Deletes these Workflows in exactly the versions that were seen. A Workflow that has begun since then is spared, since its pod
 * may be at work.
 * @returns those that are spared
 * @throws ApiError, ApiUnreachableError
 */
export async function deleteRuns<Run extends Version>(
  client: KubernetesClient,
  runs: readonly Run[],
): Promise<Run[]> {
  const spared: Run[] = [];
  const remove = async (run: Run) => {
    const { uid, resourceVersion } = run.metadata;
    try {
      await client.deleteVersion(WORKFLOWS, run.metadata, { uid, resourceVersion });
    } catch (error) {
      if (!isApiError(error, 409)) throw error;
      spared.push(run);
    }
  };
  await Promise.all(runs.map(remove));
  return spared;
}
