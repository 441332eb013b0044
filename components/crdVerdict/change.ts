import type { ChangeKind } from "./changeKind";

/**
 * "breaking": a stored object, a request or a read that was in order before may fail, lose something or mean something
 * else. "safe": none can. What only becomes possible is safe; where readers must be prepared for it, the message says so.
 */
export type Verdict = "breaking" | "safe";

/** One difference between an old and a new CustomResourceDefinition. */
export interface CrdChange {
  readonly verdict: Verdict;
  /** The version of the API that it is in; none for what belongs to all versions, such as the names. */
  readonly version?: string;
  /**
   * With a leading dot, a field of the objects, as `kubectl explain` writes it: ".spec.size"; ".spec.ports[].name" is
   * within the items of a list, ".spec.labels{}" are the values of a map, "." is the whole object. Without one, a field
   * of the CRD: "spec.names.kind".
   */
  readonly path: string;
  readonly change: ChangeKind;
  /** One sentence: what has changed, whom it breaks, and the remedy. */
  readonly message: string;
}

/** Where a change is. */
export type Place = Pick<CrdChange, "version" | "path">;

/** A change that breaks. */
export function breaking(place: Place, change: ChangeKind, message: string): CrdChange {
  return { verdict: "breaking", ...place, change, message };
}

/** A change that breaks nothing. */
export function safe(place: Place, change: ChangeKind, message: string): CrdChange {
  return { verdict: "safe", ...place, change, message };
}

/** Whether any of the changes breaks something. */
export function anyBreaks(changes: readonly CrdChange[]): boolean {
  return changes.some(({ verdict }) => verdict === "breaking");
}
