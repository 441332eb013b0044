import { writeFileSync } from "node:fs";
import { PipeTransport } from "../../handler/container/pipeTransport";
import { KubernetesClient } from "../../kubernetes/client";
import type { ReconcileReport } from "../../reconcile/report";
import { ANSWER_FILE } from "../layout";
import { logReport } from "../logLine";
import { openTraces, TRACES_GRACE_MS } from "../openTraces";
import type { Pod } from "../pod";
import { pathOf } from "../pod";
import { prepareHandler } from "../prepareHandler";
import { leaveExitOfHandler, leaveTimings, writeTerminationMessage } from "../terminationMessage";
import { runOnce } from "./runOnce";
import { HANDLER_SECONDS } from "./runSeconds";

/**
 * Reconciles the one object that the pod's Workflow names, and ends. The handler's container is ended with it, so that the pod
 * ends too.
 * @returns 1 if the run failed, for Argo to show
 */
export async function run(pod: Pod): Promise<number> {
  const { operator, environment, settings, connection, log, stopping } = pod;
  const { namespace, workflow, pod: instance } = environment;
  const transport = new PipeTransport({ life: "run", folder: pathOf(settings, "pipes") });
  const client = new KubernetesClient(connection);
  const traces = openTraces(pod, (notice) => log("warn", notice));
  const reports: ReconcileReport[] = [];
  try {
    const { exitCode, message, answer } = await runOnce({
      operator,
      client,
      transport,
      handlerReady: () => prepareHandler(pod, transport, HANDLER_SECONDS),
      namespace,
      workflow,
      instance,
      signal: stopping,
      traces,
      onReport: (report) => {
        reports.push(report);
        logReport(log, report, workflow);
      },
    });
    leaveTimings(settings, reports);
    if (answer !== undefined) {
      writeFileSync(`${settings.root}${ANSWER_FILE}`, answer);
      process.stdout.write(`${answer}\n`);
    }
    log(exitCode === 0 ? "info" : "error", message);
    writeTerminationMessage(settings, message);
    return exitCode;
  } finally {
    client.close();
    if (!(await transport.close())) leaveExitOfHandler(settings);
    await traces?.close(TRACES_GRACE_MS);
  }
}
