import { fingerprint } from "../../base/json";
import { MANAGER_PREFIX } from "../../base/names";
import { type KubernetesObject, nameOf, type ObjectName } from "../../base/objects";
import type { Use } from "../../operator/definition";
import { isEmpty, isSelected, type Reference, referencesOf } from "../../operator/uses";

type Labels = Readonly<Record<string, string>> | undefined;

/**
 * Which custom resources use which objects, by the names and by the labels to which they refer.
 *
 * Guarantee (tests/unit/references.test.ts): it finds exactly the custom resources that refer to a name or to labels, whatever they
 * referred to before.
 */
export class UseIndex {
  /** The references of each custom resource, by its key and the key of the use. */
  private readonly references = new Map<string, ReadonlyMap<string, Reference>>();
  /**
   * The keys of the custom resources by their references: see {@link entriesOf}. Most references are of one custom resource, and a set
   * for each would take more memory than all the rest: an author may name hundreds of objects that do not exist.
   */
  private readonly byEntry = new Map<string, string | Set<string>>();
  /** Uses of kinds that are in no namespace. */
  private readonly clusterWide = new Set<string>();

  constructor(private readonly uses: Readonly<Record<string, Use>>) {}

  /** Notes a custom resource as it is now. @param object undefined: it is gone */
  set(key: string, object: KubernetesObject | undefined): void {
    this.remove(key);
    if (!object) return;
    const references = referencesOf(this.uses, object);
    this.references.set(key, references);
    for (const [use, reference] of references) this.add(key, use, reference);
  }

  /** What a custom resource refers to, by the keys of the uses. */
  referencesOf(key: string): ReadonlyMap<string, Reference> {
    return this.references.get(key) ?? new Map();
  }

  /** Says whether the kind of a use is in no namespace. Until then, it counts as in namespaces. */
  setClusterWide(use: string, isClusterWide: boolean): void {
    if (this.clusterWide.has(use) === isClusterWide) return;
    const all = [...this.references];
    for (const [key, references] of all) this.unlist(key, use, references.get(use));
    if (isClusterWide) this.clusterWide.add(use);
    else this.clusterWide.delete(use);
    for (const [key, references] of all) {
      const reference = references.get(use);
      if (reference) this.add(key, use, reference);
    }
  }

  /** The custom resources that refer with a use to the object with that name, or to one with these labels. */
  usersOf(use: string, { namespace, name }: ObjectName, labels: Labels): string[] {
    const scope = this.clusterWide.has(use) ? undefined : namespace;
    const named = this.keysOf(entryOf(use, scope, "", name));
    const selected = Object.entries(labels ?? {}).flatMap(([label, value]) => {
      const keys = this.keysOf(entryOf(use, scope, label, value));
      return keys.filter((key) => {
        const reference = this.references.get(key)?.get(use);
        return reference && "labels" in reference && isSelected(reference, labels);
      });
    });
    return [...named, ...selected];
  }

  /** All custom resources that refer to anything by a use. @param namespace where that is. @default anywhere */
  usersOfAll(use: string, namespace?: string): string[] {
    return [...this.references].flatMap(([key, references]) => {
      const reference = references.get(use);
      if (!reference || isEmpty(reference)) return [];
      return namespace === undefined || namespace === reference.namespace ? [key] : [];
    });
  }

  /** The names to which custom resources refer by a use, each once, by the namespace of the custom resources. "": they have none. */
  namesOf(use: string): Map<string, ObjectName[]> {
    const names = new Map<string, Map<string, ObjectName>>();
    for (const [key, references] of this.references) {
      const reference = references.get(use);
      if (!reference || !("names" in reference)) continue;
      const owners = nameOf(key).namespace ?? "";
      const known = names.get(owners) ?? new Map<string, ObjectName>();
      names.set(owners, known);
      const { namespace } = reference;
      for (const name of reference.names) known.set(`${namespace ?? ""}/${name}`, { namespace, name });
    }
    return new Map([...names].map(([owners, known]) => [owners, [...known.values()]]));
  }

  private remove(key: string): void {
    const references = this.references.get(key);
    if (!references) return;
    for (const [use, reference] of references) this.unlist(key, use, reference);
    this.references.delete(key);
  }

  private add(key: string, use: string, reference: Reference): void {
    for (const entry of this.entriesOf(use, reference)) {
      const keys = this.byEntry.get(entry);
      if (keys instanceof Set) keys.add(key);
      else if (keys !== key) this.byEntry.set(entry, keys === undefined ? key : new Set([keys, key]));
    }
  }

  private unlist(key: string, use: string, reference: Reference | undefined): void {
    for (const entry of reference ? this.entriesOf(use, reference) : []) {
      const keys = this.byEntry.get(entry);
      if (keys instanceof Set) keys.delete(key);
      if (keys === key || (keys instanceof Set && keys.size === 0)) this.byEntry.delete(entry);
    }
  }

  private keysOf(entry: string): string[] {
    const keys = this.byEntry.get(entry);
    if (keys === undefined) return [];
    return typeof keys === "string" ? [keys] : [...keys];
  }

  private entriesOf(use: string, reference: Reference): string[] {
    const scope = this.clusterWide.has(use) ? undefined : reference.namespace;
    if ("names" in reference) return reference.names.map((name) => entryOf(use, scope, "", name));
    // The first label finds an object. The others are then compared.
    const [first] = isEmpty(reference) ? [] : Object.entries(reference.labels);
    return first ? first[1].map((value) => entryOf(use, scope, first[0], value)) : [];
  }
}

function entryOf(use: string, namespace: string | undefined, label: string, value: string): string {
  return `${use} ${namespace ?? ""} ${label} ${value}`;
}

/** The facts that are kept of every used object. */
export interface UsedFacts {
  readonly labels: Readonly<Record<string, string>> | undefined;
  /** Differs if the handler would see another object. */
  readonly seen: string;
  readonly isByOperator: boolean;
}

/** The facts of an object. @param isMetadataOnly whether only its metadata was seen */
export function usedFactsOf(object: KubernetesObject, isMetadataOnly: boolean): UsedFacts {
  const { labels, resourceVersion, uid, managedFields: _, ...metadata } = object.metadata;
  const { metadata: __, ...content } = object;
  return {
    labels,
    seen: fingerprint(isMetadataOnly ? [uid, resourceVersion] : [uid, labels, metadata, content]),
    isByOperator: isByOperator(object),
  };
}

/** Whether an operator of Argosy wrote last to an object. */
export function isByOperator(object: KubernetesObject | undefined): boolean {
  const entries = object?.metadata.managedFields ?? [];
  const latest = entries.reduce((last, { time = "" }) => (time > last ? time : last), "");
  return entries.some(({ time = "", manager = "" }) => time === latest && manager.startsWith(MANAGER_PREFIX));
}
