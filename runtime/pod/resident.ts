import { Replay } from "../argo/replay";
import { RunRecorder } from "../argo/runRecorder";
import { Engine } from "../engine/engine";
import { KubernetesClient } from "../kubernetes/client";
import { ONCE_A_MINUTE_MS, withoutRepeats } from "../text/notices";
import { PipeTransport } from "./handlerContainer/pipeTransport";
import { prepareHandler } from "./handlerContainer/prepareHandler";
import { ChangesWithoutHint } from "./hints/changesWithoutHint";
import { runnerIdentityOf } from "./hints/identity";
import { logReport } from "./logLine";
import { openTraces, TRACES_GRACE_MS } from "./openTraces";
import { endOf, type Pod } from "./pod";
import { pathOf } from "./podSettings";
import { startServers } from "./servers";

/**
 * How long reconciles in progress may go on when the pod should end, in seconds. Another runner leads meanwhile, and
 * only the objects of these reconciles wait.
 */
const LONGEST_WAIT_SECONDS = 100;
/** How long submitted Workflows that are being answered may still take when the pod ends, in milliseconds. */
const RUNS_GRACE_MS = 2_000;

/**
 * Reconciles until the pod must end. It is ready before its kinds exist, since `pulumi up` creates the CRD last.
 * @throws Error if a port cannot be had
 */
export async function resident(pod: Pod): Promise<number> {
  const { operator, environment, settings, connection, log } = pod;
  const { namespace, instanceId } = environment;
  const kept = { successes: Number(environment.runsKept), failures: Number(environment.failedRunsKept) };
  const onNotice = withoutRepeats((notice) => log("info", notice), ONCE_A_MINUTE_MS);
  const client = new KubernetesClient(connection);
  const transport = new PipeTransport({ life: "resident", folder: pathOf(settings, "pipes") });
  // The events of objects that we do not own never go over the event bus.
  const hasEvents = !environment.without.includes("events") && !operator.watch;
  const hasWorkflows = !environment.without.includes("workflows");
  const archive = environment.archive === "true";
  const recorder = hasWorkflows
    ? new RunRecorder({ operator, client, namespace, instanceId, archive, kept, onNotice })
    : undefined;
  const changesWithoutHint = new ChangesWithoutHint({
    withinMs: settings.hintedWithinMs,
    // There is a trigger for each listed namespace, or one for all of them.
    ...(operator.namespaces !== "all" && { pathOf: ({ namespace }) => namespace ?? "" }),
    // A standby gets no hints. It does not know which hints came before its term.
    onMissing: (objects) => engine.isLeading && engine.metrics.changesWithoutHint(objects),
  });
  const traces = openTraces(pod, onNotice);
  const engine = new Engine({
    operator,
    connection,
    transport,
    namespace,
    identity: runnerIdentityOf(environment),
    instance: environment.pod,
    leaseSeconds: settings.leaseSeconds,
    // Without Argo Events, no hint ever comes.
    onChange: (name, version) => hasEvents && engine.isLeading && changesWithoutHint.changed(name, version),
    onGone: (name) => changesWithoutHint.gone(name),
    recorder,
    traces,
    onReport: (report, run) => logReport(log, report, run),
    onNotice,
  });
  const replay = hasWorkflows
    ? new Replay({ client, operator, namespace, instanceId, engine, onNotice })
    : undefined;
  const servers = await startServers(pod, { engine, changesWithoutHint, transport });
  log("info", "started");

  const begin = async () => {
    // The engine must not lead before that.
    await prepareHandler(pod, transport);
    await engine.start();
    replay?.start();
    log("info", "watching");
  };
  // From here the process runs until its end. If the end causes an error, this is not a failure.
  await Promise.race([endOf(pod), begin().then(() => endOf(pod))]);

  log("info", "stopping");
  await servers.hints.close();
  changesWithoutHint.stop();
  await replay?.stop(RUNS_GRACE_MS);
  await engine.stop(Math.min(operator.timeoutSeconds, LONGEST_WAIT_SECONDS) * 1000);
  client.close();
  await transport.close();
  await traces?.close(TRACES_GRACE_MS);
  await servers.telemetry.close();
  log("info", "stopped");
  return 0;
}
