import { mkdtemp, realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { conversionNote } from "../../definition/customResourceDefinition";
import { KubernetesClient, type Operator } from "../../runtime/cli";
import { renewGarbageCollector } from "../cluster/garbageCollector";
import { withLoginRemedy } from "../cluster/loginRemedy";
import { type Cluster, openCluster, withClient } from "../cluster/openCluster";
import { UsageError } from "../common/commandError";
import { command } from "../common/declaration";
import { untilAborted } from "../common/interruption";
import {
  flag,
  namespaceOption,
  option,
  optionWithDefault,
  ownClusterOptions,
  port,
  stackOperatorsOptions,
  type ValuesOf,
} from "../common/options";
import { findProject } from "../common/project";
import { print, progress, safe, styleFor } from "../common/terminal";
import type { Containers } from "../containers/containers";
import { cacheDirectory, programPaths } from "../controlPlane/cache";
import { checkPort } from "../controlPlane/ports";
import { Watchdog } from "../controlPlane/watchdog";
import { attachInstructions, checkedDebugger, Debugging, debugPort, debugTarget } from "../debug/debugging";
import { DevRecord } from "../dev/devRecord";
import { writeExample } from "../dev/example";
import { FolderWatch } from "../dev/folderWatch";
import { HandlerPlaces } from "../dev/handlerPlaces";
import { inPlaceOfDeployed } from "../dev/inPlaceOf";
import { instructions } from "../dev/instructions";
import { type KeptData, openKeptData } from "../dev/keptData";
import { canShowTable, LiveTable } from "../dev/liveTable";
import { type LocalServer, startLocalServer } from "../dev/localServer";
import { lost } from "../dev/lost";
import { eventCommands, provideNamespaces } from "../dev/outsideEvents";
import { RepeatedFailures } from "../dev/repeatedFailures";
import { runtimeDifference } from "../dev/runtimes";
import { stableKubeconfig } from "../dev/stableKubeconfig";
import { provideVolumes } from "../dev/volumes";
import { Workshop } from "../dev/workshop";
import { installedOperators } from "../inspect/installed";
import { formatGone, formatLog, formatReconcile } from "../local/reconcileLine";
import { type OtherHandler, runOperator } from "../local/runOperator";
import { formatSilence } from "../local/silence";
import { type OperatorSource, operatorSource } from "../render/stackOperators";

const OPTIONS = [
  ...ownClusterOptions(),
  ...stackOperatorsOptions(),
  flag("--no-table", "do not show the table of objects"),
  flag("--keep", "keep the control plane's objects for the next start with this option"),
  flag("--fresh", "with --keep: delete the objects that were kept before"),
  flag("--in-image", "run every handler in its image with Docker or Podman, as in a pod"),
  option("--debug <object>", "run the handler of KIND/NAME under your debugger; all other objects go on"),
  optionWithDefault(
    "--debug-port <port>",
    "the port of the debugger on this machine; 0 means the usual port",
    0,
    port,
  ),
  namespaceOption("the namespace of the object to debug (default: that of the kubeconfig's context)"),
  optionWithDefault(
    "--port <port>",
    "the port of events, metrics and other commands on this machine; 0 means any free port",
    0,
    port,
  ),
];

type Options = ValuesOf<typeof OPTIONS>;

const style = styleFor(process.stdout);

/** How long the engines may take to stop after their control plane is gone. */
const CLOSING_MS = 5_000;

/**
 * `argosy dev`: runs the operators of a folder or of a stack, and applies every edit of them, until the signal aborts.
 * @throws UsageError, CommandError, OperatorError before any cluster is started; the signal's reason
 */
export default command({
  description:
    "Runs the operators of handlers/ on their own Kubernetes control plane until Ctrl-C. It prints a line for each " +
    "reconcile, and applies every edit in handlers/ as soon as it is saved. On a terminal, it shows a table of all " +
    "objects below these lines.",
  options: OPTIONS,
  async runUntil(options, signal) {
    const source = await operatorSource(options);
    // Workshop loads the operators again. If all of them are broken, the author should not have to wait for a control plane first.
    const { operators, error } = source.loadInOrder();
    if (operators.length === 0 && error) throw error;
    if (options.debug !== undefined && options.inImage)
      throw new UsageError(
        "--debug and --in-image exclude each other: a debugger can only be attached to a process of this machine.",
      );
    if (options.debug !== undefined) checkDebug(options.debug, operators);
    else if (options.namespace !== undefined || options.debugPort !== 0)
      throw new UsageError("--namespace and --debug-port are for the object of --debug. Give --debug too.");
    await checkPort(options.port, "--port");
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
  },
});

/** The data that the options ask to keep. */
async function keptData(
  { keep, fresh, context, kubeconfig }: Options,
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
  { debug, debugPort: wanted, namespace, ...options }: Options,
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
  options: Options,
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
  const record = new DevRecord();
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
      sayOnce(conversionNote(operator), said);
      const isOfStack = options.stack !== undefined;
      const onNote = (note: string) => sayOnce(note, said);
      if (controlPlane) await provideNamespaces(client, operator);
      return run({ operator, isOfStack, cluster, signal, debugging, containers, table, record, onNote });
    },
    onRenew: (operator) => debugging?.renew(operator),
    onNotice: print,
    onError: (error) => print(style("red", safe(error.message))),
  });
  const edited = (files: readonly string[]) => void workshop.edited(files);
  const watches = folders.map(
    (folder) => new FolderWatch(folder, edited, { onBlind: (notice) => print(style("yellow", notice)) }),
  );
  const client = new KubernetesClient(cluster.connection);
  const onNotice = (notice: string) => print(style("yellow", notice));
  let local: LocalServer | undefined;
  let endVolumes: (() => Promise<void>) | undefined;
  try {
    if (controlPlane) endVolumes = await provideVolumes(client, onNotice);
    local = await startLocalServer({
      port: options.port,
      running: () => workshop.running,
      record,
      client,
      onEvent: (line) => print(safe(line)),
    });
    await workshop.open();
    await renewGarbageCollector(cluster);
    const operators = workshop.running.map(({ operator }) => operator);
    await printInstructions(kubeconfig?.path, operators, local, scratch, client);
    for (const line of debugged?.instructions() ?? []) print(`${style("yellow", "debug:")} ${line}`);
    return await untilAborted(signal, (fail) => {
      // A user's cluster may be away for a while. The embedded control plane does not come back.
      if (controlPlane) void lost(cluster.connection, signal).catch(fail);
    });
  } finally {
    if (signal.aborted)
      print("stopping: waiting for running reconciles (press Ctrl-C again, after a second, to stop at once)");
    for (const watch of watches) watch.close();
    // A handler that a debugger has stopped would never end.
    debugging?.close();
    // Without its control plane, an engine cannot finish its work.
    await workshop.close(signal.aborted ? undefined : CLOSING_MS).finally(() => table?.close());
    local?.close();
    await endVolumes?.();
    client.close();
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
  record,
  onNote,
}: {
  operator: Operator;
  isOfStack: boolean;
  cluster: Cluster;
  signal: AbortSignal;
  debugging: Debugging | undefined;
  containers: Containers | undefined;
  table: LiveTable | undefined;
  record: DevRecord;
  onNote: (note: string) => void;
}) {
  const failures = new RepeatedFailures();
  const { connection } = cluster;
  const installed = await withClient(connection, installedOperators).catch((error: unknown) => {
    throw withLoginRemedy(error, connection);
  });
  const { operator, namespace, note } = inPlaceOfDeployed(edited, installed, isOfStack);
  if (note !== undefined) onNote(note);
  const recorded = record.of(operator, namespace);
  return runOperator({
    operator,
    namespace,
    connection,
    signal,
    ...(debugging?.isFor(operator) && { handler: debuggedHandler(operator, debugging) }),
    containers,
    onReport: (report) => {
      table?.report(report);
      recorded.report(report);
      const times = failures.count(report);
      const line = times && formatReconcile(report, style, new Date(), times);
      if (line) print(line);
    },
    onGone: (name) => print(formatGone(operator, name, style)),
    onSilence: (silence) =>
      print(style("yellow", formatSilence(operator, silence, containers !== undefined))),
    onNotice: (notice) => {
      recorded.notice(notice);
      print(style("dim", `${operator.name}: ${safe(notice)}`));
    },
    onHandlerLog: (text) => {
      recorded.handlerLog(text);
      print(formatLog(text, style));
    },
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
  { url, token }: LocalServer,
  scratch: string,
  client: KubernetesClient,
): Promise<void> {
  print(`\n${style("bold", "In another terminal:")}`);
  // A broken fixture is for argosy test to report.
  const examples = operators.map((operator) =>
    writeExample(operator, scratch, client).catch(() => undefined),
  );
  const { kubectl } = programPaths(cacheDirectory());
  const found = (await Promise.all(examples)).filter((file) => file !== undefined);
  const events = eventCommands(operators, url, token);
  const metricsUrl = `${url}/metrics`;
  for (const line of instructions({ kubeconfig, kubectl, examples: found, events, metricsUrl }))
    print(`  ${line}`);
  print(style("dim", "Press Ctrl-C to stop.\n"));
}
