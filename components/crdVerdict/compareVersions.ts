import { isDeepStrictEqual } from "node:util";
import { versionsOf } from "../../definition/customResourceDefinition";
import { isJsonObject, type JsonObject } from "../../runtime/program";
import { objectIn } from "../manifests/customResourceDefinition";
import { anyBreaks, breaking, type CrdChange, type Place, safe, show } from "./change";
import { compareSchemas } from "./compareSchemas";
import type { Schema } from "./schema";

/** Compares versions that come and go, and the content of versions that stay. */
export function compareVersions(before: JsonObject, after: JsonObject): CrdChange[] {
  const [old, now] = [versionsByName(before), versionsByName(after)];
  return [
    ...[...old].flatMap(([name, version]) => {
      const successor = now.get(name);
      return successor ? compareVersion(name, version, successor) : [versionRemoved(name, version)];
    }),
    ...[...now.keys()]
      .filter((name) => !old.has(name))
      .map((name) => safe(versionPlace(name), "version-added", "The version is new: no client uses it.")),
  ];
}

function versionRemoved(name: string, { served, storage }: JsonObject): CrdChange {
  const place = versionPlace(name);
  const migrate =
    "rewrite what is stored in it, and take it out of the CRD's status.storedVersions, before it goes";
  if (storage === true) {
    const what = "The version in which objects are stored was removed: the API server refuses this change";
    return breaking(
      place,
      "version-removed",
      `${what}; keep it as served: true, storage: false, and ${migrate}.`,
    );
  }
  if (served === true) {
    const what = "The version was removed: clients that use it find nothing";
    return breaking(
      place,
      "version-removed",
      `${what}; announce it with deprecated: true first, then ${migrate}.`,
    );
  }
  return safe(place, "version-removed", `The version was removed, which no client could use: ${migrate}.`);
}

function compareVersion(name: string, before: JsonObject, after: JsonObject): CrdChange[] {
  return [
    ...compareServing(name, before, after),
    ...compareSchemas(rootSchemaOf(before), rootSchemaOf(after), { version: name, path: "." }),
    ...compareSubresources(name, before, after),
    ...compareSelectableFields(name, before, after),
    ...comparePrinterColumns(name, before, after),
  ];
}

function compareServing(name: string, before: JsonObject, after: JsonObject): CrdChange[] {
  const changes: CrdChange[] = [];
  const [wasServed, isServed] = [before.served === true, after.served === true];
  if (wasServed && !isServed) {
    const what = "The version is no longer served: clients that use it find nothing";
    const remedy = "keep served: true, and announce the end with deprecated: true";
    changes.push(breaking(versionPlace(name, "served"), "version-unserved", `${what}; ${remedy}.`));
  }
  if (!wasServed && isServed) {
    changes.push(safe(versionPlace(name, "served"), "version-served", "The version is served now."));
  }
  const [wasDeprecated, isDeprecated] = [before.deprecated === true, after.deprecated === true];
  if (wasDeprecated !== isDeprecated) {
    const what = isDeprecated ? "Clients that use the version are warned" : "Clients are no longer warned";
    const change = isDeprecated ? "version-deprecated" : "version-undeprecated";
    changes.push(safe(versionPlace(name, "deprecated"), change, `${what}, and served as before.`));
  }
  return changes;
}

/** The subresources status and scale of a version. */
function compareSubresources(name: string, before: JsonObject, after: JsonObject): CrdChange[] {
  const [old, now] = [objectIn(before, "subresources"), objectIn(after, "subresources")];
  return [...compareStatus(name, old, now), ...compareScale(name, old, now)];
}

