import type { JsonObject } from "../../runtime/program";
import { breaking, type CrdChange, safe } from "./change";
import { comparePrinterColumns } from "./comparePrinterColumns";
import { compareSchemas } from "./compareSchemas";
import { compareSelectableFields, compareSubresources } from "./compareSubresources";
import { rootSchemaOf, versionPlace, versionsByName } from "./version";

/** Versions that come and go, and what has changed within those that stay. */
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
    const what = "The version was removed that objects are stored in: the API server refuses it";
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
