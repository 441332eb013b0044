import { fingerprint } from "../base/json";
import { isNeverGiven } from "../base/kinds";
import {
  DOMAIN,
  LAST_APPLIED_ANNOTATION,
  OPERATOR_LABEL,
  type OperatorNames,
  OWNER_UID_LABEL,
} from "../base/names";
import { groupOf, isTrue, type KubernetesObject, type Manifest } from "../base/objects";
import { applyEntries } from "../kubernetes/managedFields";
import type { Operator, Watch, WatchedPart } from "../operator/definition";
import { managersOf } from "./marks";

/** The selector of objects with these labels. Undefined: every object. */
export function labelSelectorOf({ labels }: Watch): string | undefined {
  const terms = Object.entries(labels).map(([label, value]) => `${label}=${value}`);
  return terms.length > 0 ? terms.join(",") : undefined;
}

/** Whether an object has all of these labels. */
export function hasLabels({ metadata }: Manifest, labels: Watch["labels"]): boolean {
  return Object.entries(labels).every(([label, value]) => metadata.labels?.[label] === value);
}

/**
 * The parts of an object that count as a change of it. They never include the API server's counters and the last writer of the
 * object. So an object that is only touched has not changed.
 */
export function partsOf(object: KubernetesObject, on: readonly WatchedPart[]): unknown {
  const { apiVersion: _a, kind: _k, metadata, status, ...content } = object;
  return [
    on.includes("spec") && content,
    on.includes("status") && status,
    on.includes("labels") && [Object.entries(metadata.labels ?? {}).sort(), annotationsOf(object)],
  ];
}

/**
 * The uids of the objects that led to an object, by its owner references, or by Argosy's label if no reference can be set.
 */
export function madeOf({ metadata }: KubernetesObject): string[] {
  const label = metadata.labels?.[OWNER_UID_LABEL];
  return [...(metadata.ownerReferences ?? []).map(({ uid }) => uid), ...(label === undefined ? [] : [label])];
}

/** An object's annotations, sorted, except that of `kubectl apply`. */
export function annotationsOf({ metadata }: KubernetesObject): [string, string][] {
  return Object.entries(metadata.annotations ?? {})
    .filter(([key]) => key !== LAST_APPLIED_ANNOTATION)
    .sort();
}

/** The differences for objects of a kind that we do not own. */
export interface WatchedObjects {
  /** Whether an object is one of those that are watched. All others count as gone. */
  readonly isWatched: (object: KubernetesObject) => boolean;
  /** The parts of an object for which it is reconciled if they change. */
  readonly partsOf: (object: KubernetesObject) => unknown;
  /** Whether the last verdict about the object says that this generation of it is ready. */
  readonly isReady: (object: KubernetesObject) => boolean;
}

/** What is kept of every custom resource. These facts tell whether a change needs a reconcile. */
export interface ObjectFacts {
  /** A fingerprint of the parts whose change causes a reconcile. The status is not among them, so our own writes cause none. */
  readonly trigger: string;
  /** The part of {@link trigger} that hints report too. */
  readonly hinted: string;
  readonly isReady: boolean;
  /** Our finalizers that the object has. */
  readonly finalizers: readonly string[];
  /**
   * The engine's memory that the status has, or had before another client emptied it, as JSON. Undefined: there was none, or it is
   * too long.
   */
  readonly memory?: string | undefined;
  /** Whether another client has emptied that. @default false */
  readonly isEmptied?: boolean | undefined;
  /** The uids of the objects of which the object was made. Only for objects that we do not own. */
  readonly madeOf?: readonly string[] | undefined;
}

/** What is known of the engine's memory in the status. */
export type MemoryFacts = Pick<ObjectFacts, "memory" | "isEmptied">;

/** One for all objects that have none of ours. */
const NO_FINALIZERS: readonly string[] = [];

/**
 * The facts of an object, as one literal: an object of two spreads would take twice as much memory.
 * @param watched set if it is not a custom resource of our own
 * @param ours our finalizers
 */
export function objectFactsOf(
  object: KubernetesObject,
  watched: WatchedObjects | undefined,
  ours: readonly string[],
  { memory, isEmptied }: MemoryFacts,
): ObjectFacts {
  const { generation, deletionTimestamp, labels = {} } = object.metadata;
  const its = object.metadata.finalizers?.filter((finalizer) => ours.includes(finalizer)) ?? [];
  const annotations = annotationsOf(object);
  // By which users ask for something.
  const own = annotations.filter(([key]) => key.startsWith(`${DOMAIN}/`));
  const hinted = watched ? "" : fingerprint([generation, deletionTimestamp, own]);
  const parts = watched
    ? [deletionTimestamp, own, watched.partsOf(object)]
    : [hinted, Object.entries(labels).sort(), annotations];
  return {
    trigger: fingerprint(parts),
    hinted,
    isReady: watched ? watched.isReady(object) : isReady(object),
    finalizers: its.length > 0 ? its : NO_FINALIZERS,
    madeOf: watched && madeOf(object),
    memory,
    isEmptied,
  };
}

/** Whether an object's status says that its newest generation was reconciled and is ready. */
export function isReady(object: KubernetesObject): boolean {
  return !object.metadata.deletionTimestamp && isHandled(object) && isTrue(object["status"], "Ready");
}

/** Whether an object's status is about its newest generation. */
export function isHandled({ metadata, status }: KubernetesObject): boolean {
  return (status as { observedGeneration?: number } | undefined)?.observedGeneration === metadata.generation;
}

/**
 * Which objects an operator manages: every custom resource of its own. Of others' objects, those that have the labels of its
 * `watch`, that it did not make itself, and that are no Secrets which no handler is given.
 * @param home the namespace of the operator's Workflows
 */
export function isWatchedBy(
  operator: OperatorNames & Pick<Operator, "watch">,
  home: string,
): (object: KubernetesObject) => boolean {
  const { watch } = operator;
  if (!watch) return () => true;
  const managers = managersOf(operator);
  return (object) =>
    hasLabels(object, watch.labels) && !isOwnWork(object, managers, home) && !isNeverGiven(object);
}

/**
 * Whether we made an object: as a child of some object, or as the record of a run. An operator that watches others' objects must
 * not watch its own, because each would lead to another without end. A label by itself proves neither, since any client may write
 * it. But only trusted accounts make objects in the namespace of the records.
 */
export function isOwnWork(object: KubernetesObject, managers: readonly string[], home: string): boolean {
  const { namespace, labels } = object.metadata;
  const isRecord =
    namespace === home &&
    groupOf(object.apiVersion) === "argoproj.io" &&
    labels?.[OPERATOR_LABEL] !== undefined;
  return isRecord || applyEntries(object, managers).length > 0;
}
