import { breaking, type CrdChange, type Place, safe } from "./change";
import type { ChangeKind } from "./changeKind";

/** Whether a place is within the status, which the operator writes and everybody else reads. */
export function inStatus({ path }: Place): boolean {
  return /^\.status\b/.test(path);
}

/**
 * A rule that refuses what it has let pass.
 *
 * @param what - what was changed: "The minimum was raised from 0 to 1"
 * @param refused - what is refused from now on: "a smaller value"
 */
export function tightened(place: Place, change: ChangeKind, what: string, refused: string): CrdChange {
  const stored = `stored objects with ${refused} are refused at their next write`;
  return breaking(
    place,
    change,
    inStatus(place)
      ? `${what}: the operator is refused when it writes ${refused}, and ${stored}; keep the old rule.`
      : `${what}: ${stored}, and clients that send ${refused} are refused; keep the old rule, and let the handler tell of such objects in their status.`,
  );
}

/** A rule that lets pass what it has refused. */
export function loosened(place: Place, change: ChangeKind, what: string): CrdChange {
  return safe(
    place,
    change,
    `${what}: what was valid stays so; who reads the field must be prepared for the rest.`,
  );
}

/** A value as an author writes it. */
export function show(value: unknown): string {
  return JSON.stringify(value) ?? "none";
}

/** Some values in a row: `"a", "b"`. */
export function showAll(values: readonly unknown[]): string {
  return values.map(show).join(", ");
}
