import { mkdtemp, realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Operator } from "../runtime/definition/definition";
import { UsageError } from "./commandError";
import type { Containers } from "./containers/containers";
import { cacheDirectory, programPaths } from "./controlPlane/cache";
import { checkPort } from "./controlPlane/ports";
import { Watchdog } from "./controlPlane/watchdog";
import { attachInstructions, checkedDebugger, Debugging, debugPort, debugTarget } from "./debug/debugging";
import { writeExample } from "./dev/example";
import { FolderWatch } from "./dev/folderWatch";
import { HandlerPlaces } from "./dev/handlerPlaces";
import { inPlaceOfDeployed } from "./dev/inPlaceOf";
import { instructions } from "./dev/instructions";
import { type KeptData, openKeptData } from "./dev/keptData";
import { canShowTable, LiveTable } from "./dev/liveTable";
import { lost } from "./dev/lost";
import { RepeatedFailures } from "./dev/repeatedFailures";
import { runtimeDifference } from "./dev/runtimes";
import { formatSilence } from "./dev/silence";
import { stableKubeconfig } from "./dev/stableKubeconfig";
import { Workshop } from "./dev/workshop";
import { renewGarbageCollector } from "./garbageCollector";
import { installedOperators } from "./inspect/installed";
import { untilAborted } from "./interruption";
import { withLoginRemedy } from "./loginRemedy";
import { startMetricsServer } from "./metricsServer";
import { type Cluster, type ClusterOptions, openCluster, withClient } from "./openCluster";
import { findProject } from "./project";
import { formatLog, formatReconcile } from "./reconcileLine";
import { type OperatorSource, type OperatorsOptions, operatorSource } from "./render/stackOperators";
import { type OtherHandler, runOperator } from "./runOperator";
import { print, progress, safe, styleFor } from "./terminal";

/** @see dev */
export interface DevOptions extends ClusterOptions, OperatorsOptions {
  readonly metricsPort: number;
  /** Show a table of all objects below the log, on a terminal. */
  readonly table: boolean;
  /** Keep the objects of the embedded control plane for the next start. */
  readonly keep?: true;
  /** Discard the objects that were kept. */
  readonly fresh?: true;
  /** Run every handler in its image, by Docker or Podman. */
  readonly inImage?: true;
  /** An object, as KIND/NAME, whose handler waits for a debugger. */
  readonly debug?: string;
  /** Where the debugger listens; 0 takes the usual port, or a free one. */
  readonly debugPort: number;
  /** The namespace of that object. */
  readonly namespace?: string;
}

const style = styleFor(process.stdout);

/** How long the engines may take to stop after their control plane is gone. */
const CLOSING_MS = 5_000;

/**
 * `argosy dev`: runs the operators of a folder or of a stack, and applies every edit of them, until the signal aborts.
 * @throws UsageError, CommandError, OperatorError before any cluster is started; the signal's reason
 */
export async function dev(options: DevOptions, signal: AbortSignal): Promise<number> {
  const source = await operatorSource(options);
  // Workshop loads the operators again. If all of them are broken, the author should not have to wait for a control plane first.
  const { operators, error } = source.loadInOrder();
  if (operators.length === 0 && error) throw error;
  if (options.debug !== undefined && options.inImage)
    throw new UsageError(
      "--debug and --in-image exclude each other: a debugger can only be attached to a process of this machine.",
    );
  if (options.debug !== undefined) checkDebug(options.debug, operators);
  await checkPort(options.metricsPort, "--metrics-port");
  if (options.debug !== undefined) await checkPort(options.debugPort, "--debug-port");
  const places = new HandlerPlaces({
    inImage: options.inImage === true,
    onNotice: (notice) => print(style("yellow", notice)),
    onProgress: progress,
  });
  await places.check(signal);
  const kept = await keptData(options, source.folders[0] ?? process.cwd());
  try {
    const cluster = await openCluster(options, progress, signal, kept?.etcd);
    try {
      return await work(source, cluster, options, places, signal);
    } finally {
      await cluster.close();
    }
  } finally {
    await places.close();
    await kept?.release();
  }
}

