import { isDeepStrictEqual } from "node:util";
import { OWNER_UID_LABEL } from "../../runtime/base/names";
import type { Condition, JsonObject, KubernetesObject, Manifest } from "../../runtime/base/objects";
import type { Expected, Model } from "./model";
import { SCALED } from "./others";
import { FOREIGN_CONDITION, specOf } from "./player";
import type { Snapshot } from "./snapshot";

/** A difference from the expected state. */
export interface Difference {
  /** The object, or the name of the bystander. */
  readonly object: string;
  /** The problem, as one line. */
  readonly what: string;
}

/** The effects of the handler outside of Kubernetes, by their keys. */
export type Effects = ReadonlyMap<string, Effect>;

/** The effect with one key. */
export interface Effect {
  /** How often the handler acted. */
  readonly acts: number;
  /** The numbers of the changes for which the handler acted. If there are several, the key is not unique. */
  readonly values: ReadonlySet<number>;
}

interface Status {
  readonly observedGeneration?: number;
  readonly conditions?: readonly Condition[];
  readonly value?: number;
  readonly version?: number;
}

/** Compares the present state with the expected state. After everything has settled, nothing may differ. */
export function findDifferences(
  model: Model,
  { objects, children, foreigners, bystanders }: Snapshot,
  effects: Effects,
): Difference[] {
  const found: Difference[] = [];
  const byName = new Map(objects.map((object) => [object.metadata.name, object]));
  const ofOwner = groupBy(children, ownerUid);
  for (const [name, expected] of model.objects) {
    const object = byName.get(name);
    const own = (object && ofOwner.get(object.metadata.uid)) ?? [];
    for (const what of differencesOf(model, name, expected, object, own, effects)) {
      found.push({ object: name, what });
    }
  }
  for (const { metadata } of objects) {
    if (!model.get(metadata.name))
      found.push({ object: metadata.name, what: "it was deleted, but still exists" });
  }
  const uids = new Set(objects.map(({ metadata }) => metadata.uid));
  for (const child of children) {
    if (!uids.has(ownerUid(child))) {
      found.push({ object: labelOf(child), what: `${keyOf(child)} is left over from a deleted object` });
    }
  }
  return [
    ...model.violations,
    ...found,
    ...foreignDifferences(model, foreigners, uids),
    ...unscaled(model, children),
    ...touched(model.bystanders, bystanders),
    ...ambiguous(effects),
  ];
}

function differencesOf(
  model: Model,
  name: string,
  { spec, foreignCondition }: Expected,
  object: KubernetesObject | undefined,
  children: readonly KubernetesObject[],
  effects: Effects,
): string[] {
  if (!object) return ["it does not exist"];
  const { generation, uid, deletionTimestamp } = object.metadata;
  if (deletionTimestamp) return ["it is being deleted, but was created again"];
  if (specOf(object)?.value !== spec.value) {
    return [`its spec is that of change ${specOf(object)?.value}, not ${spec.value}`];
  }
  const what: string[] = [];
  const { observedGeneration, conditions = [], value, version } = (object["status"] ?? {}) as Status;
  if (observedGeneration !== generation) {
    what.push(`generation ${observedGeneration} was observed, but generation ${generation} exists`);
  }
  const ready = conditions.find(({ type }) => type === "Ready");
  if (ready?.status !== "True")
    what.push(`it is not Ready: ${ready?.message ?? "it has no Ready condition"}`);
  if (value !== spec.value || version !== model.version) {
    what.push(
      `its status is from change ${value} and version ${version}, not from ${spec.value} and ${model.version}`,
    );
  }
  if (foreignCondition && !conditions.some(({ type }) => type === FOREIGN_CONDITION)) {
    what.push("another client's condition was removed");
  }
  if (!effects.has(`${uid}/${generation}`))
    what.push(`there was no effect outside for generation ${generation}`);
  return [...what, ...childDifferences(model.childrenOf(name), children)];
}

