import { isDeepStrictEqual } from "node:util";
import { fitting } from "../base/contentSchema";
import type { ReconcileFailure } from "../base/failure";
import { pointerOf, readJson } from "../base/json";
import { ENGINE_CONDITIONS, MEMORY_FIELD, OWN_STATUS_FIELDS } from "../base/names";
import {
  type Condition,
  conditionsIn,
  type JsonObject,
  type KubernetesObject,
  type ManagedFieldsEntry,
  type Statement,
  timeOf,
} from "../base/objects";
import { schemaOfField, storedForm } from "../base/storedForm";
import { clean } from "../base/text";
import type { JsonPatchOperation } from "../kubernetes/client";
import { ApiError } from "../kubernetes/errors";
import { applyEntry, isAppliedAs, ownedValues } from "../kubernetes/managedFields";

/** A status, as its object has it. */
export type Status = Record<string, unknown>;

/** A change of a status. Parts that are left out stay as they are. */
export interface StatusChange {
  /** All of the handler's fields. Earlier fields that are not among them are removed. */
  readonly fields?: Readonly<Status> | undefined;
  /** What the handler was asked with that said this. @default not known */
  readonly asked?: { readonly object: KubernetesObject; readonly state?: unknown } | undefined;
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
  /** The digest to remember with the verdict, in place of any other. @default none */
  readonly digest?: string | undefined;
  /** See `Outcome.isOver`. It is asked for each write. @default it never is */
  readonly isOver?: () => boolean;
}

/** The key of a digest in the engine's memory: see `Memory.digest`. */
export const DIGEST = "digest";

/** The digest in a memory as JSON. Any client that may write there may have written anything. */
export function digestIn(memory: Readonly<Record<string, unknown>>): string | undefined {
  const digest = memory[DIGEST];
  return typeof digest === "string" ? digest : undefined;
}

/** A memory as JSON with this digest and no other. */
export function withDigest(memory: JsonObject, digest: string | undefined): JsonObject {
  const { [DIGEST]: _, ...others } = memory;
  return { ...others, ...(digest !== undefined && { [DIGEST]: digest }) };
}

/** How a status is composed. */
interface Composing {
  /** Writes statuses. */
  readonly fieldManager: string;
  readonly now: Date;
  /** Of the status, as the author gave it. Nothing is written for which it has no place. @default any content */
  readonly schema?: JsonObject | undefined;
}

/**
 * The status to apply: the fields that we own, with the change made. Undefined if the object's status already has the change.
 * @param along a verdict that is written too if the change is written
 */
export function composeStatus(
  object: KubernetesObject,
  { conditions: own, memory, verdict, ...change }: StatusChange,
  along: StatusVerdict | undefined,
  { fieldManager, now, schema = {} }: Composing,
): Status | undefined {
  const fields =
    change.fields && (storedForm(change.fields as JsonObject, schema, { defaults: false }) as Status);
  const current = (object["status"] ?? {}) as Status;
  const entry = applyEntry(object, fieldManager, "status");
  const owned = fieldsOf(entry);
  const { conditions: _, ...kept } = keptValues(object, entry, fieldManager);
  const observed = current["observedGeneration"];
  // A number beyond the object's own is not ours: a backup restored the status of a deleted object of this name.
  const isReached = typeof observed === "number" && observed <= (object.metadata.generation ?? observed);
  const place = schemaOfField(schema, "conditions") ?? {};
  // Whether the list has one owner: the operator, since it owns the kind. Without a schema, Argosy's own has keys.
  const isWhole = Object.keys(place).length > 0 && place["x-kubernetes-list-type"] !== "map";
  const there = isWhole ? conditionsIn(current) : ownedConditions(current, owned);
  const remembered = kept[MEMORY_FIELD] as JsonObject | undefined;
  // The status of an earlier object of this name may have come back with a backup.
  const digest = remembered?.["uid"] === object.metadata.uid ? digestIn(remembered) : undefined;
  const statusWith = (said: StatusVerdict | undefined, isWritten = false): Status => {
    const isOutdated = said && (said.isOver?.() || (isReached && observed > said.generation));
    const stated = isOutdated ? undefined : said;
    const conditions = fitting(place, conditionsAfter(current, there, own, stated, now));
    const before = memory ?? remembered;
    const known = isWritten && stated ? stated.digest : digest;
    const bare = { kinds: [], uid: object.metadata.uid };
    const isKept = before !== undefined || known !== undefined;
    return {
      ...(fields ? withFields(kept, fields) : kept),
      ...(isKept && { [MEMORY_FIELD]: withDigest(before ?? bare, known) }),
      ...(stated && !isOfNoRun(stated.verdict) && { observedGeneration: stated.generation }),
      ...(conditions.length > 0 && { conditions }),
    };
  };
  // After a rename of the operator nothing is ours yet, even if the status has all of it.
  const isOurs = namesIn(owned).length > 0;
  const isThere = (status: Status) =>
    isOurs ? isAppliedAs(status, current, owned) : Object.keys(status).length === 0;
  const status = statusWith(verdict);
  const all = along ? statusWith(along) : status;
  return isThere(status) || isThere(all) ? undefined : statusWith(along ?? verdict, true);
}

