import type { Operator } from "../definition/definition";
import { selectionsOf, type UsedSelection, useOf } from "../definition/selections";
import { awaitKind } from "../kubernetes/awaitKind";
import type { KubernetesClient } from "../kubernetes/client";
import { findResource, UnknownKindError } from "../kubernetes/discovery";
import { isApiError } from "../kubernetes/errors";
import { isSecretKind } from "../kubernetes/kinds";
import { withoutManagedFields } from "../kubernetes/objects";
import { isServedAlike, type Resource } from "../kubernetes/resource";
import { type NotSynced, Scopes, type ScopesOptions } from "../watch/scopes";
import { SoughtKinds } from "../watch/soughtKinds";
import { type Change, Store } from "../watch/store";
import { whyNotGiven } from "./used";
import { factsOf, type UsedFacts } from "./usedFacts";

/** The operator whose uses {@link UseWatches} watch, and the callbacks that they call. Each use is named by its key. */
export interface UseWatchesOptions extends Pick<ScopesOptions, "answersOthers"> {
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
  readonly scopes: Scopes;
}

/**
 * The watches of the objects that custom resources use. A kind that the cluster does not serve is looked for until it does, beside
 * the work. Objects that are polled are not watched, but their kinds are looked for too.
 */
export class UseWatches {
  private watched: WatchedSelection[] = [];
  /** The kinds that were not found in the cluster yet, each by the key of its use. */
  private readonly sought = new Map<string, SoughtKinds>();
  private readonly stopping = new AbortController();

  constructor(private readonly options: UseWatchesOptions) {}

  /**
   * Begins to look for the kinds and to watch them.
   * @returns a promise that resolves when each kind was listed, or is known to be missing
   */
  async start(): Promise<void> {
    const looks = Object.keys(this.options.operator.uses).map(
      (key) =>
        // Only the signal ends it.
        new Promise<void>((resolve) => void this.lookFor(key, resolve).then(resolve, () => resolve())),
    );
    await Promise.all(looks);
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await Promise.all(this.watched.map(({ scopes }) => scopes.stop()));
  }

  /** The selections of a use that are watched. */
  of(key: string): WatchedSelection[] {
    return this.watched.filter(({ selection }) => selection.key === key);
  }

  /** A kind of a use of which nobody knows all objects in a namespace. Undefined if there is none. */
  notSynced(key: string, namespace: string | undefined): NotSynced | undefined {
    const notFound = this.sought.get(key)?.notFound() ?? [];
    const notSynced = this.of(key).flatMap(({ scopes }) => scopes.notSynced(namespace));
    return [...notFound, ...notSynced][0];
  }

  /** Lists everything again, at another path if the cluster serves a kind there now: see `ChildWatches.relist`. */
  async relist(): Promise<void> {
    const keys = Object.keys(this.options.operator.uses);
    const followed = keys.map((key) => this.follow(key));
    await Promise.all([...followed, ...this.watched.map(({ scopes }) => scopes.relist())]);
  }

  /** Watches the kind of a use at another path, if the cluster serves it there now. */
  private async follow(key: string): Promise<void> {
    const before = this.of(key);
    const [first] = before;
    if (!first) return;
    const { apiVersion, kind } = first.resource;
    // The lists show what is wrong with a kind that is not found.
    const now = await findResource(this.options.client, apiVersion, kind).catch(() => first.resource);
    // A look that was held up may find the same as the next one.
    const isOutdated = this.stopping.signal.aborted || this.of(key)[0] !== first;
    if (isOutdated || isServedAlike(now, first.resource)) return;
    this.watched = this.watched.filter((each) => !before.includes(each));
    const listed = this.watchAll(key, now);
    await Promise.all([...before.map(({ scopes }) => scopes.stop()), listed]);
  }

  /** @param onMissing called when it turns out that the cluster does not serve the kind */
  private async lookFor(key: string, onMissing: () => void): Promise<void> {
    const { client, operator, onInterruption, onAllChanged } = this.options;
    const { apiVersion, kind } = useOf(operator, key);
    const { signal } = this.stopping;
    const sought = new SoughtKinds();
    sought.seek({ apiVersion, kind });
    this.sought.set(key, sought);
    const resource = await awaitKind(client, apiVersion, kind, {
      signal,
      onWait: (reason) => {
        onInterruption(kind, reason);
        sought.failed({ apiVersion, kind }, reason);
        if (!(reason instanceof UnknownKindError)) return;
        // A caller that waits for the first list continues without it.
        onAllChanged(key);
        onMissing();
      },
    });
    signal.throwIfAborted();
    const listed = this.watchAll(key, resource);
    this.sought.delete(key);
    await listed;
    // No watch reports these.
    if (this.selectionsOf(key).some(({ isPolled }) => isPolled)) onAllChanged(key);
  }

  /** Begins to watch all selections of a use. Resolves when each was listed, or was refused. */
  private async watchAll(key: string, resource: Resource): Promise<void> {
    this.options.onFound(key, resource);
    for (const selection of this.selectionsOf(key)) if (!selection.isPolled) this.watch(selection, resource);
    await Promise.all(this.of(key).map(({ scopes }) => scopes.whenListed()));
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
          : factsOf(object, isMetadataOnly),
      kept: withoutManagedFields,
      onChange: (change) => onChange(key, change),
    });
    const scopes = new Scopes({
      client,
      namespaces,
      labelSelector,
      fieldSelector: name && `metadata.name=${name}`,
      metadataOnly: isMetadataOnly,
      answersOthers,
      sink: (of, namespace) => store.sink(of, namespace),
      onInterruption: ({ kind }, error) => onInterruption(kind, error),
      onSynced: () => onAllChanged(key),
      // The kind went, and its watch ended, perhaps before it reported that the objects went.
      onRefused: (_, error) => {
        if (isApiError(error, 404)) onAllChanged(key);
      },
    });
    this.watched.push({ selection, resource, store, scopes });
    scopes.add(resource);
  }

  private selectionsOf(key: string): UsedSelection[] {
    return selectionsOf(this.options.operator).filter((each) => each.key === key);
  }
}
