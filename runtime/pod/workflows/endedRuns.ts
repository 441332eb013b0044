import { isFailure, WORKFLOW_LABELS, WORKFLOWS } from "../../argo/workflows";
import type { Operator } from "../../definition/definition";
import type { KubernetesClient } from "../../kubernetes/client";
import type { KubernetesObject } from "../../kubernetes/objects";
import { identityOf, OBJECT_UID_LABEL, OPERATOR_LABEL } from "../../names";

/** Which runs {@link listEndedRuns} lists. */
export interface EndedRunsOptions {
  readonly operator: Operator;
  readonly client: KubernetesClient;
  /** The namespace of the operator's Workflows. */
  readonly namespace: string;
}

/**
 * The runs of an operator that have ended and have the label of their object, as those that a resync submitted, and runs that
 * somebody made from these again. Only their metadata is known.
 */
export interface EndedRuns {
  /** The newest run of each object, by the object's uid. */
  readonly last: ReadonlyMap<string, KubernetesObject>;
  /**
   * Failed runs of objects that have a newer failed run, as many as one resync may delete. An object that always fails gets a run
   * from each resync, and the Workflow and the pod of each would stay for a day.
   */
  readonly superseded: readonly KubernetesObject[];
}

/** How many a resync deletes at most, since its time is limited. If there are more, the next resync goes on. */
const MOST_SUPERSEDED = 2_000;

/** @throws ApiError, ApiUnreachableError */
export async function listEndedRuns({ client, namespace, operator }: EndedRunsOptions): Promise<EndedRuns> {
  const labelSelector = `${OPERATOR_LABEL}=${identityOf(operator)},${WORKFLOW_LABELS.completed}=true,${OBJECT_UID_LABEL}`;
  const last = new Map<string, KubernetesObject>();
  const lastFailed = new Map<string, KubernetesObject>();
  const superseded: KubernetesObject[] = [];
  await client.list(WORKFLOWS, { namespace, labelSelector, metadataOnly: true }, (runs) => {
    for (const run of runs) {
      replaceOlder(last, run);
      const older = hasFailed(run) ? replaceOlder(lastFailed, run) : undefined;
      if (older && !awaitsArchive(older) && superseded.length < MOST_SUPERSEDED) superseded.push(older);
    }
  });
  return { last, superseded };
}

/** Whether a run that has ended failed. */
export function hasFailed({ metadata }: KubernetesObject): boolean {
  return isFailure(metadata.labels?.[WORKFLOW_LABELS.phase]);
}

/** When a run was created, as RFC 3339. */
export function createdAt({ metadata }: KubernetesObject): string {
  return metadata.creationTimestamp ?? "";
}

/** Keeps the newest run of each object. @returns the older one of two runs of an object */
function replaceOlder(newest: Map<string, KubernetesObject>, run: KubernetesObject) {
  const uid = run.metadata.labels?.[OBJECT_UID_LABEL] ?? "";
  const known = newest.get(uid);
  // RFC 3339 in UTC sorts as text.
  if (known && createdAt(run) <= createdAt(known)) return run;
  newest.set(uid, run);
  return known;
}

function awaitsArchive({ metadata }: KubernetesObject): boolean {
  return metadata.labels?.[WORKFLOW_LABELS.archiving] === "Pending";
}
