import { childKey, type DesiredChild } from "../../runtime/cli";
import { changedFields } from "./changedFields";

/**
 * Which fields of children are made of Secrets: those in which two answers differ, to questions that differ only in the fakes for
 * values. So a hash, a part of a value and an encryption are found like a copy, without a list of what handlers may do.
 *
 * Caveat: a field that differs each time counts as well.
 */
export class SecretMade {
  private readonly others: ReadonlyMap<string, DesiredChild>;

  /** @param other the children of the other answer. Undefined: there is none, so each field may be made of Secrets */
  constructor(other: readonly DesiredChild[] | undefined) {
    this.others = new Map(other?.map((child) => [childKey(child), child]));
  }

  /** Whether a field of a child may be made of Secrets. */
  fieldsOf(child: DesiredChild | undefined): (path: string) => boolean {
    const other = child && this.others.get(childKey(child));
    if (!child || !other) return () => true;
    const made = changedFields(child.manifest, other.manifest).map(({ path }) => placeless(path));
    return (path) => made.some((each) => isWithin(placeless(path), each) || isWithin(each, placeless(path)));
  }
}

/** A path without the places of entries: others may have put further entries before them. */
function placeless(path: string): string {
  return path.replace(/\[\d+\]/g, "[]");
}

function isWithin(path: string, whole: string): boolean {
  return path.startsWith(whole) && /^([.[]|$)/.test(path.slice(whole.length));
}
