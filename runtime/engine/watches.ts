import type { ChildStore } from "../children/childStore";
import { ChildWatches } from "../children/childWatches";
import { isWatchedBy } from "../children/watchedBy";
import type { Operator, Watch } from "../definition/definition";
import type { KubernetesClient } from "../kubernetes/client";
import { formatName, keyOf, type ObjectName } from "../kubernetes/objects";
import { isListed, type Resource } from "../kubernetes/resource";
import { within } from "../limits/within";
import { writtenMemory } from "../memory/memory";
import { memoryResourceOf } from "../memory/memoryKind";
import { MemoryStore } from "../memory/memoryStore";
import { allIdentitiesOf, finalizersOf, identityOf, OPERATOR_LABEL } from "../names";
import { Completeness } from "../reconcile/completeness";
import { UsedObjects } from "../uses/usedObjects";
import { CustomResources } from "../watch/customResources";
import { KindWatch } from "../watch/kindWatch";
import type { WatchedObjects } from "../watch/objectFacts";
import { OutsideObjects } from "../watch/outsideObjects";
import { labelSelectorOf, partsOf } from "../watch/watched";
import type { ClusterListener } from "./clusterListener";

/** The options of {@link Watches}. */
export interface WatchesOptions {
  readonly client: KubernetesClient;
  readonly operator: Operator;
  /** The kind of the objects. */
  readonly resource: Resource;
  /** The operators' namespace. */
  readonly namespace: string;
  /** Who is told what they see. */
  readonly listener: ClusterListener;
  /** A watch was interrupted, or the cluster does not serve a kind. It is tried again. */
  readonly onInterruption: (kind: string, error: Error) => void;
  /** Whether objects that no watch shows are read again. */
  readonly isActive: () => boolean;
  /** How often that is done, in milliseconds. */
  readonly usedPollMs?: number | undefined;
}

