import type { Operator } from "../definition/definition";
import { isEmpty, isSelected, type LabelReference } from "../definition/references";
import { selectionsOf, useOf } from "../definition/selections";
import type { KubernetesClient } from "../kubernetes/client";
import { isKindMissing } from "../kubernetes/discovery";
import { readInParts } from "../kubernetes/list";
import { type KubernetesObject, keyOf, kindAndName, type ObjectName } from "../kubernetes/objects";
import type { Change } from "../watch/store";
import { PolledObjects } from "./polledObjects";
import { missingNote, refusalNote, type Take, type UsedProblem, type UsedSource, whyNotGiven } from "./used";
import { isByOperator, type UsedFacts } from "./usedFacts";
import { UseIndex } from "./useIndex";
import { UseWatches, type UseWatchesOptions } from "./useWatches";

/** The objects that {@link UsedObjects} read, and the callbacks that they call. */
export interface UsedObjectsOptions extends Pick<UseWatchesOptions, "answersOthers" | "onInterruption"> {
  readonly client: KubernetesClient;
  readonly operator: Operator;
  /** An object that custom resources use has changed. */
  readonly onChange: (change: UsedChange) => void;
  /** Whether objects that no watch shows are read again. */
  readonly isActive: () => boolean;
  /** How often that is done, in milliseconds. @default 60000 */
  readonly pollMs?: number | undefined;
}

/** A change of a used object, or of all objects of a use. */
export interface UsedChange {
  /** The keys of the custom resources that use it. */
  readonly users: readonly string[];
  /** The changed object or kind, in words: "ConfigMap shop/settings". */
  readonly what: string;
  /** Whether an operator of Argosy changed it. */
  readonly isByOperator: boolean;
}

/** How long an object counts of which only the metadata was seen, in characters of JSON. */
const UNREAD_LENGTH = 64 * 1024;

/**
 * The objects that the custom resources of an operator use, kept up to date by watches.
 *
 * Guarantees, each with a test in tests/integration/uses.test.ts, tests/integration/hostile/usesOfOthers.test.ts or
 * tests/unit/used.test.ts:
 * - An object that changes wakes exactly the custom resources that use it, before and after the change.
 * - It is read once, however many use it.
 * - A kind that the cluster lacks, or that we may not read, holds up only the custom resources that use it.
 *
 * Secrets that no watch may show are read by {@link PolledObjects}.
 */
export class UsedObjects implements UsedSource {
  private readonly index: UseIndex;
  private readonly polled: PolledObjects;
  private readonly watches: UseWatches;

  constructor(private readonly options: UsedObjectsOptions) {
    const { client, operator, pollMs } = options;
    this.index = new UseIndex(operator.uses);
    this.watches = new UseWatches({
      ...options,
      onFound: (key, { namespaced }) => this.index.setClusterWide(key, !namespaced),
      onChange: (key, change) => this.storeChanged(key, change),
      onAllChanged: (key) => this.allChanged(key),
    });
    this.polled = new PolledObjects({
      client,
      keys: selectionsOf(operator).flatMap(({ key, isPolled }) => (isPolled ? [key] : [])),
      namesOf: (key) => this.index.namesOf(key),
      isGiven: (key, object) =>
        whyNotGiven(object, useOf(this.options.operator, key), operator) === undefined,
      isActive: options.isActive,
      onChange: (key, name, object) => this.changed(key, name, [undefined], isByOperator(object)),
      onError: (error) => options.onInterruption("Secret", error),
      periodMs: pollMs,
    });
  }

  /**
   * Begins to look for the kinds and to watch them, beside the work. Resolves when each kind was listed, or is known to be missing.
   * @throws Error if it was stopped meanwhile
   */
  async start(): Promise<void> {
    this.polled.start();
    await this.watches.start();
  }

  async stop(): Promise<void> {
    await Promise.all([this.polled.stop(), this.watches.stop()]);
  }

