import type { Manifest } from "../../../runtime/program";
import { awaited, TAKEN_BACK } from "../awaited";
import { labelsOf } from "../labels";
import { EVENT_FILTER, POD_EVENT_FILTER } from "./eventFilter";
import { dependencyOf, eventsOf } from "./operatorEvent";
import { type EventPathOptions, eventPathNames } from "./options";
import { podTemplate } from "./podTemplate";
import type { EventPathShard } from "./shard";
import { triggerOf } from "./triggers";

/**
 * A shard's Sensor: for each event of its operators a dependency with the filter, and a trigger. It reads only what
 * is published after its first start (argo-events, pkg/eventbus/jetstream/sensor/trigger_conn.go: DeliverNew), so it
 * comes before the EventSource. Its metadata.name is the name of a NATS bucket too.
 */
export function buildSensor(shard: EventPathShard, options: EventPathOptions): Manifest {
  const { name, platform } = options;
  const names = eventPathNames(name);
  const events = shard.operators.flatMap(eventsOf);
  return {
    apiVersion: "argoproj.io/v1alpha1",
    kind: "Sensor",
    metadata: {
      name: shard.name,
      namespace: platform.namespace,
      labels: labelsOf(name, "sensor"),
      annotations: { ...awaited("DependenciesProvided", "TriggersProvided", "Deployed"), ...TAKEN_BACK },
    },
    spec: {
      eventBusName: names.eventBus,
      replicas: 1,
      template: podTemplate(options, {
        component: "sensor",
        serviceAccountName: names.sensorAccount,
        memory: { request: "96Mi", limit: "512Mi" },
      }),
      dependencies: events.map((event) => ({
        name: dependencyOf(event),
        eventSourceName: shard.name,
        eventName: event.name,
        filters: { script: event.operator.execution === "pod" ? POD_EVENT_FILTER : EVENT_FILTER },
      })),
      triggers: events.map((event) => triggerOf(event, platform)),
    },
  };
}
