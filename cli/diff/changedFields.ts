import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { isEmptyMap, isRecord, ownValue } from "../../runtime/base/json";
import { SERVER_METADATA } from "../../runtime/base/objects";

/** The schema of a {@link FieldChange}. */
export const FIELD_CHANGE = z.strictObject({
  path: z.string().describe("For example .spec.template.spec.containers[main].image."),
  live: z.unknown().optional().describe("Left out if the field is not there."),
  wanted: z.unknown().optional().describe("Left out if the field would be removed."),
});

/** A field in which an object differs from what it is to become. */
export type FieldChange = Readonly<z.infer<typeof FIELD_CHANGE>>;

/**
 * The fields in which an object would differ from the live one, in the order of the live object. Entries of lists are compared by
 * their names if all of them have a name, and otherwise by their places. The status does not count, and neither do the API
 * server's counters.
 */
export function changedFields(live: object, wanted: object): FieldChange[] {
  return compare(meant(live), meant(wanted), "");
}

/** The part of an object that a manifest has too. Additions of the API server and of others are left out. */
export function commonPart(object: unknown, manifest: unknown): unknown {
  if (!isRecord(object) || !isRecord(manifest)) return object;
  const keys = Object.keys(manifest).filter((key) => Object.hasOwn(object, key));
  return Object.fromEntries(keys.map((key) => [key, commonPart(object[key], manifest[key])]));
}

function meant(object: object): Record<string, unknown> {
  const { status: _, metadata, ...content } = object as Record<string, unknown>;
  if (!isRecord(metadata)) return content;
  const kept = Object.entries(metadata).filter(([key]) => !SERVER_METADATA.includes(key));
  return { ...content, metadata: Object.fromEntries(kept) };
}

function compare(live: unknown, wanted: unknown, path: string): FieldChange[] {
  if (isDeepStrictEqual(live, wanted)) return [];
  const isWholly = (one: unknown, other: unknown) =>
    one === undefined && isRecord(other) && !isEmptyMap(other);
  if ((isRecord(live) && isRecord(wanted)) || isWholly(live, wanted) || isWholly(wanted, live)) {
    const before = (live ?? {}) as Record<string, unknown>;
    const after = (wanted ?? {}) as Record<string, unknown>;
    const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
    return [...keys].flatMap((key) => compare(ownValue(before, key), ownValue(after, key), path + step(key)));
  }
  if (Array.isArray(live) && Array.isArray(wanted)) return compareLists(live, wanted, path);
  return [{ path, ...(live !== undefined && { live }), ...(wanted !== undefined && { wanted }) }];
}

function compareLists(live: readonly unknown[], wanted: readonly unknown[], path: string): FieldChange[] {
  const [before, after] = [byName(live), byName(wanted)];
  if (before && after) {
    const names = new Set([...before.keys(), ...after.keys()]);
    const changes = [...names].flatMap((name) =>
      compare(before.get(name), after.get(name), `${path}[${name}]`),
    );
    // Only their order differs.
    return changes.length > 0 ? changes : [{ path, live: [...before.keys()], wanted: [...after.keys()] }];
  }
  const isFlat = [...live, ...wanted].every((each) => !isRecord(each));
  if (isFlat) return [{ path, live, wanted }];
  const length = Math.max(live.length, wanted.length);
  return Array.from({ length }).flatMap((_, index) =>
    compare(live[index], wanted[index], `${path}[${index}]`),
  );
}

/** Entries by their names. Undefined if one has none, or two have the same. */
function byName(list: readonly unknown[]): Map<string, unknown> | undefined {
  const entries = list.flatMap((each): [string, unknown][] =>
    isRecord(each) && typeof each.name === "string" ? [[each.name, each]] : [],
  );
  const map = new Map(entries);
  return map.size === list.length ? map : undefined;
}

/** A key as jsonpath writes it: ".data", "['app.kubernetes.io/name']". */
function step(key: string): string {
  return /^[A-Za-z0-9_-]+$/.test(key) ? `.${key}` : `['${key}']`;
}
