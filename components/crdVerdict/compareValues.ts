import { isDeepStrictEqual } from "node:util";
import type { Json } from "../../runtime/program";
import {
  breaking,
  type CrdChange,
  inStatus,
  loosened,
  type Place,
  safe,
  show,
  showAll,
  tightened,
} from "./change";
import { numberIn, type Schema, typesOf } from "./schema";

/** Compares which single values are allowed, and which value replaces a missing one. */
export function compareValues(before: Schema, after: Schema, place: Place): CrdChange[] {
  return [
    ...compareNullable(before, after, place),
    ...compareDefaults(before.default, after.default, place),
    ...compareEnums(listIn(before.enum), listIn(after.enum), place),
    ...comparePatterns(before, after, place),
    ...compareFormats(before, after, place),
    ...compareMultiples(before, after, place),
    ...compareUniqueness(before, after, place),
  ];
}

/** The API server drops a null that is not allowed, or replaces it by the default (schema/defaulting/prunenulls.go). */
function compareNullable(before: Schema, after: Schema, place: Place): CrdChange[] {
  const [old, now] = [before.nullable === true, after.nullable === true];
  if (old === now) return [];
  if (now) return [loosened(place, "nullable-added", "Null is allowed now")];
  const what =
    "Null is no longer allowed: the API server drops it, or replaces it by the default, in stored objects and in what clients send";
  return [breaking(place, "nullable-removed", `${what}; keep nullable: true.`)];
}

/**
 * Compares defaults, which are set in objects that are read as well as in objects that are written. A new default gives a missing
 * value a meaning that was not defined before, and is safe. Another default, or none, changes a promised meaning (Kubernetes'
 * rules for API changes call defaults a part of the API).
 */
function compareDefaults(before: Json | undefined, after: Json | undefined, place: Place): CrdChange[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (before === undefined) {
    const what = `The default ${show(after)} was added: stored objects without a value are read with this default`;
    return [safe(place, "default-added", `${what}. Choose the value that a missing field has meant so far.`)];
  }
  const who = inStatus(place) ? "clients that read the field" : "clients that leave the field out";
  if (after === undefined) {
    const what = `The default ${show(before)} was removed: ${who}, and stored objects without a value, no longer get one. If the field is required, objects without a value are refused`;
    return [breaking(place, "default-removed", `${what}; keep the default.`)];
  }
  const what = `The default changed from ${show(before)} to ${show(after)}: ${who}, and stored objects without a value, now get the new default`;
  return [breaking(place, "default-changed", `${what}; keep the old default.`)];
}

function compareEnums(
  before: readonly Json[] | undefined,
  after: readonly Json[] | undefined,
  place: Place,
): CrdChange[] {
  if (after === undefined) {
    return before
      ? [loosened(place, "enum-removed", `Other values than ${showAll(before)} are allowed`)]
      : [];
  }
  if (before === undefined) {
    return [
      tightened(
        place,
        "enum-added",
        `Only ${showAll(after)} ${after.length > 1 ? "are" : "is"} allowed now`,
        "another value",
      ),
    ];
  }
  const missing = (from: readonly Json[], values: readonly Json[]) =>
    values.filter((value) => !from.some((other) => isDeepStrictEqual(value, other)));
  const removed = missing(after, before);
  const added = missing(before, after);
  const changes: CrdChange[] = [];
  if (removed.length > 0) {
    const what = `${showAll(removed)} ${removed.length > 1 ? "are" : "is"} no longer allowed`;
    changes.push(tightened(place, "enum-value-removed", what, "such a value"));
  }
  if (added.length > 0) {
    const what = `${showAll(added)} ${added.length > 1 ? "are" : "is"} allowed too`;
    changes.push(loosened(place, "enum-value-added", what));
  }
  return changes;
}

