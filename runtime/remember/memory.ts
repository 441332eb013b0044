// The parts of a memory, and its form as JSON. Begin here.
import { isDeepStrictEqual } from "node:util";
import { flawOf, isRecord, writeJson } from "../base/json";
import { MEMORY_FIELD } from "../base/names";
import type { JsonObject, KubernetesObject, ObjectName } from "../base/objects";
import { isKindKey } from "../base/resource";
import type { KubernetesClient } from "../kubernetes/client";
import type { RememberedPlaces } from "../observe/ownership";
import { DIGEST, digestIn, type StatusChange, type StatusVerdict } from "./composeStatus";

/**
 * How a run left an object. The dispatcher compares that with the object as it is, to find out whether the object needs another run.
 * Only runs in pods of their own write it.
 */
export interface Footprint {
  /** A fingerprint of the parts of the object that the handler saw, except its status and the API server's counters. */
  readonly content?: string | undefined;
  /** A fingerprint of the children and of the fields that we own of them. */
  readonly children?: string | undefined;
  /** A fingerprint of the objects that the object used. */
  readonly used?: string | undefined;
  /** A fingerprint of the program that ran: of the engine and the handler. */
  readonly program?: string | undefined;
  /** When the handler wants to be asked again, as RFC 3339. */
  readonly dueAt?: string | undefined;
  /** When the handler wants to be asked again after its last failure, as RFC 3339. */
  readonly retryAt?: string | undefined;
}

/** The memory of a schedule of an object. */
export interface ScheduleMemory {
  /** Everything up to this instant is done, or was due before the object existed: RFC 3339. */
  readonly at: string;
  /** The cron and the time zone of the schedule. A schedule that was changed starts again. */
  readonly of: string;
}

/**
 * The engine's memory of one object: of a custom resource in its `status.argosy`, of any other object in a Memory object.
 *
 * Guarantee (tests/integration/hostile/retiredKinds.test.ts): a kind is remembered from the first run that applied a child of
 * that kind until a run that found none left.
 *
 * Assumption: only the engine writes it. Any client that may write the status may forge it. The engine then looks for children of
 * a kind that it never applied. It finds none that it can prove to be its own, and touches nothing. If it may not list that kind,
 * a Warning says so, and the run goes on.
 *
 * Caveat: if the process dies between the write of the first child of a kind and the write of the status, the kind is not
 * remembered until the next run. If the definition drops the kind at exactly that moment, such a child in another namespace is
 * left.
 *
 * Engines of several versions write it. An older engine may lead after a newer one, while a new runner is rolled out or after a
 * rollback. So an engine keeps the keys that it does not know ({@link Memory.unknown}). A change of the keys must follow these rules:
 * - A key keeps its name, its form and its meaning for ever. Something new gets a new key.
 * - An engine that does not know a new key carries its value on unchanged while it changes the children. If that can make the
 *   value wrong, the value must say what it is about, and count only as long as that is so: `of` in a schedule says it, and so do
 *   the fingerprints in `readyOnce`. If nothing can say it, the engine must do without the value.
 * - A key that is not needed any more stays known, and is not written. Otherwise it would be carried on for ever.
 */
export interface Memory extends Footprint, RememberedPlaces {
  /** Children that are not created again and were created, as "batch/Job/namespace/name", sorted. */
  readonly created: readonly string[];
  /**
   * Children that are not created again and for which others wait: those that were ready, each with a fingerprint of its content
   * then. So a child that has gone since still counts. @default none
   */
  readonly readyOnce?: Readonly<Record<string, string>> | undefined;
  /** Until when each schedule is done, by its name. @default nothing */
  readonly schedules?: Readonly<Record<string, ScheduleMemory>> | undefined;
  /** Fingerprints of the Events in the last answer, which have been reported. @default none */
  readonly reportedEvents?: readonly string[] | undefined;
  /** The state that the handler wants to get back. Only for objects that we do not own: others have a status. */
  readonly state?: JsonObject | undefined;
  /**
   * The digest of a question whose answer stands: see `StandingAnswers`. It is written only with a verdict, and not by
   * {@link remembered}: it is not worth a request by itself. @default none is known
   */
  readonly digest?: string | undefined;
  /** Keys that a newer engine wrote about this very object, as they are: at most 64 KiB of JSON. @default none */
  readonly unknown?: JsonObject | undefined;
}

