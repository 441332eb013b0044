import type { ErrorObject } from "ajv";
import type { JsonObject } from "../kubernetes/objects";
import { OWN_STATUS_FIELDS } from "../names";
import { compiled, flawsOf, schemaFlawOf } from "./contentSchema";

/**
 * Makes a check of the handler's status against the schema that the author gave for it in the CRD. The API server would silently
 * drop a field that the schema does not know, and the author would look for the field without success.
 *
 * @param schema the schema of `status`, as in the CRD. Undefined: any status will do
 * @returns a function that says in a sentence what is wrong with a status. Undefined if nothing is
 */
export function statusChecker(schema: JsonObject | undefined): (status: unknown) => string | undefined {
  if (schema === undefined) return () => undefined;
  const check = schemaChecker(withoutRequired(schema), "status");
  return (status) => {
    const fields = Object.entries(status as JsonObject).filter(([name]) => !OWN_STATUS_FIELDS.includes(name));
    return check(Object.fromEntries(fields));
  };
}

/**
 * Makes a check of a value against a schema of a CRD. The check refuses a field that the schema does not know, which the API
 * server would silently drop.
 *
 * @param name what the value is called: "status"
 * @returns a function that says in a sentence what is wrong with a value. Undefined if nothing is
 */
export function schemaChecker(schema: JsonObject, name: string): (value: unknown) => string | undefined {
  const check = compiled(schema);
  return (value) => {
    const flaws = flawsOf(check, value);
    return flaws.length === 0 ? undefined : flaws.map((flaw) => explain(flaw, name)).join("; ");
  };
}

/** The same schema, in which the engine's own fields may be missing. */
function withoutRequired(schema: JsonObject): JsonObject {
  const { required, ...rest } = schema;
  if (!Array.isArray(required)) return rest;
  return { ...rest, required: required.filter((name) => !OWN_STATUS_FIELDS.includes(String(name))) };
}

function explain(error: ErrorObject, name: string): string {
  const { field, complaint } = schemaFlawOf(error, name);
  return `${field} ${complaint}`;
}