function comparePatterns(before: Schema, after: Schema, place: Place): CrdChange[] {
  // The API server treats an empty pattern as none.
  const [old, now] = [before.pattern || undefined, after.pattern || undefined];
  if (old === now || !typesOf(before).includes("string")) return [];
  const refused = "a string that does not match";
  if (now === undefined) return [loosened(place, "pattern-removed", `The pattern ${show(old)} was removed`)];
  if (old === undefined)
    return [tightened(place, "pattern-added", `The pattern ${show(now)} was added`, refused)];
  const what = `The pattern changed from ${show(old)} to ${show(now)}, and Argosy cannot tell whether the new one accepts everything that the old one accepted`;
  return [tightened(place, "pattern-changed", what, refused)];
}

function compareMultiples(before: Schema, after: Schema, place: Place): CrdChange[] {
  if (!typesOf(before).includes("integer")) return [];
  const [old, now] = [numberIn(before, "multipleOf"), numberIn(after, "multipleOf")];
  if (old === now) return [];
  const what = `multipleOf changed from ${show(old)} to ${show(now)}`;
  const allPass = now === undefined || (old === undefined ? isEveryWhole(before, now) : old % now === 0);
  if (allPass) return [loosened(place, "multiple-of-loosened", what)];
  return [tightened(place, "multiple-of-tightened", what, "a value that is no multiple")];
}

function isEveryWhole({ type }: Schema, divisor: number): boolean {
  return type === "integer" && divisor === 1;
}

function compareUniqueness(before: Schema, after: Schema, place: Place): CrdChange[] {
  const [old, now] = [before.uniqueItems === true, after.uniqueItems === true];
  if (old === now || !typesOf(before).includes("array")) return [];
  if (!now) return [loosened(place, "unique-items-removed", "Items may repeat")];
  return [tightened(place, "unique-items-added", "Items may not repeat", "equal items")];
}

function listIn(value: Json | undefined): readonly Json[] | undefined {
  return Array.isArray(value) ? value : undefined;
}

/**
 * Formats of texts that the API server checks (apiextensions-apiserver, validation/formats.go), without hyphens. The last two are
 * in its list since 1.34, but 1.34.1 does not check them yet.
 */
const CHECKED = new Set([
  "bsonobjectid",
  "uri",
  "email",
  "hostname",
  "ipv4",
  "ipv6",
  "cidr",
  "mac",
  "uuid",
  "uuid3",
  "uuid4",
  "uuid5",
  "isbn",
  "isbn10",
  "isbn13",
  "creditcard",
  "ssn",
  "hexcolor",
  "rgbcolor",
  "byte",
  "date",
  "duration",
  "datetime",
  "k8sshortname",
  "k8slongname",
]);

/**
 * Formats of numbers, which the API server does not check. Clients that are generated from the schema take their types from them.
 */
const NARROW: Readonly<Record<string, string>> = { int32: "32-bit", float: "single-precision" };

/** The format of a text or a number. */
function compareFormats(before: Schema, after: Schema, place: Place): CrdChange[] {
  const [old, now] = [formatOf(before), formatOf(after)];
  if (old === now) return [];
  const change = old === "" ? "format-added" : now === "" ? "format-removed" : "format-changed";
  const what = `The format changed from ${show(old || undefined)} to ${show(now || undefined)}`;
  const types = typesOf(before);
  if (types.includes("string") && isChecked(now) && plain(old) !== plain(now)) {
    return [tightened(place, change, what, "a string that is not of this format")];
  }
  const narrow = NARROW[now];
  if (narrow !== undefined && types.includes("integer")) {
    return [
      breaking(
        place,
        change,
        `${what}: generated clients decode it as a ${narrow} number, and fail on stored values that do not fit; keep the old format.`,
      ),
    ];
  }
  if (isChecked(old) || NARROW[old] !== undefined) return [loosened(place, change, what)];
  return [safe(place, change, `${what}: the API server checks neither of them.`)];
}

function formatOf({ format }: Schema): string {
  return typeof format === "string" ? format : "";
}

function isChecked(format: string): boolean {
  return CHECKED.has(plain(format));
}

/** "date-time" and "datetime" are the same to the API server. */
function plain(format: string): string {
  return format.replaceAll("-", "");
}
