import { fingerprint, isRecord } from "../base/json";
import {
  allIdentitiesOf,
  EVENT_CONTENT_ANNOTATION,
  EVENT_ID_ANNOTATION,
  EVENT_LABEL,
  fieldManagerOf,
  type OperatorIdentity,
  type OperatorNames,
} from "../base/names";
import { conditionsIn, type KubernetesObject, type ObjectMeta } from "../base/objects";
import type { EventObject } from "./mapEvent";

/** The field manager with which an intake creates objects of an operator. */
export function intakeManagerOf(operator: OperatorIdentity): string {
  return `${fieldManagerOf(operator)}/intake`;
}

/** The labels and annotations of an object that name the event from which it was created. */
export function eventMarks(
  event: string,
  { id, spec, namespace }: EventObject,
): Pick<ObjectMeta, "labels" | "annotations"> {
  return {
    labels: { [EVENT_LABEL]: event },
    annotations: {
      [EVENT_ID_ANNOTATION]: id.join("/"),
      [EVENT_CONTENT_ANNOTATION]: fingerprint({ spec, namespace: namespace ?? null }),
    },
  };
}

/**
 * Whether an existing object was created from an event with the same content. The intake itself must have made the object, as for
 * {@link isExpired}: any client that may create such objects can write the same annotation with another spec.
 */
export function isMadeOf(wanted: ObjectMeta, object: KubernetesObject, operator: OperatorNames): boolean {
  const content = object.metadata.annotations?.[EVENT_CONTENT_ANNOTATION];
  const isSame = content !== undefined && content === wanted.annotations?.[EVENT_CONTENT_ANNOTATION];
  return isSame && isOfIntake(object, operator);
}

/** Whether an intake of the operator has created the object, also under a former name of the operator. */
function isOfIntake(
  { metadata: { managedFields = [] } }: KubernetesObject,
  operator: OperatorNames,
): boolean {
  const intakes = allIdentitiesOf(operator).map(intakeManagerOf);
  return managedFields.some(({ manager = "" }) => intakes.includes(manager));
}

/**
 * Whether an object must be deleted: it was created from an event, and has been Ready in its newest generation for long enough.
 * The intake itself must have made the object, as `managedFields` say. A copy of such an object has the same label.
 *
 * @param ttls how long the objects of each event stay after they are Ready, in seconds
 * @param now in milliseconds since the epoch
 */
export function isExpired(
  object: KubernetesObject,
  operator: OperatorNames & { readonly eventTtls?: Readonly<Record<string, number>> | undefined },
  now: number,
): boolean {
  const { labels = {}, generation, creationTimestamp = "", deletionTimestamp, name } = object.metadata;
  const { eventTtls = {} } = operator;
  const event = labels[EVENT_LABEL] ?? "";
  const ttl = Object.hasOwn(eventTtls, event) ? eventTtls[event] : undefined;
  if (ttl === undefined || deletionTimestamp !== undefined || !name.startsWith(`${event}-`)) return false;
  if (!isOfIntake(object, operator)) return false;
  const status = isRecord(object["status"]) ? object["status"] : {};
  if (status["observedGeneration"] !== generation) return false;
  const ready = conditionsIn(status).find(({ type, status }) => type === "Ready" && status === "True");
  if (ready === undefined) return false;
  // The time of the transition is from a runner's clock. If that clock was behind, the time may be before the object's creation.
  const since = Math.max(Date.parse(ready.lastTransitionTime), Date.parse(creationTimestamp));
  return since + ttl * 1000 <= now;
}
