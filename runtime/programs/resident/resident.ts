import type { HttpListener } from "../../base/http/listen";
import { withoutRepeats } from "../../base/notices";
import { Engine } from "../../engine/engine";
import { PipeTransport } from "../../handler/container/pipeTransport";
import { KubernetesClient } from "../../kubernetes/client";
import { RunRecorder } from "../../report/runRecorder";
import { logReport } from "../logLine";
import { openTraces, TRACES_GRACE_MS } from "../openTraces";
import { addressOf, endOf, type Pod, pathOf } from "../pod";
import { prepareHandler } from "../prepareHandler";
import { startTelemetryServer } from "../telemetryServer";
import {
  forwardHint,
  type HintParts,
  PathSilence,
  runnerIdentityOf,
  startHintServer,
  takeHint,
} from "./hints";
import { Replay } from "./replay";

/**
 * How long reconciles in progress may go on when the pod should end, in seconds. During that time another runner leads, and only
 * the objects of these reconciles wait.
 */
const LONGEST_WAIT_SECONDS = 100;
/** How long submitted Workflows that are being answered may still take when the pod ends, in milliseconds. */
const RUNS_GRACE_MS = 2_000;

/**
 * Reconciles until the pod must end, or begins the runs that do so in pods of their own. It is ready before its kinds exist, since
 * `pulumi up` creates the CRD last.
 * @throws Error if a port cannot be had
 */
export async function resident(pod: Pod): Promise<number> {
  const { environment, settings, connection, log } = pod;
  const { namespace, instanceId } = environment;
  const hasRuns = pod.operator.execution === "pod";
  const { concurrency, resyncSeconds } = environment;
  const operator = hasRuns
    ? // The fields that its definition file does not have: see `definitionFileContent`.
      { ...pod.operator, concurrency: Number(concurrency), resyncSeconds: Number(resyncSeconds) }
    : pod.operator;
  const kept = { successes: Number(environment.runsKept), failures: Number(environment.failedRunsKept) };
  const onNotice = withoutRepeats((notice) => log("info", notice));
  const client = new KubernetesClient(connection);
  const transport = hasRuns
    ? undefined
    : new PipeTransport({ life: "resident", folder: pathOf(settings, "pipes") });
  // The events of objects that we do not own never go over the event bus.
  const hasEvents = !environment.without.includes("events") && !operator.watch;
  // The Workflows of runs with pods are no records, and their pods try the handler.
  const hasRecords = !hasRuns && !environment.without.includes("workflows");
  const archive = environment.archive === "true";
  const recorder = hasRecords
    ? new RunRecorder({ operator, client, namespace, instanceId, archive, kept, onNotice })
    : undefined;
  const silence = new PathSilence();
  const traces = hasRuns ? undefined : openTraces(pod, onNotice);
  const engine = new Engine({
    operator,
    connection,
    transport,
    runs: hasRuns ? { instanceId } : undefined,
    namespace,
    identity: runnerIdentityOf(environment.pod, environment.address),
    instance: environment.pod,
    program: environment.template || undefined,
    leaseSeconds: settings.leaseSeconds,
    // Without Argo Events, no hint ever comes.
    onChange: (_, version) => hasEvents && engine.isLeading && silence.changed(version),
    recorder,
    traces,
    onReport: (report, run) => logReport(log, report, run),
    onNotice,
  });
  const replay = hasRecords
    ? new Replay({ client, operator, namespace, instanceId, engine, onNotice })
    : undefined;
  const servers = await startServers(pod, engine, silence, () => transport?.whyNotReady);
  log("info", "started");

  const begin = async () => {
    // The engine must not lead before that.
    if (transport) await prepareHandler(pod, transport);
    await engine.start();
    replay?.start();
    log("info", "watching");
  };
  // From here the process runs until its end. If the end causes an error, this is not a failure.
  await Promise.race([endOf(pod), begin().then(() => endOf(pod))]);

  log("info", "stopping");
  await servers.hints.close();
  await replay?.stop(RUNS_GRACE_MS);
  await engine.stop(Math.min(operator.timeoutSeconds, LONGEST_WAIT_SECONDS) * 1000);
  client.close();
  await transport?.close();
  await traces?.close(TRACES_GRACE_MS);
  await servers.telemetry.close();
  log("info", "stopped");
  return 0;
}

/**
 * Starts a resident runner's servers: one accepts hints, the other answers the kubelet and Prometheus.
 * @throws Error if a port cannot be had
 */
async function startServers(
  pod: Pod,
  engine: Engine,
  silence: PathSilence,
  /** Why the runner is not ready. Undefined: it is. */
  whyNotReady: () => string | undefined,
): Promise<{ readonly hints: HttpListener; readonly telemetry: HttpListener }> {
  const { operator, environment, settings } = pod;
  const { metrics } = engine;
  // Only the leader knows which changes no hint has reported.
  metrics.observeEvents(() => (engine.isLeading ? silence.seconds : 0));
  const address = addressOf(settings, "hints");
  const parts: HintParts = {
    engine,
    silence,
    forward: (hint, host) => forwardHint(hint, { host, port: address.port, from: environment.pod }),
  };
  const hints = await startHintServer({
    ...address,
    operator,
    take: (hint, forwarded) => takeHint(parts, hint, forwarded),
    onResult: (result) => metrics.hints.inc({ result }),
  });
  // Started second, because a Sensor can send hints as soon as we are ready.
  const telemetry = await startTelemetryServer(pod, metrics.registry, whyNotReady);
  return { hints, telemetry };
}
