import { resourceOf } from "../../argo/runTarget";
import { WORKFLOW_TEMPLATES, workflowTemplateOf } from "../../argo/workflows";
import type { Operator } from "../../definition/definition";
import { formatName, type KubernetesObject } from "../../kubernetes/objects";
import { programFingerprint } from "../withoutWatches/footprint";
import { Patience } from "../withoutWatches/patience";
import { withServedKind } from "../withoutWatches/servedKinds";
import { type EndedRuns, listEndedRuns } from "../workflows/endedRuns";
import { deleteRuns, type LiveRuns, objectOfRun } from "../workflows/liveRuns";
import { RunReporter } from "../workflows/runReporter";
import { reportSilentRuns } from "../workflows/silentRuns";
import { whyStuck } from "../workflows/stuckRuns";
import { lookAtObjects, type RunCandidate, urgent } from "./lookAtObjects";
import { type MendRunsOptions, mendRuns } from "./mendRuns";
import { type Submitted, submitRuns } from "./submitRuns";

/** What a resync works with. */
export interface ResyncOptions extends MendRunsOptions {
  /** The pod's name. */
  readonly instance: string;
  /**
   * For how long runs are submitted, in milliseconds. @default 240000, or three quarters of `resyncSeconds` if that is
   * less
   */
  readonly withinMs?: number;
  readonly signal?: AbortSignal;
}

/** What a resync did with the operator's objects. */
export interface ResyncResult extends Submitted {
  /** Objects that had a run already. */
  readonly running: number;
}

/**
 * The longest time for submitting, in milliseconds. It is less than the pod may take: RESYNC_SECONDS in
 * components/manifests/operator/workflows.ts.
 */
const WITHIN_MS = 240_000;
/**
 * The part of `resyncSeconds` after which the resync ends, before the next one is due. The Workflow controller skips a resync if
 * the one before has not ended.
 */
const SHARE_OF_PERIOD = 0.75;
/** The part of the time for submitting for which an API server is waited for that is away or busy. */
const SHARE_OF_PATIENCE = 1 / 8;
const LOOK_MS = 2_000;

/**
 * Submits a run for every object that needs one and has none in progress: see {@link lookAtObjects}. Before that, it deletes the
 * runs that will never begin, has the Workflow controller look at runs that it has forgotten, and reports on objects whose last
 * run failed without a report. Objects that get no turn within `withinMs` are left to the next resync: see {@link submitRuns}. At
 * the end it deletes the failed runs that a newer one of their object supersedes: see {@link EndedRuns}.
 *
 * An object whose run does not end by itself gets no other run, and its conditions say why: see {@link whyStuck}. Such runs take
 * no place from the runs of others.
 *
 * @throws ApiError, ApiUnreachableError if objects or runs cannot be listed
 */
export async function resyncOnce(given: ResyncOptions): Promise<ResyncResult> {
  const { client, namespace, lookMs = LOOK_MS } = given;
  const { withinMs = Math.min(WITHIN_MS, SHARE_OF_PERIOD * given.operator.resyncSeconds * 1000) } = given;
  const begin = performance.now();
  const patience = new Patience(withinMs * SHARE_OF_PATIENCE, given.signal);
  const operator = await patience.retried(() => withServedKind(given.operator, client));
  const options = { ...given, operator, lookMs };
  const tell = (what: string, error: Error) => options.onError?.(what, error);
  // Without the template, no run is known to be stranded, and a change of the program is not noticed.
  const template = await patience
    .retried(() => readTemplate(options))
    .catch((error: Error) => tell("the template of the runs", error));
  const program = programFingerprint(template?.["spec"]);
  const candidates = await lookAtObjects({
    operator,
    client,
    namespace,
    program,
    onError: tell,
    now: client.now(),
    patience,
  });
  const { runs, stranded } = await mendRuns(options, template ?? undefined, patience);
  const all = withObjectsOf(stranded, candidates, operator);
  const idle = all.filter((object) => !runs.has(object));
  const reporter = new RunReporter({ ...options, resource: resourceOf(operator.customResource) });
  await tellOfStuckRuns(all, runs, reporter, tell);
  // If these runs cannot be listed or reported, runs are submitted all the same.
  const { last, superseded, unarchived } = await listEndedRuns(options).catch((error: Error): EndedRuns => {
    tell("runs that have ended", error);
    return { last: new Map(), superseded: [], unarchived: 0 };
  });
  const reported = await reportSilentRuns(idle, { ...options, last, reporter }).catch((error: Error) =>
    tell("runs that failed", error),
  );
  // A run that failed without a word is made again.
  const needy = idle.map((object) =>
    object.need === undefined && reported?.has(object.uid) ? { ...object, need: "routine" as const } : object,
  );
  const submitted = await submitRuns(needy, runs, {
    ...options,
    last,
    begin,
    withinMs,
    lookMs,
    onError: tell,
  });
  if (unarchived > 0)
    options.onNotice?.(
      "failed runs before the last ones",
      `${unarchived} are deleted before they are in the archive, since too many wait for it`,
    );
  await deleteRuns(client, superseded).catch((error: Error) =>
    tell("failed runs before the last ones", error),
  );
  return { ...submitted, running: all.length - idle.length };
}

/**
 * These objects, and those whose stranded runs were deleted. Such an object needs a run, whatever the look at the objects said: it may
 * have been created or changed after that look.
 */
function withObjectsOf(
  stranded: readonly KubernetesObject[],
  candidates: readonly RunCandidate[],
  operator: Operator,
): RunCandidate[] {
  const all = new Map(candidates.map((object) => [object.uid, object]));
  for (const run of stranded) {
    const { name, uid } = objectOfRun(run, operator) ?? {};
    if (name === undefined || uid === undefined) continue;
    const known = all.get(uid);
    all.set(uid, known ? { ...known, need: "urgent" } : urgent({ ...name, uid }));
  }
  return [...all.values()];
}

function readTemplate({ operator, client, namespace }: ResyncOptions): Promise<KubernetesObject | undefined> {
  return client.get(WORKFLOW_TEMPLATES, { namespace, name: workflowTemplateOf(operator.name) });
}

/** Reports on each object that has a run which does not end by itself, and in the log. Never throws. */
async function tellOfStuckRuns(
  objects: readonly RunCandidate[],
  runs: LiveRuns,
  reporter: RunReporter,
  tell: (what: string, error: Error) => void,
): Promise<void> {
  for (const object of objects) {
    const run = runs.stuckOf(object);
    const failure = run && whyStuck(run, runs.now);
    if (!failure) continue;
    tell(formatName(object), failure);
    await reporter
      .report(object, run.metadata.name, failure)
      .catch((error: Error) => tell(formatName(object), error));
  }
}