function compareStatus(name: string, before: JsonObject, after: JsonObject): CrdChange[] {
  const [old, now] = [isJsonObject(before.status), isJsonObject(after.status)];
  const place = versionPlace(name, "subresources.status");
  if (old === now) return [];
  if (now) {
    const what = "The status subresource was added: a status that clients write with the object is dropped";
    const remedy = "have them write to /status";
    return [
      breaking(
        place,
        "status-subresource-added",
        `${what}, and no longer counts as a new generation; ${remedy}.`,
      ),
    ];
  }
  const what = "The status subresource was removed: the operator's writes of status fail";
  return [
    breaking(
      place,
      "status-subresource-removed",
      `${what}, and clients that write the object overwrite its status; keep status: {}.`,
    ),
  ];
}

function compareScale(name: string, before: JsonObject, after: JsonObject): CrdChange[] {
  const [old, now] = [before.scale, after.scale];
  const place = versionPlace(name, "subresources.scale");
  const scalers = "kubectl scale and HorizontalPodAutoscalers";
  if (!isJsonObject(old)) {
    return isJsonObject(now)
      ? [safe(place, "scale-subresource-added", `The scale subresource is new: ${scalers} can be used.`)]
      : [];
  }
  if (!isJsonObject(now)) {
    const what = `The scale subresource was removed: ${scalers} fail`;
    return [breaking(place, "scale-subresource-removed", `${what}; keep it.`)];
  }
  return ["specReplicasPath", "statusReplicasPath", "labelSelectorPath"].flatMap((field) => {
    if (isDeepStrictEqual(old[field], now[field])) return [];
    const at = versionPlace(name, `subresources.scale.${field}`);
    const what = `It changed from ${show(old[field])} to ${show(now[field])}`;
    if (old[field] === undefined || old[field] === "") {
      return [safe(at, "scale-subresource-changed", `${what}: ${scalers} are told more than before.`)];
    }
    const broken = `${scalers} read or write another field`;
    return [breaking(at, "scale-subresource-changed", `${what}: ${broken}; keep the old path.`)];
  });
}

/** The fields by which lists and watches can be narrowed (`kubectl get --field-selector`). */
function compareSelectableFields(name: string, before: JsonObject, after: JsonObject): CrdChange[] {
  const [old, now] = [selectableFieldsOf(before), selectableFieldsOf(after)];
  const place = versionPlace(name, "selectableFields");
  return [
    ...old
      .filter((path) => !now.includes(path))
      .map((path) => {
        const what = `${path} is no longer selectable: lists and watches with it as field selector are refused`;
        return breaking(place, "selectable-field-removed", `${what}; keep it.`);
      }),
    ...now
      .filter((path) => !old.includes(path))
      .map((path) => safe(place, "selectable-field-added", `${path} can be used as field selector.`)),
  ];
}

/** Paths are compared as they are written, with or without the leading dot. */
function selectableFieldsOf({ selectableFields }: JsonObject): string[] {
  const fields = Array.isArray(selectableFields) ? selectableFields.filter(isJsonObject) : [];
  return fields.map(({ jsonPath }) => String(jsonPath));
}

/** Compares the columns of `kubectl get`. They are for people, so no change of them breaks. */
function comparePrinterColumns(name: string, before: JsonObject, after: JsonObject): CrdChange[] {
  if (isDeepStrictEqual(before.additionalPrinterColumns ?? [], after.additionalPrinterColumns ?? []))
    return [];
  const message = "kubectl get shows other columns; a script should read fields, not columns.";
  return [safe(versionPlace(name, "additionalPrinterColumns"), "printer-columns-changed", message)];
}

/** Compares in which version objects are stored, and what converts between the versions. */
export function compareStorage(before: JsonObject, after: JsonObject): CrdChange[] {
  return [
    ...compareStorageVersion(before, after),
    ...compareConversion(before, after),
    ...comparePruning(before, after),
  ];
}

/**
 * Objects stay stored in the old version until each is written again. Without a webhook, only `apiVersion` is rewritten between
 * versions. Fields that the new version does not know are dropped, and values that it does not allow are refused.
 */
