import { fingerprint } from "../json/fingerprint";
import { isRecord } from "../json/json";
import { builtIn } from "../kubernetes/discovery";
import { isJsonObject, type Json, type KubernetesObject, writtenAt } from "../kubernetes/objects";
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
 * Whether a CRD was written to a short time ago and gives `spec` another schema than the intake's file does. Then an intake that maps
 * the event by the new definition is about to begin.
 * @param now by the API server's clock, in milliseconds since 1970
 */
export function isAhead(crd: KubernetesObject, { apiVersion, schema }: IntakeEvent, now: number): boolean {
  if (writtenAt(crd) + LONGEST_ROLL_OUT_MS <= now) return false;
  const versions = valueAt(crd, "spec.versions");
  const ours = (version: unknown) => isRecord(version) && apiVersion.endsWith(`/${version["name"]}`);
  const version = Array.isArray(versions) ? versions.find(ours) : undefined;
  const served = valueAt(version, "schema.openAPIV3Schema.properties.spec");
  return fingerprint(stored(served as Json | undefined)) !== fingerprint(stored(schema));
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
