import { KubernetesClient } from "../kubernetes/client";
import type { Pod } from "./pod";
import { resyncOnce } from "./resync/resyncOnce";
import { writeTerminationMessage } from "./terminationMessage";

/**
 * Submits a run for every object of the operator, and ends.
 * @returns 1 if some could not be submitted
 */
export async function resync(pod: Pod): Promise<number> {
  const { operator, environment, connection, log, stopping } = pod;
  const { namespace, instanceId, concurrency, resyncSeconds } = environment;
  const client = new KubernetesClient(connection);
  try {
    const result = await resyncOnce({
      operator: { ...operator, concurrency: Number(concurrency), resyncSeconds: Number(resyncSeconds) },
      client,
      namespace,
      instanceId,
      instance: environment.pod,
      signal: stopping,
      onError: (object, error) => log("error", error.message, { object }),
      onNotice: (object, message) => log("warn", message, { object }),
    });
    const { submitted, running, left, failed } = result;
    const message = `${submitted} runs submitted, ${running} objects had one, ${left} are left for the next resync, ${failed} failed`;
    log(failed > 0 ? "error" : "info", message);
    writeTerminationMessage(pod.settings, message);
    return failed > 0 ? 1 : 0;
  } finally {
    client.close();
  }
}
