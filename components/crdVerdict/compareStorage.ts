import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "../../runtime/program";
import { anyBreaks, breaking, type CrdChange, safe } from "./change";
import { compareSchemas } from "./compareSchemas";
import { objectIn, rootSchemaOf, versionPlace, versionsByName } from "./version";

/** In which version objects are stored, and what converts between the versions. */
export function compareStorage(before: JsonObject, after: JsonObject): CrdChange[] {
  return [
    ...compareStorageVersion(before, after),
    ...compareConversion(before, after),
    ...comparePruning(before, after),
  ];
}

/**
 * Objects stay stored in the old version until each is written again. Without a webhook, only `apiVersion` is rewritten
 * between versions: what the new one does not know is dropped, and what it does not allow is refused.
 */
function compareStorageVersion(before: JsonObject, after: JsonObject): CrdChange[] {
  const [old, now] = [storageVersionOf(before), storageVersionOf(after)];
  if (!old || !now || old.name === now.name) return [];
  // Told as such: nothing can be stored in a version that is gone.
  if (!versionsByName(after).has(String(old.name))) return [];
  const place = versionPlace(String(now.name), "storage");
  const what = `Objects are stored in ${now.name} instead of ${old.name}`;
  const migrate = `rewrite those that are stored, before ${old.name} goes`;
  if (hasWebhook(after)) {
    const message = `${what}: the conversion webhook must convert both ways without loss; ${migrate}.`;
    return [safe(place, "storage-version-changed", message)];
  }
  if (!anyBreaks(compareSchemas(rootSchemaOf(old), rootSchemaOf(now), { path: "." }))) {
    const message = `${what}, which allows all that was allowed: they need no conversion; ${migrate}.`;
    return [safe(place, "storage-version-changed", message)];
  }
  return [
    breaking(
      place,
      "storage-version-changed",
      `${what}, which does not allow all that was allowed, and nothing converts: stored objects, and those of clients of ${old.name}, lose fields or are refused; give both versions one schema, or a conversion webhook.`,
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
      "stored objects of other versions, and clients that use these, get fields that are not of theirs";
    return [breaking(place, "conversion-webhook-removed", `${what}: ${broken}; keep it.`)];
  }
  if (isDeepStrictEqual(conversionOf(before).webhook, conversionOf(after).webhook)) return [];
  const message = "Another webhook converts: it must answer as the old one did, which cannot be seen here.";
  return [safe(place, "conversion-webhook-changed", message)];
}

/** Of CRDs from the days of v1beta1: unknown fields of all objects were kept. */
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
