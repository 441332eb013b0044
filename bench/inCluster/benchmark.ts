import { setTimeout as sleep } from "node:timers/promises";
import { createComparison } from "../benchmark";
import type { Cluster } from "../cluster";
import { untilSettled } from "../equalWork";
import { type Figures, medianFigures } from "../figures";
import { measure } from "../measure";
import type { Progress } from "../peer";
import type { Work } from "../report";
import { inEmptyCluster } from "./emptyCluster";
import type { Form, FormName } from "./form";
import type { Objects } from "./objects";
import { type Observations, Watcher } from "./watcher";
import { type FormOptions, withForm } from "./withForm";

/** What {@link runInCluster} is told. */
export interface InClusterOptions extends FormOptions {
  readonly forms: readonly Form[];
  /** The work of a form. */
  readonly workOf: (form: Form) => Work;
}

/** What was measured of one form, over all rounds; of the last round what is no figure. */
export interface FormResult extends Figures, Observations {
  readonly name: FormName;
  readonly work: Work;
}

const PHASE_TIMEOUT_MS = 1_800_000;
/** Between two objects of a form whose runs are pods: until the one's pod has ended. */
const SLOW_REST_MS = 4_000;
const POLL_MS = 500;

/**
 * Gives every form the same work on a cluster, one form at a time: each is installed, measured and removed again.
 * @throws BenchmarkError where the cluster has an installation, or with the form's name and why it could not do its
 *   work; the signal's reason. The cluster is cleaned up before
 */
export function runInCluster(options: InClusterOptions): Promise<FormResult[]> {
  return inEmptyCluster(options, async (objects) => {
    const results: FormResult[] = [];
    const compareChildren = createComparison();
    for (const form of options.forms) {
      const work = options.workOf(form);
      const rounds: { figures: Figures; observations: Observations }[] = [];
      for (let round = 1; round <= work.rounds; round++) {
        const title = work.rounds > 1 ? `round ${round} of ${work.rounds}, ${form.name}` : form.name;
        const progress: Progress = (line) => options.progress(`${title}: ${line}`);
        const onChildren = (children: string) => form.isBare || compareChildren(form.name, children);
        rounds.push(await runForm(objects, form, work, { ...options, progress }, onChildren));
      }
      const last = rounds.at(-1);
      if (!last) continue;
      const figures = medianFigures(rounds.map((each) => each.figures));
      results.push({ name: form.name, work, ...figures, ...last.observations });
    }
    return results;
  });
}

async function runForm(
  objects: Objects,
  form: Form,
  work: Work,
  options: InClusterOptions,
  onChildren: (children: string) => unknown,
): Promise<{ figures: Figures; observations: Observations }> {
  const { progress, signal } = options;
  return withForm(objects, form, options, async (cluster) => {
    const watcher = new Watcher(objects, form, signal);
    const figures = await measure({
      cluster,
      running: { ready: Promise.resolve(), memoryMiB: () => watcher.memoryMiB() },
      work,
      progress,
      signal,
      observer: watcher,
      onChildren: (children) => void onChildren(children),
      settled: form.isBare ? untilDeployed : untilSettled,
      phaseTimeoutMs: PHASE_TIMEOUT_MS,
      restMs: form.isSlow ? SLOW_REST_MS : 0,
    });
    return { figures, observations: watcher.observations(work.burst) };
  });
}

/** Without an operator nobody says more than that the Deployments are there. */
async function untilDeployed(cluster: Cluster, count: number, timeoutMs: number, signal: AbortSignal) {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const { length } = await cluster.list("deployments");
    if (length >= count) return;
    if (Date.now() > deadline) throw new Error(`${length} of ${count} Deployments are there`);
    await sleep(POLL_MS, undefined, { signal });
  }
}
