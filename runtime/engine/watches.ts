// What is known of the cluster: custom resources, children, and the objects that they use.
import { within } from "../base/clock";
import { allIdentitiesOf, finalizersOf, identityOf, OPERATOR_LABEL } from "../base/names";
import { formatName, keyOf, type ObjectName } from "../base/objects";
import { isListed, type Resource } from "../base/resource";
import type { KubernetesClient } from "../kubernetes/client";
import type { ChildStore } from "../observe/childStore";
import { ChildWatches } from "../observe/childWatches";
import { CustomResources } from "../observe/customResources";
import { KindWatch } from "../observe/kindWatch";
import type { Emit } from "../observe/news";
import { OutsideObjects } from "../observe/outsideObjects";
import { UsedObjects } from "../observe/uses/usedObjects";
import { isWatchedBy, labelSelectorOf, partsOf } from "../observe/watched";
import type { AnswersOthers } from "../observe/watchFailures";
import type { Operator } from "../operator/definition";
import { Completeness } from "../reconcile/completeness";
import { writtenMemory } from "../remember/memory";
import { memoryResourceOf } from "../remember/memoryKind";
import { MemoryObjects } from "../remember/memoryObjects";

/** How long the start waits for the first lists, in milliseconds. Later lists are completed in the background. */
const START_PATIENCE_MS = 5_000;
/** How long the next page of the objects' lists is awaited, in milliseconds. */
const PAGE_PATIENCE_MS = 10_000;

/**
 * What one operator knows of its cluster: its custom resources, or the objects of another kind that it watches, their children,
 * the objects that they use, and their memories. Watches keep that up to date.
 *
 * Guarantee (tests/integration/hostile/missingKinds.test.ts and namespaces.test.ts): a kind or a namespace that is missing holds up
 * only the objects that need it, and {@link Watches.completeness} says which.
 */
export class Watches {
  readonly objects: CustomResources;
  readonly children: ChildStore;
  /** The objects that the custom resources use. Undefined if the operator has no uses. */
  readonly used: UsedObjects | undefined;
  /** Objects of namespaces that the operator no longer lists. Undefined if there can be none. */
  private readonly outside: OutsideObjects | undefined;
  /** The memories of objects that we do not own. Undefined if we own the objects. */
  readonly memories: MemoryObjects | undefined;
  /** Whether everything that an object needs is known. */
  readonly completeness: Completeness;
  /** The kinds of the children that were found in the cluster so far. */
  readonly childResources: readonly Resource[];
  private readonly objectWatch: KindWatch;
  private readonly childWatches: ChildWatches;
  private readonly memoryWatch: KindWatch | undefined;
  private readonly stopping = new AbortController();

  constructor(
    private readonly parts: {
      readonly client: KubernetesClient;
      readonly operator: Operator;
      /** The kind of the objects. */
      readonly resource: Resource;
      /** The operators' namespace. */
      readonly namespace: string;
      readonly emit: Emit;
      /** A watch was interrupted, or the cluster does not serve a kind. It is tried again. */
      readonly onInterruption: (kind: string, error: Error) => void;
      /** Whether objects that no watch shows are read again. */
      readonly isActive: () => boolean;
      /** How often that is done, in milliseconds. */
      readonly usedPollMs?: number | undefined;
    },
  ) {
    const { client, operator, resource, namespace, emit, onInterruption, isActive, usedPollMs } = parts;
    const { namespaces, watch } = operator;
    const identities = allIdentitiesOf(operator);
    const answersOthers: AnswersOthers = (signal) => this.objectWatch.answers(signal);
    const memories = watch
      ? new MemoryObjects({
          client,
          operator,
          resource,
          namespace,
          // It includes objects that the watch has not brought yet.
          isThere: (uid) => this.objects.removedAt(uid) === undefined,
          assertKnown: () => this.completeness.assertRemembers(),
          emit,
        })
      : undefined;
    this.memories = memories;
    const used =
      Object.keys(operator.uses).length > 0
        ? new UsedObjects({
            client,
            answersOthers,
            operator,
            emit,
            onInterruption,
            isActive,
            pollMs: usedPollMs,
          })
        : undefined;
    this.used = used;
    this.objects = new CustomResources({
      client,
      resource,
      ...(!watch && { finalizers: finalizersOf(operator), memoryIn: writtenMemory }),
      emit,
      ...(used && { onSeen: (name, object) => used.see(name, object) }),
      isOutdated: (name) => !this.wouldShow(name) && this.isServed,
      wouldShow: (name) => this.wouldShow(name),
      watched: watch && {
        isWatched: isWatchedBy(operator, namespace),
        partsOf: (object) => partsOf(object, watch.on),
        isReady: (object) => memories?.isReady(object) ?? false,
      },
    });
    this.outside =
      namespaces !== "all" && resource.namespaced && !watch
        ? new OutsideObjects({
            client,
            resource,
            namespaces,
            finalizers: identities.flatMap(finalizersOf),
            emit,
            onInterruption,
          })
        : undefined;
    this.objectWatch = new KindWatch({
      client,
      resource,
      namespaces,
      labelSelector: watch && labelSelectorOf(watch),
      sink: (where) => this.objects.sink(where),
      onSynced: (where) => emit({ kind: "kind listed", listed: resource, namespace: where }),
      onInterruption: (error) => onInterruption(resource.kind, error),
    });
    const memoryKind = memoryResourceOf(operator);
    this.memoryWatch =
      memories &&
      new KindWatch({
        client,
        resource: memoryKind,
        namespaces: [namespace],
        answersOthers,
        labelSelector: `${OPERATOR_LABEL} in (${identities.map(identityOf).join(",")})`,
        sink: (where) => memories.sink(where),
        // The memories of all objects are in one namespace.
        onSynced: () => emit({ kind: "kind listed", listed: memoryKind, namespace: undefined }),
        onInterruption: (error) => onInterruption(memoryKind.kind, error),
      });
    this.childWatches = new ChildWatches({
      client,
      operator,
      ownerKind: resource,
      answersOthers,
      emit,
      onInterruption,
    });
    this.children = this.childWatches.store;
    this.childResources = this.childWatches.resources;
    this.completeness = new Completeness({
      resource,
      objects: this.objectWatch,
      children: this.childWatches,
      memories: this.memoryWatch,
      cycles: watch && {
        ownerOf: (uid) => this.children.ownerOf(uid),
        madeOf: (name) => this.objects.madeOf(name),
      },
    });
  }

