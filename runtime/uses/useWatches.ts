import type { Operator } from "../definition/definition";
import { selectionsOf, type UsedSelection, useOf } from "../definition/selections";
import type { KubernetesClient } from "../kubernetes/client";
import { UnknownKindError } from "../kubernetes/discovery";
import { isApiError } from "../kubernetes/errors";
import { isSecretKind } from "../kubernetes/kinds";
import { named } from "../kubernetes/list";
import { withoutManagedFields } from "../kubernetes/objects";
import type { Resource } from "../kubernetes/resource";
import { FollowedKind } from "../watch/followedKind";
import { KindWatch, type KindWatchOptions, type NotSynced } from "../watch/kindWatch";
import { type Change, Store } from "../watch/store";
import { whyNotGiven } from "./used";
import { type UsedFacts, usedFactsOf } from "./usedFacts";

/** The operator whose uses {@link UseWatches} watch, and the callbacks that they call. Each use is named by its key. */
export interface UseWatchesOptions extends Pick<KindWatchOptions, "answersOthers"> {
  readonly client: KubernetesClient;
  readonly operator: Operator;
  /** The kind of a use was found in the cluster, or is at another path now. */
  readonly onFound: (key: string, resource: Resource) => void;
  /** A watch or a list has changed what is known. */
  readonly onChange: (key: string, change: Change<UsedFacts>) => void;
  /** More of the objects of a use is known than before, or nothing any more. */
  readonly onAllChanged: (key: string) => void;
  readonly onInterruption: (kind: string, error: Error) => void;
}

/** A selection whose kind the cluster serves. */
export interface WatchedSelection {
  readonly selection: UsedSelection;
  readonly resource: Resource;
  readonly store: Store<UsedFacts>;
  readonly watch: KindWatch;
}

/**
 * The watches of the objects that custom resources use. A kind that the cluster does not serve is looked for until it does, beside
 * the work. Objects that are polled are not watched, but their kinds are looked for too.
 */
export class UseWatches {
  private watched: WatchedSelection[] = [];
  /** The kind of each use, by its key. */
  private readonly kinds: ReadonlyMap<string, FollowedKind>;

  constructor(private readonly options: UseWatchesOptions) {
    const keys = Object.keys(options.operator.uses);
    this.kinds = new Map(keys.map((key) => [key, this.newKind(key)]));
  }

  /**
   * Begins to look for the kinds and to watch them. Resolves when each kind was listed, or is known to be missing.
   * @throws Error if it was stopped meanwhile
   */
  async start(): Promise<void> {
    await Promise.all([...this.kinds.values()].map((kind) => kind.start()));
  }

  async stop(): Promise<void> {
    for (const kind of this.kinds.values()) kind.stop();
    await Promise.all(this.watched.map(({ watch }) => watch.stop()));
  }

  /** The selections of a use that are watched. */
  of(key: string): WatchedSelection[] {
    return this.watched.filter(({ selection }) => selection.key === key);
  }

  /** A kind of a use of which nobody knows all objects in a namespace. Undefined if there is none. */
  notSynced(key: string, namespace: string | undefined): NotSynced | undefined {
    const notFound = this.kinds.get(key)?.notFound();
    return notFound ?? this.of(key).flatMap(({ watch }) => watch.notSynced(namespace))[0];
  }

  /** Lists everything again, at another path if the cluster serves a kind there now. */
  async relist(): Promise<void> {
    const looks = [...this.kinds.values()].map((kind) => kind.look());
    await Promise.all([...looks, ...this.watched.map(({ watch }) => watch.relist())]);
  }

  private newKind(key: string): FollowedKind {
    const { client, operator, answersOthers, onInterruption, onAllChanged } = this.options;
    const { apiVersion, kind } = useOf(operator, key);
    return new FollowedKind({
      client,
      declared: { apiVersion, kind },
      answersOthers,
      onFound: (now) => this.watchAll(key, now),
      onWait: (reason) => {
        onInterruption(kind, reason);
        // A caller that waits for the first list continues without it.
        if (reason instanceof UnknownKindError) onAllChanged(key);
      },
    });
  }

  /** Watches all selections of a use here, and no longer where they were. Resolves when each was listed, or was refused. */
  private async watchAll(key: string, resource: Resource): Promise<void> {
    const { onFound, onAllChanged } = this.options;
    const before = this.of(key);
    const selections = selectionsOf(this.options.operator).filter((each) => each.key === key);
    this.watched = this.watched.filter((each) => !before.includes(each));
    onFound(key, resource);
    for (const selection of selections) if (!selection.isPolled) this.watch(selection, resource);
    const listed = this.of(key).map(({ watch }) => watch.whenListed());
    await Promise.all([...before.map(({ watch }) => watch.stop()), ...listed]);
    // No watch reports these.
    if (selections.some(({ isPolled }) => isPolled)) onAllChanged(key);
  }

  private watch(selection: UsedSelection, resource: Resource): void {
    const { client, operator, answersOthers, onChange, onAllChanged, onInterruption } = this.options;
    const { key, namespaces, name, labelSelector, isMetadataOnly } = selection;
    const use = useOf(operator, key);
    const store: Store<UsedFacts> = new Store<UsedFacts>({
      client: client.with({ class: "read" }),
      isMetadataOnly,
      factsOf: (object) =>
        isSecretKind(use) && whyNotGiven(object, use, operator) !== undefined
          ? undefined
          : usedFactsOf(object, isMetadataOnly),
      kept: withoutManagedFields,
      onChange: (change) => onChange(key, change),
    });
    const watch = new KindWatch({
      client: client.with({ class: "list" }),
      resource,
      namespaces,
      labelSelector,
      ...(name && named(name)),
      metadataOnly: isMetadataOnly,
      answersOthers,
      sink: (namespace) => store.sink(resource, namespace),
      onInterruption: (error) => {
        onInterruption(resource.kind, error);
        if (isApiError(error, 404)) this.kinds.get(key)?.lost(resource);
      },
      onSynced: () => onAllChanged(key),
      // The kind's watch ended, perhaps before it reported that the objects went.
      onUnserved: () => onAllChanged(key),
    });
    this.watched.push({ selection, resource, store, watch });
    watch.start();
  }
}
