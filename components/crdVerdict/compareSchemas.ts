import { isDeepStrictEqual } from "node:util";
import {
  anyBreaks,
  breaking,
  type CrdChange,
  inStatus,
  loosened,
  type Place,
  safe,
  tightened,
} from "./change";
import { compareBounds } from "./compareBounds";
import { compareCompositions, compareRules, compareTopology } from "./compareRules";
import { compareValues } from "./compareValues";
import {
  comparableFields,
  fieldPath,
  fieldSchema,
  isEmbeddedResource,
  isIntOrString,
  nestedSchemas,
  OBJECT_FIELDS,
  requiredOf,
  type Schema,
  typesOf,
  unknownFieldSchema,
} from "./schema";

const DOCUMENTATION = ["title", "description", "example", "externalDocs"];

/** Every difference between two schemas of one value, and within it. There are none below a type that has changed. */
export function compareSchemas(before: Schema, after: Schema, place: Place): CrdChange[] {
  if (isDeepStrictEqual(before, after)) return [];
  const types = compareTypes(before, after, place);
  if (anyBreaks(types)) return types;
  return [
    ...types,
    ...COMPARISONS.flatMap((compare) => compare(before, after, place)),
    ...nestedSchemas(before, after, place).flatMap((pair) =>
      compareSchemas(pair.before, pair.after, pair.place),
    ),
  ];
}

const COMPARISONS: readonly ((before: Schema, after: Schema, place: Place) => CrdChange[])[] = [
  compareValues,
  compareBounds,
  compareCompositions,
  compareRules,
  compareTopology,
  compareFields,
  compareDocumentation,
];

function compareDocumentation(before: Schema, after: Schema, place: Place): CrdChange[] {
  if (DOCUMENTATION.every((keyword) => isDeepStrictEqual(before[keyword], after[keyword]))) return [];
  return [safe(place, "description-changed", "The description was changed, which nothing depends on.")];
}

/** Whether a value may have other types than before. */
function compareTypes(before: Schema, after: Schema, place: Place): CrdChange[] {
  const old = typesOf(before);
  const now = typesOf(after);
  const what = `The type changed from ${nameOf(before)} to ${nameOf(after)}`;
  if (old.some((type) => !now.includes(type))) {
    const readers = inStatus(place)
      ? "the operator that writes the old one"
      : "clients that send the old one";
    return [
      breaking(
        place,
        "type-changed",
        `${what}: stored objects are refused at their next write, and so are ${readers}; leave the field, and add another of the new type.`,
      ),
    ];
  }
  if (now.length === old.length) return [];
  return [
    safe(
      place,
      "type-widened",
      `${what}: values that were valid are still valid; a client that can decode only the old type fails at the first value of a new type.`,
    ),
  ];
}

function nameOf(schema: Schema): string {
  if (isIntOrString(schema)) return "int-or-string";
  return typeof schema.type === "string" && schema.type !== "" ? schema.type : "any";
}

/** Compares which fields an object may have and must have. Their own schemas are compared separately. */
function compareFields(before: Schema, after: Schema, place: Place): CrdChange[] {
  if (!typesOf(before).includes("object")) return [];
  const required = compareRequired(before, after, place);
  const told = new Set(required.filter(({ verdict }) => verdict === "breaking").map(({ path }) => path));
  return [
    ...comparableFields(before, after).flatMap((name) => {
      const field = { ...place, path: fieldPath(place, name) };
      const [old, now] = [fieldSchema(before, name), fieldSchema(after, name)];
      if (old && !now) return [fieldRemoved(field, newNameOf(old, before, after))];
      if (now && !old && !told.has(field.path)) {
        return [
          safe(field, "field-added", "The field is new: no stored object has it, and no client sends it."),
        ];
      }
      return [];
    }),
    ...required,
    ...compareUnknownFields(before, after, place),
    ...compareEmbedding(before, after, place),
  ];
}

