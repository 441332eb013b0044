import { fingerprint } from "../json/fingerprint";
import { isRecord } from "../json/json";
import { builtIn } from "../kubernetes/discovery";
import { isJsonObject, type Json, type KubernetesObject, latestOf } from "../kubernetes/objects";
import { valueAt } from "./fieldPath";
import type { IntakeEvent } from "./intakeFile";

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
export function isAhead(crd: KubernetesObject, { apiVersion, schema }: IntakeEvent, now: number): boolean {
  if (versionsWrittenAt(crd) + LONGEST_ROLL_OUT_MS <= now) return false;
  const versions = valueAt(crd, "spec.versions");
  const ours = (version: unknown) => isRecord(version) && apiVersion.endsWith(`/${version["name"]}`);
  const version = Array.isArray(versions) ? versions.find(ours) : undefined;
  const served = valueAt(version, "schema.openAPIV3Schema.properties.spec");
  return fingerprint(stored(served as Json | undefined)) !== fingerprint(stored(schema));
}

/**
 * When a CRD got its present versions, in milliseconds since 1970. 0 if nobody knows. Controllers may write other parts of it at any
 * time, such as the certificates of a webhook.
 */
function versionsWrittenAt({
  metadata: { creationTimestamp, managedFields = [] },
}: KubernetesObject): number {
  const writers = managedFields.filter(
    ({ fieldsV1 }) => valueAt(fieldsV1, '["f:spec"]["f:versions"]') !== undefined,
  );
  return latestOf([creationTimestamp, ...writers.map(({ time }) => time)]) ?? 0;
}

/** A schema without the keywords that the API server does not store, because they say what is the case without them. */
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
