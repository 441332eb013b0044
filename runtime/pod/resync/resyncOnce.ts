import { setTimeout as pause } from "node:timers/promises";
import { resourceOf } from "../../argo/runTarget";
import { WORKFLOW_TEMPLATES, workflowTemplateOf } from "../../argo/workflows";
import { formatName, type KubernetesObject } from "../../kubernetes/objects";
import { programFingerprint } from "../withoutWatches/footprint";
import { Patience } from "../withoutWatches/patience";
import { withServedKind } from "../withoutWatches/servedKinds";
import { type QuietRun, quietRun, wakeForgottenRuns } from "../workflows/forgottenRuns";
import { deleteRuns, eachLiveRun, LiveRuns, type LiveRunsOptions, listLiveRuns } from "../workflows/liveRuns";
import { RunReporter } from "../workflows/runReporter";
import { reportSilentRuns } from "../workflows/silentRuns";
import { strandedRuns } from "../workflows/strandedRuns";
import { whyStuck } from "../workflows/stuckRuns";
import { lookAtObjects, type RunCandidate } from "./lookAtObjects";
import { type Submitted, submitRuns } from "./submitRuns";

/** What a resync works with. */
export interface ResyncOptions extends LiveRunsOptions {
  /** The pod's name. */
  readonly instance: string;
  /** Called for each run that could not be submitted, and for each list that failed. All other runs are still submitted. */
  readonly onError?: (what: string, error: Error) => void;
  /** Called for each run that the Workflow controller has forgotten. The resync mends that by itself. */
  readonly onNotice?: (what: string, message: string) => void;
  /**
   * For how long runs are submitted, in milliseconds. @default 240000, or three quarters of `resyncSeconds` if that is
   * less
   */
  readonly withinMs?: number;
  /** How often the resync looks whether runs have ended, in milliseconds. @default 2000 */
  readonly lookMs?: number;
  /** See {@link strandedRuns}, in milliseconds. @default 120000 */
  readonly untouchedMs?: number;
  /** See {@link quietRun}, in milliseconds. @default 120000 */
  readonly quietMs?: number;
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
 * run failed without a report. Objects that get no turn within `withinMs` are left to the next resync: see {@link submitRuns}.
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
  const options = { ...given, operator };
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
  const runs = await patience.retried(() => withoutStranded(options, template ?? undefined));
  const idle = candidates.filter((object) => !runs.has(object));
  const reporter = new RunReporter({ ...options, resource: resourceOf(operator.customResource) });
  await tellOfStuckRuns(candidates, runs, reporter, tell);
  // If this fails, runs are submitted all the same.
  const reported = await reportSilentRuns(idle, { ...options, reporter }).catch((error: Error) =>
    tell("runs that failed", error),
  );
  // A run that failed without a word is made again.
  const needy = idle.map((object) =>
    object.need === undefined && reported?.has(object.uid) ? { ...object, need: "routine" as const } : object,
  );
  const submitted = await submitRuns(needy, runs, { ...options, begin, withinMs, lookMs, onError: tell });
  return { ...submitted, running: candidates.length - idle.length };
}

function readTemplate({ operator, client, namespace }: ResyncOptions): Promise<KubernetesObject | undefined> {
  return client.get(WORKFLOW_TEMPLATES, { namespace, name: workflowTemplateOf(operator.name) });
}

/**
 * The same as {@link listLiveRuns}, after the runs that will never begin or end are deleted, and the Workflow controller is reminded
 * of those that it has forgotten.
 */
async function withoutStranded(
  options: ResyncOptions,
  template: KubernetesObject | undefined,
): Promise<LiveRuns> {
  const { client, lookMs = LOOK_MS, quietMs } = options;
  const now = client.now();
  const isStranded = template && strandedRuns(template, now, options.untouchedMs);
  const runs = new LiveRuns(now);
  const stranded: KubernetesObject[] = [];
  const quiet: QuietRun[] = [];
  await eachLiveRun(options, (run) => {
    if (isStranded?.(run)) return void stranded.push(run);
    runs.add(run);
    const asQuiet = quietRun(run, now, quietMs);
    if (asQuiet) quiet.push(asQuiet);
  });
  const areGone = await deleteRuns(client, stranded).then(
    (spared) => {
      for (const run of spared) runs.add(run);
      return true;
    },
    (error: Error) => {
      options.onError?.("stranded runs", error);
      return false;
    },
  );
  const hasActed = await wakeForgottenRuns(quiet, options).catch(
    (error: Error) => void options.onError?.("forgotten runs", error),
  );
  if (areGone && !hasActed) return runs;
  // The Workflow controller ends them now, and the API server deletes the others: their objects may need a run.
  await pause(lookMs);
  return listLiveRuns(options);
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
