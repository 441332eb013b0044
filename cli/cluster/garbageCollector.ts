import type { ControlPlane } from "../controlPlane";
import { type Component, killComponent, readComponents, startComponent } from "../controlPlane/component";
import type { Cluster } from "./openCluster";

const NAME = "kube-controller-manager";

/**
 * Makes the garbage collector of the embedded control plane notice kinds that were just installed, so that children are deleted
 * at once with their owner. By itself, the collector looks for new kinds every 30 s from its start (this is fixed in
 * kube-controller-manager), and then retries with growing pauses. So it is restarted. A user's cluster is not changed.
 */
export async function renewGarbageCollector({ controlPlane }: Pick<Cluster, "controlPlane">): Promise<void> {
  if (!controlPlane) return;
  await startComponent(controlPlane.directory, await stopGarbageCollector(controlPlane));
}

/** Stops the garbage collector of an embedded control plane. @returns the program to start it again */
export async function stopGarbageCollector({
  directory,
}: Pick<ControlPlane, "directory">): Promise<Component> {
  const component = (await readComponents(directory)).find(({ name }) => name === NAME);
  if (!component) throw new Error(`the control plane in ${directory} has no ${NAME}`);
  await killComponent(directory, component);
  return component;
}
