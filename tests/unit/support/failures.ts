import assert from "node:assert/strict";
import { ReconcileFailure } from "../../../runtime/base/failure";

/** The failure with which some work ends; anything else, an end without one included, fails the test. */
export function failureOf(work: Promise<unknown> | (() => unknown)): Promise<ReconcileFailure> {
  return errorOf(ReconcileFailure, typeof work === "function" ? work : () => work);
}

/** As {@link failureOf}, for an error of another class. */
export async function errorOf<Thrown extends Error>(
  kind: abstract new (...args: never[]) => Thrown,
  action: () => unknown,
): Promise<Thrown> {
  try {
    await action();
  } catch (error) {
    if (error instanceof kind) return error;
    throw error;
  }
  assert.fail("it did not fail");
}