  /** Lists everything again, at another path if the cluster serves a kind there now. */
  relist(): Promise<void> {
    return this.watches.relist();
  }

  /** Takes in a custom resource as it is now. @param object undefined: it is gone */
  see(name: ObjectName, object: KubernetesObject | undefined): void {
    if (Object.keys(this.options.operator.uses).length > 0) this.index.set(keyOf(name), object);
  }

  async problemOf(key: string, namespace: string | undefined): Promise<UsedProblem | undefined> {
    const notSynced = this.watches.notSynced(key, namespace);
    if (!notSynced) return undefined;
    const { resource, problem } = notSynced;
    if (!problem) return { kind: "listing" };
    return isKindMissing(problem)
      ? { kind: "missing", message: missingNote(resource) }
      : { kind: "refused", message: refusalNote(resource, problem) };
  }

  async get(key: string, name: ObjectName): Promise<KubernetesObject | undefined> {
    if (this.polled.has(key)) return this.polled.get(key, name);
    const found = this.find(key, name);
    return found && (await found.store.read(found.stored));
  }

  private find(key: string, name: ObjectName) {
    for (const { store, resource } of this.watches.of(key)) {
      const stored = store.find(resource, resource.namespaced ? name : { name: name.name });
      if (stored) return { store, stored };
    }
    return undefined;
  }

  async list(key: string, reference: LabelReference, take: Take): Promise<void> {
    const selected = this.selected(key, reference);
    for await (const [, object] of readInParts(selected, ({ store, stored }) => store.read(stored)))
      take(object);
  }

  private selected(key: string, reference: LabelReference) {
    if (isEmpty(reference)) return [];
    return this.watches
      .of(key)
      .flatMap(({ store, resource }) =>
        [...store.values()]
          .filter(
            ({ namespace, facts }) =>
              (!resource.namespaced || namespace === reference.namespace) &&
              isSelected(reference, facts.labels),
          )
          .map((stored) => ({ store, stored })),
      );
  }

  /** Undefined if it is not known. */
  private lengthOfNamed(key: string, name: ObjectName): number | undefined {
    if (this.polled.has(key)) return this.polled.lengthOf(key, name);
    const found = this.find(key, name);
    return found ? found.stored.length : 0;
  }

  /** How long what a custom resource uses is together, in characters of JSON, as far as that is known. */
  lengthOf(key: string): number {
    let sum = 0;
    for (const [use, reference] of this.index.referencesOf(key)) {
      const lengths =
        "labels" in reference
          ? this.selected(use, reference).map(({ stored }) => stored.length)
          : reference.names.map((name) => this.lengthOfNamed(use, { namespace: reference.namespace, name }));
      for (const length of lengths) sum += length ?? UNREAD_LENGTH;
    }
    return sum;
  }

  private storeChanged(key: string, { source, before, after }: Change<UsedFacts>): void {
    // The first list is reported as a whole.
    if (source === "initial" || before?.facts.seen === after?.facts.seen) return;
    const name = after ?? before;
    if (!name) return;
    const labels = [before?.facts.labels, after?.facts.labels];
    this.changed(key, name, labels, after?.facts.isByOperator ?? false);
  }

  /** @param labels before the change and after it */
  private changed(
    key: string,
    { namespace, name }: ObjectName,
    labels: readonly UsedFacts["labels"][],
    byOperator: boolean,
  ): void {
    const users = new Set(labels.flatMap((each) => this.index.usersOf(key, { namespace, name }, each)));
    if (users.size === 0) return;
    const what = kindAndName(useOf(this.options.operator, key).kind, { namespace, name });
    this.options.onChange({ users: [...users], what, isByOperator: byOperator });
  }

  private allChanged(key: string): void {
    const users = this.index.usersOfAll(key);
    if (users.length > 0)
      this.options.onChange({ users, what: useOf(this.options.operator, key).kind, isByOperator: false });
  }
}
