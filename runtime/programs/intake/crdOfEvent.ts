import { fingerprint, isRecord } from "../../base/json";
import { isJsonObject, type Json, type KubernetesObject, latestOf } from "../../base/objects";
import { builtIn } from "../../kubernetes/discovery";
import { valueAt } from "../../operator/mapEvent";
import type { CreatingEvent } from "./intakeFile";

/** The kind of CRDs, of which an intake reads those of its events. */
export const CRDS = builtIn("apiextensions.k8s.io/v1", "CustomResourceDefinition");

/**
 * How long a CRD may be ahead of the intakes, in milliseconds. A deployment first changes the CRDs, then rolls out all operators, and
 * only then the intakes.
 */
const LONGEST_ROLL_OUT_MS = 3_600_000;

/**
 * Whether the versions of a CRD were written a short time ago and give `spec` another schema than the intake's file does. Then an
 * intake that maps the event by the new definition is about to begin.
 * @param now by the API server's clock, in milliseconds since 1970
 */
export function isAhead(crd: KubernetesObject, { apiVersion, schema }: CreatingEvent, now: number): boolean {
  if (versionsWrittenAt(crd) + LONGEST_ROLL_OUT_MS <= now) return false;
  const versions = valueAt(crd, "spec.versions");
  const ours = (version: unknown) => isRecord(version) && apiVersion.endsWith(`/${version["name"]}`);
  const version = Array.isArray(versions) ? versions.find(ours) : undefined;
  const served = valueAt(version, "schema.openAPIV3Schema.properties.spec");
  return fingerprint(stored(served as Json | undefined)) !== fingerprint(stored(schema));
}

/**
 * When a CRD got its present versions, in milliseconds since 1970. 0 if that is not known. Controllers may write other parts of it
 * at any time, such as the certificates of a webhook.
 */
function versionsWrittenAt({
  metadata: { creationTimestamp, managedFields = [] },
}: KubernetesObject): number {
  const writers = managedFields.filter(
    ({ fieldsV1 }) => valueAt(fieldsV1, '["f:spec"]["f:versions"]') !== undefined,
  );
  return latestOf([creationTimestamp, ...writers.map(({ time }) => time)]) ?? 0;
}

/** A schema without the keywords that the API server does not store, because they state the default. */
function stored(schema: Json | undefined): Json | undefined {
  if (Array.isArray(schema)) return schema.map((each) => stored(each) as Json);
  if (!isJsonObject(schema)) return schema;
  const entries = Object.entries(schema).map(([key, value]) => [key, stored(value)] as const);
  return Object.fromEntries(entries.filter((entry): entry is [string, Json] => !isEmpty(entry[1])));
}

function isEmpty(value: Json | undefined): boolean {
  if (typeof value === "object" && value !== null) return Object.keys(value).length === 0;
  return value === undefined || value === false || value === "";
}

/**
 * A field of an object's `spec` as a Warning may name it: as far as the mapping names it. A sender may have chosen further keys:
 * "spec.env.*".
 */
export function knownField(field: string, { spec }: CreatingEvent): string {
  const [root, ...steps] = field.matchAll(/[^.[\]]+/g);
  if (root?.[0] !== "spec") return field;
  let mapped: Json | undefined = spec;
  for (const { 0: step, index } of steps) {
    mapped = isJsonObject(mapped) && Object.hasOwn(mapped, step) ? mapped[step] : undefined;
    if (mapped === undefined) return `${field.slice(0, index - 1)}.*`;
  }
  return field;
}
