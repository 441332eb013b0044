import {
  type EventPathPart,
  identityOf,
  instanceLabel,
  type JsonObject,
  type Manifest,
  OBJECT_UID_LABEL,
  OPERATOR_LABEL,
  RUN_PARAMETERS,
  RUNNER_PORTS,
} from "../../../runtime/program";
import { awaited, labelsOf, TAKEN_BACK } from "../metadata";
import { eventPathNames } from "../names";
import type { Platform } from "../platform/options";
import { CONTAINER_SECURITY, POD_SECURITY, placementFields, podMetadata } from "../pods";
import { resourcesOf } from "../resources";
import { transformed } from "../transform";
import { EVENT_FILTER, POD_EVENT_FILTER } from "./eventFilter";
import {
  dependencyOf,
  type EventPathOptions,
  type EventPathShard,
  eventsOf,
  type OperatorEvent,
} from "./options";

/**
 * A shard's Sensor. For each event of its operators it has a dependency with the filter, and a trigger. A Sensor reads only
 * events that are published after its first start (argo-events, pkg/eventbus/jetstream/sensor/trigger_conn.go: DeliverNew), so it
 * comes before the EventSource. Its metadata.name is the name of a NATS bucket too.
 */
export function buildSensor(shard: EventPathShard, options: EventPathOptions): Manifest {
  const { name, platform } = options;
  const names = eventPathNames(name);
  const events = shard.operators.flatMap(eventsOf);
  return transformed(
    "sensor",
    {
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
          part: "sensor",
          component: "sensor",
          serviceAccountName: names.sensorAccount,
        }),
        dependencies: events.map((event) => ({
          name: dependencyOf(event),
          eventSourceName: shard.name,
          eventName: event.name,
          filters: { script: event.operator.execution === "pod" ? POD_EVENT_FILTER : EVENT_FILTER },
        })),
        triggers: events.map((event) => triggerOf(event, platform)),
      },
    },
    options,
  );
}

/** The differences between the pods of an EventSource and of a Sensor. */
export interface EventPathPod {
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
export function podTemplate(options: EventPathOptions, pod: EventPathPod) {
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

/**
 * Once a second for a minute. That is longer than a roll-out leaves a runner's Service or the API server without an answer, and
 * the next try is soon after the answer comes back. Later events of the trigger wait meanwhile. If a trigger gives up, nothing is
 * lost: a runner that starts looks at every object, and so does a resync.
 */
const RETRY_STRATEGY = { steps: 60, duration: "1s", factor: 1, jitter: 0.2 } as const;

/**
 * The trigger of an event: a hint to the operator's resident runner, or a Workflow for an operator with a pod for each run.
 *
 * Every event has a trigger of its own. One trigger for all of an operator's namespaces, with its conditions joined by "||",
 * would not work. The payload of an HTTP trigger needs a value from each dependency that it names, and Argo's Sensor panics if
 * one of them has no event (argo-events, pkg/sensors/triggers/params.go: ResolveParamValue gives nil, ConstructPayload takes its
 * target). A default would overwrite the value of the dependency that has one.
 */
export function triggerOf(event: OperatorEvent, platform: Platform) {
  const { operator, name } = event;
  const template = { name, conditions: dependencyOf(event) };
  const common = {
    // Without a strategy there are no retries (pkg/sensors/listener.go, triggerActions).
    atLeastOnce: true,
    retryStrategy: RETRY_STRATEGY,
  };
  if (operator.execution === "pod") {
    return { ...common, template: { ...template, k8s: workflowTrigger(event, platform) } };
  }
  return {
    ...common,
    // Otherwise any status would count as a success (pkg/sensors/triggers/http/http.go, ApplyPolicy).
    policy: { status: { allow: [204] } },
    template: { ...template, http: hintTrigger(event, platform) },
  };
}

/** POST {"namespace","name","resourceVersion"}: texts, the namespace "" for an object without one. */
function hintTrigger(event: OperatorEvent, { namespace }: Platform) {
  return {
    url: `http://${event.operator.name}-runner.${namespace}.svc:${RUNNER_PORTS.hints}/hints`,
    method: "POST",
    timeout: 5,
    payload: [
      { src: source(event, "namespace", ""), dest: "namespace" },
      { src: source(event, "name"), dest: "name" },
      { src: source(event, "resourceVersion", ""), dest: "resourceVersion" },
    ],
  };
}

function workflowTrigger(event: OperatorEvent, platform: Platform) {
  const { namespace, name, uid } = RUN_PARAMETERS;
  const label = OBJECT_UID_LABEL.replaceAll(".", "\\.");
  const sources = [
    { parameter: namespace, src: source(event, "namespace", "") },
    { parameter: name, src: source(event, "name") },
    { parameter: uid, src: source(event, "uid", "") },
  ];
  return {
    operation: "create",
    source: {
      resource: workflowOf(
        event,
        platform,
        sources.map(({ parameter }) => parameter),
      ),
    },
    parameters: [
      ...sources.map(({ src }, index) => ({ src, dest: `spec.arguments.parameters.${index}.value` })),
      // A run finds other runs of its object by this label.
      { src: source(event, "uid", ""), dest: `metadata.labels.${label}` },
    ],
  };
}

function workflowOf(
  { operator }: OperatorEvent,
  { namespace, instanceId }: Platform,
  parameters: readonly string[],
): JsonObject {
  return {
    apiVersion: "argoproj.io/v1alpha1",
    kind: "Workflow",
    metadata: {
      generateName: `${operator.name}-`,
      namespace,
      labels: {
        ...instanceLabel(instanceId),
        [OPERATOR_LABEL]: identityOf(operator),
      },
    },
    spec: {
      workflowTemplateRef: { name: operator.name },
      arguments: { parameters: parameters.map((name) => ({ name, value: "" })) },
    },
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