/** The data that the options ask to keep. */
async function keptData(
  { keep, fresh, context, kubeconfig }: DevOptions,
  operators: string,
): Promise<KeptData | undefined> {
  if (fresh && !keep)
    throw new UsageError(
      "--fresh deletes the objects that --keep has kept. Without --keep each start is fresh anyway.",
    );
  if (!keep) return undefined;
  if (context !== undefined || kubeconfig !== undefined)
    throw new UsageError(
      "--keep is for the control plane of argosy dev. Your own cluster keeps its objects anyway.",
    );
  const kept = await openKeptData(operators, cacheDirectory(), fresh === true);
  progress(kept.isThere ? "using the objects that were kept" : "the objects will be kept for the next start");
  return kept;
}

/** @throws UsageError, CommandError if the object that is named has no handler that can be debugged */
function checkDebug(debug: string, operators: readonly Operator[]): void {
  const { folder } = debugTarget(debug, operators, "");
  for (const operator of operators) if (operator.folder === folder) checkedDebugger(operator);
}

/** The debugger that the options ask for, and the instructions to attach to it. */
async function debuggingOf(
  { debug, debugPort: wanted, namespace, ...options }: DevOptions,
  operators: readonly Operator[],
  { connection }: Cluster,
): Promise<{ debugging: Debugging; instructions: () => string[] } | undefined> {
  if (debug === undefined) return undefined;
  const target = debugTarget(debug, operators, namespace ?? connection.namespace ?? "default");
  const operator = operators.find(({ folder }) => folder === target.folder) as Operator;
  const kind = checkedDebugger(operator);
  const port = await debugPort(wanted, kind);
  const debugging = new Debugging({
    target,
    port,
    onLog: (text) => print(formatLog(text, style)),
    onNotice: (notice) => print(style("yellow", `debug: ${notice}`)),
  });
  // An editor has the whole program open, and not one of its folders.
  const open = options.handlers === undefined ? findProject(options.project) : process.cwd();
  return { debugging, instructions: () => attachInstructions(target, kind, port, open) };
}

/** Runs the operators until the signal aborts. */
async function work(
  { folders, loadInOrder }: OperatorSource,
  cluster: Cluster,
  options: DevOptions,
  places: HandlerPlaces,
  signal: AbortSignal,
): Promise<never> {
  const debugged = await debuggingOf(options, loadInOrder().operators, cluster);
  const scratch = await realpath(await mkdtemp(path.join(tmpdir(), "argosy-dev-")));
  const watchdog = new Watchdog(scratch);
  const { controlPlane } = cluster;
  const kubeconfig =
    controlPlane &&
    (await stableKubeconfig(controlPlane.kubeconfig, folders[0] ?? scratch, cacheDirectory()));
  const debugging = debugged?.debugging;
  const said = new Set<string>();
  const table =
    options.table && canShowTable(process.stdout, process.env)
      ? new LiveTable(process.stdout, () => workshop.running, style)
      : undefined;
  const workshop: Workshop = new Workshop({
    load: loadInOrder,
    run: async (operator) => {
      const isDebugged = debugging?.isFor(operator) === true;
      const containers = isDebugged ? undefined : await places.containersFor(operator, signal);
      // In an image, it runs in the version of its language that it gets in a cluster.
      if (!containers) sayOnce(runtimeDifference(operator), said);
      const isOfStack = options.stack !== undefined;
      const onNote = (note: string) => sayOnce(note, said);
      return run({ operator, isOfStack, cluster, signal, debugging, containers, table, onNote });
    },
    onRenew: (operator) => debugging?.renew(operator),
    onNotice: print,
    onError: (error) => print(style("red", safe(error.message))),
  });
  const edited = (files: readonly string[]) => void workshop.edited(files);
  const watches = folders.map(
    (folder) => new FolderWatch(folder, edited, { onBlind: (notice) => print(style("yellow", notice)) }),
  );
  const registries = () => workshop.running.map(({ controller }) => controller.metrics.registry);
  try {
    await workshop.open();
    await renewGarbageCollector(cluster);
    const metrics = await startMetricsServer(options.metricsPort, registries);
    const operators = workshop.running.map(({ operator }) => operator);
    await printInstructions(kubeconfig?.path, operators, metrics.url, scratch);
    for (const line of debugged?.instructions() ?? []) print(`${style("yellow", "debug:")} ${line}`);
    return await untilAborted(signal, (fail) => {
      // A user's cluster may be away for a while. The embedded control plane does not come back.
      if (controlPlane) void lost(cluster.connection, signal).catch(fail);
    }).finally(() => metrics.close());
  } finally {
    if (signal.aborted)
      print("stopping: waiting for running reconciles (press Ctrl-C again, after a second, to stop at once)");
    for (const watch of watches) watch.close();
    // A handler that a debugger has stopped would never end.
    debugging?.close();
    // Without its control plane, an engine cannot finish its work.
    await workshop.close(signal.aborted ? undefined : CLOSING_MS).finally(() => table?.close());
    await kubeconfig?.remove();
    await watchdog.stop();
  }
}

