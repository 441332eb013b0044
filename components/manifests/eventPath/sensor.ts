import { type Manifest, RUNNER_PORTS } from "../../../runtime/program";
import { runnerNameOf } from "../names";
import type { Platform } from "../platform/options";
import { EVENT_FILTER } from "./eventFilter";
import {
  dependencyOf,
  type EventPathOptions,
  type EventPathShard,
  eventsOf,
  type OperatorEvent,
} from "./options";
import { buildArgoSensor, triggerOf } from "./sourceAndSensor";

/**
 * A shard's Sensor. For each event of its operators it has a dependency with the filter, and a trigger. A Sensor reads only
 * events that are published after its first start (argo-events, pkg/eventbus/jetstream/sensor/trigger_conn.go: DeliverNew), so it
 * comes before the EventSource. Its metadata.name is the name of a NATS bucket too.
 */
export function buildSensor(shard: EventPathShard, options: EventPathOptions): Manifest {
  const events = shard.operators.flatMap(eventsOf);
  return buildArgoSensor(
    {
      part: "sensor",
      name: shard.name,
      dependencies: events.map((event) => ({
        name: dependencyOf(event),
        eventSourceName: shard.name,
        eventName: event.name,
        filters: { script: EVENT_FILTER },
      })),
      triggers: events.map((event) => triggerOf(event.name, TRIES, hintTrigger(event, options.platform))),
    },
    options,
  );
}

/**
 * Once a second for a minute. That is longer than a roll-out leaves a runner's Service or the API server without an answer, and
 * the next try is soon after the answer comes back. During these tries, later events of the trigger wait. If a trigger gives
 * up, nothing is lost: a runner that starts looks at every object, and has a watch of its own.
 */
const TRIES = 60;

/**
 * A hint to the operator's runner: POST {"namespace","name","uid","resourceVersion"}, texts, the namespace "" for an object without
 * one.
 *
 * Every event has a trigger of its own. One trigger for all of an operator's namespaces, with its conditions joined by "||",
 * would not work. The payload of an HTTP trigger needs a value from each dependency that it names, and Argo's Sensor panics if
 * one of them has no event (argo-events, pkg/sensors/triggers/params.go: ResolveParamValue gives nil, ConstructPayload takes its
 * target). A default would overwrite the value of the dependency that has one.
 */
function hintTrigger(event: OperatorEvent, { namespace }: Platform) {
  return {
    url: `http://${runnerNameOf(event.operator.name)}.${namespace}.svc:${RUNNER_PORTS.hints}/hints`,
    method: "POST",
    timeout: 5,
    payload: [
      { src: source(event, "namespace", ""), dest: "namespace" },
      { src: source(event, "name"), dest: "name" },
      { src: source(event, "uid", ""), dest: "uid" },
      { src: source(event, "resourceVersion", ""), dest: "resourceVersion" },
    ],
  };
}

/** A field of the object's metadata, as text. If the field is missing, it is `value`, or the trigger fails. */
function source(
  event: OperatorEvent,
  field: "namespace" | "name" | "uid" | "resourceVersion",
  value?: string,
) {
  return {
    dependencyName: dependencyOf(event),
    dataKey: `body.metadata.${field}`,
    ...(value !== undefined && { value }),
  };
}
