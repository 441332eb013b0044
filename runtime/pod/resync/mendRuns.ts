import { setTimeout as pause } from "node:timers/promises";
import type { KubernetesObject } from "../../kubernetes/objects";
import type { Patience } from "../withoutWatches/patience";
import { type QuietRun, quietRun, wakeForgottenRuns } from "../workflows/forgottenRuns";
import { deleteRuns, eachLiveRun, LiveRuns, type LiveRunsOptions, listLiveRuns } from "../workflows/liveRuns";
import { strandedRuns } from "../workflows/strandedRuns";

/** What {@link mendRuns} works with. */
export interface MendRunsOptions extends LiveRunsOptions {
  /** Called for each run that could not be mended or submitted, and for each list that failed. The others go on. */
  readonly onError?: (what: string, error: Error) => void;
  /**
   * Called for each run that the Workflow controller has forgotten, which the resync mends by itself, and if runs are deleted before
   * they are archived.
   */
  readonly onNotice?: (what: string, message: string) => void;
  /** See {@link strandedRuns}, in milliseconds. @default 120000 */
  readonly untouchedMs?: number;
  /** See {@link quietRun}, in milliseconds. @default 120000 */
  readonly quietMs?: number;
  /** How often the resync looks whether runs have ended, in milliseconds. @default 2000 */
  readonly lookMs?: number;
}

/** The runs after {@link mendRuns}. */
export interface MendedRuns {
  /** Those that have not ended. */
  readonly runs: LiveRuns;
  /** Those that would never have begun or ended. They are deleted, unless they are in {@link runs} too. */
  readonly stranded: readonly KubernetesObject[];
}

/**
 * Deletes the runs that will never begin or end, and reminds the Workflow controller of those that it has forgotten.
 * @param template the WorkflowTemplate of the runs. Without it, no run is known to be stranded
 * @throws ApiError, ApiUnreachableError if the runs cannot be listed
 */
export async function mendRuns(
  options: MendRunsOptions & { readonly lookMs: number },
  template: KubernetesObject | undefined,
  patience: Patience,
): Promise<MendedRuns> {
  const { client, lookMs, onError } = options;
  const { runs, stranded, quiet } = await patience.retried(() => lookAtRuns(options, template));
  const spared = await deleteRuns(client, stranded).catch(
    (error: Error) => void onError?.("stranded runs", error),
  );
  for (const run of spared ?? []) runs.add(run);
  const hasActed = await wakeForgottenRuns(quiet, options).catch(
    (error: Error) => void onError?.("forgotten runs", error),
  );
  if (spared && !hasActed) return { runs, stranded };
  // The Workflow controller ends them now, and the API server deletes the others: their objects may need a run.
  await pause(lookMs);
  return { runs: await patience.retried(() => listLiveRuns(options)), stranded };
}

async function lookAtRuns(
  options: MendRunsOptions,
  template: KubernetesObject | undefined,
): Promise<MendedRuns & { readonly quiet: readonly QuietRun[] }> {
  const now = options.client.now();
  const isStranded = template && strandedRuns(template, now, options.untouchedMs);
  const runs = new LiveRuns(now);
  const stranded: KubernetesObject[] = [];
  const quiet: QuietRun[] = [];
  await eachLiveRun(options, (run) => {
    if (isStranded?.(run)) return void stranded.push(run);
    runs.add(run);
    const asQuiet = quietRun(run, now, options.quietMs);
    if (asQuiet) quiet.push(asQuiet);
  });
  return { runs, stranded, quiet };
}
