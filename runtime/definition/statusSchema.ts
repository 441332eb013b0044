import type { ErrorObject } from "ajv";
import { rounded } from "../json";
import type { JsonObject } from "../kubernetes/objects";
import { OWN_STATUS_FIELDS } from "../names";
import { compiled, flawOf } from "./contentSchema";

/**
 * Makes a check of the handler's status against the schema that the author gave it in the CRD. The API server
 * would drop a field that the schema does not know in silence, and the author would look for it in vain.
 *
 * @param schema the schema of `status`, as in the CRD; undefined: any status will do
 * @returns a function that gives what is wrong with a status, in a sentence; undefined where nothing is
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
 * Makes a check of a value against a schema of a CRD. A field that the schema does not know is refused, where the API
 * server would drop it in silence.
 *
 * @param name what the value is called: "status"
 * @returns a function that gives what is wrong with a value, in a sentence; undefined where nothing is
 */
export function schemaChecker(schema: JsonObject, name: string): (value: unknown) => string | undefined {
  const check = compiled(schema, "as it is");
  return (value) =>
    check(rounded(value)) ? undefined : check.errors?.map((error) => explain(error, name)).join("; ");
}

/** The same schema, in which the engine's own fields may be missing. */
function withoutRequired(schema: JsonObject): JsonObject {
  const { required, ...rest } = schema;
  if (!Array.isArray(required)) return rest;
  return { ...rest, required: required.filter((name) => !OWN_STATUS_FIELDS.includes(String(name))) };
}

function explain(error: ErrorObject, name: string): string {
  const { field, complaint } = flawOf(error, name);
  return `${field} ${complaint}`;
}
