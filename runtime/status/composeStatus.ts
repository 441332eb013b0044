import { pointerOf } from "../json/json";
import { isAppliedAs } from "../kubernetes/appliesNothing";
import type { JsonPatchOperation } from "../kubernetes/client";
import { applyEntry } from "../kubernetes/managedFields";
import {
  type Condition,
  conditionsIn,
  type JsonObject,
  type KubernetesObject,
  type ManagedFieldsEntry,
  timeOf,
} from "../kubernetes/objects";
import { ownedValues } from "../kubernetes/ownedValues";
import { ENGINE_CONDITIONS, MEMORY_FIELD, OWN_STATUS_FIELDS } from "../names";
import { conditionsOf, type Statement, type Verdict, written } from "./conditions";

/** A status, as its object has it. */
export type Status = Record<string, unknown>;

/** A change of a status. Parts that are left out stay as they are. */
export interface StatusChange {
  /** All of the handler's fields. Earlier fields that are not among them are removed. */
  readonly fields?: Readonly<Status> | undefined;
  /** All of the handler's own conditions. Earlier conditions that are not among them are removed. */
  readonly conditions?: HandlersConditions | undefined;
  /** The engine's memory, as `remembered` gives it. */
  readonly memory?: JsonObject | undefined;
  readonly verdict?: StatusVerdict | undefined;
}

/** The conditions of a handler for one generation of an object. */
export interface HandlersConditions {
  readonly statements: readonly Statement[];
  /** The generation that was handled. */
  readonly generation: number;
}

/** A verdict about one generation of an object. */
export interface StatusVerdict {
  readonly verdict: Verdict;
  /** The generation that was handled. */
  readonly generation: number;
  /** The name of the Workflow that records the run. */
  readonly run?: string | undefined;
}

/**
 * The status to apply: the fields that we own, with the change made. Undefined if the object's status already has the change.
 * @param fieldManager that writes statuses
 */
export function composeStatus(
  object: KubernetesObject,
  change: StatusChange,
  fieldManager: string,
  now: Date,
): Status | undefined {
  const { fields, conditions: own, memory, verdict } = change;
  const current = (object["status"] ?? {}) as Status;
  const entry = applyEntry(object, fieldManager, "status");
  const owned = fieldsOf(entry);
  const { conditions: _, ...kept } = keptValues(object, entry, fieldManager);
  const observed = current["observedGeneration"];
  // A number beyond the object's own is not ours: a backup restored the status of a deleted object of this name.
  const isReached = typeof observed === "number" && observed <= (object.metadata.generation ?? observed);
  const isOld = verdict && isReached && observed > verdict.generation;
  const stated = isOld ? undefined : verdict;
  const conditions = conditionsAfter(current, owned, own, stated, now);
  const status: Status = {
    ...(fields ? withFields(kept, fields) : kept),
    ...(memory !== undefined && { [MEMORY_FIELD]: memory }),
    ...(stated && { observedGeneration: stated.generation }),
    ...(conditions.length > 0 && { conditions }),
  };
  // After a rename of the operator nothing is ours yet, even if all of it is there.
  const isOurs = namesIn(owned).length > 0;
  const isApplied = isOurs ? isAppliedAs(status, current, owned) : Object.keys(status).length === 0;
  return isApplied ? undefined : status;
}

/**
 * The values of our fields. If we wrote them in another version of the kind, the fields may have other names there: the API server
 * would convert our former fields, and remove those that an apply leaves out. So all fields that are not known as another's are ours.
 */
function keptValues(
  object: KubernetesObject,
  entry: ManagedFieldsEntry | undefined,
  fieldManager: string,
): Status {
  const ours = (ownedValues(object, entry) as { readonly status?: Status } | undefined)?.status ?? {};
  if ((entry?.apiVersion ?? object.apiVersion) === object.apiVersion) return ours;
  const status = (object["status"] ?? {}) as Status;
  const theirs = fieldsOfOthers(object, fieldManager);
  const notTheirs = Object.entries(status).filter(([field]) => !theirs.includes(field));
  return { ...ours, ...Object.fromEntries(notTheirs) };
}

function conditionsAfter(
  current: Status,
  entry: JsonObject,
  own: HandlersConditions | undefined,
  verdict: StatusVerdict | undefined,
  date: Date,
): Condition[] {
  const previous = conditionsIn(current);
  const there = ownedConditions(current, entry);
  const now = timeOf(date);
  const engines = verdict
    ? conditionsOf(verdict.verdict, previous, verdict.generation, now, verdict.run)
    : there.filter(({ type }) => ENGINE_CONDITIONS.includes(type));
  const handlers = own
    ? own.statements.map((statement) => written(statement, previous, own.generation, now))
    : there.filter(({ type }) => !ENGINE_CONDITIONS.includes(type));
  return [...engines, ...handlers];
}

/**
 * The operations that remove the handler's fields, whatever type they have. They are not a server-side apply, because the API
 * server refuses every apply to an object that does not fit its schema. After any other write to such an object, `managedFields` no
 * longer say who wrote which field, so every field that is not known as another's is treated as ours.
 */
export function clearingOf(object: KubernetesObject, fieldManager: string): JsonPatchOperation[] {
  const { uid } = object.metadata;
  const theirs = fieldsOfOthers(object, fieldManager);
  const fields = Object.keys(handlersFields((object["status"] ?? {}) as Status));
  const removals = fields
    .filter((field) => !theirs.includes(field))
    .map((field) => ({ op: "remove" as const, path: pointerOf(["status", field]) }));
  return [{ op: "test", path: "/metadata/uid", value: uid }, ...removals];
}

/** The names of the fields of the status that other field managers own. */
function fieldsOfOthers(
  { metadata: { managedFields = [] } }: KubernetesObject,
  fieldManager: string,
): string[] {
  const others = managedFields.filter(({ manager }) => manager !== fieldManager);
  return others.flatMap((entry) => namesIn(fieldsOf(entry)));
}

/** The fields of the status that an entry of `managedFields` owns. */
function fieldsOf(entry: ManagedFieldsEntry | undefined): JsonObject {
  return (entry?.fieldsV1?.["f:status"] ?? {}) as JsonObject;
}

/** The names of these fields. */
function namesIn(entry: JsonObject): string[] {
  return Object.keys(entry)
    .filter((key) => key.startsWith("f:"))
    .map((key) => key.slice(2));
}

/** The conditions that we have written. If we wrote another's condition, it would become ours as well. */
function ownedConditions(status: Status, entry: JsonObject): Condition[] {
  if (!entry["f:conditions"]) return [];
  const keys = Object.keys(entry["f:conditions"]).filter((key) => key.startsWith("k:"));
  // A list that the author's schema does not key by type is owned as a whole.
  const isOurs = ({ type }: Condition) => keys.length === 0 || keys.includes(`k:${JSON.stringify({ type })}`);
  return conditionsIn(status).filter(isOurs);
}

/** A status with these fields of the handler in the place of those that it has. */
function withFields(status: Readonly<Status>, fields: Readonly<Status>): Status {
  const engines = Object.entries(status).filter(([field]) => OWN_STATUS_FIELDS.includes(field));
  return { ...handlersFields(fields), ...Object.fromEntries(engines) };
}

/** The fields of a status that are the handler's to write. */
function handlersFields(status: Readonly<Status>): Status {
  return Object.fromEntries(Object.entries(status).filter(([field]) => !OWN_STATUS_FIELDS.includes(field)));
}
