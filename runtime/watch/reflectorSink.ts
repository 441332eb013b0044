import type { KubernetesObject } from "../kubernetes/objects";

/** Receives what a `Reflector` sees, in the order of the API server. */
export interface ReflectorSink {
  /** The API server is about to be asked for a list. The objects in the list may be as old as this call, and no older. */
  asking?(): void;
  /**
   * A list begins: {@link set} is called for everything that exists, then {@link listed}.
   * @param isReset whether the API server is at an earlier version than before, as after a restore of etcd. The known objects do
   *   not count then
   * @param resourceVersion the version of the list: it shows every object as it was then
   */
  listing(isReset: boolean, resourceVersion: string): void;
  /**
   * An object as it is now.
   * @param isListed whether a list has it. If not, a watch reports that it was created or changed
   */
  set(object: KubernetesObject, isListed: boolean): void;
  /** The list of that version is complete. Objects that are not newer and were not set since {@link listing} are gone. */
  listed(resourceVersion: string): void;
  /** An object was deleted, or no longer has the labels that are selected. */
  remove(object: KubernetesObject): void;
}