/** How long the start waits for the first lists, in milliseconds. Later lists are completed beside the work. */
const START_PATIENCE_MS = 5_000;
/** How long fresh lists of the objects are awaited, in milliseconds. */
const REFRESH_PATIENCE_MS = 10_000;

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
  /** The objects that the custom resources use. */
  readonly used: UsedObjects;
  /** Objects of namespaces that the operator no longer lists. Undefined if there can be none. */
  private readonly outside: OutsideObjects | undefined;
  /** The memories of objects that we do not own. Undefined if we own the objects. */
  readonly memories: MemoryStore | undefined;
  /** Whether everything that an object needs is known. */
  readonly completeness: Completeness;
  /** The kinds of the children that were found in the cluster so far. */
  readonly childResources: readonly Resource[];
  private readonly objectWatch: KindWatch;
  private readonly childWatches: ChildWatches;
  private readonly memoryWatch: KindWatch | undefined;
  private readonly stopping = new AbortController();
  /** Whether the API server answers the lists of the objects. */
  private readonly answersOthers = (signal: AbortSignal) => this.objectWatch.answers(signal);

  constructor(private readonly options: WatchesOptions) {
    this.memories = this.newMemories();
    this.used = this.newUsed();
    this.objects = this.newObjects();
    this.outside = this.newOutside();
    this.objectWatch = this.newObjectWatch();
    this.memoryWatch = this.newMemoryWatch();
    this.childWatches = this.newChildWatches();
    this.children = this.childWatches.store;
    this.childResources = this.childWatches.resources;
    this.completeness = new Completeness({
      resource: options.resource,
      objects: this.objectWatch,
      children: this.childWatches,
      memories: this.memoryWatch,
      cycles: options.operator.watch && {
        ownerOf: (uid) => this.children.ownerOf(uid),
        madeOf: (name) => this.objects.madeOf(name),
      },
    });
  }

  /**
   * Begins to watch. Resolves when everything that can be listed was listed, or the first lists took too long. Kinds of children
   * that the cluster does not serve yet are awaited beside the work.
   */
  async start(): Promise<void> {
    const begun = [this.childWatches.start(), this.used.start()];
    this.memoryWatch?.start();
    this.objectWatch.start();
    this.outside?.start();
    const listed = [...begun, this.objectWatch.whenListed(), this.memoryWatch?.whenListed()];
    await within(
      START_PATIENCE_MS,
      Promise.all(listed).catch(() => {}),
    );
    this.stopping.signal.throwIfAborted();
  }

  async stop(): Promise<void> {
    this.stopping.abort(new Error("stopped before it watched"));
    const parts = [this.objectWatch, this.childWatches, this.memoryWatch, this.used, this.outside];
    await Promise.all(parts.map((each) => each?.stop()));
  }

  /**
   * Lists the objects and their memories again, so that nothing is older than this call. If that fails or takes long, each is read
   * before it is reconciled.
   */
  async refreshObjects(): Promise<void> {
    const lists = Promise.all([this.objectWatch.relist(), this.memoryWatch?.relist()]);
    const listed = await within(REFRESH_PATIENCE_MS, lists);
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
    const { namespaces } = this.options.operator;
    if (!this.memories) return [...this.objects.names(), ...(this.outside?.names() ?? [])];
    const left = [...this.memories.names(), ...this.children.owners()].filter(({ namespace = "" }) =>
      isListed(namespaces, namespace),
    );
    const all = [...this.objects.names(), ...left];
    return [...new Map(all.map((name) => [formatName(name), name])).values()];
  }

  /** Whether a watch would show an object of that name, and each of its changes. */
  wouldShow({ namespace }: ObjectName): boolean {
    const isMeant = isListed(this.options.operator.namespaces, namespace);
    return isMeant && this.objectWatch.isFollowing(namespace);
  }

  /** The length of an object, its children and the objects that it uses, in characters of JSON, as far as it is known. */
  lengthOf(name: ObjectName): number {
    const uid = this.objects.uidOf(name);
    const children = uid === undefined ? 0 : this.children.lengthOf(uid);
    return this.objects.lengthOf(name) + children + this.used.lengthOf(keyOf(name));
  }

  /** Lists everything again. That finds changes that no watch reports, such as a default that was added to a CRD. */
  async relist(): Promise<void> {
    // Beside each other: the list of one kind may never end.
    await Promise.all([this.refreshObjects(), this.childWatches.relist(), this.used.relist()]);
  }

  private newMemories(): MemoryStore | undefined {
    const { client, operator, namespace, listener } = this.options;
    if (!operator.watch) return undefined;
    return new MemoryStore({
      client,
      namespace,
      identities: allIdentitiesOf(operator),
      assertKnown: () => this.completeness.assertRemembers(),
      onLost: (name) => listener.memoryLost(name),
    });
  }

  private newUsed(): UsedObjects {
    const { client, operator, listener, onInterruption, isActive, usedPollMs } = this.options;
    return new UsedObjects({
      client,
      answersOthers: this.answersOthers,
      operator,
      onChange: (change) => listener.usedChanged(change),
      onInterruption,
      isActive,
      pollMs: usedPollMs,
    });
  }

  private newObjects(): CustomResources {
    const { client, operator, resource, listener } = this.options;
    const { watch } = operator;
    return new CustomResources({
      client,
      resource,
      ...(!watch && { finalizers: finalizersOf(operator), memoryIn: writtenMemory }),
      onChange: (change) => listener.objectChanged(change),
      onGone: (name, uid) => listener.objectGone(name, uid),
      onSeen: (name, object) => this.used.see(name, object),
      isOutdated: (name) => !this.wouldShow(name) && this.isServed,
      wouldShow: (name) => this.wouldShow(name),
      watched: watch && this.watched(watch),
    });
  }

  private newOutside(): OutsideObjects | undefined {
    const { client, operator, resource, listener, onInterruption } = this.options;
    const { namespaces, watch } = operator;
    if (namespaces === "all" || !resource.namespaced || watch) return undefined;
    const finalizers = allIdentitiesOf(operator).flatMap(finalizersOf);
    return new OutsideObjects({
      client,
      resource,
      namespaces,
      finalizers,
      onChange: (change) => listener.objectChanged(change),
      onGone: (name, uid) => listener.objectGone(name, uid),
      onInterruption,
    });
  }

  private newObjectWatch(): KindWatch {
    const { operator, resource } = this.options;
    const { watch } = operator;
    return new KindWatch({
      ...this.watchOptions(resource),
      labelSelector: watch && labelSelectorOf(watch),
      sink: (namespace) => this.objects.sink(namespace),
    });
  }

  private newMemoryWatch(): KindWatch | undefined {
    const { memories } = this;
    const { operator } = this.options;
    if (!memories) return undefined;
    return new KindWatch({
      ...this.watchOptions(memoryResourceOf(operator)),
      namespaces: [this.options.namespace],
      answersOthers: this.answersOthers,
      labelSelector: `${OPERATOR_LABEL} in (${allIdentitiesOf(operator).map(identityOf).join(",")})`,
      sink: (namespace) => memories.sink(namespace),
    });
  }

  private newChildWatches(): ChildWatches {
    const { client, operator, resource, listener, onInterruption } = this.options;
    return new ChildWatches({
      client,
      operator,
      ownerKind: resource,
      answersOthers: this.answersOthers,
      onChange: (owner, news) => listener.childChanged(owner, news),
      onSynced: () => listener.kindListed(),
      onUnserved: (owners) => listener.childrenUnserved(owners),
      onInterruption,
    });
  }

  private watchOptions(resource: Resource) {
    const { client, operator, listener, onInterruption } = this.options;
    return {
      client,
      resource,
      namespaces: operator.namespaces,
      onSynced: () => listener.kindListed(),
      onInterruption: (error: Error) => onInterruption(resource.kind, error),
    };
  }

  private watched({ on }: Watch): WatchedObjects {
    return {
      isWatched: isWatchedBy(this.options.operator, this.options.namespace),
      partsOf: (object) => partsOf(object, on),
      isReady: (object) => this.memories?.isReady(object) ?? false,
    };
  }
}
