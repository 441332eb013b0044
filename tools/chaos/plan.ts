import type { Wish } from "./spec";

/** Something that a user, or somebody else, does to an object or its children. */
export type Change =
  | { readonly verb: "create" | "recreate"; readonly object: string; readonly wish: Wish }
  /** By server-side apply. */
  | { readonly verb: "apply"; readonly object: string; readonly wish: Wish }
  /** By client-side apply: a merge patch, with the annotation that kubectl keeps. */
  | { readonly verb: "patch"; readonly object: string; readonly wish: Wish }
  | { readonly verb: "delete"; readonly object: string }
  /** Of the object itself, which no handler need look at. */
  | { readonly verb: "label" | "status"; readonly object: string; readonly value: number }
  /** An annotation that is nobody's business, many times in a row. */
  | { readonly verb: "touch"; readonly object: string; readonly value: number }
  /** Another controller makes something as controlled by the object; with "forge" under our field manager too. */
  | { readonly verb: "foreigner" | "forge"; readonly object: string; readonly value: number }
  /** An autoscaler sets a field of a child that no handler answers. */
  | { readonly verb: "autoscale"; readonly object: string; readonly value: number }
  /** Deleted in the middle of a run, so that its children stay. */
  | { readonly verb: "orphan"; readonly object: string; readonly value: number }
  /** By hand; with "contest" many times in a row, as an autoscaler does of a field that the handler answers. */
  | {
      readonly verb: "editChild" | "deleteChild" | "contest";
      readonly object: string;
      readonly pick: number;
    };

/** What a {@link Change} does. */
export type Verb = Change["verb"];

/** Something that goes wrong, while changes are made. */
export interface PlannedFault {
  readonly kind: string;
  /** It begins after so many changes of its round. */
  readonly afterChanges: number;
  /** How long it lasts, where it lasts. */
  readonly seconds: number;
  /** A number by chance, for whatever there is to be chosen. */
  readonly pick: number;
}

/** Some changes, with faults meanwhile. After each round there is quiet. */
export interface Round {
  readonly changes: readonly Change[];
  readonly faults: readonly PlannedFault[];
}

/** All that a run does. */
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
