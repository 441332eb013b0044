import { isDeepStrictEqual } from "node:util";
import { hasWebhook } from "../../definition/customResourceDefinition";
import type { JsonObject } from "../../runtime/program";
import { objectIn } from "../manifests/customResourceDefinition";
import { anyBreaks, breaking, type CrdChange, safe } from "./change";
import { compareSchemas } from "./compareSchemas";
import { conversionOf, rootSchemaOf, storageVersionOf, versionPlace, versionsByName } from "./versions";

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
