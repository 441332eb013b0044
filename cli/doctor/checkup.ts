import type { ObjectReference } from "../common/objectReference";

/** The result of a check: all is well, there may be a problem, or there is a problem. */
export type State = "ok" | "warning" | "missing";

/** The result of a check. */
export interface Finding {
  /** The subject: "node", "cluster". */
  readonly what: string;
  readonly state: State;
  /** The observation. */
  readonly seen: string;
  /** The remedy, if anything needs to be done. */
  readonly remedy?: string | undefined;
  /** The name of the operator that the finding is about. */
  readonly operator?: string | undefined;
  readonly installation?: string | undefined;
  /** The version of Argosy that deployed the operator. */
  readonly argosyVersion?: string | undefined;
  /** The object that the finding is about. */
  readonly object?: ObjectReference | undefined;
}

/** A check without a problem. */
export function fine(what: string, seen: string): Finding {
  return { what, state: "ok", seen };
}

/** A check that found a missing part that not everybody needs. */
export function warning(what: string, seen: string, remedy: string): Finding {
  return { what, state: "warning", seen, remedy };
}

/** A check that found a problem. */
export function missing(what: string, seen: string, remedy: string): Finding {
  return { what, state: "missing", seen, remedy };
}