/**
 * Where the engine keeps its memory of an object and the last verdict about it.
 *
 * | objects | are remembered | by |
 * | --- | --- | --- |
 * | custom resources of our own | in their status | `StatusMemories` |
 * | objects of others | in Memory objects | `MemoryObjects` |
 */
export interface Memories {
  /**
   * The memory of an object.
   * @throws ApiError, ApiUnreachableError if the memory must be read and cannot be
   */
  of(object: KubernetesObject): Promise<Memory>;
  /**
   * Writes a change into the memory and the status of an object, if that changes anything.
   * @param object by its name and uid. If it is gone, nothing is written
   * @param along a verdict that is written only together with the change. It is not worth a request by itself
   * @returns the object as it is then. Undefined if it is gone, or is not written itself
   * @throws ReconcileFailure, ApiError, ApiUnreachableError
   */
  write(
    client: KubernetesClient,
    object: ObjectName & { readonly uid: string },
    change: StatusChange,
    along?: StatusVerdict,
  ): Promise<KubernetesObject | undefined>;
}

/** The memory of an object that was never reconciled. */
export const NOTHING: Memory = { kinds: [], created: [] };

/**
 * The most kinds that are remembered. No operator has had children of more kinds. Each kind that is not declared costs requests.
 */
const MOST_KINDS = 200;
/** The most namespaces that are remembered, because the status has room for other things too. */
export const MOST_NAMESPACES = 500;
/** RFC 1123, as for every namespace. */
const NAMESPACE = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

const FOOTPRINT = ["content", "children", "used", "program", "dueAt", "retryAt"] as const;
/** All other keys are {@link Memory.unknown}. */
const KNOWN: readonly string[] = [
  "uid",
  "kinds",
  "created",
  "readyOnce",
  "schedules",
  "reportedEvents",
  "state",
  "namespaces",
  "elsewhere",
  DIGEST,
  ...FOOTPRINT,
];
/** A client that may write the status may write anything there, and it would stay. */
const MOST_UNKNOWN_BYTES = 64 * 1024;

/**
 * The memory of a custom resource, from its status. A backup may have brought back the status of a former life of the object,
 * whose children are gone. Then only the kinds count, because children of some may have to be swept.
 */
export function memoryOf(object: KubernetesObject): Memory {
  const written = fieldOf(object);
  if (written === undefined) return NOTHING;
  const memory = memoryIn(written);
  return isOfThisLife(written, object) ? memory : { ...NOTHING, kinds: memory.kinds };
}

/**
 * The memory in the status of this very custom resource, as it was written: {@link memoryIn} reads it. Undefined if there is none,
 * or if another client has emptied it: the engine itself always writes the kinds.
 */
export function writtenMemory(object: KubernetesObject): JsonObject | undefined {
  const written = fieldOf(object);
  return isOfThisLife(written, object) && Array.isArray(written["kinds"]) ? written : undefined;
}

function fieldOf({ status }: KubernetesObject): unknown {
  return isRecord(status) ? status[MEMORY_FIELD] : undefined;
}

function isOfThisLife(written: unknown, { metadata }: KubernetesObject): written is JsonObject {
  return isRecord(written) && written["uid"] === metadata.uid;
}

/**
 * Reads what {@link remembered} wrote. Any client that may write there may have written anything, so parts that are no memory are
 * left out.
 */
