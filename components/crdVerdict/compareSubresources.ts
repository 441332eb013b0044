import { isDeepStrictEqual } from "node:util";
import { isJsonObject, type JsonObject } from "../../runtime/program";
import { breaking, type CrdChange, safe } from "./change";
import { objectIn, versionPlace } from "./version";
import { show } from "./wording";

/** The subresources status and scale of a version. */
export function compareSubresources(name: string, before: JsonObject, after: JsonObject): CrdChange[] {
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
    const what = `It went from ${show(old[field])} to ${show(now[field])}`;
    if (old[field] === undefined || old[field] === "") {
      return [safe(at, "scale-subresource-changed", `${what}: ${scalers} are told more than before.`)];
    }
    const broken = `${scalers} read or write another field`;
    return [breaking(at, "scale-subresource-changed", `${what}: ${broken}; keep the old path.`)];
  });
}

/** The fields by which lists and watches can be narrowed (`kubectl get --field-selector`). */
export function compareSelectableFields(name: string, before: JsonObject, after: JsonObject): CrdChange[] {
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

/** Paths with and without the leading dot are the same to nobody but the reader: as they are written. */
function selectableFieldsOf({ selectableFields }: JsonObject): string[] {
  const fields = Array.isArray(selectableFields) ? selectableFields.filter(isJsonObject) : [];
  return fields.map(({ jsonPath }) => String(jsonPath));
}
