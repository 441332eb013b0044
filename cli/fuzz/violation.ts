import type { HandlerAnswer } from "../../runtime/cli";
import type { Situation } from "../fixtures/situation";
import type { Life } from "./life";

/** What every handler must do, by the name of the rule in `--json`. */
export const RULES = {
  fails: "a handler answers for each object that the CRD's schema admits",
  differs: "the same question has the same answer, in each process",
  later: "the same question has the same answer at another time, in another process",
  restless: "what a handler wants stays the same once it exists",
  history: "what is wanted now decides, and not what was wanted before",
  disturbed: "after a kill, a refused write or a deletion, the end is the same",
  others: "an object does not change the children of others",
  shared: "no two objects have a child in common",
} as const;

/** The name of a rule. */
export type Rule = keyof typeof RULES;

/** What is known of a violation. */
export interface Evidence {
  /** The life of the object. */
  readonly play: Life;
  /** Objects whose handler was asked before. @default none */
  readonly earlier?: readonly Life[];
  /** The question whose answer was wrong. */
  readonly asked: Situation;
  /** What the answer should have been. */
  readonly answer?: HandlerAnswer;
  /** What differs of another object with which it has a child in common. */
  readonly apartFrom?: { readonly metadata: { readonly name?: string; readonly namespace?: string } };
  readonly detail?: string;
}

/** A handler breaks a rule. */
export class Violation extends Error {
  /** @param differences a line for each: what was expected, and what was seen */
  constructor(
    readonly rule: Rule,
    readonly differences: readonly string[],
    readonly evidence: Evidence,
  ) {
    super(`${RULES[rule]}: ${differences.join("; ")}`);
  }
}
