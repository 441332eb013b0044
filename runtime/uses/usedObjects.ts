import type { Operator } from "../definition/definition";
import { isEmpty, isSelected, type LabelReference } from "../definition/references";
import { selectionsOf, type UsedSelection, useOf } from "../definition/selections";
import { awaitKind } from "../kubernetes/awaitKind";
import type { KubernetesClient } from "../kubernetes/client";
import { findResource, UnknownKindError } from "../kubernetes/discovery";
import { isApiError } from "../kubernetes/errors";
import { isSecretKind } from "../kubernetes/kinds";
import { readInParts } from "../kubernetes/list";
import { formatName, type KubernetesObject, keyOf, type ObjectName } from "../kubernetes/objects";
import { isServedAlike, type Resource } from "../kubernetes/resource";
import { Scopes } from "../watch/scopes";
import { SoughtKinds } from "../watch/soughtKinds";
import { type Change, Store } from "../watch/store";
import { PolledObjects } from "./polledObjects";
import {
  asGiven,
  missingNote,
  refusalNote,
  type Take,
  type UsedProblem,
  type UsedSource,
  whyNotGiven,
} from "./used";
import { factsOf, isByOperator, type UsedFacts } from "./usedFacts";
import { UseIndex } from "./useIndex";

/** The objects that {@link UsedObjects} read, and the callbacks that they call. */
export interface UsedObjectsOptions {
  readonly client: KubernetesClient;
  readonly operator: Operator;
  /** An object that custom resources use has changed. */
  readonly onChange: (change: UsedChange) => void;
  readonly onInterruption: (kind: string, error: Error) => void;
  /** @see ReflectorOptions.answersOthers */
  readonly answersOthers?: (signal: AbortSignal) => Promise<boolean>;
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

/** A selection whose kind the cluster serves. */
interface Watched {
  readonly selection: UsedSelection;
  readonly resource: Resource;
  readonly store: Store<UsedFacts>;
  readonly scopes: Scopes;
}

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
  private watched: Watched[] = [];
  /** The kinds that were not found in the cluster yet, each by the key of its use. */
  private readonly sought = new Map<string, SoughtKinds>();
  private readonly stopping = new AbortController();

  constructor(private readonly options: UsedObjectsOptions) {
    const { client, operator, pollMs } = options;
    this.index = new UseIndex(operator.uses);
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
   * Begins to look for the kinds and to watch them, beside the work.
   * @returns a promise that resolves when each kind was listed, or is known to be missing
   */
  async start(): Promise<void> {
    this.polled.start();
    const looks = Object.keys(this.options.operator.uses).map(
      (key) =>
        // Only the signal ends it.
        new Promise<void>((resolve) => void this.lookFor(key, resolve).then(resolve, () => resolve())),
    );
    await Promise.all(looks);
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await Promise.all([this.polled.stop(), ...this.watched.map(({ scopes }) => scopes.stop())]);
  }

  /** Lists everything again, at another path if the cluster serves a kind there now: see `ChildWatches.relist`. */
  async relist(): Promise<void> {
    const keys = Object.keys(this.options.operator.uses);
    const followed = keys.map((key) => this.follow(key));
    await Promise.all([...followed, ...this.watched.map(({ scopes }) => scopes.relist())]);
  }

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

  /** Takes in a custom resource as it is now. @param object undefined: it is gone */
  see(name: ObjectName, object: KubernetesObject | undefined): void {
    if (Object.keys(this.options.operator.uses).length > 0) this.index.set(keyOf(name), object);
  }

  async problemOf(key: string, namespace: string | undefined): Promise<UsedProblem | undefined> {
    const notFound = this.sought.get(key)?.notFound() ?? [];
    const notSynced = this.of(key).flatMap(({ scopes }) => scopes.notSynced(namespace));
    const [notKnown] = [...notFound, ...notSynced];
    if (!notKnown) return undefined;
    const { resource, problem } = notKnown;
    if (!problem) return { kind: "listing" };
    const isMissing = problem instanceof UnknownKindError || isApiError(problem, 404);
    return isMissing
      ? { kind: "missing", message: missingNote(resource) }
      : { kind: "refused", message: refusalNote(resource, problem) };
  }

  async get(key: string, name: ObjectName): Promise<KubernetesObject | undefined> {
    if (this.polled.has(key)) return this.polled.get(key, name);
    const found = this.find(key, name);
    return found && (await found.store.read(found.stored));
  }

  private find(key: string, name: ObjectName) {
    for (const { store, resource } of this.of(key)) {
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
    return this.of(key).flatMap(({ store, resource }) =>
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

  /** @param onMissing called when it turns out that the cluster does not serve the kind */
  private async lookFor(key: string, onMissing: () => void): Promise<void> {
    const { client, onInterruption } = this.options;
    const { apiVersion, kind } = useOf(this.options.operator, key);
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
        this.allChanged(key);
        onMissing();
      },
    });
    signal.throwIfAborted();
    const listed = this.watchAll(key, resource);
    this.sought.delete(key);
    await listed;
    if (this.polled.has(key)) this.allChanged(key);
  }

  /** Begins to watch all selections of a use. Resolves when each was listed, or was refused. */
  private async watchAll(key: string, resource: Resource): Promise<void> {
    this.index.setClusterWide(key, !resource.namespaced);
    const selections = selectionsOf(this.options.operator).filter((each) => each.key === key);
    for (const selection of selections) if (!selection.isPolled) this.watch(selection, resource);
    await Promise.all(this.of(key).map(({ scopes }) => scopes.whenListed()));
  }

  private watch(selection: UsedSelection, resource: Resource): void {
    const { client, operator, onInterruption } = this.options;
    const { key, namespaces, name, labelSelector, isMetadataOnly } = selection;
    const use = useOf(this.options.operator, key);
    const store: Store<UsedFacts> = new Store<UsedFacts>({
      client: client.with({ class: "read" }),
      isMetadataOnly,
      factsOf: (object) =>
        isSecretKind(use) && whyNotGiven(object, use, operator) !== undefined
          ? undefined
          : factsOf(object, isMetadataOnly),
      kept: asGiven,
      onChange: (change) => this.storeChanged(key, change),
    });
    const scopes = new Scopes({
      client,
      namespaces,
      labelSelector,
      fieldSelector: name && `metadata.name=${name}`,
      metadataOnly: isMetadataOnly,
      answersOthers: this.options.answersOthers,
      sink: (of, namespace) => store.sink(of, namespace),
      onInterruption: ({ kind }, error) => onInterruption(kind, error),
      onSynced: () => this.allChanged(key),
      // The kind went, and its watch ended, perhaps before it reported that the objects went.
      onRefused: (_, error) => {
        if (isApiError(error, 404)) this.allChanged(key);
      },
    });
    this.watched.push({ selection, resource, store, scopes });
    scopes.add(resource);
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
    const what = `${useOf(this.options.operator, key).kind} ${formatName({ namespace, name })}`;
    this.options.onChange({ users: [...users], what, isByOperator: byOperator });
  }

  private allChanged(key: string): void {
    const users = this.index.usersOfAll(key);
    if (users.length > 0)
      this.options.onChange({ users, what: useOf(this.options.operator, key).kind, isByOperator: false });
  }

  private of(key: string): Watched[] {
    return this.watched.filter(({ selection }) => selection.key === key);
  }
}
