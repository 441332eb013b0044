import { isDeepStrictEqual } from "node:util";
import { isRecord } from "../../../../runtime/base/json";
import type { JsonObject } from "../../../../runtime/base/objects";

/** The ways to fields, each as its steps in the words of `fieldsV1`, joined by line ends. */
export type FieldSet = Set<string>;

/** The lists that are merged, by the keys of their items. A set has none. Every other list is replaced as a whole. */
const MERGED: Readonly<Record<string, readonly string[]>> = {
  conditions: ["type"],
  containers: ["name"],
  env: ["name"],
  finalizers: [],
  ownerReferences: ["uid"],
  ports: ["port"],
};

const END = "\n";

function stepOf(field: string, item: unknown): string {
  const keys = MERGED[field] ?? [];
  if (keys.length === 0) return `v:${JSON.stringify(item)}`;
  return `k:${JSON.stringify(Object.fromEntries(keys.map((key) => [key, (item as JsonObject)[key]])))}`;
}

function isMerged(field: string, value: unknown): value is unknown[] {
  if (!Array.isArray(value) || value.length === 0) return false;
  return (MERGED[field] ?? ["none"]).every((key) => value.every((item) => isRecord(item) && key in item));
}

/** The ways to all fields of a value. */
export function fieldsOf(value: unknown, way: readonly string[] = [], field = ""): FieldSet {
  if (isMerged(field, value)) {
    return new Set(
      value.flatMap((item) => {
        const inner = [...way, stepOf(field, item)];
        return [inner.join(END), ...(isRecord(item) ? fieldsOf(item, inner) : [])];
      }),
    );
  }
  if (!isRecord(value) || Object.keys(value).length === 0) return new Set([way.join(END)]);
  return new Set(
    Object.entries(value).flatMap(([key, inner]) => [...fieldsOf(inner, [...way, `f:${key}`], key)]),
  );
}

/** As `managedFields` has it. */
export function written(fields: FieldSet): JsonObject {
  const tree: JsonObject = {};
  for (const way of [...fields].sort()) {
    let node = tree;
    for (const step of way.split(END)) {
      node[step] ??= {};
      node = node[step] as JsonObject;
    }
  }
  const marked = (node: JsonObject, way: string): JsonObject => {
    const inner = Object.entries(node).map(([step, next]) => [
      step,
      marked(next as JsonObject, way === "" ? step : `${way}${END}${step}`),
    ]);
    return { ...(inner.length > 0 && fields.has(way) && { ".": {} }), ...Object.fromEntries(inner) };
  };
  return marked(tree, "");
}

/** What is at a way. Undefined: nothing is. */
export function at(value: unknown, way: string): unknown {
  let [node, field] = [value, ""];
  for (const step of way.split(END)) {
    if (step.startsWith("f:")) {
      field = step.slice(2);
      node = isRecord(node) ? node[field] : undefined;
    } else {
      const list = Array.isArray(node) ? node : [];
      node = list.find((item) => stepOf(field, item) === step);
    }
  }
  return node;
}

/** The value without what is at a way, and without the maps and lists that become empty by that. */
export function without(value: unknown, way: readonly string[], field = ""): unknown {
  const [step = "", ...rest] = way;
  if (Array.isArray(value)) {
    const left = value.flatMap((item) => {
      if (stepOf(field, item) !== step) return [item];
      const inner = rest.length === 0 ? undefined : without(item, rest);
      return inner === undefined ? [] : [inner];
    });
    return left.length === 0 ? undefined : left;
  }
  const key = step.slice(2);
  if (!isRecord(value) || !(key in value)) return value;
  const { [key]: inner, ...others } = value;
  const left = rest.length === 0 ? undefined : without(inner, rest, key);
  if (left !== undefined) return { ...value, [key]: left };
  return Object.keys(others).length === 0 ? undefined : others;
}

/** What an apply makes of a value. */
export function merged(value: unknown, applied: unknown, field = ""): unknown {
  if (isMerged(field, applied) && Array.isArray(value)) {
    const fresh = applied.filter((item) => !value.some((old) => stepOf(field, old) === stepOf(field, item)));
    const kept = value.map((old) => {
      const change = applied.find((item) => stepOf(field, item) === stepOf(field, old));
      return change === undefined ? old : merged(old, change);
    });
    return [...kept, ...fresh];
  }
  if (!isRecord(applied) || !isRecord(value)) return applied;
  const changes = Object.entries(applied).map(([key, inner]) => [key, merged(value[key], inner, key)]);
  return { ...value, ...Object.fromEntries(changes) };
}

/** The ways at which two values differ: those that are changed or new, and those that are gone. */
export function changes(before: unknown, after: unknown): { set: FieldSet; gone: FieldSet } {
  const [old, next] = [fieldsOf(before), fieldsOf(after)];
  return {
    set: new Set(
      [...next].filter((way) => !old.has(way) || !isDeepStrictEqual(at(before, way), at(after, way))),
    ),
    gone: new Set([...old].filter((way) => !next.has(way))),
  };
}

/** The steps of a way. */
export function stepsOf(way: string): string[] {
  return way.split(END);
}
