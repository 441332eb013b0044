import { invalid, quote } from "../handler/invalidAnswer";
import { fingerprint } from "../json/fingerprint";
import { formatName, groupOf, type Manifest } from "../kubernetes/objects";
import type { Resource } from "../kubernetes/resource";
import { AFTER_ANNOTATION, ONCE_ANNOTATION } from "../names";

/** When a child is applied, and whether it is created more than once, as its answer's annotations say. */
export interface ChildOrder {
  /** The keys of the children that must be ready before this one is applied: see {@link childKey}. */
  readonly after: readonly string[];
  /** Whether the child is not created again after it was there. */
  readonly isOnce: boolean;
  /** Whether another child is applied only after this one is ready. */
  readonly isAwaited: boolean;
}

/** A child of an answer, in its namespace. */
interface Named {
  readonly resource: Pick<Resource, "apiVersion" | "kind">;
  readonly manifest: Manifest;
}

/**
 * The key that distinguishes a child from all others of its owner: "batch/Job/shop/migrate". The key has no version, so a child
 * stays the same when the operator declares another version of its kind.
 */
export function childKey({ resource, manifest }: Named): string {
  const group = groupOf(resource.apiVersion);
  return `${group && `${group}/`}${resource.kind}/${formatName(manifest.metadata)}`;
}

/** A fingerprint of a child's content without its metadata: a new label does not lead to another Job. */
export function contentOf({ manifest }: Named): string {
  const { apiVersion: _a, kind: _k, metadata: _m, ...content } = manifest;
  return fingerprint(content);
}

/** "Job/migrate", "Job.batch/migrate", "Job/shop/migrate". */
const REFERENCE = /^([A-Z][A-Za-z0-9]*)(?:\.([a-z0-9.-]+))?\/(?:([^/]+)\/)?([^/]+)$/;
/** The name of the core group in a reference. The group itself has no name. */
const CORE = "core";

/**
 * Reads the order of an answer's children from their annotations.
 * @param answered the children as the handler answered them
 * @param children the same children, each in its namespace
 * @throws ReconcileFailure `InvalidAnswer` if an annotation cannot be understood, if it names no child of the answer or several, or
 *   if children wait for each other
 */
export function orderOf(answered: readonly Manifest[], children: readonly Named[]): ChildOrder[] {
  const byName = new Map<string, Named[]>();
  for (const child of children) {
    const name = `${child.resource.kind}/${child.manifest.metadata.name}`;
    byName.set(name, [...(byName.get(name) ?? []), child]);
  }
  const annotationsOf = answered.map(({ metadata: { annotations } }) => annotations ?? {});
  const after = annotationsOf.map((annotations, index) => {
    const path = pathOf(index);
    const names = (annotations[AFTER_ANNOTATION] ?? "").split(",").map((name) => name.trim());
    const keys = names
      .filter((name) => name !== "")
      .map((name) => childKey(find(byName, name, `${path}["${AFTER_ANNOTATION}"]`)));
    return [...new Set(keys)];
  });
  const keys = children.map(childKey);
  checkCycle(new Map(keys.map((key, index) => [key, after[index] ?? []])));
  const awaited = new Set(after.flat());
  return annotationsOf.map((annotations, index) => ({
    after: after[index] ?? [],
    isOnce: isOnceIn(annotations, pathOf(index)),
    isAwaited: awaited.has(keys[index] ?? ""),
  }));
}

const pathOf = (index: number) => `children[${index}].metadata.annotations`;

/** Whether a child is not created again after it was there. */
function isOnceIn(annotations: Readonly<Record<string, string>>, path: string): boolean {
  const once = annotations[ONCE_ANNOTATION] ?? "false";
  if (once === "true" || once === "false") return once === "true";
  throw invalid(`${path}["${ONCE_ANNOTATION}"] is ${quote(once)}, and must be "true" or "false"`);
}

function find(byName: ReadonlyMap<string, readonly Named[]>, reference: string, path: string): Named {
  const [, kind, group, namespace, name] = REFERENCE.exec(reference) ?? [];
  if (kind === undefined) throw invalid(`${path} has ${quote(reference)}, which is not like "Job/migrate"`);
  const found = (byName.get(`${kind}/${name}`) ?? []).filter(
    ({ resource, manifest }) =>
      (group === undefined || (groupOf(resource.apiVersion) || CORE) === group) &&
      (namespace === undefined || manifest.metadata.namespace === namespace),
  );
  const [first, another] = found;
  if (!first) throw invalid(`${path} names ${quote(reference)}, which is not a child in this answer`);
  if (!another) return first;
  throw invalid(
    `${path} names ${quote(reference)}, but this answer has several such children: write Kind.group/name or Kind/namespace/name`,
  );
}

/** @throws ReconcileFailure `InvalidAnswer` if children wait for each other, naming them */
function checkCycle(after: ReadonlyMap<string, readonly string[]>): void {
  const waits = new Map([...after].map(([key, names]) => [key, names.length]));
  const dependents = new Map<string, string[]>();
  for (const [key, names] of after)
    for (const name of names) dependents.set(name, [...(dependents.get(name) ?? []), key]);
  const free = [...waits].filter(([, left]) => left === 0).map(([key]) => key);
  for (let key = free.pop(); key !== undefined; key = free.pop()) {
    waits.delete(key);
    for (const dependent of dependents.get(key) ?? []) {
      const left = (waits.get(dependent) ?? 0) - 1;
      waits.set(dependent, left);
      if (left === 0) free.push(dependent);
    }
  }
  // Each child that is left waits for another child that is left. Following them leads back to the first.
  const way: string[] = [];
  for (let key = [...waits.keys()][0]; key !== undefined; ) {
    if (way.includes(key)) {
      const round = [...way.slice(way.indexOf(key)), key].map(shortName);
      throw invalid(`children wait for each other by ${AFTER_ANNOTATION}: ${namesIn(round)}`);
    }
    way.push(key);
    key = after.get(key)?.find((name) => waits.has(name));
  }
}

/** "Job migrate" of the {@link childKey} "batch/Job/shop/migrate". */
export function shortName(key: string): string {
  const [, kind] = /^(?:[a-z0-9.-]+\/)?([A-Z][^/]*)\//.exec(key) ?? [];
  return `${kind} ${key.slice(key.lastIndexOf("/") + 1)}`;
}

const MOST_NAMED = 6;

function namesIn(round: readonly string[]): string {
  const isLong = round.length > MOST_NAMED;
  return (isLong ? [...round.slice(0, MOST_NAMED - 1), "…"] : round).join(" after ");
}
