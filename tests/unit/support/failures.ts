import assert from "node:assert/strict";
import { ReconcileFailure } from "../../../runtime/base/failure";

/** The failure with which `action` ends; anything else, an end without one included, fails the test. */
export async function failureOf(action: () => unknown): Promise<ReconcileFailure> {
  try {
    await action();
  } catch (error) {
    if (error instanceof ReconcileFailure) return error;
    throw error;
  }
  assert.fail("it did not fail");
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
