import type { JsonObject } from "../kubernetes/objects";

/** A value that a field of an event is compared with. */
export type EventScalar = string | number | boolean;

/** The namespace of the objects that are created from an event: a constant, or a field of the event with one of these values. */
export type EventNamespace = string | { readonly from: string; readonly allowed: readonly string[] };

/** How an intake creates an object from an event. */
export interface EventMapping {
  /** The event's name in `on`. The names of its objects begin with it. */
  readonly name: string;
  /** The type of its source, as Argo calls it: "webhook". */
  readonly type: string;
  /** Field paths whose values together distinguish this event from all others of its source. */
  readonly id: readonly string[];
  /**
   * Which events count: each of these field paths must have its value, or one of its values. An event without such a field does
   * not count.
   */
  readonly when: Readonly<Record<string, EventScalar | readonly EventScalar[]>>;
  /** Undefined for a custom resource without namespaces. */
  readonly namespace?: EventNamespace | undefined;
  /** The fields of the object's `spec`: see `mapEvent`. */
  readonly spec: JsonObject;
}

/** An event from outside that becomes a custom resource: an entry of `on`. */
export interface OutsideEvent extends EventMapping {
  /** Argo's event source, as Argo writes it. */
  readonly source: JsonObject;
  /** How long after it became Ready an object of this event is deleted, in seconds. @default never */
  readonly ttlSecondsAfterReady?: number | undefined;
}
