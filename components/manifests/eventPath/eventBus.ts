import type { Manifest } from "../../../runtime/program";
import type { Affinity } from "../kinds";
import { awaited, labelsOf, TAKEN_BACK } from "../metadata";
import { eventPathNames } from "../names";
import { CONTAINER_SECURITY, POD_SECURITY, placementFields, podMetadata } from "../pods";
import { bytesOf, type ContainerName, resourcesOf } from "../resources";
import { transformed } from "../transform";
import { EVENT_BUS_REPLICAS, type EventBusOptions, type EventPathOptions } from "./options";

const MEBIBYTE = 2 ** 20;

/** The most that the bus may use of a node's own disk if it has no volume: an emptyDir without a limit could fill the disk. */
const EPHEMERAL_STORAGE = 512 * MEBIBYTE;

/** The smallest volume of a server, in bytes. A smaller one would hold only a few of the largest events. */
export const SMALLEST_STORAGE = 128 * MEBIBYTE;

/**
 * The largest event, as NATS reads it: 4 MiB. An UPDATE carries its object twice, and etcd takes no object above
 * 1.5 MiB. NATS warns above 8 MB (nats-server, server/const.go, MAX_PAYLOAD_MAX_SIZE).
 */
const MAX_PAYLOAD = "4MB";

/** The most replicas of a stream. More would make every event more expensive and protect from no further failure. */
const MOST_STREAM_REPLICAS = 3;

/** The purpose of a bus, and the settings that follow from it. */
export interface EventBusUse {
  /** The transform that may change the bus. */
  readonly part: "eventBus" | "outsideEventBus";
  /** Which events stay. 0: all within the limits. 1: those that some Sensor still has to read. */
  readonly retention: 0 | 1;
  /** Which event is dropped if there is no room. 0: the oldest one. 1: none, and the publisher gets an error. */
  readonly discard: 0 | 1;
  /** @default only bytes are limited */
  readonly mostEvents?: number;
  /** Settings of the server. @default none */
  readonly settings?: Readonly<Record<string, string>>;
}

/**
 * A bus for hints to the operators. A lost hint only costs time. Acknowledged events stay, since each of a Sensor's triggers
 * reads by itself.
 */
const HINTS: EventBusUse = { part: "eventBus", retention: 0, discard: 0, mostEvents: 100_000 };

/**
 * The event bus: NATS with JetStream, made by the events controller (argo-events,
 * pkg/reconciler/eventbus/installer/jetstream.go). The stream keeps events for a day and drops the oldest beyond its limits. The
 * first source or sensor creates the stream, and later changes of its settings do not reach it.
 *
 * Nothing writes to a root file system: the server has volumes for its store and its pid file. All three containers must run as
 * one user, since the reloader signals the server's process.
 *
 * @throws RangeError if there can be no such replicas or storage
 */
export function buildEventBus(options: EventPathOptions, use: EventBusUse = HINTS): Manifest {
  const { name, platform, eventBus } = options;
  const names = eventPathNames(name);
  const { replicas } = eventBus;
  if (!EVENT_BUS_REPLICAS.includes(replicas)) {
    throw new RangeError(`eventBus.replicas is ${replicas}. Give 1, or an odd number from 3 to 7.`);
  }
  const place = placementFields("eventBus", options);
  return transformed(
    use.part,
    {
      apiVersion: "argoproj.io/v1alpha1",
      kind: "EventBus",
      metadata: {
        name: names.eventBus,
        namespace: platform.namespace,
        labels: labelsOf(name, "event-bus"),
        annotations: { ...awaited("Configured", "Deployed"), ...TAKEN_BACK },
      },
      spec: {
        jetstream: {
          version: platform.jetStreamVersion,
          replicas,
          ...limits(eventBus, use),
          maxPayload: MAX_PAYLOAD,
          ...(eventBus.storage !== undefined && { persistence: persistence(eventBus, eventBus.storage) }),
          serviceAccountName: names.eventBusAccount,
          metadata: podMetadata("eventBus", { labels: labelsOf(name, "event-bus") }, options),
          securityContext: POD_SECURITY,
          ...place,
          ...(replicas > 1 && { affinity: { ...spread(names.eventBus), ...place.affinity } }),
          containerTemplate: container("eventBus", options),
          reloaderContainerTemplate: container("eventBusReloader", options),
          metricsContainerTemplate: container("eventBusMetrics", options),
        },
      },
    },
    options,
  );
}

/**
 * A quarter of a volume stays free, and half is the stream's: JetStream reserves that much and needs room for the Sensors' own
 * state. `maxBytes` must be an integer: Argo reads "1GB" as 0, which means no limit (pkg/eventbus/jetstream/base/jetstream.go,
 * CreateStream).
 */
function limits(
  { replicas, storage }: EventBusOptions,
  use: EventBusUse,
): { settings: string; streamConfig: string } {
  const bytes = storage === undefined ? EPHEMERAL_STORAGE : bytesOf(storage);
  if (bytes < SMALLEST_STORAGE) {
    throw new RangeError(`eventBus.storage is "${storage}". Give 128Mi or more.`);
  }
  const settings = {
    max_memory_store: 64 * MEBIBYTE,
    max_file_store: wholeMebibytes((bytes * 3) / 4),
    ...use.settings,
  };
  const stream = {
    replicas: Math.min(replicas, MOST_STREAM_REPLICAS),
    maxAge: "24h",
    // Without this setting the controller's default for all buses would count (argoEvents.ts). NATS reads -1 as no limit.
    maxMsgs: use.mostEvents ?? -1,
    maxBytes: wholeMebibytes(bytes / 2),
    duplicates: "2m",
    retention: use.retention,
    discard: use.discard,
  };
  return { settings: lines(settings), streamConfig: lines(stream) };
}

function wholeMebibytes(bytes: number): number {
  return Math.floor(bytes / MEBIBYTE) * MEBIBYTE;
}

/** Settings, one a line, in a form that both NATS and YAML read. */
function lines(settings: Readonly<Record<string, string | number>>): string {
  return Object.entries(settings)
    .map(([key, value]) => `${key}: ${value}\n`)
    .join("");
}

function persistence({ storageClassName }: EventBusOptions, volumeSize: string) {
  return {
    volumeSize,
    accessMode: "ReadWriteOnce",
    ...(storageClassName !== undefined && { storageClassName }),
  };
}

/** Each server prefers a node and a zone of its own. It is only a preference, so that a small cluster still has its bus. */
function spread(eventBus: string): Affinity {
  const labelSelector = {
    matchLabels: { controller: "eventbus-controller", "eventbus-name": eventBus },
  };
  const prefer = (weight: number, topologyKey: string) => ({
    weight,
    podAffinityTerm: { topologyKey, labelSelector },
  });
  return {
    podAntiAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [
        prefer(100, "kubernetes.io/hostname"),
        prefer(50, "topology.kubernetes.io/zone"),
      ],
    },
  };
}

function container(name: ContainerName, options: EventPathOptions) {
  return { securityContext: CONTAINER_SECURITY, resources: resourcesOf(name, options) };
}
