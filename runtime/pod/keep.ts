import { Keeper } from "../eventPath/keeper";
import { KubernetesClient } from "../kubernetes/client";
import { ONCE_A_MINUTE_MS, withoutRepeats } from "../text/notices";
import type { PodContext } from "./pod";
import { addressOf } from "./podSettings";
import { startTelemetryServer } from "./telemetryServer";

/**
 * Keeps an event path working until the pod must end.
 * @throws Error if the port cannot be had
 */
export async function keep(context: PodContext): Promise<number> {
  const { environment, settings, connection, log, stopping } = context;
  const { namespace, eventPath, pod: instance } = environment;
  const client = new KubernetesClient(connection);
  const onNotice = withoutRepeats((notice) => log("info", notice), ONCE_A_MINUTE_MS);
  const keeper = new Keeper({ client, namespace, eventPath, instance, onNotice });
  const telemetry = await startTelemetryServer({
    ...addressOf(settings, "metrics"),
    registry: keeper.registry,
    stopping,
  });
  log("info", `looking after event path ${eventPath}`);
  await keeper.run(stopping);
  client.close();
  await telemetry.close();
  return 0;
}
