import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { runName } from "../../argo/runName";
import { RUN_PARAMETERS } from "../../argo/runParameters";
import { resourceOf } from "../../argo/runTarget";
import { instanceLabel, WORKFLOW_TEMPLATES, WORKFLOWS, workflowTemplateOf } from "../../argo/workflows";
import { formatName, type KubernetesObject, type Manifest } from "../../kubernetes/objects";
import { identityOf, OBJECT_UID_LABEL, OPERATOR_LABEL } from "../../names";
import { programFingerprint } from "../withoutWatches/footprint";
import { formerAnnotations } from "../withoutWatches/formers";
import { withServedKind } from "../withoutWatches/watchedObjects";
import { type QuietRun, quietRun, wakeForgottenRuns } from "../workflows/forgottenRuns";
import { deleteRuns, eachLiveRun, LiveRuns, type LiveRunsOptions } from "../workflows/liveRuns";
import { RunReporter } from "../workflows/runReporter";
import { reportSilentRuns } from "../workflows/silentRuns";
import { strandedRuns } from "../workflows/strandedRuns";
import { whyStuck } from "../workflows/stuckRuns";
import { type Looked, lookAtObjects } from "./lookAtObjects";

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
export interface ResyncResult {
  /** Runs submitted. */
  readonly submitted: number;
  /** Objects that had a run already. */
  readonly running: number;
  /** Objects whose turn did not come. */
  readonly left: number;
  /** Runs that could not be submitted. */
  readonly failed: number;
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
const LOOK_MS = 2_000;
/**
 * The longest time between the beginnings of two runs that are not urgent, in milliseconds. It is shorter if there are
 * many.
 */
const LONGEST_GAP_MS = 5_000;

/**
 * Submits a run for every object that needs one and has none in progress: see {@link lookAtObjects}. Before that, it deletes the
 * runs that will never begin, has the Workflow controller look at runs that it has forgotten, and reports on objects whose last
 * run failed without a report.
 *
 * Urgent runs come first and at once. The others are spread over `withinMs` in random order. So no object is always the last, and
 * an object that is created meanwhile need not wait for them.
 *
 * At most `concurrency` runs of the operator are in progress at once, no matter who submitted them, so that thousands of objects
 * make no flood of pods. Runs that are not urgent take half of these places. Objects that get no turn within `withinMs` are left
 * to the next resync.
 *
 * An object whose run does not end by itself gets no other run, and its conditions say why: see {@link whyStuck}. Such runs take
 * no place from the runs of others.
 *
 * @throws ApiError, ApiUnreachableError if objects or runs cannot be listed
 */
export async function resyncOnce(given: ResyncOptions): Promise<ResyncResult> {
  const { client, namespace, lookMs = LOOK_MS, signal } = given;
  const operator = await withServedKind(given.operator, client);
  const options = { ...given, operator };
  const { withinMs = Math.min(WITHIN_MS, SHARE_OF_PERIOD * operator.resyncSeconds * 1000) } = options;
  const begin = performance.now();
  const tell = (what: string, error: Error) => options.onError?.(what, error);
  // Without the template, no run is known to be stranded, and a change of the program is not noticed.
  const template = await readTemplate(options).catch((error: Error) =>
    tell("the template of the runs", error),
  );
  const program = programFingerprint(template?.["spec"]);
  const looked = await lookAtObjects({ operator, client, namespace, program, onError: tell });
  let runs = await withoutStranded(options, template ?? undefined);
  const idle = looked.filter((object) => !runs.has(object));
  const reporter = new RunReporter({ ...options, resource: resourceOf(operator.customResource) });
  // If one of these fails, runs are submitted all the same.
  await tellOfStuckRuns(looked, runs, reporter, tell).catch((error: Error) =>
    tell("runs that do not end", error),
  );
  const reported = await reportSilentRuns(idle, { ...options, reporter }).catch((error: Error) =>
    tell("runs that failed", error),
  );
  const urgent = shuffled(idle.filter(({ need }) => need === "urgent"));
  const routine = shuffled(
    idle.filter(({ need, uid }) => need === "routine" || (need === undefined && reported?.has(uid))),
  );
  const gapMs = Math.min(LONGEST_GAP_MS, withinMs / Math.max(1, routine.length));
  const most = routine.length;
  const running = looked.length - idle.length;
  let [submitted, failed] = [0, 0];
  const submit = async (object: Looked) => {
    // An event has submitted a run meanwhile.
    if (runs.has(object)) return;
    try {
      await client.create(WORKFLOWS, runOf(object, options));
      submitted++;
    } catch (error) {
      failed++;
      tell(formatName(object), error as Error);
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
    await pause(restMs, undefined, { ...(signal && { signal }) }).catch(() => {});
    runs = await liveRuns(options);
  }
  return { submitted, running, left: urgent.length + routine.length, failed };
}

function readTemplate({ operator, client, namespace }: ResyncOptions): Promise<KubernetesObject | undefined> {
  return client.get(WORKFLOW_TEMPLATES, { namespace, name: workflowTemplateOf(operator.name) });
}

function shuffled(objects: readonly Looked[]): Looked[] {
  const placed = objects.map((object) => ({ object, at: Math.random() }));
  return placed.sort((a, b) => a.at - b.at).map(({ object }) => object);
}

/**
 * The same as {@link liveRuns}, after the runs that will never begin or end are deleted, and the Workflow controller is reminded of
 * those that it has forgotten.
 */
async function withoutStranded(
  options: ResyncOptions,
  template: KubernetesObject | undefined,
): Promise<LiveRuns> {
  const { client, lookMs = LOOK_MS, quietMs } = options;
  const isStranded = template && strandedRuns(template, options.untouchedMs);
  const runs = new LiveRuns();
  const stranded: KubernetesObject[] = [];
  const quiet: QuietRun[] = [];
  await eachLiveRun(options, (run) => {
    if (isStranded?.(run)) return void stranded.push(run);
    runs.add(run);
    const asQuiet = quietRun(run, quietMs);
    if (asQuiet) quiet.push(asQuiet);
  });
  try {
    for (const run of await deleteRuns(client, stranded)) runs.add(run);
  } catch (error) {
    options.onError?.("stranded runs", error as Error);
    return liveRuns(options);
  }
  const hasActed = await wakeForgottenRuns(quiet, options).catch(
    (error: Error) => void options.onError?.("forgotten runs", error),
  );
  if (!hasActed) return runs;
  // The Workflow controller ends them now, and their objects may need a run.
  await pause(lookMs);
  return liveRuns(options);
}

async function liveRuns(options: ResyncOptions): Promise<LiveRuns> {
  const runs = new LiveRuns();
  await eachLiveRun(options, (run) => runs.add(run));
  return runs;
}

/** Reports on each object that has a run which does not end by itself, and in the log. */
async function tellOfStuckRuns(
  objects: readonly Looked[],
  runs: LiveRuns,
  reporter: RunReporter,
  tell: (what: string, error: Error) => void,
): Promise<void> {
  for (const object of objects) {
    const run = runs.stuckOf(object);
    const failure = run && whyStuck(run);
    if (!failure) continue;
    tell(formatName(object), failure);
    await reporter.report(object, run.metadata.name, failure);
  }
}

function runOf(object: Looked, { operator, namespace, instanceId }: ResyncOptions): Manifest {
  const { formerUids = [] } = object;
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
      annotations: formerAnnotations(formerUids),
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
