import type { EventPathPart, Manifest } from "../../../runtime/program";
import { awaited, labelsOf, TAKEN_BACK } from "../metadata";
import { eventPathNames } from "../names";
import { CONTAINER_SECURITY, POD_SECURITY, placementFields, podMetadata } from "../pods";
import { resourcesOf } from "../resources";
import { transformed } from "../transform";
import { dependencyOf, type EventPathOptions } from "./options";

/** The parts that every EventSource and every Sensor has, whatever its events are. */

/** @see buildArgoEventSource */
export interface EventSourceParts {
  /** The transform that may change it. */
  readonly part: "eventSource" | "outsideEventSource";
  readonly name: string;
  readonly podAnnotations?: Readonly<Record<string, string>>;
  /** Its events, by their types, and the ports on which it listens. */
  readonly events: Readonly<Record<string, unknown>>;
}

/** An EventSource of these events. It has one replica, so that nothing is elected. */
export function buildArgoEventSource(parts: EventSourceParts, options: EventPathOptions): Manifest {
  const { part, name, podAnnotations, events } = parts;
  const { eventBus, sourceAccount } = eventPathNames(options.name);
  return transformed(
    part,
    {
      apiVersion: "argoproj.io/v1alpha1",
      kind: "EventSource",
      metadata: {
        name,
        namespace: options.platform.namespace,
        labels: labelsOf(options.name, "event-source"),
        annotations: { ...awaited("SourcesProvided", "Deployed"), ...TAKEN_BACK },
      },
      spec: {
        eventBusName: eventBus,
        replicas: 1,
        template: podTemplate(options, {
          part: "eventSource",
          component: "event-source",
          serviceAccountName: sourceAccount,
          ...(podAnnotations && { annotations: podAnnotations }),
        }),
        ...events,
      },
    },
    options,
  );
}

/** @see buildArgoSensor */
export interface SensorParts {
  /** The transform that may change it. */
  readonly part: "sensor" | "outsideSensor";
  readonly name: string;
  readonly dependencies: readonly object[];
  readonly triggers: readonly Trigger[];
}

/** A Sensor with these dependencies and triggers. It has one replica, so that nothing is elected. */
export function buildArgoSensor(parts: SensorParts, options: EventPathOptions): Manifest {
  const { part, name, dependencies, triggers } = parts;
  const { eventBus, sensorAccount } = eventPathNames(options.name);
  return transformed(
    part,
    {
      apiVersion: "argoproj.io/v1alpha1",
      kind: "Sensor",
      metadata: {
        name,
        namespace: options.platform.namespace,
        labels: labelsOf(options.name, "sensor"),
        annotations: { ...awaited("DependenciesProvided", "TriggersProvided", "Deployed"), ...TAKEN_BACK },
      },
      spec: {
        eventBusName: eventBus,
        replicas: 1,
        template: podTemplate(options, {
          part: "sensor",
          component: "sensor",
          serviceAccountName: sensorAccount,
        }),
        dependencies,
        triggers,
      },
    },
    options,
  );
}

/** The differences between the pods of an EventSource and of a Sensor. */
interface EventPathPod {
  readonly part: "eventSource" | "sensor";
  readonly component: Exclude<EventPathPart, "event-bus">;
  readonly serviceAccountName: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

/**
 * The template of an EventSource's or a Sensor's pod (argo-events, pkg/apis/events/v1alpha1/template.go). The controller adds an
 * emptyDir at /tmp for the log of the leader election, and the bus's password as a volume
 * (pkg/reconciler/eventsource/resource.go, pkg/reconciler/sensor/resource.go). So the root may stay read-only.
 */
function podTemplate(options: EventPathOptions, pod: EventPathPod) {
  const { part, component, serviceAccountName, annotations } = pod;
  const labels = labelsOf(options.name, component);
  return {
    metadata: podMetadata(part, { labels, ...(annotations && { annotations }) }, options),
    serviceAccountName,
    securityContext: POD_SECURITY,
    ...placementFields(part, options),
    container: { securityContext: CONTAINER_SECURITY, resources: resourcesOf(part, options) },
  };
}

/** The trigger of a Sensor. */
type Trigger = ReturnType<typeof triggerOf>;

/**
 * The trigger of an event, which is tried once a second.
 * @param name the event's
 * @param steps the number of tries
 * @param action a request, or an object that is created
 */
export function triggerOf(
  name: string,
  steps: number,
  action: { readonly http: object } | { readonly k8s: object },
) {
  return {
    // Without a strategy there are no retries (argo-events, pkg/sensors/listener.go, triggerActions).
    atLeastOnce: true,
    retryStrategy: { steps, duration: "1s", factor: 1, jitter: 0.2 },
    // Otherwise any status would count as a success (pkg/sensors/triggers/http/http.go, ApplyPolicy).
    ...("http" in action && { policy: { status: { allow: [204] } } }),
    template: { name, conditions: dependencyOf({ name }), ...action },
  };
}
