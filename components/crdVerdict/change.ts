import { z } from "zod";

/** The schema of a {@link CrdChange}. */
export const CRD_CHANGE = z.strictObject({
  verdict: z
    .enum(["breaking", "safe"])
    .describe(
      "breaking: a stored object, a request or a read that was valid before may fail, lose something or mean something else. " +
        "safe: none of that can happen. A change that only adds possibilities is safe. If clients must accept new values, the " +
        "message says so.",
    ),
  version: z
    .string()
    .optional()
    .describe(
      "The version of the API in which it is. Left out for changes of all versions, such as the names.",
    ),
  path: z
    .string()
    .describe(
      "With a leading dot it is a field of the objects, as kubectl explain writes it: .spec.size. .spec.ports[].name is in the " +
        "items of a list, .spec.labels{} are the values of a map, a dot alone is the whole object. Without a leading dot it " +
        "is a field of the CRD: spec.names.kind.",
    ),
  change: z
    .custom<ChangeKind>((value) => typeof value === "string")
    .meta({ type: "string", description: "The change, in one word for programs: field-removed." }),
  message: z.string().describe("One sentence: the change, whom it breaks, and the remedy."),
});

/** One difference between an old and a new CustomResourceDefinition. */
export type CrdChange = Readonly<z.infer<typeof CRD_CHANGE>>;

/** Where a change is. */
export type Place = Pick<CrdChange, "version" | "path">;

/** A change that breaks. */
export function breaking(place: Place, change: ChangeKind, message: string): CrdChange {
  return { verdict: "breaking", ...place, change, message };
}

/** A change that breaks nothing. */
export function safe(place: Place, change: ChangeKind, message: string): CrdChange {
  return { verdict: "safe", ...place, change, message };
}

/** Whether any of the changes breaks something. */
export function anyBreaks(changes: readonly CrdChange[]): boolean {
  return changes.some(({ verdict }) => verdict === "breaking");
}

/** Whether a place is within the status, which only the operator writes. */
export function inStatus({ path }: Place): boolean {
  return /^\.status\b/.test(path);
}

/**
 * A rule that now refuses what was allowed before.
 *
 * @param what - the change: "The minimum was raised from 0 to 1"
 * @param refused - the values that are refused from now on: "a smaller value"
 */
export function tightened(place: Place, change: ChangeKind, what: string, refused: string): CrdChange {
  const stored = `stored objects with ${refused} are refused at the next write that changes the value`;
  return breaking(
    place,
    change,
    inStatus(place)
      ? `${what}: the operator is refused when it writes ${refused}, and ${stored}; keep the old rule.`
      : `${what}: ${stored}, and clients that send ${refused} are refused; keep the old rule, and let the handler report such objects in their status.`,
  );
}

/** A rule that now allows what was refused before. */
export function loosened(place: Place, change: ChangeKind, what: string): CrdChange {
  return safe(
    place,
    change,
    `${what}: values that were valid are still valid; clients that read the field must accept the new values too.`,
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

/** The quantities that a bound limits, as in the names of its changes. */
export type LowerBound = "minimum" | "min-length" | "min-items" | "min-properties";
/** @see LowerBound */
export type UpperBound = "maximum" | "max-length" | "max-items" | "max-properties";

type OfTheSet = "crd-removed" | "crd-added";

type OfNames =
  | "group-changed"
  | "plural-changed"
  | "kind-changed"
  | "list-kind-changed"
  | "singular-changed"
  | "scope-changed"
  | "short-name-removed"
  | "short-name-added"
  | "category-removed"
  | "category-added";

type OfVersions =
  | "version-removed"
  | "version-added"
  | "version-unserved"
  | "version-served"
  | "version-deprecated"
  | "version-undeprecated"
  | "version-loses-fields"
  | "storage-version-changed"
  | "conversion-webhook-removed"
  | "conversion-webhook-added"
  | "conversion-webhook-changed"
  | "status-subresource-removed"
  | "status-subresource-added"
  | "scale-subresource-removed"
  | "scale-subresource-added"
  | "scale-subresource-changed"
  | "selectable-field-removed"
  | "selectable-field-added"
  | "printer-columns-changed";

type OfFields =
  | "field-removed"
  | "field-added"
  | "required-added"
  | "required-removed"
  | "additional-properties-removed"
  | "additional-properties-added"
  | "unknown-fields-pruned"
  | "unknown-fields-preserved"
  | "embedded-resource-removed"
  | "embedded-resource-added";

type OfValues =
  | "type-changed"
  | "type-widened"
  | "nullable-removed"
  | "nullable-added"
  | "default-removed"
  | "default-added"
  | "default-changed"
  | "enum-added"
  | "enum-removed"
  | "enum-value-removed"
  | "enum-value-added"
  | "pattern-added"
  | "pattern-removed"
  | "pattern-changed"
  | "format-added"
  | "format-removed"
  | "format-changed"
  | "multiple-of-tightened"
  | "multiple-of-loosened"
  | "unique-items-added"
  | "unique-items-removed"
  | `${LowerBound | UpperBound}-${"raised" | "lowered"}`;

type OfRules =
  | "validation-rule-added"
  | "validation-rule-removed"
  | "composition-tightened"
  | "composition-loosened";

type OfTopology = "list-type-changed" | "list-map-keys-changed" | "map-type-changed";

/** The change, in one word for programs. */
export type ChangeKind =
  | OfTheSet
  | OfNames
  | OfVersions
  | OfFields
  | OfValues
  | OfRules
  | OfTopology
  | "description-changed";
