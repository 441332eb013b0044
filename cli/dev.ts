import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { loadOperators } from "../definition/loadOperators";
import type { Operator } from "../runtime/definition/definition";
import { cacheDirectory, programPaths } from "./controlPlane/cache";
import { writeExample } from "./dev/example";
import { FolderWatch } from "./dev/folderWatch";
import { Workshop } from "./dev/workshop";
import { renewGarbageCollector } from "./garbageCollector";
import { startMetricsServer } from "./metricsServer";
import { type Cluster, type ClusterOptions, openCluster } from "./openCluster";
import { findHandlers } from "./project";
import { formatLog, formatReconcile } from "./reconcileLine";
import { runOperator } from "./runOperator";
import { print, progress, styleFor } from "./terminal";

/** @see dev */
export interface DevOptions extends ClusterOptions {
  readonly handlers?: string;
  readonly project?: string;
  readonly metricsPort: number;
}

const style = styleFor(process.stdout);

/**
 * `argosy dev`: runs the operators of a folder, and takes every edit in, until the signal aborts.
 * @throws UsageError, OperatorError before any cluster is started; the signal's reason
 */
export async function dev(options: DevOptions, signal: AbortSignal): Promise<number> {
  const folder = await realpath(findHandlers(options));
  // Workshop loads them again; a mistake should not wait for a control plane.
  loadOperators(folder);
  const cluster = await openCluster(options, progress, signal);
  try {
    return await work(folder, cluster, options.metricsPort, signal);
  } finally {
    await cluster.close();
  }
}

/** Runs the operators of the folder until the signal aborts. */
async function work(
  folder: string,
  cluster: Cluster,
  metricsPort: number,
  signal: AbortSignal,
): Promise<never> {
  const scratch = await mkdtemp(path.join(tmpdir(), "argosy-dev-"));
  const workshop = new Workshop({
    folder,
    run: (operator) => run(operator, cluster, signal),
    onNotice: print,
    onError: (error) => print(style("red", error.message)),
  });
  const watch = new FolderWatch(folder, (files) => void workshop.edited(files));
  const registries = () => workshop.controllers.map(({ metrics }) => metrics.registry);
  try {
    await workshop.open();
    await renewGarbageCollector(cluster);
    const metrics = await startMetricsServer(metricsPort, registries);
    await printInstructions(cluster, workshop.operators, metrics.url, scratch);
    return await aborted(signal).finally(() => metrics.close());
  } finally {
    if (signal.aborted) print("stopping: running reconciles go on to their end (Ctrl-C again ends them)");
    watch.close();
    await workshop.close();
    await rm(scratch, { recursive: true, force: true });
  }
}

function run(operator: Operator, { connection }: Cluster, signal: AbortSignal) {
  return runOperator({
    operator,
    connection,
    signal,
    onReport: (report) => {
      const line = formatReconcile(report, style);
      if (line !== undefined) print(line);
    },
    onNotice: (notice) => print(style("dim", `${operator.name}: ${notice}`)),
    onHandlerLog: (text) => print(formatLog(text, style)),
  });
}

/** What to type in another terminal. */
async function printInstructions(
  { controlPlane }: Cluster,
  operators: readonly Operator[],
  metricsUrl: string,
  scratch: string,
): Promise<void> {
  print(`\n${style("bold", "In another terminal:")}`);
  if (controlPlane) {
    print(`  export KUBECONFIG=${controlPlane.kubeconfig}`);
    print(`  alias kubectl=${programPaths(cacheDirectory()).kubectl}`);
  }
  for (const operator of operators) {
    const example = await writeExample(operator, scratch);
    if (example) print(`  kubectl apply -f ${example}`);
  }
  print(`  curl ${metricsUrl}`);
  print(style("dim", "Ctrl-C ends it.\n"));
}

/** Throws the signal's reason when it aborts. */
function aborted(signal: AbortSignal): Promise<never> {
  // A promise alone keeps no process alive.
  const timer = setInterval(() => {}, 60_000);
  return new Promise<never>((_resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
  }).finally(() => clearInterval(timer));
}
