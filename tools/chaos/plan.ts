import type { Wish } from "./spec";

/** A change that a user, or another client, makes to an object or its children. */
export type Change =
  | { readonly verb: "create" | "recreate"; readonly object: string; readonly wish: Wish }
  /** With server-side apply. */
  | { readonly verb: "apply"; readonly object: string; readonly wish: Wish }
  /** With client-side apply: a merge patch that includes kubectl's annotation. */
  | { readonly verb: "patch"; readonly object: string; readonly wish: Wish }
  | { readonly verb: "delete"; readonly object: string }
  /** A change of the object itself that handlers do not need to see. */
  | { readonly verb: "label" | "status"; readonly object: string; readonly value: number }
  /** An unrelated annotation, changed many times in a row. */
  | { readonly verb: "touch"; readonly object: string; readonly value: number }
  /** Another controller creates a dependent of the object. With "forge", it also uses our field manager. */
  | { readonly verb: "foreigner" | "forge"; readonly object: string; readonly value: number }
  /** An autoscaler sets a field of a child that no handler answers. */
  | { readonly verb: "autoscale"; readonly object: string; readonly value: number }
  /** The object is deleted in the middle of a run, without its children. */
  | { readonly verb: "orphan"; readonly object: string; readonly value: number }
  /**
   * A child is changed by hand. With "contest" it is changed many times in a row, like an autoscaler and a field that the handler
   * answers.
   */
  | {
      readonly verb: "editChild" | "deleteChild" | "contest";
      readonly object: string;
      readonly pick: number;
    };

/** What a {@link Change} does. */
export type Verb = Change["verb"];

/** A fault that occurs while changes are made. */
export interface PlannedFault {
  readonly kind: string;
  /** It begins after this number of changes in its round. */
  readonly afterChanges: number;
  /** How long it lasts, if it is not instantaneous. */
  readonly seconds: number;
  /** A random number for choices. */
  readonly pick: number;
}

/** Some changes, with faults during them. After each round there are no changes for a while. */
export interface Round {
  readonly changes: readonly Change[];
  readonly faults: readonly PlannedFault[];
}

/** All rounds of a run. */
export interface Plan {
  readonly seed: number;
  readonly rounds: readonly Round[];
}

/** A change as one line. */
export function describeChange(change: Change): string {
  const { verb, object } = change;
  if ("wish" in change) return `${verb} ${object} ${JSON.stringify(change.wish)}`;
  return `${verb} ${object}${"pick" in change ? ` ${change.pick}` : ""}`;
}
