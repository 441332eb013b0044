import { OWN_STATUS_FIELDS } from "../runtime/base/names";
import { isJsonObject, type Json, type JsonObject } from "../runtime/base/objects";
import { schemaOfField } from "../runtime/base/storedForm";
import { didYouMean } from "./nearest";
import type { Report } from "./problems";

/** Every object has these, whatever its schema says. */
export const OF_EVERY_OBJECT = ["apiVersion", "kind", "metadata"];
/** The beginning of a path up to the first filter, index or escaped name. */
const PLAIN_STEPS = /^(\.[A-Za-z_][\w-]*(?![\w\\-]))*/;

/**
 * Reports each path of a version of a CRD that leads to no field of its schema: of printer columns, selectable fields and the scale. The
 * API server accepts most of them, and the column stays empty, or `kubectl scale` fails.
 *
 * @param field where the version is: "spec.versions[0]"
 */
export function checkPaths(version: JsonObject, schema: JsonObject, field: string, problem: Report): void {
  for (const [place, path] of pathsIn(version)) {
    if (typeof path !== "string") continue;
    const steps = PLAIN_STEPS.exec(path)?.[0].split(".").slice(1) ?? [];
    const missing = missingIn(schema, steps);
    if (missing === undefined) continue;
    const complaint = `is ${JSON.stringify(path)}, and the CRD's schema has no ${steps.slice(0, missing.at + 1).join(".")}`;
    const remedy = didYouMean(
      steps[missing.at] ?? "",
      missing.known,
      "Add it to the schema, or correct the path.",
    );
    problem(`${field}.${place}`, complaint, remedy);
  }
}

function pathsIn(version: JsonObject): [place: string, path: Json | undefined][] {
  const lists = ["additionalPrinterColumns", "selectableFields"].flatMap((list) =>
    entriesOf(version[list]).map(([index, entry]): [string, Json | undefined] => [
      `${list}[${index}].jsonPath`,
      isJsonObject(entry) ? entry.jsonPath : undefined,
    ]),
  );
  const { subresources } = version;
  const scale = isJsonObject(subresources) ? subresources.scale : undefined;
  const ofScale = Object.entries(isJsonObject(scale) ? scale : {});
  return [...lists, ...ofScale.map(([key, path]): [string, Json] => [`subresources.scale.${key}`, path])];
}

function entriesOf(list: Json | undefined): [number, Json][] {
  return Array.isArray(list) ? [...list.entries()] : [];
}

/** Which step is the first that leads to no field, and which fields there are. */
function missingIn(root: JsonObject, steps: readonly string[]): { at: number; known: string[] } | undefined {
  const [first = "", second = ""] = steps;
  if (OF_EVERY_OBJECT.includes(first)) return undefined;
  // Argosy adds these, and a whole status if the schema has none.
  if (first === "status" && (OWN_STATUS_FIELDS.includes(second) || schemaOfField(root, first) === undefined))
    return undefined;
  let schema = root;
  for (const [at, step] of steps.entries()) {
    const isOpen =
      schema["x-kubernetes-preserve-unknown-fields"] === true ||
      schema["x-kubernetes-embedded-resource"] === true ||
      schema.additionalProperties === true;
    if (isOpen) return undefined;
    const inner = schemaOfField(schema, step);
    if (inner === undefined) {
      const { properties } = schema;
      return { at, known: Object.keys(isJsonObject(properties) ? properties : {}) };
    }
    schema = inner;
  }
  return undefined;
}
