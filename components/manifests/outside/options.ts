import type { IntakeEvent, Operator, OutsideEvent } from "../../../runtime/program";
import type { EventPathOptions } from "../eventPath/options";
import { jointName } from "../eventPath/options";
import { outsideNames } from "../names";

/** The options of the parts that carry events from outside. `name` is that of their bus: see `outsideNames`. */
export interface OutsideOptions extends EventPathOptions {
  readonly installation: string;
  /** Pods of the intake. */
  readonly intakes: number;
}

/** The options, with the name that the path of these events has. */
export function outsideOptions(options: Omit<OutsideOptions, "name">): OutsideOptions {
  return { ...options, name: outsideNames(options.installation).path };
}

/** An event from outside, and the operator of which it makes custom resources. */
export interface OperatorOutsideEvent {
  readonly operator: Operator;
  readonly event: OutsideEvent;
  /** The event's name in its source, its sensor and its intake. It depends only on the operator's name and its own. */
  readonly subject: IntakeEvent["subject"];
}

/** The events of all operators. */
export function outsideEventsOf(operators: readonly Operator[]): OperatorOutsideEvent[] {
  return operators.flatMap((operator) =>
    (operator.on ?? []).map((event) => ({ operator, event, subject: jointName(operator.name, event.name) })),
  );
}

/**
 * The namespaces in which an event may become an object. Empty for a kind without namespaces, and for an event that only wakes an
 * object.
 */
export function namespacesFor(event: OutsideEvent): readonly string[] {
  if ("wake" in event || event.namespace === undefined) return [];
  const { namespace } = event;
  return typeof namespace === "string" ? [namespace] : namespace.allowed;
}
