import { isRecord } from "../../runtime/base/json";
import { isSecretKind } from "../../runtime/base/kinds";
import type { JsonObject, KubernetesObject } from "../../runtime/base/objects";
import {
  type DueSchedule,
  type HandlerEvent,
  type KubernetesClient,
  type Operator,
  resourceOf,
  ServedKinds,
  type Used,
  withServedKind,
} from "../../runtime/cli";
import { listChildren } from "../diff/listedChildren";
import { Observation } from "../diff/observation";
import type { Question } from "./draft";
import { type Extent, recorded } from "./lean";

/** The question to a handler about an object in a cluster, with the values of Secrets. */
export interface LiveQuestion {
  readonly event: HandlerEvent;
  readonly object: KubernetesObject;
  /** As the handler is given them, with their `managedFields`. */
  readonly children: readonly KubernetesObject[];
  readonly used: Used;
  /** The Secrets among all these, those that are used first. They are whole, also if the handler is given only their metadata. */
  readonly secrets: readonly KubernetesObject[];
  readonly state?: JsonObject | undefined;
  readonly due: readonly DueSchedule[];
  /** Notes for the user, in sentences. */
  readonly notes: readonly string[];
}

/**
 * Reads the question that an operator's handler gets about a live object.
 * @param operator with the names that it has in the cluster
 * @param home the namespace of its runner
 * @throws ReconcileFailure, ApiError if its children or the objects that it uses cannot be read
 */
export async function liveQuestion(
  client: KubernetesClient,
  { operator: given, home }: { readonly operator: Operator; readonly home: string },
  object: KubernetesObject,
  event: HandlerEvent,
  due: readonly DueSchedule[] = [],
): Promise<LiveQuestion> {
  const operator = await withServedKind(given, client);
  const { all: childResources } = await ServedKinds.of(operator, client);
  const resource = resourceOf(operator.customResource);
  const listed = await listChildren({ operator, client, childResources }, [object]);
  const observation = new Observation({ operator, resource, childResources, client, home }, object, listed);
  const [{ state }, observed, { used, warnings }] = await Promise.all([
    observation.memory(),
    observation.children(),
    observation.used(event),
  ]);
  const whole = listed.near(object).map(({ child }) => child);
  return {
    ...{ event, object, used, due },
    children: observed.children.map((child) => withManagers(child, whole)),
    secrets: secretsAmong([...Object.values(used).flat(), ...whole, object]),
    state,
    notes: [...listed.notes, ...[...observed.warnings, ...warnings].map(({ note }) => note)],
  };
}

/** A child with its `managedFields`, which a handler is not given. */
function withManagers(child: KubernetesObject, whole: readonly KubernetesObject[]): KubernetesObject {
  const { managedFields } = whole.find(({ metadata }) => metadata.uid === child.metadata.uid)?.metadata ?? {};
  return { ...child, metadata: { ...child.metadata, ...(managedFields && { managedFields }) } };
}

/**
 * A question as a fixture asks it.
 * @param isOurs whether the object is a custom resource of the operator's own
 */
export function asked(question: LiveQuestion, extent: Extent, isOurs: boolean): Question {
  const { event, object, children, used, state, due } = question;
  const short = (each: KubernetesObject) => recorded(each, extent, false);
  const given = Object.entries(used).map(([key, value]) => [
    key,
    Array.isArray(value) ? value.map(short) : value && short(value as KubernetesObject),
  ]);
  return {
    ...{ event, object: recorded(object, extent, isOurs), children: children.map(short) },
    used: Object.fromEntries(given.filter(([, value]) => value !== null)) as JsonObject,
    state,
    due: due as unknown as JsonObject[],
  };
}

/** Those that are Secrets. */
export function secretsAmong(objects: readonly (KubernetesObject | null)[]): KubernetesObject[] {
  return objects.filter((each) => isRecord(each) && isSecretKind(each)) as KubernetesObject[];
}