/** Says a note, if there is one and it was not said before: an operator is started again after each edit of its definition. */
function sayOnce(note: string | undefined, said: Set<string>): void {
  if (note === undefined || said.has(note)) return;
  said.add(note);
  print(style("yellow", note));
}

async function run({
  operator: edited,
  isOfStack,
  cluster,
  signal,
  debugging,
  containers,
  table,
  onNote,
}: {
  operator: Operator;
  isOfStack: boolean;
  cluster: Cluster;
  signal: AbortSignal;
  debugging: Debugging | undefined;
  containers: Containers | undefined;
  table: LiveTable | undefined;
  onNote: (note: string) => void;
}) {
  const failures = new RepeatedFailures();
  const { connection } = cluster;
  const installed = await withClient(connection, installedOperators).catch((error: unknown) => {
    throw withLoginRemedy(error, connection);
  });
  const { operator, namespace, note } = inPlaceOfDeployed(edited, installed, isOfStack);
  if (note !== undefined) onNote(note);
  return runOperator({
    operator,
    namespace,
    connection,
    signal,
    ...(debugging?.isFor(operator) && { handler: debuggedHandler(operator, debugging) }),
    containers,
    onReport: (report) => {
      table?.report(report);
      const times = failures.count(report);
      const line = times && formatReconcile(report, style, new Date(), times);
      if (line) print(line);
    },
    onSilence: (silence) =>
      print(style("yellow", formatSilence(operator, silence, containers !== undefined))),
    onNotice: (notice) => print(style("dim", `${operator.name}: ${safe(notice)}`)),
    onHandlerLog: (text) => print(formatLog(text, style)),
  });
}

function debuggedHandler(operator: Operator, debugging: Debugging): OtherHandler {
  return {
    transport: (env, usual) => debugging.transport(operator, env, usual),
    timeoutMs: (question) => debugging.timeoutMs(operator, question),
    renew: () => debugging.renewToken(),
    // The object in the debugger does not use up a place of other objects.
    concurrency: operator.concurrency + 1,
  };
}

/** Prints the commands to type in another terminal. */
async function printInstructions(
  kubeconfig: string | undefined,
  operators: readonly Operator[],
  metricsUrl: string,
  scratch: string,
): Promise<void> {
  print(`\n${style("bold", "In another terminal:")}`);
  // A broken fixture is for argosy test to report.
  const examples = operators.map((operator) => writeExample(operator, scratch).catch(() => undefined));
  const { kubectl } = programPaths(cacheDirectory());
  const found = (await Promise.all(examples)).filter((file) => file !== undefined);
  for (const line of instructions({ kubeconfig, kubectl, examples: found, metricsUrl })) print(`  ${line}`);
  print(style("dim", "Press Ctrl-C to stop.\n"));
}
