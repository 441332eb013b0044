import { schemaChecker } from "../runtime/definition/statusSchema";
import { isRecord } from "../runtime/json/json";
import { isJsonObject, type Json, type JsonObject } from "../runtime/kubernetes/objects";
import { versionsOf } from "./customResourceDefinition";

/** A custom resource as the API server would store it: see {@link admitted}. */
export interface Admitted {
  readonly object: JsonObject;
  /** Why the API server would refuse it, or drop a part of it. */
  readonly flaw?: string;
}

/** Fields outside of the schema. The API server checks them without a schema, or the engine writes them. */
const NOT_IN_SCHEMA = ["apiVersion", "kind", "metadata", "status"];

/**
 * A custom resource as the API server would keep it: with the CRD's defaults, checked against the CRD's schema. Its kind and
 * apiVersion may be left out.
 *
 * @param version the one of an object without apiVersion
 */
export function admitted(object: JsonObject, crd: JsonObject, version: string): Admitted {
  const spec = isJsonObject(crd.spec) ? crd.spec : {};
  const kind = isJsonObject(spec.names) ? String(spec.names.kind) : "";
  const { apiVersion = `${spec.group}/${version}`, kind: given = kind, ...rest } = object;
  const complete: JsonObject = { apiVersion, kind: given, ...rest };
  const group = `${spec.group}/`;
  if (given !== kind || typeof apiVersion !== "string" || !apiVersion.startsWith(group)) {
    return { object: complete, flaw: `is ${given} (${apiVersion}), not ${kind} (${group}${version})` };
  }
  const versions = versionsOf(crd);
  const own = versions.find(({ name }) => `${group}${name}` === apiVersion);
  if (!own) {
    const known = versions.map(({ name }) => name).join(", ");
    return { object: complete, flaw: `is of ${apiVersion}, and the CRD has ${known}` };
  }
  const schema = isJsonObject(own.schema) ? own.schema.openAPIV3Schema : undefined;
  if (!isJsonObject(schema)) return { object: complete };
  const filled = withDefaults(complete, schema) as JsonObject;
  const checked = Object.fromEntries(Object.entries(filled).filter(([key]) => !NOT_IN_SCHEMA.includes(key)));
  const flaw = schemaChecker(withoutOthers(schema), "object")(checked);
  return { object: filled, ...(flaw !== undefined && { flaw: flaw.replace(/^object\.?/, "") }) };
}

/** The schema without the fields that are not checked here. */
function withoutOthers(schema: JsonObject): JsonObject {
  const { properties, required, ...rest } = schema;
  const isChecked = (name: Json | string) => !NOT_IN_SCHEMA.includes(String(name));
  const own = Object.entries(isJsonObject(properties) ? properties : {}).filter(([name]) => isChecked(name));
  return {
    ...rest,
    properties: Object.fromEntries(own),
    ...(Array.isArray(required) && { required: required.filter(isChecked) }),
  };
}

/**
 * A value with the defaults of its schema, from the outside inward, as the API server fills them in. A `null` that the schema
 * does not allow counts as missing where there is a default
 * (https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#defaulting).
 */
function withDefaults(value: Json | undefined, schema: JsonObject): Json | undefined {
  const { properties, items, additionalProperties } = schema;
  const given =
    value === null && schema.nullable !== true && schema.default !== undefined ? undefined : value;
  const filled = given === undefined ? schema.default : given;
  if (Array.isArray(filled) && isJsonObject(items)) {
    return filled.map((entry) => withDefaults(entry, items) ?? null);
  }
  if (!isRecord(filled)) return filled;
  const fields: Record<string, Json> = { ...(filled as JsonObject) };
  for (const [name, inner] of Object.entries(isJsonObject(properties) ? properties : {})) {
    const field = isJsonObject(inner) ? withDefaults(fields[name], inner) : fields[name];
    if (field !== undefined) fields[name] = field;
  }
  if (isJsonObject(additionalProperties)) {
    for (const [name, field] of Object.entries(fields)) {
      fields[name] = withDefaults(field, additionalProperties) ?? null;
    }
  }
  return fields;
}
