import { versionsOf } from "../../definition/customResourceDefinition";
import type { JsonObject } from "../../runtime/program";
import { objectIn } from "../manifests/customResourceDefinition";
import type { Place } from "./change";
import type { Schema } from "./schema";

/** The version in which objects are stored. */
export function storageVersionOf(crd: JsonObject): JsonObject | undefined {
  return [...versionsByName(crd).values()].find(({ storage }) => storage === true);
}

/** What converts between the versions. */
export function conversionOf(crd: JsonObject): JsonObject {
  return objectIn(objectIn(crd, "spec"), "conversion");
}

/** The versions of a CRD by their names. */
export function versionsByName(crd: JsonObject): Map<string, JsonObject> {
  return new Map(versionsOf(crd).map((version) => [String(version.name), version]));
}

/** A field of a version of the CRD, as the place of a change. */
export function versionPlace(version: string, field?: string): Place {
  const path = `spec.versions[${version}]`;
  return { version, path: field === undefined ? path : `${path}.${field}` };
}

/** The schema of whole objects. The API server always takes them as embedded: it keeps their metadata. */
export function rootSchemaOf({ schema }: JsonObject): Schema {
  const root = objectIn(objectIn({ schema }, "schema"), "openAPIV3Schema");
  return { ...root, "x-kubernetes-embedded-resource": true };
}
