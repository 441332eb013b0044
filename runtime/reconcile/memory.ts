import type { Child } from "../children/childStore";
import type { DesiredChild } from "../children/desiredChildren";
import { isRecord } from "../json";
import { formatName, type JsonObject, type KubernetesObject } from "../kubernetes/objects";
import { kindKey } from "../kubernetes/resource";

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
 *
 * Caveat: if the process dies between the first child of a kind and the status, the kind is not remembered until the next
 * run. If the operator stops to declare the kind in just that moment, such a child elsewhere is left.
 */
export interface Memory extends Footprint {
  /** The kinds of the children, as "apps/v1/Deployment", sorted. */
  readonly kinds: readonly string[];
  /** Children of kinds with `update: "never"` that were created, as "batch/v1/Job/namespace/name", sorted. */
  readonly created: readonly string[];
}

/** What is remembered of an object that was never reconciled. */
export const NOTHING: Memory = { kinds: [], created: [] };

/** A kind as `kindKey` gives it. */
const KIND = /^([a-z0-9.-]+\/)?v[a-z0-9]+\/[A-Za-z][A-Za-z0-9]*$/;
/** No operator has had children of more kinds. Each kind that is not declared costs requests. */
const MOST_KINDS = 200;

const FOOTPRINT = ["content", "children", "program", "dueAt"] as const;

/** What is remembered of an object. Values that are not text are left out. */
export function memoryOf(object: KubernetesObject): Memory {
  const status = isRecord(object["status"]) ? object["status"] : {};
  const memory = isRecord(status["argosy"]) ? status["argosy"] : {};
  const footprint = FOOTPRINT.flatMap((key) => (typeof memory[key] === "string" ? [[key, memory[key]]] : []));
  return {
    kinds: textsIn(memory["kinds"])
      .filter((kind) => KIND.test(kind))
      .slice(0, MOST_KINDS),
    created: textsIn(memory["created"]),
    ...(Object.fromEntries(footprint) as Footprint),
  };
}

/**
 * What to remember when all children are as desired.
 * @param there the object's children as they are known now
 */
export function memoryAfter(desired: readonly DesiredChild[], there: readonly Child[]): Memory {
  return {
    kinds: [...desired, ...there].map(({ resource }) => kindKey(resource)),
    created: createdOnce(desired),
  };
}

/**
 * What to remember when only some of the desired children were applied: besides what was remembered before, what is there.
 * @param applied those of the desired children that are there
 */
export function memoryOfPart(
  before: Memory,
  applied: readonly DesiredChild[],
  there: readonly Child[],
): Memory {
  return {
    kinds: [...before.kinds, ...there.map(({ resource }) => kindKey(resource))],
    created: [...before.created, ...createdOnce(applied)],
  };
}

/** Whether a child was created once, and must not be created again. */
export function wasCreated(memory: Memory, child: DesiredChild): boolean {
  return createdOnce([child]).some((name) => memory.created.includes(name));
}

function createdOnce(children: readonly DesiredChild[]): string[] {
  return children
    .filter(({ update }) => update === "never")
    .map(({ resource, manifest }) => `${kindKey(resource)}/${formatName(manifest.metadata)}`);
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