export function memoryIn(written: unknown): Memory {
  const memory = isRecord(written) ? written : {};
  const digest = digestIn(memory);
  return {
    kinds: textsIn(memory["kinds"]).filter(isKindKey).slice(0, MOST_KINDS),
    created: textsIn(memory["created"]),
    ...(Array.isArray(memory["namespaces"]) && { namespaces: namespacesIn(memory["namespaces"]) }),
    ...(isRecord(memory["readyOnce"]) && { readyOnce: textMapOf(memory["readyOnce"]) }),
    ...(isRecord(memory["schedules"]) && { schedules: schedulesIn(memory["schedules"]) }),
    ...(Array.isArray(memory["reportedEvents"]) && { reportedEvents: textsIn(memory["reportedEvents"]) }),
    ...footprintIn(memory),
    ...(isRecord(memory["state"]) && { state: memory["state"] as JsonObject }),
    ...(memory["elsewhere"] === true && { elsewhere: true as const }),
    ...(digest !== undefined && { digest }),
    ...unknownIn(memory),
  };
}

/** A memory as JSON, for `status.argosy`. {@link memoryIn} reads it. */
export function remembered(memory: Memory): JsonObject {
  const { kinds, created, readyOnce = {}, schedules = {}, reportedEvents = [] } = memory;
  const { state, elsewhere, namespaces = [], unknown } = memory;
  return {
    ...unknown,
    kinds: [...new Set(kinds)].sort(),
    ...(created.length > 0 && { created: [...new Set(created)].sort() }),
    ...(namespaces.length > 0 && { namespaces: [...new Set(namespaces)].sort().slice(0, MOST_NAMESPACES) }),
    ...(Object.keys(readyOnce).length > 0 && {
      readyOnce: Object.fromEntries(Object.entries(readyOnce).sort()),
    }),
    ...(Object.keys(schedules).length > 0 && {
      schedules: Object.fromEntries(Object.entries(schedules).sort()) as unknown as JsonObject,
    }),
    ...(reportedEvents.length > 0 && { reportedEvents: [...reportedEvents] }),
    ...footprintIn(memory),
    ...(state !== undefined && { state }),
    ...(elsewhere && { elsewhere }),
  };
}

/** Whether two memories are the same, but for their digests. */
export function isSameMemory(one: Memory, other: Memory): boolean {
  // The API server gives the keys of a handler's state in another order.
  return isDeepStrictEqual(remembered(one), remembered(other));
}

function footprintIn(from: Readonly<Partial<Record<keyof Footprint, unknown>>>): Record<string, string> {
  const footprint: Record<string, string> = {};
  for (const key of FOOTPRINT) {
    const text = from[key];
    if (typeof text === "string") footprint[key] = text;
  }
  return footprint;
}

function unknownIn(memory: Readonly<Record<string, unknown>>): Partial<Memory> {
  const entries = Object.entries(memory).filter(([key]) => !KNOWN.includes(key));
  if (entries.length === 0) return {};
  const unknown = Object.fromEntries(entries) as JsonObject;
  const isCarried =
    flawOf(unknown) === undefined && Buffer.byteLength(writeJson(unknown)) <= MOST_UNKNOWN_BYTES;
  return isCarried ? { unknown } : {};
}

function textsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}

function namespacesIn(value: unknown): string[] {
  return textsIn(value)
    .filter((each) => NAMESPACE.test(each))
    .slice(0, MOST_NAMESPACES);
}

function textMapOf(value: Record<string, unknown>): Record<string, string> {
  const entries = Object.entries(value).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string",
  );
  return Object.fromEntries(entries);
}

function schedulesIn(value: Record<string, unknown>): Record<string, ScheduleMemory> {
  const entries = Object.entries(value).flatMap(([name, entry]): [string, ScheduleMemory][] => {
    if (!isRecord(entry)) return [];
    const { at, of } = entry;
    return typeof at === "string" && typeof of === "string" ? [[name, { at, of }]] : [];
  });
  return Object.fromEntries(entries);
}