  /**
   * Begins to watch. Resolves when everything that can be listed was listed, or the first lists took too long. Kinds of children
   * that the cluster does not serve yet are awaited in the background.
   */
  async startWatching(): Promise<void> {
    const begun = [this.childWatches.startWatching(), this.used?.startWatching()];
    this.memoryWatch?.startWatching();
    this.objectWatch.startWatching();
    this.outside?.startWatching();
    const listed = [...begun, this.objectWatch.whenListed(), this.memoryWatch?.whenListed()];
    await within(
      START_PATIENCE_MS,
      Promise.all(listed).catch(() => {}),
    );
    this.stopping.signal.throwIfAborted();
  }

  async stopWatching(): Promise<void> {
    this.stopping.abort(new Error("stopped before it watched"));
    const parts = [this.objectWatch, this.childWatches, this.memoryWatch, this.used, this.outside];
    await Promise.all(parts.map((each) => each?.stopWatching()));
  }

  /**
   * Lists the objects and their memories again, so that nothing is older than this call. If that fails, or no page comes for long, each
   * is read before it is reconciled.
   */
  async refreshObjects(): Promise<void> {
    await this.refreshBy((watch) => watch.refresh());
  }

  private async refreshBy(list: (watch: KindWatch) => Promise<boolean>): Promise<void> {
    const lists = Promise.all([list(this.objectWatch), this.memoryWatch && list(this.memoryWatch)]);
    const pages = () => this.objectWatch.pages + (this.memoryWatch?.pages ?? 0);
    let listed: Awaited<typeof lists> | undefined;
    // To read each object by itself would take many times as long.
    for (let seen = -1; !listed && seen < pages(); ) {
      seen = pages();
      listed = await within(PAGE_PATIENCE_MS, lists);
    }
    if ((!listed || listed.includes(false)) && this.isServed) this.invalidateAll();
  }

  /** Whether the cluster serves the objects' kind. If not, the answer to a read is that there is no such object. */
  private get isServed(): boolean {
    return this.completeness.whyUnserved() === undefined;
  }

  /**
   * The object of that name, its memory, and those of earlier objects of the name may have changed unseen. They are read before the
   * object is reconciled.
   */
  invalidate(name: ObjectName): void {
    this.objects.invalidate(name);
    this.memories?.invalidateAllOf(name);
    const uid = this.objects.uidOf(name);
    if (uid !== undefined) this.memories?.invalidate(uid);
  }

  /** The objects and their memories may have changed unseen. Each is read before it is reconciled. */
  invalidateAll(): void {
    this.objects.invalidateAll();
    this.memories?.invalidateAll();
    // An object may have a memory that no watch has shown.
    for (const name of this.objects.names()) this.invalidate(name);
  }

  /**
   * The names of all objects to look at. A watched object of others that goes leaves no trace on itself. So these are also the
   * names of remembered objects, and of objects whose children are left.
   */
  names(): ObjectName[] {
    const { namespaces } = this.parts.operator;
    if (!this.memories) return [...this.objects.names(), ...(this.outside?.names() ?? [])];
    const left = [...this.memories.names(), ...this.children.owners()].filter(({ namespace = "" }) =>
      isListed(namespaces, namespace),
    );
    const all = [...this.objects.names(), ...left];
    return [...new Map(all.map((name) => [formatName(name), name])).values()];
  }

  /** Whether all objects were listed. */
  get areListed(): boolean {
    return this.objectWatch.notSynced(undefined).length === 0;
  }

  /** Whether objects of a namespace are not known because their list is in progress. @param namespace undefined: of any */
  isListing(namespace: string | undefined): boolean {
    return this.objectWatch.notSynced(namespace).some(({ problem }) => problem === undefined);
  }

  /** Whether all objects are known, but for those in a namespace of several that cannot be listed. */
  get areKnown(): boolean {
    return this.areListed || (this.objects.names().length > 0 && !this.isListing(undefined));
  }

  /** Whether a watch would show an object of that name, and each of its changes. */
  wouldShow({ namespace }: ObjectName): boolean {
    const isMeant = isListed(this.parts.operator.namespaces, namespace);
    return isMeant && this.objectWatch.isFollowing(namespace);
  }

  /** The length of an object, its children and the objects that it uses, in characters of JSON, as far as it is known. */
  lengthOf(name: ObjectName): number {
    const uid = this.objects.uidOf(name);
    const children = uid === undefined ? 0 : this.children.lengthOf(uid);
    return this.objects.lengthOf(name) + children + (this.used?.lengthOf(keyOf(name)) ?? 0);
  }

  /** Lists everything again in turn. That finds changes that no watch reports, such as a default that was added to a CRD. */
  async resync(): Promise<void> {
    // Concurrently: the list of one kind may never end.
    const objects = this.refreshBy((watch) => watch.resync());
    await Promise.all([objects, this.childWatches.resync(), this.used?.resync()]);
  }
}
