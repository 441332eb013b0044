import { isSecretKind } from "../../base/kinds";
import {
  type KubernetesObject,
  keyOf,
  kindAndName,
  type ObjectName,
  withoutManagedFields,
} from "../../base/objects";
import type { Resource } from "../../base/resource";
import type { KubernetesClient } from "../../kubernetes/client";
import { isKindMissing, UnknownKindError } from "../../kubernetes/discovery";
import { named, readInParts } from "../../kubernetes/list";
import type { Operator } from "../../operator/definition";
import {
  isEmpty,
  isSelected,
  type LabelReference,
  selectionsOf,
  type UsedSelection,
  useOf,
} from "../../operator/uses";
import { FollowedKind } from "../kindWatch";
import type { Emit } from "../news";
import { type Change, Store } from "../store";
import type { AnswersOthers } from "../watchFailures";
import { DirectUse } from "./directUse";
import { PolledObjects } from "./polledObjects";
import {
  refusalNote,
  type Take,
  type UsedProblem,
  type UsedSource,
  unservedProblem,
  whyNotGiven,
} from "./used";
import { type UsedFacts, UseIndex, usedFactsOf } from "./useIndex";

/** How long an object counts of which only the metadata was seen, in characters of JSON. */
const UNREAD_LENGTH = 64 * 1024;

/** The objects of a selection whose kind the cluster serves. */
interface WatchedSelection {
  readonly resource: Resource;
  readonly store: Store<UsedFacts>;
}

/**
 * The objects that the custom resources of an operator use, kept up to date by watches.
 *
 * Guarantees, each with a test in tests/integration/uses.test.ts, tests/integration/hostile/usesOfOthers.test.ts or
 * tests/unit/usedObjects.test.ts:
 * - An object that changes wakes exactly the custom resources that use it, before and after the change.
 * - It is read once, however many use it.
 * - A kind that the cluster lacks, or that we may not read, holds up only the custom resources that use it. It is looked for until the
 *   cluster serves it, in the background.
 *
 * Secrets that no watch may show are read by {@link PolledObjects}. Their kind is looked for too.
 */
export class UsedObjects implements UsedSource {
  private readonly index: UseIndex;
  private readonly polled: PolledObjects;
  private readonly direct: DirectUse;
  /** By the key of the use. */
  private readonly watched = new Map<string, readonly WatchedSelection[]>();
  /** The kind of each use, by its key. */
  private readonly kinds: ReadonlyMap<string, FollowedKind>;

  constructor(
    private readonly options: {
      readonly answersOthers?: AnswersOthers | undefined;
      readonly onInterruption: (kind: string, error: Error) => void;
      readonly client: KubernetesClient;
      readonly operator: Operator;
      readonly emit: Emit;
      /** Whether objects that no watch shows are read again. */
      readonly isActive: () => boolean;
      /** How often that is done, in milliseconds. @default 60000 */
      readonly pollMs?: number | undefined;
    },
  ) {
    const { client, operator, pollMs } = options;
    this.index = new UseIndex(operator.uses);
    this.direct = new DirectUse(operator, client.with({ class: "read" }));
    this.kinds = new Map(Object.keys(operator.uses).map((key) => [key, this.newKind(key)]));
    const polled = selectionsOf(operator).filter(({ isPolled }) => isPolled);
    this.polled = new PolledObjects({
      client,
      stores: new Map(polled.map((selection) => [selection.key, this.storeOf(selection)])),
      namesOf: (key) => this.index.namesOf(key),
      isActive: options.isActive,
      onError: (error) => options.onInterruption("Secret", error),
      periodMs: pollMs,
    });
  }

  /**
   * Begins to look for the kinds and to watch them in the background. Resolves when each kind was listed, or is known to be missing.
   * @throws Error if it was stopped before that
   */
  async startWatching(): Promise<void> {
    this.polled.start();
    await Promise.all([...this.kinds.values()].map((kind) => kind.startWatching()));
  }

  async stopWatching(): Promise<void> {
    await Promise.all([this.polled.stop(), ...[...this.kinds.values()].map((kind) => kind.stopWatching())]);
  }

  /** Lists everything again, at another path if the cluster serves a kind there now. */
  async resync(): Promise<void> {
    await Promise.all([...this.kinds.values()].map((kind) => kind.resync()));
  }

  /** Notes a custom resource as it is now. @param object undefined: it is gone */
  see(name: ObjectName, object: KubernetesObject | undefined): void {
    this.index.set(keyOf(name), object);
  }

  async problemOf(key: string, namespace: string | undefined): Promise<UsedProblem | undefined> {
    const kind = this.kinds.get(key);
    const notSynced = kind?.notFound() ?? kind?.notSynced(namespace)[0];
    if (!notSynced) return undefined;
    const { resource, problem } = notSynced;
    if (!problem) return { kind: "listing" };
    if (isKindMissing(problem)) return unservedProblem(this.options.client, resource);
    return { kind: "refused", message: refusalNote(resource, problem) };
  }

