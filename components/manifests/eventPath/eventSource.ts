import { DOMAIN, fingerprint, type Manifest } from "../../../runtime/program";
import { awaited, TAKEN_BACK } from "../awaited";
import { labelsOf } from "../labels";
import { eventsOf, type OperatorEvent } from "./operatorEvent";
import { type EventPathOptions, eventPathNames } from "./options";
import { podTemplate } from "./podTemplate";
import { buildSensor } from "./sensor";
import type { EventPathShard } from "./shard";

/** On an EventSource's pods: what the Sensor of the same shard is like. */
export const SENSOR_ANNOTATION = `${DOMAIN}/sensor`;

/**
 * A shard's EventSource: it watches its operators' custom resources. One replica, so that there is nothing to elect.
 *
 * Its pods are replaced when the Sensor changes: a new one adds every object again, which makes up for what a Sensor
 * missed whose subscription began anew. Never a `filter` on it: `afterStart` drops what server-side apply writes,
 * labels make a change look like a deletion (argo-events, pkg/eventsources/sources/resource/start.go). Never DELETE
 * either: finalizers carry deletions, as updates that nobody can miss.
 */
export function buildEventSource(shard: EventPathShard, options: EventPathOptions): Manifest {
  const { name, platform } = options;
  const names = eventPathNames(name);
  const events = shard.operators.flatMap(eventsOf);
  return {
    apiVersion: "argoproj.io/v1alpha1",
    kind: "EventSource",
    metadata: {
      name: shard.name,
      namespace: platform.namespace,
      labels: labelsOf(name, "event-source"),
      annotations: { ...awaited("SourcesProvided", "Deployed"), ...TAKEN_BACK },
    },
    spec: {
      eventBusName: names.eventBus,
      replicas: 1,
      template: podTemplate(options, {
        component: "event-source",
        serviceAccountName: names.sourceAccount,
        annotations: { [SENSOR_ANNOTATION]: fingerprint(buildSensor(shard, options).spec) },
        // It holds every object that it watches, whole.
        memory: { request: "96Mi", limit: "1Gi" },
      }),
      resource: Object.fromEntries(events.map((event) => [event.name, watch(event)])),
    },
  };
}

function watch({ operator, namespace }: OperatorEvent) {
  const { group, version, plural } = operator.customResource;
  return { namespace, group, version, resource: plural, eventTypes: ["ADD", "UPDATE"] };
}
