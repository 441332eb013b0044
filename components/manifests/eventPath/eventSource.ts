import { reportOn } from "../../../definition/definitionFile";
import { Problems } from "../../../definition/problems";
import { DOMAIN, type Manifest, type Operator } from "../../../runtime/program";
import { shardName } from "../names";
import { contentFingerprint } from "../placeholder";
import { type EventPathOptions, type EventPathShard, eventsOf, type OperatorEvent } from "./options";
import { buildSensor } from "./sensor";
import { buildArgoEventSource } from "./sourceAndSensor";

/** An annotation of an EventSource's pods with a hash of the Sensor of the same shard. */
export const SENSOR_ANNOTATION = `${DOMAIN}/sensor`;

/**
 * A shard's EventSource, which watches its operators' custom resources.
 *
 * Its pods are replaced when the Sensor changes. A new EventSource adds every object again, which makes up for the events that a
 * Sensor missed whose subscription started again. The EventSource must have no `filter`: `afterStart` drops writes by server-side
 * apply, and labels make a change look like a deletion (argo-events, pkg/eventsources/sources/resource/start.go). It must not
 * have DELETE either: finalizers turn deletions into updates, which cannot be missed.
 *
 * @param sensor the Sensor of the same shard
 */
export function buildEventSource(
  shard: EventPathShard,
  sensor: Manifest,
  options: EventPathOptions,
): Manifest {
  const events = shard.operators.flatMap(eventsOf);
  return buildArgoEventSource(
    {
      part: "eventSource",
      name: shard.name,
      podAnnotations: { [SENSOR_ANNOTATION]: contentFingerprint(sensor.spec) },
      events: { resource: Object.fromEntries(events.map((event) => [event.name, watch(event)])) },
    },
    options,
  );
}

function watch({ operator, namespace }: OperatorEvent) {
  const { group, version, plural } = operator.customResource;
  return { namespace, group, version, resource: plural, eventTypes: ["ADD", "UPDATE"] };
}

/**
 * The most bytes of an EventSource or a Sensor, as its controller gives it to the pod: as base64 in one environment variable
 * (argo-events, pkg/reconciler/sensor/resource.go, SENSOR_OBJECT). Linux allows 128 KiB for a variable, name included
 * (include/uapi/linux/binfmts.h, MAX_ARG_STRLEN). With more, the pod cannot start. A quarter is left for additions of another
 * version of Argo or of the program's transform.
 */
export const MAX_SPECIFICATION_BYTES = 96 * 1024;

/**
 * Packs operators, in their order, into as few pairs of an EventSource and a Sensor as their specifications allow. A new operator
 * belongs at the end of the list, because an operator that moves to another pair loses the events on their way. The program's
 * transform is not called here, so a change of it does not move an operator.
 *
 * @throws OperatorError if an operator is too large for a pair of its own
 */
export function planEventPath(
  operators: readonly Operator[],
  options: EventPathOptions,
): readonly EventPathShard[] {
  const problems = new Problems();
  const shards: EventPathShard[] = [];
  for (const operator of operators) {
    const last = shards.at(-1);
    const joined = last && { ...last, operators: [...last.operators, operator] };
    if (joined && fits(joined, options)) {
      shards[shards.length - 1] = joined;
      continue;
    }
    const { name } = options;
    const own = { name: shardName(name, shards.length + 1), operators: [operator] };
    shards.push(own);
    if (!fits(own, options)) {
      reportOn(operator, problems)(
        "namespaces",
        `lists ${eventsOf(operator).length} namespaces, more than one Sensor can carry`,
        "Write all, or make it several operators with fewer namespaces each.",
      );
    }
  }
  if (problems.found) throw problems.toError();
  return shards;
}

function fits(shard: EventPathShard, { transform: _, ...options }: EventPathOptions): boolean {
  const sensor = buildSensor(shard, options);
  return [sensor, buildEventSource(shard, sensor, options)].every(
    (manifest) => specificationBytes(manifest) <= MAX_SPECIFICATION_BYTES,
  );
}

/**
 * The length of the environment variable with this EventSource or Sensor: name, namespace and specification as JSON, as Go writes
 * it, in base64.
 */
export function specificationBytes({ metadata: { name, namespace }, spec }: Manifest): number {
  const written = JSON.stringify({
    metadata: { name, namespace, creationTimestamp: null },
    spec,
    status: {},
  });
  // Go's encoding/json writes these three as six characters.
  const json = written.replace(/[<>&]/g, "\\u0000");
  return Math.ceil(Buffer.byteLength(json) / 3) * 4;
}
