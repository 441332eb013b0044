import { isRecord } from "../json";
import type { JsonObject, KubernetesObject } from "../kubernetes/objects";

/**
 * How a run left an object. A resync compares that with the object as it is, to find out whether the object needs another
 * run. Only runs in pods of their own write it: a resident runner has watches.
 */
export interface Footprint {
  /** A fingerprint of what the handler saw of the object, except its status and what the API server counts. */
  readonly content?: string | undefined;
  /** A fingerprint of the children and of what we own of them. */
  readonly children?: string | undefined;
  /** A fingerprint of the program that ran: of the engine and the handler. */
  readonly program?: string | undefined;
  /** When the handler wants to be asked again, as RFC 3339. */
  readonly dueAt?: string | undefined;
}

/**
 * What the engine remembers of one custom resource, in its `status.argosy`.
 *
 * Guarantee (tests/integration/hostile/retiredKinds.test.ts): a kind is remembered from the first run that applied a child
 * of that kind until a run that found none left.
 *
 * Assumption: only the engine writes it. Whoever may write the status may forge it. The engine then looks for children of
 * a kind that it never applied. It finds none that it can prove to be its own, and touches nothing.
 */
export interface Memory extends Footprint {
  /** The kinds of the children, as "apps/v1/Deployment", sorted. */
  readonly kinds: readonly string[];
  /** Children of kinds with `update: "never"` that were created, as "batch/v1/Job/namespace/name", sorted. */
  readonly created: readonly string[];
}

/** What is remembered of an object that was never reconciled. */
export const NOTHING: Memory = { kinds: [], created: [] };

const FOOTPRINT = ["content", "children", "program", "dueAt"] as const;

/** What is remembered of an object. Values that are not text are left out. */
export function memoryOf(object: KubernetesObject): Memory {
  const status = isRecord(object["status"]) ? object["status"] : {};
  const memory = isRecord(status["argosy"]) ? status["argosy"] : {};
  const footprint = FOOTPRINT.flatMap((key) => (typeof memory[key] === "string" ? [[key, memory[key]]] : []));
  return {
    kinds: textsIn(memory["kinds"]),
    created: textsIn(memory["created"]),
    ...(Object.fromEntries(footprint) as Footprint),
  };
}

/** What to write as `status.argosy`. */
export function remembered({ kinds, created, content, children, program, dueAt }: Memory): JsonObject {
  return {
    kinds: [...new Set(kinds)].sort(),
    ...(created.length > 0 && { created: [...new Set(created)].sort() }),
    ...(content !== undefined && { content }),
    ...(children !== undefined && { children }),
    ...(program !== undefined && { program }),
    ...(dueAt !== undefined && { dueAt }),
  };
}

/** Whether two memories are the same. */
export function isSameMemory(one: Memory, other: Memory): boolean {
  return JSON.stringify(remembered(one)) === JSON.stringify(remembered(other));
}

function textsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}