  async get(key: string, name: ObjectName): Promise<KubernetesObject | undefined> {
    if (this.polled.has(key)) return this.polled.get(key, name);
    const found = this.find(key, name);
    const object = found && (await found.store.read(found.stored));
    // A handler that is told that an object is absent may delete children. It may have come unseen, or have taken another's place.
    if (object || (!found && this.isFollowed(key, name.namespace))) return object;
    return this.direct.get(key, name);
  }

  /** Whether a watch shows each change. If not, etcd may have been restored: an object that is not known may exist again. */
  private isFollowed(key: string, namespace: string | undefined): boolean {
    return this.kinds.get(key)?.isFollowing(namespace) === true;
  }

  private find(key: string, name: ObjectName) {
    for (const { store, resource } of this.watchedOf(key)) {
      const stored = store.find(resource, resource.namespaced ? name : { name: name.name });
      if (stored) return { store, stored };
    }
    return undefined;
  }

  async list(key: string, reference: LabelReference, take: Take): Promise<void> {
    if (!this.isFollowed(key, reference.namespace)) return this.direct.list(key, reference, take);
    const selected = this.selected(key, reference);
    for await (const object of readInParts(selected, ({ store, stored }) => store.read(stored))) take(object);
  }

  private selected(key: string, reference: LabelReference) {
    if (isEmpty(reference)) return [];
    return this.watchedOf(key).flatMap(({ store, resource }) =>
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

  private newKind(key: string): FollowedKind {
    const { client, operator, answersOthers, onInterruption } = this.options;
    const { apiVersion, kind } = useOf(operator, key);
    const selections = selectionsOf(operator).filter((each) => each.key === key);
    return new FollowedKind({
      client,
      declared: { apiVersion, kind },
      answersOthers,
      onFound: (resource) => {
        const watched = selections.filter(({ isPolled }) => !isPolled);
        const followed = watched.map((selection) => ({
          selection,
          store: this.storeOf(selection),
          resource,
        }));
        this.watched.set(key, followed);
        this.index.setClusterWide(key, !resource.namespaced);
        // No watch reports these.
        if (watched.length < selections.length) this.allChanged(key);
        const allChanged = (namespace: string | undefined) => this.allChanged(key, namespace);
        return followed.map(({ selection: { namespaces, name, labelSelector, isMetadataOnly }, store }) => ({
          namespaces,
          labelSelector,
          ...(name && named(name)),
          metadataOnly: isMetadataOnly,
          sink: (namespace) => store.sink(resource, namespace),
          onSynced: allChanged,
          // The kind's watch ended, perhaps before it reported that the objects went.
          onUnserved: allChanged,
        }));
      },
      onInterruption: (error) => onInterruption(kind, error),
      onWait: (reason) => {
        onInterruption(kind, reason);
        // A caller that waits for the first list continues without it.
        if (reason instanceof UnknownKindError) this.allChanged(key);
      },
    });
  }

  private watchedOf(key: string): readonly WatchedSelection[] {
    return this.watched.get(key) ?? [];
  }

  private storeOf({ key, isMetadataOnly }: UsedSelection): Store<UsedFacts> {
    const { client, operator } = this.options;
    const use = useOf(operator, key);
    return new Store<UsedFacts>({
      client: client.with({ class: "read" }),
      isMetadataOnly,
      factsOf: (object) =>
        isSecretKind(use) && whyNotGiven(object, use, operator) !== undefined
          ? undefined
          : usedFactsOf(object, isMetadataOnly),
      kept: withoutManagedFields,
      onChange: (change) => this.storeChanged(key, change),
    });
  }

  private storeChanged(key: string, { source, before, after }: Change<UsedFacts>): void {
    // The first list is reported as a whole.
    if (source === "initial" || before?.facts.seen === after?.facts.seen) return;
    const { namespace, name } = after ?? before ?? { name: "" };
    const labels = [before?.facts.labels, after?.facts.labels];
    const users = new Set(labels.flatMap((each) => this.index.usersOf(key, { namespace, name }, each)));
    if (users.size === 0) return;
    const what = kindAndName(useOf(this.options.operator, key).kind, { namespace, name });
    const isByOperator = after?.facts.isByOperator ?? false;
    this.options.emit({ kind: "used changed", users: [...users], what, isByOperator });
  }

  /** More of the objects of a use is known than before, or nothing any more. @param namespace where. @default anywhere */
  private allChanged(key: string, namespace?: string): void {
    const users = this.index.usersOfAll(key, namespace);
    const what = useOf(this.options.operator, key).kind;
    if (users.length > 0) this.options.emit({ kind: "used changed", users, what, isByOperator: false });
  }
}
