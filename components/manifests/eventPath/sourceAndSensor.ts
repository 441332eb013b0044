import type { EventPathPart, Manifest } from "../../../runtime/program";
import { awaited, labelsOf, TAKEN_BACK } from "../metadata";
import { eventPathNames } from "../names";
import { CONTAINER_SECURITY, POD_SECURITY, placementFields, podMetadata } from "../pods";
import { resourcesOf } from "../resources";
import { transformed } from "../transform";
import { dependencyOf, type EventPathOptions } from "./options";

/** How the two kinds differ, whatever their events are. */
interface Kind {
  /** The name of their pods' options. */
  readonly pods: "eventSource" | "sensor";
  /** The label by which the keeper finds their pods. */
  readonly component: Exclude<EventPathPart, "event-bus">;
  readonly account: "sourceAccount" | "sensorAccount";
  /** The conditions that Pulumi awaits. */
  readonly conditions: readonly string[];
}

const KINDS: Readonly<Record<"EventSource" | "Sensor", Kind>> = {
  EventSource: {
    pods: "eventSource",
    component: "event-source",
    account: "sourceAccount",
    conditions: ["SourcesProvided", "Deployed"],
  },
  Sensor: {
    pods: "sensor",
    component: "sensor",
    account: "sensorAccount",
    conditions: ["DependenciesProvided", "TriggersProvided", "Deployed"],
  },
};

/** @see buildArgoEventSource */
export interface EventSourceParts {
  /** The transform that may change it. */
  readonly part: "eventSource" | "outsideEventSource";
  readonly name: string;
  readonly podAnnotations?: Annotations;
  /** Its events, by their types, and the ports on which it listens. */
  readonly events: Readonly<Record<string, unknown>>;
}

/** An EventSource of these events. */
export function buildArgoEventSource(
  { part, name, podAnnotations, events }: EventSourceParts,
  options: EventPathOptions,
): Manifest {
  return transformed(part, build("EventSource", name, events, options, podAnnotations), options);
}

/** @see buildArgoSensor */
export interface SensorParts {
  /** The transform that may change it. */
  readonly part: "sensor" | "outsideSensor";
  readonly name: string;
  readonly dependencies: readonly object[];
  readonly triggers: readonly Trigger[];
}

/** A Sensor with these dependencies and triggers. */
export function buildArgoSensor(
  { part, name, dependencies, triggers }: SensorParts,
  options: EventPathOptions,
): Manifest {
  return transformed(part, build("Sensor", name, { dependencies, triggers }, options), options);
}

type Annotations = Readonly<Record<string, string>>;

/** It has one replica, so that nothing is elected. */
function build(
  kind: keyof typeof KINDS,
  name: string,
  spec: Readonly<Record<string, unknown>>,
  options: EventPathOptions,
  podAnnotations?: Annotations,
): Manifest {
  const { component, conditions } = KINDS[kind];
  return {
    apiVersion: "argoproj.io/v1alpha1",
    kind,
    metadata: {
      name,
      namespace: options.platform.namespace,
      labels: labelsOf(options.name, component),
      annotations: { ...awaited(...conditions), ...TAKEN_BACK },
    },
    spec: {
      eventBusName: eventPathNames(options.name).eventBus,
      replicas: 1,
      template: podTemplate(kind, options, podAnnotations),
      ...spec,
    },
  };
}

/**
 * The template of an EventSource's or a Sensor's pod (argo-events, pkg/apis/events/v1alpha1/template.go). The controller adds an
 * emptyDir at /tmp for the log of the leader election, and the bus's password as a volume
 * (pkg/reconciler/eventsource/resource.go, pkg/reconciler/sensor/resource.go). So the root may stay read-only.
 */
function podTemplate(kind: keyof typeof KINDS, options: EventPathOptions, annotations?: Annotations) {
  const { pods, component, account } = KINDS[kind];
  const labels = labelsOf(options.name, component);
  return {
    metadata: podMetadata(pods, { labels, ...(annotations && { annotations }) }, options),
    serviceAccountName: eventPathNames(options.name)[account],
    securityContext: POD_SECURITY,
    ...placementFields(pods, options),
    container: { securityContext: CONTAINER_SECURITY, resources: resourcesOf(pods, options) },
  };
}

/** The trigger of a Sensor. */
type Trigger = ReturnType<typeof triggerOf>;

/**
 * The trigger of an event, which is tried once a second.
 * @param name the event's
 * @param steps the number of tries
 * @param request what is sent by HTTP
 */
export function triggerOf(name: string, steps: number, request: object) {
  return {
    // Without a strategy there are no retries (argo-events, pkg/sensors/listener.go, triggerActions).
    atLeastOnce: true,
    retryStrategy: { steps, duration: "1s", factor: 1, jitter: 0.2 },
    // Otherwise any status would count as a success (pkg/sensors/triggers/http/http.go, ApplyPolicy).
    policy: { status: { allow: [204] } },
    template: {
      name,
      conditions: dependencyOf({ name }),
      // Argo's controller writes it back so. Without it, Argo CD would see a change for ever.
      http: { host: "", ...request },
    },
  };
}
