import { isDeepStrictEqual } from "node:util";
import { isRecord } from "../../../runtime/base/json";
import type { Manifest } from "../../../runtime/base/objects";

/** Every difference between two sets of manifests, a line each below the name of its object. */
export function differencesOf(before: readonly Manifest[], after: readonly Manifest[]): string {
  const [old, now] = [byName(before), byName(after)];
  return [...new Set([...old.keys(), ...now.keys()])]
    .sort()
    .map((name) => ({ name, lines: linesOf("", old.get(name), now.get(name)) }))
    .filter(({ lines }) => lines.length > 0)
    .map(({ name, lines }) => `${name}\n${lines.map((line) => `  ${line}\n`).join("")}`)
    .join("\n");
}

function byName(manifests: readonly Manifest[]): Map<string, Manifest> {
  return new Map(
    manifests.map((manifest) => {
      const { namespace, name } = manifest.metadata;
      return [`${manifest.kind} ${namespace === undefined ? name : `${namespace}/${name}`}`, manifest];
    }),
  );
}

function linesOf(path: string, before: unknown, after: unknown): string[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (before === undefined) return [`${path || "object"}: added ${JSON.stringify(after)}`];
  if (after === undefined) return [`${path || "object"}: removed`];
  const [old, now] = [fieldsOf(before), fieldsOf(after)];
  if (!old || !now) return [`${path}: ${JSON.stringify(before)} -> ${JSON.stringify(after)}`];
  return [...new Set([...Object.keys(old), ...Object.keys(now)])]
    .sort()
    .flatMap((field) => linesOf(path === "" ? field : `${path}.${field}`, old[field], now[field]));
}

/** The fields of an object; the items of a list by their names, where each has one. */
function fieldsOf(value: unknown): Record<string, unknown> | undefined {
  if (!Array.isArray(value)) return isRecord(value) ? value : undefined;
  const names = value.map((item) =>
    isRecord(item) && typeof item.name === "string" ? item.name : undefined,
  );
  if (names.includes(undefined) || new Set(names).size < names.length) return undefined;
  return Object.fromEntries(value.map((item, index) => [names[index], item]));
}
