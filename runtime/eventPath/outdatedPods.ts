import type { EventPathPart, EventPathPod } from "./eventPathPods";

/**
 * How long the part on which a pod depends must have been there before the pod counts as outdated, in milliseconds. So the
 * roll-out of several pods counts as one start.
 */
export const ROLL_OUT_MS = 20_000;

/**
 * The pods of an event path that must start again, because a part on which they depend began after them.
 *
 * Sensors and event sources make the stream and each Sensor's bucket when they start, and never again. If the bus loses its
 * storage, the sensor finds no bucket, and the event source publishes into nothing. Neither of them ever ends (argo-events,
 * pkg/eventbus/jetstream, seen with 1.9.11). If the bus was only out of reach, the event source has dropped the changes
 * meanwhile. An event source that begins adds every object again. It must begin after its sensor, since a new subscription gets
 * only events that are published from then on.
 *
 * @param now in milliseconds since the epoch
 * @returns none while the bus or a sensor is not there; an event source only when its sensor needs nothing any more
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
    if (sensors.some((sensor) => (sensor.beganAt ?? 0) < busBeganAt)) {
      return sensors.filter((sensor) => outdated(sensor, busBeganAt));
    }
    if (sensors.length === 0) return [];
    const since = Math.max(busBeganAt, latest(sensors));
    return of("event-source", shard).filter((source) => outdated(source, since));
  });
}

function latest(pods: readonly EventPathPod[]): number {
  return Math.max(...pods.map(({ beganAt = 0 }) => beganAt));
}
