import { listenerOf } from "../../../definition/checkOutsideEvents";
import { classOfSource, SOURCE_CLASSES, type SourceClass } from "../../../definition/eventSources";
import {
  INTAKE_PATH,
  isJsonObject,
  type JsonObject,
  type Manifest,
  type OutsideEvent,
  RUNNER_PORTS,
  SUBJECT_HEADER,
  TOKEN_HEADER,
} from "../../../runtime/program";
import { buildEventBus, type EventBusUse } from "../eventPath/eventBus";
import { dependencyOf } from "../eventPath/options";
import { buildArgoEventSource, buildArgoSensor, triggerOf } from "../eventPath/sourceAndSensor";
import type { ManifestSet } from "../metadata";
import { outsideNames } from "../names";
import type { OperatorOutsideEvent, OutsideOptions } from "./options";

/**
 * A bus for events that their senders do not repeat. If there is no room, the source gets an error and passes it to the sender.
 * Events that every Sensor has read make room. An event is written to the disk before the source answers, so a node that loses
 * its power loses nothing (nats-server, server/opts.go, sync_interval).
 */
const OUTSIDE: EventBusUse = {
  part: "outsideEventBus",
  retention: 1,
  discard: 1,
  settings: { sync_interval: "always" },
};

/** The bus of events from outside. */
export function buildOutsideEventBus(options: OutsideOptions): Manifest {
  return buildEventBus(options, OUTSIDE);
}

/** The name of the EventSource of a class. */
function sourceNameOf(kind: SourceClass, { installation }: OutsideOptions): string {
  const { path, single } = outsideNames(installation);
  return kind === "rolling" ? path : single;
}

/** The EventSources: one for each class that has an event. */
export function buildOutsideEventSources(
  events: readonly OperatorOutsideEvent[],
  options: OutsideOptions,
): ManifestSet {
  return Object.fromEntries(
    SOURCE_CLASSES.flatMap((kind) => {
      const own = events.filter(({ event }) => classOfSource(event.type) === kind);
      const key = kind === "rolling" ? "event-source" : "event-source-single";
      return own.length === 0 ? [] : [[key, buildEventSource(kind, own, options)]];
    }),
  );
}

function buildEventSource(
  kind: SourceClass,
  events: readonly OperatorOutsideEvent[],
  options: OutsideOptions,
): Manifest {
  const types = [...new Set(events.map(({ event }) => event.type))];
  const sources = types.map((type) => {
    const own = events.filter(({ event }) => event.type === type);
    return [type, Object.fromEntries(own.map(({ subject, event }) => [subject, complete(event)]))];
  });
  const ports = [...new Set(events.flatMap(({ event }) => listenerOf(event)?.port ?? []))]
    .map(Number)
    .sort((one, other) => one - other);
  return buildArgoEventSource(
    {
      part: "outsideEventSource",
      name: sourceNameOf(kind, options),
      events: {
        ...(ports.length > 0 && {
          service: { ports: ports.map((port) => ({ name: `port-${port}`, port, targetPort: port })) },
        }),
        ...Object.fromEntries(sources),
      },
    },
    options,
  );
}

/** Fields that Argo's schema requires, though its program does not need them. */
function complete({ type, source }: OutsideEvent): JsonObject {
  const listener = source["webhook"];
  return {
    ...(type === "webhook" && { url: "" }),
    ...(type === "github" && { events: [] }),
    ...source,
    ...(isJsonObject(listener) && { webhook: { url: "", ...listener } }),
  };
}

/**
 * Once a second for 68 years, the highest count in Argo. The sensor retries from its memory, even events that the bus has
 * dropped after a day. A sensor that restarts gets only what the bus still has.
 */
const TRIES = 2 ** 31 - 1;

/**
 * The Sensor, which sends every whole event to the intake until the intake has taken it. Each event has a dependency and a
 * trigger of its own. So an event that waits does not hold up events of another kind, and a new event does not change the
 * subscriptions of others. One dependency on all events would lose them, because Argo finds the dependency of an event by its
 * exact name (argo-events, pkg/eventbus/jetstream/sensor/trigger_conn.go, getDependencyNames).
 */
export function buildOutsideSensor(
  events: readonly OperatorOutsideEvent[],
  options: OutsideOptions,
): Manifest {
  return buildArgoSensor(
    {
      part: "outsideSensor",
      name: options.name,
      dependencies: events.map(({ subject, event }) => ({
        name: dependencyOf({ name: subject }),
        eventSourceName: sourceNameOf(classOfSource(event.type), options),
        eventName: subject,
      })),
      triggers: events.map(({ subject }) => triggerOf(subject, TRIES, intakeRequest(subject, options))),
    },
    options,
  );
}

/** POST with the whole event. */
function intakeRequest(subject: string, { installation, platform }: OutsideOptions) {
  const { intake, caller } = outsideNames(installation);
  return {
    url: `http://${intake}.${platform.namespace}.svc:${RUNNER_PORTS.hints}${INTAKE_PATH}`,
    method: "POST",
    timeout: 30,
    headers: { [SUBJECT_HEADER]: subject },
    secureHeaders: [{ name: TOKEN_HEADER, valueFrom: { secretKeyRef: { name: caller, key: "token" } } }],
    // The event as it is, not as a text (pkg/sensors/triggers/params.go, ConstructPayload).
    payload: [
      {
        src: { dependencyName: dependencyOf({ name: subject }), dataKey: "@this", useRawData: true },
        dest: "data",
      },
    ],
  };
}
