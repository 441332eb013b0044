import { isDeepStrictEqual } from "node:util";
import type { Condition, JsonObject, KubernetesObject, Manifest } from "../../runtime/kubernetes/objects";
import { OWNER_UID_LABEL } from "../../runtime/names";
import type { Expected, Model } from "./model";
import { SCALED } from "./others";
import { FOREIGN_CONDITION, specOf } from "./player";
import type { Snapshot } from "./snapshot";

/** What is not as it must be. */
export interface Difference {
  /** The object, or the name of the bystander. */
  readonly object: string;
  /** What is wrong, as one line. */
  readonly what: string;
}

/** What the handler did outside, by the key that it was given. */
export type Effects = ReadonlyMap<string, Effect>;

/** What was done under one key. */
export interface Effect {
  /** How often. */
  readonly acts: number;
  /** The numbers of the changes that it was done for: one, or the key is none. */
  readonly values: ReadonlySet<number>;
}

interface Status {
  readonly observedGeneration?: number;
  readonly conditions?: readonly Condition[];
  readonly value?: number;
  readonly version?: number;
}

/**
 * Compares what is with what must be. Nothing may differ once all is quiet.
 */
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
      found.push({ object: metadata.name, what: "it was deleted, and is there" });
  }
  const uids = new Set(objects.map(({ metadata }) => metadata.uid));
  for (const child of children) {
    if (!uids.has(ownerUid(child))) {
      found.push({ object: labelOf(child), what: `${keyOf(child)} is left of one that is gone` });
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
  if (!object) return ["it is not there"];
  const { generation, uid, deletionTimestamp } = object.metadata;
  if (deletionTimestamp) return ["it is on its way out, and was made again"];
  if (specOf(object)?.value !== spec.value) {
    return [`its spec is that of change ${specOf(object)?.value}, not ${spec.value}`];
  }
  const what: string[] = [];
  const { observedGeneration, conditions = [], value, version } = (object["status"] ?? {}) as Status;
  if (observedGeneration !== generation) {
    what.push(`generation ${observedGeneration} is observed, ${generation} is there`);
  }
  const ready = conditions.find(({ type }) => type === "Ready");
  if (ready?.status !== "True")
    what.push(`it is not Ready: ${ready?.message ?? "nothing was ever said of it"}`);
  if (value !== spec.value || version !== model.version) {
    what.push(
      `its status is of change ${value} by version ${version}, not ${spec.value} by ${model.version}`,
    );
  }
  if (foreignCondition && !conditions.some(({ type }) => type === FOREIGN_CONDITION)) {
    what.push("somebody else's condition is gone");
  }
  if (!effects.has(`${uid}/${generation}`))
    what.push(`nothing was done outside for generation ${generation}`);
  return [...what, ...childDifferences(model.childrenOf(name), children)];
}

function childDifferences(wanted: readonly Manifest[], found: readonly KubernetesObject[]): string[] {
  const rest = new Map(found.map((child) => [keyOf(child), child]));
  const what: string[] = [];
  for (const child of wanted) {
    const key = keyOf(child);
    const is = rest.get(key);
    rest.delete(key);
    if (!is) what.push(`${key} is not there`);
    else if (!isDeepStrictEqual(essenceOf(is), essenceOf(child))) {
      what.push(`${key} is ${JSON.stringify(essenceOf(is))}, not ${JSON.stringify(essenceOf(child))}`);
    }
  }
  return [...what, ...[...rest.keys()].map((key) => `${key} is there, and the handler gives none`)];
}

/**
 * What others control by an object is as they made it while that object is there. Afterwards only the garbage collector
 * deletes it. It may stay: an owner that is deleted and created again while the collector does not watch is one owner for it.
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
      { object, what: `${keyOf(made)} is another controller's, and is ${is ? "not as it was" : "gone"}` },
    ];
  });
}

/** What an autoscaler has set of a child, and no handler answers, stays as long as that child is there. */
function unscaled(model: Model, children: readonly KubernetesObject[]): Difference[] {
  return children.flatMap((child) => {
    const wanted = model.scalingOf(child.metadata.uid);
    const is = (child["data"] as JsonObject | undefined)?.[SCALED];
    if (wanted === undefined || is === wanted) return [];
    const what = `${keyOf(child)} was scaled to ${wanted} by somebody else, and is ${is ?? "not scaled"}`;
    return [{ object: labelOf(child), what }];
  });
}

function touched(made: readonly KubernetesObject[], seen: readonly KubernetesObject[]): Difference[] {
  const now = new Map(seen.map((object) => [keyOf(object), object]));
  const differing = made.filter((object) => !isDeepStrictEqual(now.get(keyOf(object)), object));
  const added = seen.filter((object) => !made.some((other) => keyOf(other) === keyOf(object)));
  return [...differing, ...added].map((object) => ({
    object: object.metadata.name,
    what: `${keyOf(object)} is nobody's business, and is not as it was`,
  }));
}

/** One key for two states of an object would be none. */
function ambiguous(effects: Effects): Difference[] {
  return [...effects]
    .filter(([, { values }]) => values.size > 1)
    .map(([key, { values }]) => ({
      object: key,
      what: `the key stands for changes ${[...values].join(" and ")}`,
    }));
}

/** What the handler says of a child, without what the API server and autoscalers add. */
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