/** The only new field of the type that a removed one had. */
function newNameOf(removed: Schema, before: Schema, after: Schema): string | undefined {
  const added = comparableFields(before, after).filter((name) => {
    const [old, now] = [fieldSchema(before, name), fieldSchema(after, name)];
    return !old && now && isDeepStrictEqual(typesOf(now), typesOf(removed));
  });
  return added.length === 1 ? added[0] : undefined;
}

/** How to rename a field without a loss. */
const RENAMING = "https://github.com/argosy-dev/argosy/blob/main/docs/tasks/rename-a-field.md";

/** The field is pruned on every read and every write, whatever etcd still has of it. */
function fieldRemoved(field: Place, newName: string | undefined): CrdChange {
  const who = inStatus(field)
    ? "clients that read it find nothing, what the operator writes to it is dropped"
    : "what clients send in it is dropped or refused";
  const what = `The field was removed: stored objects lose it, and ${who}`;
  return breaking(
    field,
    "field-removed",
    newName === undefined
      ? `${what}; keep it, and say in its description that it is not used.`
      : `${what}; if its new name is ${newName}, keep both until every object has the new one: ${RENAMING}.`,
  );
}

/**
 * A newly required field breaks every stored object that has the field's parent without the field, even if the parent itself is
 * optional. With a default it does not, because the default is set before anything is checked.
 */
function compareRequired(before: Schema, after: Schema, place: Place): CrdChange[] {
  const [old, now] = [requiredOf(before), requiredOf(after)];
  const given = isEmbeddedResource(after) ? OBJECT_FIELDS : [];
  const at = (name: string) => ({ ...place, path: fieldPath(place, name) });
  const added = now.filter((name) => !old.includes(name) && !given.includes(name));
  const removed = old.filter((name) => !now.includes(name) && fieldSchema(after, name) !== undefined);
  return [
    ...added.map((name) =>
      fieldSchema(after, name)?.default === undefined
        ? tightened(
            at(name),
            "required-added",
            "The field is required now, and has no default",
            "no value in it",
          )
        : safe(at(name), "required-added", "The field is required now, and a missing one gets the default."),
    ),
    ...removed.map((name) => loosened(at(name), "required-removed", "The field may be left out now")),
  ];
}

function compareUnknownFields(before: Schema, after: Schema, place: Place): CrdChange[] {
  const [old, now] = [unknownFieldSchema(before), unknownFieldSchema(after)];
  if (Boolean(old) === Boolean(now)) return [];
  const isMap = Boolean((old ? before : after).additionalProperties);
  if (now) {
    return isMap
      ? [loosened(place, "additional-properties-added", "Fields of any name are allowed now")]
      : [loosened(place, "unknown-fields-preserved", "Fields that the schema does not name are kept now")];
  }
  const lost =
    "stored objects lose every field that the schema does not name, and what is written to one is dropped";
  return isMap
    ? [
        breaking(
          place,
          "additional-properties-removed",
          `Fields of any name are no longer allowed: ${lost}; keep additionalProperties.`,
        ),
      ]
    : [
        breaking(
          place,
          "unknown-fields-pruned",
          `Unknown fields are no longer preserved: ${lost}; name in the schema all that is in use, or keep x-kubernetes-preserve-unknown-fields.`,
        ),
      ];
}

function compareEmbedding(before: Schema, after: Schema, place: Place): CrdChange[] {
  const [old, now] = [isEmbeddedResource(before), isEmbeddedResource(after)];
  if (old === now) return [];
  if (now) {
    const what = "It must be a complete Kubernetes object now";
    const refused = "a value without apiVersion and kind";
    return [tightened(place, "embedded-resource-added", what, refused)];
  }
  const what = "It no longer has to be a complete Kubernetes object";
  const lost = OBJECT_FIELDS.filter((name) => fieldSchema(after, name) === undefined);
  if (lost.length === 0) return [loosened(place, "embedded-resource-removed", what)];
  return [
    breaking(
      place,
      "embedded-resource-removed",
      `${what}: stored objects lose its ${lost.join(", ")}, and what is written there is dropped; keep x-kubernetes-embedded-resource.`,
    ),
  ];
}
