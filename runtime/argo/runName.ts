import { createHash } from "node:crypto";

/** The longest name: Argo turns it into a label when a run is resubmitted, and a label's value has at most 63 characters. */
const LONGEST_NAME = 63;
/** 40 bits. Two runs of one object and generation do not get the same name by chance. */
const HASH_LENGTH = 10;

/**
 * The name of a run's Workflow: operator, object and generation, for people, and a hash that makes the name unique. An object's
 * name may have 253 characters, and dots. The name is cut if it is too long, and characters that a label cannot have become
 * hyphens.
 *
 * @param identity what distinguishes this run from all others. Two runs with the same identity are one
 */
export function runName(
  operator: string,
  object: { readonly name: string; readonly generation?: number | undefined },
  identity: readonly unknown[],
): string {
  const hash = createHash("sha256")
    .update(JSON.stringify([operator, object.name, ...identity]))
    .digest("hex")
    .slice(0, HASH_LENGTH);
  const end = object.generation === undefined ? `-${hash}` : `-${object.generation}-${hash}`;
  return readable(operator, object.name, LONGEST_NAME - end.length) + end;
}

/** Begins and ends with a letter or a digit, and has nothing but these and hyphens. */
function readable(operator: string, objectName: string, longest: number): string {
  return `${operator}-${objectName}`
    .toLowerCase()
    .replace(/[^-a-z0-9]/g, "-")
    .slice(0, longest)
    .replace(/^-+|-+$/g, "");
}
