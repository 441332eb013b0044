import type { Place } from "./change";
import {
  fieldNamesOf,
  fieldSchema,
  isEmbeddedResource,
  itemSchema,
  OBJECT_FIELDS,
  type Schema,
  type SchemaPair,
  typesOf,
  unknownFieldSchema,
} from "./schema";

/** The schemas within two schemas that speak of the same value: fields, values of a map, items. */
export function nestedSchemas(before: Schema, after: Schema, place: Place): SchemaPair[] {
  const types = typesOf(before);
  const pairs: SchemaPair[] = [];
  const add = (inBefore: Schema | undefined, inAfter: Schema | undefined, path: string) => {
    if (inBefore && inAfter) pairs.push({ before: inBefore, after: inAfter, place: { ...place, path } });
  };
  if (types.includes("object")) {
    for (const name of comparableFields(before, after)) {
      add(fieldSchema(before, name), fieldSchema(after, name), fieldPath(place, name));
    }
    add(unknownFieldSchema(before), unknownFieldSchema(after), `${place.path}{}`);
  }
  if (types.includes("array")) add(itemSchema(before), itemSchema(after), `${place.path}[]`);
  return pairs;
}

/** The fields that either schema names, in the order of their names. */
export function comparableFields(before: Schema, after: Schema): string[] {
  const names = new Set([...fieldNamesOf(before), ...fieldNamesOf(after)]);
  // That they come or go as a whole is a change of its own.
  if (isEmbeddedResource(before) !== isEmbeddedResource(after)) {
    for (const name of OBJECT_FIELDS) names.delete(name);
  }
  return [...names].sort();
}

/** The path of a field within a place. */
export function fieldPath(place: Place, name: string): string {
  return place.path === "." ? `.${name}` : `${place.path}.${name}`;
}
