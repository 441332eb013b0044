import { until } from "../../../cli/common/until";
import type { Objects } from "../../objects";
import { BenchmarkError, createComparison } from "../benchmark";
import type { Cluster } from "../cluster";
import { untilSettled } from "../equalWork";
import { type Figures, medianFigures } from "../figures";
import { measure } from "../measure";
import type { Progress } from "../peer";
import type { Work } from "../report";
import { inEmptyCluster } from "./emptyCluster";
import type { Form, FormName } from "./form";
import { type Observations, Watcher } from "./watcher";
import { type FormOptions, withForm } from "./withForm";

/** The options of {@link runInCluster}. */
export interface InClusterOptions extends FormOptions {
  readonly forms: readonly Form[];
  /** The work of a form. */
  readonly workOf: (form: Form) => Work;
}

/** The figures of one form over all rounds, and the observations of the last round. */
export interface FormResult extends Figures, Observations {
  readonly name: FormName;
  readonly work: Work;
}

const PHASE_TIMEOUT_MS = 1_800_000;
/** The pause between two objects of a form whose runs are pods, so that the first one's pod has ended. */
const SLOW_REST_MS = 4_000;
const POLL_MS = 500;

interface Round {
  readonly figures: Figures;
  readonly observations: Observations;
}

/** The results of all forms. */
export interface InClusterResults {
  readonly results: readonly FormResult[];
  /** A line for each form that could not do its work, and for an interruption. */
  readonly failures: readonly string[];
}

/**
 * Gives every form the same work on a cluster, one form at a time: each is installed, measured and removed again. If a form
 * cannot do its work, or if the benchmark is interrupted, the figures of the other forms are kept.
 *
 * @throws BenchmarkError where the cluster has an installation; the signal's reason where nothing was measured yet; Error where
 *   what was made cannot be removed
 */
export function runInCluster(options: InClusterOptions): Promise<InClusterResults> {
  return inEmptyCluster(options, async (objects) => {
    const results: FormResult[] = [];
    const failures: string[] = [];
    const compareChildren = createComparison();
    for (const form of options.forms) {
      const onChildren = (children: string) => {
        if (!form.isBare) compareChildren(form.name, children);
      };
      try {
        results.push(await runRounds(objects, form, options, onChildren));
      } catch (error) {
        if (error === options.signal.reason && results.length > 0) {
          failures.push(`interrupted: ${form.name} and the forms after it were not measured`);
          break;
        }
        if (!(error instanceof BenchmarkError)) throw error;
        options.progress(error.message);
        failures.push(error.message);
      }
    }
    return { results, failures };
  });
}

async function runRounds(
  objects: Objects,
  form: Form,
  options: InClusterOptions,
  onChildren: (children: string) => void,
): Promise<FormResult> {
  const { name } = form;
  const work = options.workOf(form);
  const rounds: Round[] = [];
  for (let round = 1; round <= work.rounds; round++) {
    const title = work.rounds > 1 ? `round ${round} of ${work.rounds}, ${name}` : name;
    const progress: Progress = (line) => options.progress(`${title}: ${line}`);
    rounds.push(await runForm(objects, form, work, { ...options, progress }, onChildren));
  }
  const last = rounds.at(-1);
  if (!last) throw new RangeError("no rounds");
  const figures = medianFigures(rounds.map((each) => each.figures));
  return { name, work, ...figures, ...last.observations };
}

async function runForm(
  objects: Objects,
  form: Form,
  work: Work,
  options: InClusterOptions,
  onChildren: (children: string) => void,
): Promise<Round> {
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
      onChildren,
      settled: form.isBare ? untilDeployed : untilSettled,
      phaseTimeoutMs: PHASE_TIMEOUT_MS,
      restMs: form.isSlow ? SLOW_REST_MS : 0,
    });
    return { figures, observations: watcher.observations(work.burst) };
  });
}

/** Without an operator, only the existence of the Deployments can be checked. */
async function untilDeployed(cluster: Cluster, count: number, timeoutMs: number, signal: AbortSignal) {
  const areThere = async () => (await cluster.list("deployments")).length >= count;
  const what = `${count} Deployments exist`;
  await until(areThere, { what, deadlineMs: timeoutMs, pollMs: POLL_MS, signal });
}
