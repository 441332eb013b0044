import {
  identityOf,
  instanceLabel,
  type JsonObject,
  type Manifest,
  OBJECT_UID_LABEL,
  OPERATOR_LABEL,
  RUN_PARAMETERS,
  RUNNER_PORTS,
} from "../../../runtime/program";
import { runnerNameOf } from "../names";
import type { Platform } from "../platform/options";
import { EVENT_FILTER, POD_EVENT_FILTER } from "./eventFilter";
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
        filters: { script: event.operator.execution === "pod" ? POD_EVENT_FILTER : EVENT_FILTER },
      })),
      triggers: events.map((event) => triggerOf(event.name, TRIES, actionOf(event, options.platform))),
    },
    options,
  );
}

/**
 * Once a second for a minute. That is longer than a roll-out leaves a runner's Service or the API server without an answer, and
 * the next try is soon after the answer comes back. Later events of the trigger wait meanwhile. If a trigger gives up, nothing is
 * lost: a runner that starts looks at every object, and so does a resync.
 */
const TRIES = 60;

/**
 * The action for an event: a hint to the operator's resident runner, or a Workflow for an operator with a pod for each run.
 *
 * Every event has a trigger of its own. One trigger for all of an operator's namespaces, with its conditions joined by "||",
 * would not work. The payload of an HTTP trigger needs a value from each dependency that it names, and Argo's Sensor panics if
 * one of them has no event (argo-events, pkg/sensors/triggers/params.go: ResolveParamValue gives nil, ConstructPayload takes its
 * target). A default would overwrite the value of the dependency that has one.
 */
function actionOf(event: OperatorEvent, platform: Platform) {
  return event.operator.execution === "pod"
    ? { k8s: workflowTrigger(event, platform) }
    : { http: hintTrigger(event, platform) };
}

/** POST {"namespace","name","resourceVersion"}: texts, the namespace "" for an object without one. */
function hintTrigger(event: OperatorEvent, { namespace }: Platform) {
  return {
    url: `http://${runnerNameOf(event.operator.name)}.${namespace}.svc:${RUNNER_PORTS.hints}/hints`,
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
