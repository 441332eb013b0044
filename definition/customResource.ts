import { flawsOf, oncePerSchema, schemaFlawOf } from "../runtime/base/contentSchema";
import { apiVersionOf, isDnsName, isJsonObject, type Json, type JsonObject } from "../runtime/base/objects";
import { storedForm } from "../runtime/base/storedForm";
import { isLabelValue } from "../runtime/operator/uses";
import {
  type CustomResourceDefinition,
  hasWebhook,
  schemaOfVersion,
  versionsOf,
} from "./customResourceDefinition";
import { DNS_LABEL } from "./fields/terms";
import { regexOf } from "./patterns";

/** A custom resource as the API server would store it: see {@link admitted}. */
export interface Admitted {
  readonly object: JsonObject;
  /** Why the API server would refuse it, or drop a part of it. */
  readonly flaw?: string;
}

/**
 * A custom resource as an operator gets it from the API server: in the stored version, with the defaults of the CRD's schema,
 * without nulls that the schema does not allow, and valid against it. Its kind and apiVersion may be left out, and its namespace,
 * which is then `default`, as with kubectl. Its status is not checked.
 */
export function admitted(object: JsonObject, { crd, customResource }: CustomResourceDefinition): Admitted {
  const { kind, version, namespaced } = customResource;
  const stored = apiVersionOf(customResource);
  const { apiVersion = stored, kind: given = kind, metadata: ofObject, status, ...rest } = object;
  const metadata = {
    ...(namespaced && { namespace: "default" }),
    ...(isJsonObject(ofObject) ? ofObject : {}),
  };
  const complete: JsonObject = { apiVersion, kind: given, metadata, ...rest };
  const asGiven = { object: { ...complete, ...(status !== undefined && { status }) } };
  const group = `${customResource.group}/`;
  if (given !== kind || typeof apiVersion !== "string" || !apiVersion.startsWith(group))
    return { ...asGiven, flaw: `is ${given} (${apiVersion}), not ${kind} (${stored})` };
  const served = versionsOf(crd).filter((each) => each.served === true);
  const known = served.map(({ name }) => String(name));
  const own = known.find((each) => each === apiVersion.slice(group.length));
  const [schemaOfOwn, target] = [own, version].map((each) => each && schemaOfVersion(crd, each));
  if (!schemaOfOwn || !target)
    return { ...asGiven, flaw: `is of ${apiVersion}, and the CRD serves ${known.join(", ")}` };
  if (apiVersion !== stored && hasWebhook(crd)) {
    const flaw = `is of ${apiVersion}, and only the CRD's webhook could convert it to ${version}, which the operator uses`;
    return { ...asGiven, flaw };
  }
  const schema = rootOf(schemaOfOwn);
  const flaw = flawOfName(metadata, kind) ?? flawOfContent(complete, schema);
  const filled = storedForm(complete, schema);
  // Without a webhook, a conversion changes only the apiVersion. What the other version does not know is dropped.
  const converted =
    apiVersion === stored
      ? filled
      : storedForm({ ...(filled as JsonObject), apiVersion: stored }, rootOf(target), { drops: true });
  const whole = { ...(converted as JsonObject), ...(status !== undefined && { status }) };
  return { object: whole, ...(flaw !== undefined && { flaw }) };
}

/** The schema of whole objects without their status, which the engine writes. */
const rootOf = oncePerSchema(({ properties, required, ...rest }): JsonObject => {
  const { status: _, ...own } = isJsonObject(properties) ? properties : {};
  return {
    ...rest,
    properties: own,
    ...(Array.isArray(required) && { required: required.filter((name) => name !== "status") }),
    "x-kubernetes-embedded-resource": true,
  };
});

/** What the API server checks of an object's metadata without a schema, as far as it is often wrong. */
function flawOfName(
  { name, namespace, labels }: Readonly<Record<string, Json>>,
  kind: string,
): string | undefined {
  if (name === undefined) return "metadata.name is missing";
  if (typeof name === "string" && !isDnsName(name))
    return `metadata.name is ${JSON.stringify(name)}, which no ${kind} can have: write lower-case letters, digits, "-" and "."`;
  if (typeof namespace === "string" && namespace !== "" && !DNS_LABEL.test(namespace))
    return `metadata.namespace is ${JSON.stringify(namespace)}, which is not the name of a namespace`;
  const values = Object.entries(isJsonObject(labels) ? labels : {});
  const [wrong] = values.find(([, value]) => typeof value === "string" && !isLabelValue(value)) ?? [];
  return wrong === undefined ? undefined : `metadata.labels.${wrong} cannot be the value of a label`;
}

function flawOfContent(object: JsonObject, schema: JsonObject): string | undefined {
  const flaws = flawsOf(object, schema, regexOf).map((each) => {
    const { field, complaint } = schemaFlawOf(each, "");
    return `${field.slice(1)} ${complaint}`.trim();
  });
  return flaws.length > 0 ? flaws.join("; ") : undefined;
}
