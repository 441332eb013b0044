import { isFailure, WORKFLOW_LABELS, WORKFLOWS } from "../../argo/workflows";
import type { Operator } from "../../definition/definition";
import type { KubernetesClient } from "../../kubernetes/client";
import type { KubernetesObject } from "../../kubernetes/objects";
import { identityOf, OBJECT_UID_LABEL, OPERATOR_LABEL } from "../../names";
import { compareTexts } from "../../text/compareTexts";
import { type Version, versionOf } from "./liveRuns";

/** Which runs {@link listEndedRuns} lists. */
export interface EndedRunsOptions {
  readonly operator: Operator;
  readonly client: KubernetesClient;
  /** The namespace of the operator's Workflows. */
  readonly namespace: string;
  /** How many of the failed runs that are not the last ones of their objects may wait for the archive. @default 5000 */
  readonly mostUnarchived?: number;
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
   * from each resync, and the Workflow and the pod of each would stay for a day. Those that wait for the archive are spared, unless
   * too many wait: then the oldest go.
   */
  readonly superseded: readonly Version[];
  /** How many of these wait for the archive. */
  readonly unarchived: number;
}

/** How many a resync deletes at most, since its time is limited. If there are more, the next resync goes on. */
const MOST_SUPERSEDED = 2_000;
/**
 * Argo deletes no Workflow that waits for the archive, and its database may be away for days. Each Workflow is in the memory of the
 * Workflow controller, and in etcd.
 */
const MOST_UNARCHIVED = 5_000;

/** @throws ApiError, ApiUnreachableError */
export async function listEndedRuns(options: EndedRunsOptions): Promise<EndedRuns> {
  const { client, namespace, operator, mostUnarchived = MOST_UNARCHIVED } = options;
  const labelSelector = `${OPERATOR_LABEL}=${identityOf(operator)},${WORKFLOW_LABELS.completed}=true,${OBJECT_UID_LABEL}`;
  const last = new Map<string, KubernetesObject>();
  const lastFailed = new Map<string, KubernetesObject>();
  const superseded: Version[] = [];
  const waiting: EndedVersion[] = [];
  await client.list(WORKFLOWS, { namespace, labelSelector, metadataOnly: true }, (runs) => {
    for (const run of runs) {
      replaceOlder(last, run);
      const older = hasFailed(run) ? replaceOlder(lastFailed, run) : undefined;
      if (!older) continue;
      if (awaitsArchive(older)) waiting.push({ ...versionOf(older), createdAt: createdAt(older) });
      else if (superseded.length < MOST_SUPERSEDED) superseded.push(versionOf(older));
    }
  });
  const tooMany = Math.max(0, waiting.length - mostUnarchived);
  const room = MOST_SUPERSEDED - superseded.length;
  const unarchived = waiting
    .sort((one, other) => compareTexts(one.createdAt, other.createdAt))
    .slice(0, Math.min(tooMany, room));
  return { last, superseded: [...superseded, ...unarchived], unarchived: unarchived.length };
}

/** One version of a run that has ended. */
interface EndedVersion extends Version {
  /** See {@link createdAt}. */
  readonly createdAt: string;
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
