import type { PodPlacement } from "../../placement";
import type { Platform } from "../../platform";

/** What the event path, which all operators of a program share, is built from. */
export interface EventPathOptions {
  /** The name of the EventBus, and of the first EventSource and Sensor: a DNS label of at most 30 characters. */
  readonly name: string;
  readonly platform: Platform;
  readonly placement: PodPlacement;
  readonly eventBus: EventBusOptions;
}

/** The size of the event bus. */
export interface EventBusOptions {
  /** Servers: 1, or an odd number from 3 on. */
  readonly replicas: number;
  /**
   * The size of each server's volume, as a Kubernetes quantity. Without one the events lie in an emptyDir and are
   * gone with their pod.
   */
  readonly storage?: string;
  /** The StorageClass of the volumes. @default the cluster's own */
  readonly storageClass?: string;
}

/** Names of what the event path is made of, beside those of its shards. */
export function eventPathNames(name: string) {
  return {
    eventBus: name,
    eventBusAccount: `${name}-event-bus`,
    sourceAccount: `${name}-event-source`,
    sensorAccount: `${name}-sensor`,
    keeper: `${name}-keeper`,
  } as const;
}
