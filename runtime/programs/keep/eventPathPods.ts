import { isTrue, type KubernetesObject, writtenAt } from "../../base/objects";

/** The parts of an event path, in the order in which they must begin. */
export const EVENT_PATH_PARTS = ["event-bus", "sensor", "event-source"] as const;

/** One of {@link EVENT_PATH_PARTS}: the label app.kubernetes.io/component of its pods. */
export type EventPathPart = (typeof EVENT_PATH_PARTS)[number];

/** A pod of an event path, with the times that say when its program began. */
export interface EventPathPod {
  readonly object: KubernetesObject;
  readonly part: EventPathPart;
  /** The name of the pod's Sensor or EventSource, which come in pairs of one name. "" for the bus, which all of them share. */
  readonly shard: string;
  readonly ready: boolean;
  /** When its program began, in milliseconds since the epoch, as all times here. Undefined if the program does not run. */
  readonly beganAt: number | undefined;
  /** When its program ended last. Undefined if the program runs, or has never ended. */
  readonly failedAt: number | undefined;
}

const NAME_LABEL = "app.kubernetes.io/name";
const COMPONENT_LABEL = "app.kubernetes.io/component";
/** Argo's name for the container of its program, in a server of the bus too (argo-events, pkg/reconciler). */
const MAIN = "main";

interface ContainerStatus {
  readonly name: string;
  readonly state?: { readonly running?: { readonly startedAt: string } };
  readonly lastState?: { readonly terminated?: { readonly finishedAt: string } };
}

interface PodStatus {
  readonly phase?: string;
  readonly containerStatuses?: readonly ContainerStatus[];
}

/** Selects the pods of the event path with that name. */
export function eventPathSelector(name: string): string {
  return `${NAME_LABEL}=${name},${COMPONENT_LABEL} in (${EVENT_PATH_PARTS.join(",")})`;
}

/** Reads a pod of an event path. Undefined if the pod has ended or is about to end, and for any other pod. */
export function eventPathPodOf(object: KubernetesObject): EventPathPod | undefined {
  const { labels = {}, deletionTimestamp, creationTimestamp = "" } = object.metadata;
  const status = (object["status"] ?? {}) as PodStatus;
  const part = EVENT_PATH_PARTS.find((each) => each === labels[COMPONENT_LABEL]);
  if (!part || deletionTimestamp || status.phase === "Succeeded" || status.phase === "Failed")
    return undefined;
  const main = status.containerStatuses?.find(({ name }) => name === MAIN);
  const startedAt = main?.state?.running?.startedAt;
  const finishedAt = main?.lastState?.terminated?.finishedAt;
  // The clock of the pod's node may be ahead of the API server's, or behind.
  const timeOf = (text: string) =>
    Math.max(Date.parse(creationTimestamp), Math.min(Date.parse(text), writtenAt(object)));
  return {
    object,
    part,
    shard: labels["sensor-name"] ?? labels["eventsource-name"] ?? "",
    ready: isTrue(status, "Ready"),
    beganAt: startedAt === undefined ? undefined : timeOf(startedAt),
    failedAt: startedAt === undefined && finishedAt !== undefined ? timeOf(finishedAt) : undefined,
  };
}

/**
 * How long the part on which a pod depends must have run before the pod counts as outdated, in milliseconds. So the roll-out of
 * several pods counts as one start.
 */
export const ROLL_OUT_MS = 20_000;

/**
 * The pods of an event path that must start again, because a part on which they depend began after them.
 *
 * Sensors and event sources make the stream and each Sensor's bucket when they start, and never again. If the bus loses its
 * storage, the sensor finds no bucket, and the event source publishes into nothing. Neither of them ever ends (argo-events,
 * pkg/eventbus/jetstream, seen with 1.9.11). If the bus was only out of reach, the event source has dropped the changes of that
 * time. An event source that begins adds every object again. It must begin after its sensor, since a new subscription gets only
 * events that are published from then on.
 *
 * @param now in milliseconds since the epoch
 * @returns none while the bus is not ready or a sensor is missing; an event source only when its sensor needs nothing any more
 */
export function outdatedPods(pods: readonly EventPathPod[], now: number): EventPathPod[] {
  const of = (part: EventPathPart, shard = "") =>
    pods.filter((pod) => pod.part === part && pod.shard === shard);
  const servers = of("event-bus");
  const serving = servers.filter(({ ready }) => ready);
  if (serving.length * 2 <= servers.length) return [];
  const busBeganAt = latest(serving);
  const outdated = (pod: EventPathPod, since: number) =>
    since + ROLL_OUT_MS <= now && (pod.beganAt ?? pod.failedAt ?? since) < since;
  const shards = new Set(pods.filter(({ part }) => part === "event-source").map(({ shard }) => shard));
  return [...shards].flatMap((shard) => {
    const sensors = of("sensor", shard);
    if (sensors.some((sensor) => (sensor.beganAt ?? 0) < busBeganAt))
      return sensors.filter((sensor) => outdated(sensor, busBeganAt));
    if (sensors.length === 0) return [];
    const since = Math.max(busBeganAt, latest(sensors));
    return of("event-source", shard).filter((source) => outdated(source, since));
  });
}

function latest(pods: readonly EventPathPod[]): number {
  return Math.max(...pods.map(({ beganAt = 0 }) => beganAt));
}