function compareStorageVersion(before: JsonObject, after: JsonObject): CrdChange[] {
  const [old, now] = [storageVersionOf(before), storageVersionOf(after)];
  if (!old || !now || old.name === now.name) return [];
  // The change of the version says so: nothing can be stored in a version that is gone.
  if (!versionsByName(after).has(String(old.name))) return [];
  const place = versionPlace(String(now.name), "storage");
  const what = `Objects are stored in ${now.name} instead of ${old.name}`;
  const migrate = `rewrite those that are stored, before ${old.name} goes`;
  if (hasWebhook(after)) {
    const message = `${what}: the conversion webhook must convert both ways without loss; ${migrate}.`;
    return [safe(place, "storage-version-changed", message)];
  }
  if (!anyBreaks(compareSchemas(rootSchemaOf(old), rootSchemaOf(now), { path: "." }))) {
    const message = `${what}, and ${now.name} accepts everything that was valid: objects need no conversion; ${migrate}.`;
    return [safe(place, "storage-version-changed", message)];
  }
  return [
    breaking(
      place,
      "storage-version-changed",
      `${what}, and ${now.name} does not accept everything that was valid: without a conversion webhook, stored objects, and objects that clients of ${old.name} send, lose fields or are refused; give both versions the same schema, or add a conversion webhook.`,
    ),
  ];
}

function compareConversion(before: JsonObject, after: JsonObject): CrdChange[] {
  const place = { path: "spec.conversion" };
  const [old, now] = [hasWebhook(before), hasWebhook(after)];
  if (!old && now) {
    const message =
      "A webhook converts between the versions now: it must answer for every version but the stored one.";
    return [safe(place, "conversion-webhook-added", message)];
  }
  if (old && !now) {
    const what = "The conversion webhook was removed";
    if (versionsByName(before).size < 2) {
      return [safe(place, "conversion-webhook-removed", `${what}: there was nothing to convert.`)];
    }
    const broken =
      "the API server then changes only apiVersion, so objects are served and stored with the fields of another version";
    return [breaking(place, "conversion-webhook-removed", `${what}: ${broken}; keep it.`)];
  }
  if (isDeepStrictEqual(conversionOf(before).webhook, conversionOf(after).webhook)) return [];
  const message = "Another webhook converts: it must answer as the old one did, which cannot be seen here.";
  return [safe(place, "conversion-webhook-changed", message)];
}

/** A field of CRDs from the time of v1beta1, with which all objects kept unknown fields. */
function comparePruning(before: JsonObject, after: JsonObject): CrdChange[] {
  const [old, now] = [before, after].map((crd) => objectIn(crd, "spec").preserveUnknownFields === true);
  const place = { path: "spec.preserveUnknownFields" };
  if (old === now) return [];
  if (now)
    return [safe(place, "unknown-fields-preserved", "Fields that the schema does not name are kept now.")];
  const what =
    "Unknown fields are no longer preserved: stored objects lose every field that the schema does not name";
  return [breaking(place, "unknown-fields-pruned", `${what}; name in the schema all that is in use.`)];
}

function storageVersionOf(crd: JsonObject): JsonObject | undefined {
  return [...versionsByName(crd).values()].find(({ storage }) => storage === true);
}

function conversionOf(crd: JsonObject): JsonObject {
  return objectIn(objectIn(crd, "spec"), "conversion");
}

function hasWebhook(crd: JsonObject): boolean {
  return conversionOf(crd).strategy === "Webhook";
}

/** The versions of a CRD by their names. */
function versionsByName(crd: JsonObject): Map<string, JsonObject> {
  return new Map(versionsOf(crd).map((version) => [String(version.name), version]));
}

/** A field of a version of the CRD, as the place of a change. */
function versionPlace(version: string, field?: string): Place {
  const path = `spec.versions[${version}]`;
  return { version, path: field === undefined ? path : `${path}.${field}` };
}

/** The schema of whole objects. The API server always takes them as embedded: it keeps their metadata. */
function rootSchemaOf({ schema }: JsonObject): Schema {
  const root = objectIn(objectIn({ schema }, "schema"), "openAPIV3Schema");
  return { ...root, "x-kubernetes-embedded-resource": true };
}
