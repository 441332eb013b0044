import type { JsonObject } from "../../runtime/base/objects";
import type { HandlerAnswer } from "../../runtime/cli";
import type { FixtureStep } from "../fixtures/fixture";
import type { Situation } from "../fixtures/situation";

/** An object of the operator, as it begins. */
export interface Subject {
  readonly metadata: JsonObject;
  readonly content: JsonObject;
  readonly used: JsonObject;
}

/** What one question did. */
export interface Round {
  /** What was observed. */
  readonly before: Situation;
  readonly answer: HandlerAnswer;
  /** What exists when all of the answer is applied. */
  readonly after: Situation;
}

/** What became of an object so far. */
export interface Life {
  readonly subject: Subject;
  /** What was done. Each is a step of the fixture that shows it. */
  readonly steps: readonly FixtureStep[];
  /** What each of them did, as far as it was answered. */
  readonly rounds: readonly Round[];
  /** What there is. */
  readonly situation: Situation;
}
