import { setMaxListeners } from "node:events";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { ClusterConnection } from "../../runtime/kubernetes/connection";
import type { Manifest } from "../../runtime/kubernetes/objects";
import { BenchmarkError, createComparison } from "../benchmark";
import { Cluster, NAMESPACE } from "../cluster";
import { untilSettled } from "../equalWork";
import { type Figures, medianFigures } from "../figures";
import { type Measurement, measure } from "../measure";
import type { Progress } from "../peer";
import type { Work } from "../report";
import { buildFlowSchemas } from "./apiCalls";
import { CONTROLLER_NAMESPACE, type Form, type FormName, OPERATOR_NAMESPACE } from "./form";
import { Installation } from "./installation";
import { keepLogs } from "./logs";
import { Objects } from "./objects";
import { buildNamespace } from "./peerForms";
import { type Observations, Watcher } from "./watcher";

/** What {@link runInCluster} is told. */
export interface InClusterOptions {
  readonly connection: ClusterConnection;
  readonly forms: readonly Form[];
  /** The CustomResourceDefinition of the Memcacheds. */
  readonly crd: Manifest;
  /** The work of a form. */
  readonly workOf: (form: Form) => Work;
  /** Folder that stays. */
  readonly cache: string;
  readonly progress: Progress;
  /** Ends the benchmark early; the cluster is left as it was found all the same. */
  readonly signal: AbortSignal;
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
const MEMCACHEDS = "memcacheds.cache.example.com";
const DEFINITION = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" } as const;

/**
 * Gives every form the same work on a cluster, one form at a time: each is installed, measured and removed again.
 * @throws BenchmarkError where the cluster has an installation, or with the form's name and why it could not do its
 *   work; the signal's reason. The cluster is cleaned up before
 */
export async function runInCluster(options: InClusterOptions): Promise<FormResult[]> {
  const objects = new Objects(options.connection);
  try {
    await mkdir(options.cache, { recursive: true });
    await refuseInstallation(objects, options.connection.server);
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
  } finally {
    objects.close();
  }
}

async function runForm(
  objects: Objects,
  form: Form,
  work: Work,
  options: InClusterOptions,
  onChildren: (children: string) => unknown,
): Promise<{ figures: Figures; observations: Observations }> {
  const { connection, crd, progress, signal } = options;
  setMaxListeners(0, signal); // every request on its way listens
  const installation = new Installation(objects, progress);
  const cluster = new Cluster(connection, signal, { size: 0, ...form.cluster });
  const watcher = new Watcher(objects, form, signal);
  try {
    progress("installing it");
    await installation.apply([buildNamespace(NAMESPACE), crd], signal);
    await installation.apply(buildFlowSchemas(form.groups.flat()), signal);
    for (const group of form.groups) await installation.apply(group, signal);
    const measurement: Measurement = {
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
    };
    const figures = await measure(measurement);
    return { figures, observations: watcher.observations(work.burst) };
  } catch (error) {
    signal.throwIfAborted();
    const logFile = join(options.cache, `${form.name}.log`);
    await keepLogs(objects, [OPERATOR_NAMESPACE, CONTROLLER_NAMESPACE, NAMESPACE], logFile);
    const { message } = error as Error;
    throw new BenchmarkError(
      `${form.name} could not do its work: ${message}. What its pods printed: ${logFile}`,
    );
  } finally {
    cluster.close();
    progress("removing it");
    await installation.remove();
  }
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

/** The benchmark installs and removes, and would remove what is not its own. */
async function refuseInstallation(objects: Objects, server: string): Promise<void> {
  const definitions = await objects.list(DEFINITION);
  const taken = [
    ...definitions
      .map(({ metadata }) => metadata.name)
      .filter((name) => name === MEMCACHEDS || name.endsWith(".argoproj.io"))
      .map((name) => `CustomResourceDefinition ${name}`),
  ];
  for (const name of [NAMESPACE, OPERATOR_NAMESPACE, CONTROLLER_NAMESPACE]) {
    if (await objects.find(buildNamespace(name))) taken.push(`Namespace ${name}`);
  }
  if (taken.length === 0) return;
  throw new BenchmarkError(
    `the cluster at ${server} has ${taken.join(", ")} already. The benchmark installs and removes what it measures: use a cluster without Argo and without Memcacheds (KUBECONFIG, --context).`,
  );
}
