import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { runName } from "../../argo/runName";
import { RUN_PARAMETERS } from "../../argo/runParameters";
import { instanceLabel, WORKFLOWS, workflowTemplateOf } from "../../argo/workflows";
import { formatName, type Manifest } from "../../kubernetes/objects";
import { identityOf, OBJECT_UID_LABEL, OPERATOR_LABEL } from "../../names";
import { compareTexts } from "../../text/compareTexts";
import { predecessorAnnotations } from "../withoutWatches/predecessors";
import { createdAt, type EndedRuns, hasFailed } from "../workflows/endedRuns";
import { type LiveRuns, type LiveRunsOptions, listLiveRuns } from "../workflows/liveRuns";
import type { RunCandidate } from "./lookAtObjects";

/** How {@link submitRuns} submits. */
export interface SubmitRunsOptions extends LiveRunsOptions, Pick<EndedRuns, "last"> {
  /** When the resync began, on the monotonic clock, in milliseconds. */
  readonly begin: number;
  /** For how long after that runs are submitted, in milliseconds. */
  readonly withinMs: number;
  /** How often to look whether runs have ended, in milliseconds. */
  readonly lookMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Called for each run that could not be submitted. */
  readonly onError: (what: string, error: Error) => void;
}

/** How many runs were submitted. */
export interface Submitted {
  readonly submitted: number;
  /** Objects whose turn did not come. */
  readonly left: number;
  /** Runs that could not be submitted. */
  readonly failed: number;
}

/**
 * The longest time between the beginnings of two runs that are not urgent, in milliseconds. It is shorter if there are
 * many.
 */
const LONGEST_GAP_MS = 5_000;

/**
 * Submits a run for each of these objects that needs one.
 *
 * Urgent runs come first and at once. The others are spread over `withinMs`, so that an object that is created meanwhile need not
 * wait for them. The object whose last run began first comes first. So no object is always the last, even if there is never room
 * for all.
 *
 * At most `concurrency` runs of the operator are in progress at once, no matter who submitted them, so that thousands of objects
 * make no flood of pods. Runs that are not urgent take half of these places.
 *
 * @param objects those that have no run in progress
 * @param inProgress the runs that are in progress
 * @throws ApiError, ApiUnreachableError if the runs in progress cannot be listed again
 */
export async function submitRuns(
  objects: readonly RunCandidate[],
  inProgress: LiveRuns,
  options: SubmitRunsOptions,
): Promise<Submitted> {
  const { operator, client, last, begin, withinMs, lookMs, signal, onError } = options;
  const urgent = shuffled(objects.filter(({ need }) => need === "urgent"));
  const routine = oldestRunFirst(shuffled(objects.filter(({ need }) => need === "routine")), last);
  const most = routine.length;
  const gapMs = Math.min(LONGEST_GAP_MS, withinMs / Math.max(1, most));
  let runs = inProgress;
  let [submitted, failed] = [0, 0];
  const submit = async (object: RunCandidate) => {
    // An event has submitted a run meanwhile.
    if (runs.has(object)) return;
    try {
      await client.create(WORKFLOWS, runOf(object, options));
      submitted++;
    } catch (error) {
      failed++;
      onError(formatName(object), error as Error);
    }
  };
  while (urgent.length + routine.length > 0 && !signal?.aborted) {
    const first = urgent.splice(0, Math.max(0, operator.concurrency - runs.live));
    for (const object of first) await submit(object);
    const room = Math.max(1, Math.floor(operator.concurrency / 2)) - runs.live - first.length;
    const inTime = 1 + Math.floor((performance.now() - begin) / gapMs) - (most - routine.length);
    for (const object of routine.splice(0, Math.max(0, Math.min(room, inTime)))) await submit(object);
    const restMs = urgent.length > 0 ? lookMs : Math.max(lookMs, gapMs);
    if (urgent.length + routine.length === 0 || performance.now() + restMs > begin + withinMs) break;
    await pause(restMs, undefined, { signal }).catch(() => {});
    runs = await listLiveRuns(options);
  }
  return { submitted, left: urgent.length + routine.length, failed };
}

/**
 * The objects whose last run began first come first, and before them those of which no run is known. Successful runs are deleted
 * sooner than failed ones. So a failed run that is older than all successful ones does not count: it would put its object behind
 * others of which only the runs are gone.
 */
function oldestRunFirst(objects: RunCandidate[], last: EndedRuns["last"]): RunCandidate[] {
  // RFC 3339 in UTC sorts as text.
  const [oldestSuccess] = [...last.values()]
    .filter((run) => !hasFailed(run))
    .map(createdAt)
    .sort();
  const ranAt = ({ uid }: RunCandidate) => {
    const run = last.get(uid);
    const isKnown = run && oldestSuccess !== undefined && createdAt(run) >= oldestSuccess;
    return isKnown ? createdAt(run) : "";
  };
  return objects.sort((a, b) => compareTexts(ranAt(a), ranAt(b)));
}

function shuffled(objects: readonly RunCandidate[]): RunCandidate[] {
  const placed = objects.map((object) => ({ object, at: Math.random() }));
  return placed.sort((a, b) => a.at - b.at).map(({ object }) => object);
}

function runOf(object: RunCandidate, { operator, namespace, instanceId }: LiveRunsOptions): Manifest {
  const { predecessorUids = [] } = object;
  return {
    apiVersion: WORKFLOWS.apiVersion,
    kind: WORKFLOWS.kind,
    metadata: {
      name: runName(operator.name, object, [randomUUID()]),
      namespace,
      labels: {
        ...instanceLabel(instanceId),
        [OPERATOR_LABEL]: identityOf(operator),
        [OBJECT_UID_LABEL]: object.uid,
      },
      annotations: predecessorAnnotations(predecessorUids),
    },
    spec: {
      workflowTemplateRef: { name: workflowTemplateOf(operator.name) },
      arguments: {
        parameters: [
          { name: RUN_PARAMETERS.namespace, value: object.namespace ?? "" },
          { name: RUN_PARAMETERS.name, value: object.name },
          { name: RUN_PARAMETERS.uid, value: object.uid },
        ],
      },
    },
  };
}
