import { killComponent, readComponents, startComponent } from "./controlPlane/component";
import type { Cluster } from "./openCluster";

const NAME = "kube-controller-manager";

/**
 * Makes the garbage collector of the embedded control plane know kinds that were just installed, so that children go at once when
 * their owner is deleted. By itself the collector looks for new kinds every 30 s from its start (fixed in
 * kube-controller-manager), and then tries with growing pauses, so it is restarted. A user's cluster is left alone.
 */
export async function renewGarbageCollector({ controlPlane }: Cluster): Promise<void> {
  if (!controlPlane) return;
  const { directory } = controlPlane;
  const component = (await readComponents(directory)).find(({ name }) => name === NAME);
  if (!component) throw new Error(`the control plane in ${directory} has no ${NAME}`);
  await killComponent(directory, component);
  await startComponent(directory, component);
}