/** Whether our fields of the handler have other values than in the object about which it was asked: those that it said elsewhere. */
export function isSaidElsewhere(
  object: KubernetesObject,
  asked: KubernetesObject,
  fieldManager: string,
): boolean {
  if (object.metadata.resourceVersion === asked.metadata.resourceVersion) return false;
  const entry = applyEntry(object, fieldManager, "status");
  const saidIn = (status: unknown) => {
    const owned = ownedValues({ ...object, status } as KubernetesObject, entry) as
      | { status?: Status }
      | undefined;
    return handlersFields(owned?.status ?? {});
  };
  return !isDeepStrictEqual(saidIn(object["status"]), saidIn(asked["status"]));
}

/** The error if another process has written what its handler said since ours was asked, which must be asked again. */
export function saidElsewhere(): ApiError {
  return new ApiError(
    409,
    { message: "another process has written what its handler said since ours was asked" },
    "GET",
  );
}

/** The status that an object will have when the change is written, as far as that is known before. */
export function statusAfter(object: KubernetesObject, change: StatusChange, composing: Composing): Status {
  const current = (object["status"] ?? {}) as Status;
  const applied = composeStatus(object, change, undefined, composing);
  if (!applied) return current;
  const { fieldManager } = composing;
  const theirs = fieldsOfOthers(object, fieldManager);
  const owned = fieldsOf(applyEntry(object, fieldManager, "status"));
  const replaced = [...ownedConditions(current, owned), ...conditionsIn(applied)].map(({ type }) => type);
  const kept = conditionsIn(current).filter(({ type }) => !replaced.includes(type));
  return {
    ...Object.fromEntries(Object.entries(current).filter(([field]) => theirs.includes(field))),
    ...applied,
    conditions: [...kept, ...conditionsIn(applied)],
  };
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
  there: readonly Condition[],
  own: HandlersConditions | undefined,
  verdict: StatusVerdict | undefined,
  date: Date,
): Condition[] {
  const previous = conditionsIn(current);
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
  const keys = Object.keys((entry["f:conditions"] ?? {}) as JsonObject).filter((key) => key.startsWith("k:"));
  const types = keys.map((key) => (readJson(key.slice(2)) as Partial<Condition>).type);
  return conditionsIn(status).filter(({ type }) => types.includes(type));
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

/** The verdict of a reconcile, as far as the conditions show it. */
export type Verdict =
  /** Every child is as the handler wants it, and ready. */
  | { readonly kind: "ready" }
  /** Every child is applied, and some are not ready yet. */
  | { readonly kind: "progressing"; readonly message: string }
  /** The object is being deleted. Without a message, its handler has not finished with it; else the message says what is waited for. */
  | { readonly kind: "finalizing"; readonly message?: string }
  | { readonly kind: "failed"; readonly failure: ReconcileFailure }
  /** The pod of the object's run does not begin yet. The other conditions, and the observed generation, stay as they are. */
  | { readonly kind: "awaiting"; readonly run: string; readonly message: string }
  /** A user has stopped the object's run, of which nothing else is known. The rest stays as it is, too. */
  | { readonly kind: "stopped"; readonly message: string };

/** Whether the verdict says nothing about what a run has found. */
function isOfNoRun({ kind }: Verdict): boolean {
  return kind === "awaiting" || kind === "stopped";
}

/**
 * The standard conditions of a verdict: Ready, and the two of kstatus that say whether to wait (Reconciling) or to step in
 * (Stalled).
 *
 * @param previous the object's conditions now. A condition whose status stays the same keeps its transition time
 * @param generation the generation that the verdict is about
 * @param now RFC 3339
 * @param run the Workflow that reports this run, which Ready then names. If there is none, because the run changed nothing, Ready
 *   goes on naming the earlier one: a routine reconcile must not write the status
 */
export function conditionsOf(
  verdict: Verdict,
  previous: readonly Condition[],
  generation: number,
  now: string,
  run?: string,
): Condition[] {
  const isKept = ({ type }: Condition) => isOfNoRun(verdict) && ["Ready", "Stalled"].includes(type);
  const conditions = statements(verdict).map((statement) => {
    const condition = written(statement, previous, generation, now);
    if (condition.type !== "Ready") return condition;
    const before = previous.find(({ type }) => type === "Ready");
    return { ...condition, message: withRun(condition.message, run ?? runStillToName(verdict, before)) };
  });
  return [...previous.filter(isKept), ...conditions];
}

/**
 * A statement as a condition. Its message is cut to a readable length.
 * @param previous the object's conditions now. A condition whose status stays the same keeps its transition time
 */
export function written(
  { type, status, reason, message }: Statement,
  previous: readonly Condition[],
  generation: number,
  now: string,
): Condition {
  const before = previous.find((condition) => condition.type === type);
  return {
    type,
    status,
    reason,
    message: clean(message),
    observedGeneration: generation,
    lastTransitionTime: (before?.status === status && before.lastTransitionTime) || now,
  };
}

const NOTHING_IN_THE_WAY = "nothing is in the way";

function statements(verdict: Verdict): Statement[] {
  switch (verdict.kind) {
    case "ready":
      return [
        state("Ready", "True", "Reconciled", "every child is applied and ready"),
        state("Reconciling", "False", "Reconciled", "nothing is left to do"),
        state("Stalled", "False", "Reconciled", NOTHING_IN_THE_WAY),
      ];
    case "progressing":
      return [
        state("Ready", "False", "ChildrenNotReady", verdict.message),
        state("Reconciling", "True", "ChildrenNotReady", verdict.message),
        state("Stalled", "False", "Progressing", NOTHING_IN_THE_WAY),
      ];
    case "finalizing": {
      const { message = "the object is being deleted and its handler cleans up" } = verdict;
      return [
        state("Ready", "False", "Finalizing", message),
        state("Reconciling", "True", "Finalizing", verdict.message ?? "the handler has not finished yet"),
        state("Stalled", "False", "Progressing", NOTHING_IN_THE_WAY),
      ];
    }
    case "awaiting": {
      const message = `the pod of Workflow ${verdict.run} has not begun${verdict.message && `: ${verdict.message}`}`;
      return [state("Reconciling", "True", "AwaitingPod", message)];
    }
    case "stopped":
      return [state("Reconciling", "False", "RunStopped", verdict.message)];
    case "failed": {
      const { reason, message, permanent } = verdict.failure;
      return [
        state("Ready", "False", reason, message),
        permanent
          ? state("Reconciling", "False", reason, "waiting for a change, or for the next resync")
          : state("Reconciling", "True", "Retrying", "the reconcile is tried again"),
        state("Stalled", permanent ? "True" : "False", permanent ? reason : "Retrying", message),
      ];
    }
  }
}

/** The reasons of a Ready condition that is False while nothing fails. */
export const WAITING_REASONS = ["ChildrenNotReady", "Finalizing"] as const;

/** One of {@link WAITING_REASONS}. */
export type WaitingReason = (typeof WAITING_REASONS)[number];

/** The reasons of Ready while nothing fails. */
const REASONS_OF_SUCCESS: readonly string[] = ["Reconciled", ...WAITING_REASONS];

/** Whether a Ready condition with this reason is False while nothing fails. */
export function isWaitingReason(reason: string): boolean {
  return (WAITING_REASONS as readonly string[]).includes(reason);
}

function state(type: string, status: Condition["status"], reason: string, message: string): Statement {
  return { type, status, reason, message };
}

/** A text with the name of the run that the text reports. */
export function withRun(text: string, run: string | undefined): string {
  return run === undefined ? text : `${text} (run ${run})`;
}

/** The run that Ready names already, unless that run failed and this one has not. */
function runStillToName(verdict: Verdict, ready: Condition | undefined): string | undefined {
  if (!ready || verdict.kind === "failed" || !REASONS_OF_SUCCESS.includes(ready.reason)) return undefined;
  return / \(run ([a-z0-9-]+)\)$/.exec(ready.message)?.[1];
}
