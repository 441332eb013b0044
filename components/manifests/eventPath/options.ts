import { createHash } from "node:crypto";
import type { Operator } from "../../../runtime/program";
import type { Platform } from "../platform/options";
import type { WorkloadOptions } from "../workloads";

/** The options of the event path, which all operators of a program share. */
export interface EventPathOptions extends WorkloadOptions {
  /** The name of the EventBus, and of the first EventSource and Sensor: a DNS label of at most 30 characters. */
  readonly name: string;
  readonly platform: Platform;
  readonly eventBus: EventBusOptions;
}

/** Numbers of servers that can agree: a majority of an even number is no smaller than that of the next odd one. */
export const EVENT_BUS_REPLICAS: readonly number[] = [1, 3, 5, 7];

/** The size of the event bus. */
export interface EventBusOptions {
  /** Servers, one of {@link EVENT_BUS_REPLICAS}. */
  readonly replicas: number;
  /**
   * The size of each server's volume, as a Kubernetes quantity. Without one the events are in an emptyDir and are gone with their
   * pod.
   */
  readonly storage?: string;
  /** The StorageClass of the volumes. @default the cluster's own */
  readonly storageClassName?: string;
}

/** One pair of an EventSource and a Sensor, and the operators whose events it carries. */
export interface EventPathShard {
  /** The name of both: see `shardName`. */
  readonly name: string;
  readonly operators: readonly Operator[];
}

/** One event of an EventSource: an operator's custom resources, in all namespaces or in one. */
export interface OperatorEvent {
  /**
   * A DNS label: the name of the event and of its trigger. It has no dot, since it is a token of a NATS subject
   * (pkg/eventbus/jetstream/eventsource/source_conn.go). It is no longer than a label's value, since a trigger writes its name on
   * the objects that it creates (pkg/sensors/triggers/standard-k8s/standard-k8s.go).
   */
  readonly name: string;
  readonly operator: Operator;
  /** The namespace that is watched. "" for all of them, and for custom resources without one. */
  readonly namespace: string;
}

/**
 * An operator's events: one, or one for each namespace that it lists. The names depend on the operator alone. With another name a
 * Sensor's subscription would start again and miss the events in between.
 */
export function eventsOf(operator: Operator): OperatorEvent[] {
  if (operator.namespaces === "all") return [{ name: operator.name, operator, namespace: "" }];
  return operator.namespaces.map((namespace) => ({
    name: jointName(operator.name, namespace),
    operator,
    namespace,
  }));
}

/**
 * The name by which a Sensor depends on an event. Argo reads conditions as an expression
 * (pkg/sensors/listener.go, getDependencyExpression): "3d" and "not" are names of operators, but not of variables.
 */
export function dependencyOf({ name }: Pick<OperatorEvent, "name">): string {
  return `on-${name}`;
}

/** The most characters of a DNS label, and of a label's value. */
const LABEL_LENGTH = 63;

/**
 * The name of an event of an operator that has several: a DNS label. It has a hash, since "a" with "b-c" and "a-b" with "c" would
 * give the same name, and since both parts may be long.
 */
export function jointName(operator: string, part: string): string {
  const hash = createHash("sha256").update(`${operator}/${part}`).digest("hex").slice(0, 8);
  const readable = `${operator}-${part}`.slice(0, LABEL_LENGTH - 1 - hash.length).replace(/-+$/, "");
  return `${readable}-${hash}`;
}
