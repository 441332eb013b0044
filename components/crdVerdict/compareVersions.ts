import { isDeepStrictEqual } from "node:util";
import { isJsonObject, type JsonObject } from "../../runtime/program";
import { objectIn } from "../manifests/customResourceDefinition";
import { breaking, type CrdChange, safe, show } from "./change";
import { compareSchemas } from "./compareSchemas";
import { objectsIn } from "./schema";
import { rootSchemaOf, versionPlace, versionsByName } from "./versions";

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
  return objectsIn(selectableFields).map(({ jsonPath }) => String(jsonPath));
}

/** Compares the columns of `kubectl get`. They are for people, so no change of them breaks. */
function comparePrinterColumns(name: string, before: JsonObject, after: JsonObject): CrdChange[] {
  if (isDeepStrictEqual(before.additionalPrinterColumns ?? [], after.additionalPrinterColumns ?? []))
    return [];
  const message = "kubectl get shows other columns; a script should read fields, not columns.";
  return [safe(versionPlace(name, "additionalPrinterColumns"), "printer-columns-changed", message)];
}