function childDifferences(wanted: readonly Manifest[], found: readonly KubernetesObject[]): string[] {
  const rest = new Map(found.map((child) => [keyOf(child), child]));
  const what: string[] = [];
  for (const child of wanted) {
    const key = keyOf(child);
    const is = rest.get(key);
    rest.delete(key);
    if (!is) what.push(`${key} does not exist`);
    else if (!isDeepStrictEqual(essenceOf(is), essenceOf(child))) {
      what.push(`${key} is ${JSON.stringify(essenceOf(is))}, not ${JSON.stringify(essenceOf(child))}`);
    }
  }
  return [...what, ...[...rest.keys()].map((key) => `${key} exists, but the handler does not answer it`)];
}

/**
 * Dependents that others have created for an object must not change while that object exists. Afterwards only the garbage
 * collector deletes them. They may stay, because for the collector an owner that was deleted and created again while it did not
 * watch is the same owner.
 */
function foreignDifferences(
  { foreigners }: Model,
  seen: readonly KubernetesObject[],
  uids: ReadonlySet<string>,
): Difference[] {
  const now = new Map(seen.map((object) => [object.metadata.uid, object]));
  return foreigners.flatMap((made) => {
    const is = now.get(made.metadata.uid);
    if (!uids.has(ownerUid(made)) || isDeepStrictEqual(is, made)) return [];
    const object = made.metadata.ownerReferences?.[0]?.name ?? "";
    return [
      { object, what: `${keyOf(made)} belongs to another controller, and was ${is ? "changed" : "deleted"}` },
    ];
  });
}

/** A field of a child that an autoscaler has set and no handler answers must stay as long as the child exists. */
function unscaled(model: Model, children: readonly KubernetesObject[]): Difference[] {
  return children.flatMap((child) => {
    const wanted = model.scalingOf(child.metadata.uid);
    const is = (child["data"] as JsonObject | undefined)?.[SCALED];
    if (wanted === undefined || is === wanted) return [];
    const what = `${keyOf(child)} was scaled to ${wanted} by another client, but is ${is ?? "not scaled"}`;
    return [{ object: labelOf(child), what }];
  });
}

function touched(made: readonly KubernetesObject[], seen: readonly KubernetesObject[]): Difference[] {
  const now = new Map(seen.map((object) => [keyOf(object), object]));
  const differing = made.filter((object) => !isDeepStrictEqual(now.get(keyOf(object)), object));
  const added = seen.filter((object) => !made.some((other) => keyOf(other) === keyOf(object)));
  return [...differing, ...added].map((object) => ({
    object: object.metadata.name,
    what: `${keyOf(object)} must not be touched, but was changed`,
  }));
}

/** Keys that stand for two states of an object, which must not happen. */
function ambiguous(effects: Effects): Difference[] {
  return [...effects]
    .filter(([, { values }]) => values.size > 1)
    .map(([key, { values }]) => ({
      object: key,
      what: `the key stands for changes ${[...values].join(" and ")}`,
    }));
}

/** The part of a child that comes from the handler, without additions of the API server and autoscalers. */
function essenceOf({ metadata, ...content }: Manifest): JsonObject {
  const { ports } = (content["spec"] ?? {}) as { ports?: { port: number }[] };
  const { [SCALED]: _, ...data } = (content["data"] ?? {}) as JsonObject;
  return {
    app: metadata.labels?.["app"] ?? "",
    data,
    text: metadata.annotations?.["text"] ?? "",
    ports: (ports ?? []).map(({ port }) => port),
  };
}

function ownerUid({ metadata }: KubernetesObject): string {
  return metadata.ownerReferences?.[0]?.uid ?? metadata.labels?.[OWNER_UID_LABEL] ?? "";
}

function labelOf({ metadata }: KubernetesObject): string {
  return metadata.labels?.["app"] ?? metadata.name;
}

function keyOf({ kind, metadata }: Manifest): string {
  return `${kind} ${metadata.namespace}/${metadata.name}`;
}

function groupBy(
  children: readonly KubernetesObject[],
  key: (child: KubernetesObject) => string,
): Map<string, KubernetesObject[]> {
  const groups = new Map<string, KubernetesObject[]>();
  for (const child of children) groups.set(key(child), [...(groups.get(key(child)) ?? []), child]);
  return groups;
}
