import { type ChildStore, type ChildStoreOptions, childStoreOf } from "./children/childStore";
import { managersOf } from "./children/marks";
import { isOwnWork, type Owner } from "./children/ownership";
import type { Operator, Watch } from "./definition/definition";
import type { ReconcileFailure } from "./failure";
import { awaitKind } from "./kubernetes/awaitKind";
import type { KubernetesClient } from "./kubernetes/client";
import { UnknownKindError } from "./kubernetes/discovery";
import { isApiError } from "./kubernetes/errors";
import { isNeverGiven } from "./kubernetes/kinds";
import { formatName, type KubernetesObject, type ObjectName } from "./kubernetes/objects";
import { isListed, kindKey, type Resource } from "./kubernetes/resource";
import { memoryResourceOf } from "./memory/keptMemories";
import { MemoryStore } from "./memory/memoryStore";
import { allIdentitiesOf, CHILD_OF_LABEL, finalizersOf, identityOf, OPERATOR_LABEL } from "./names";
import { keyOf } from "./objectKey";
import { Completeness } from "./reconcile/completeness";
import { whyCycling } from "./reconcile/watchCycle";
import { UsedObjects, type UsedObjectsOptions } from "./uses/usedObjects";
import { CustomResources, type CustomResourcesOptions } from "./watch/customResources";
import type { WatchedObjects } from "./watch/objectFacts";
import { OutsideObjects } from "./watch/outsideObjects";
import { Scopes } from "./watch/scopes";
import { SoughtKinds } from "./watch/soughtKinds";
import { isSelected, labelSelectorOf, partsOf } from "./watch/watched";
import { within } from "./within";

/** The options of {@link Watches}, and the callbacks that they call. */
export interface WatchesOptions extends Pick<CustomResourcesOptions, "onChange" | "onGone"> {
  readonly client: KubernetesClient;
  readonly operator: Operator;
  /** The kind of the objects. */
  readonly resource: Resource;
  /** The platform's namespace. */
  readonly namespace: string;
  readonly onChild: ChildStoreOptions["onChange"];
  /** An object that custom resources use has changed. */
  readonly onUsed: UsedObjectsOptions["onChange"];
  /** Whether objects that no watch shows are read again. */
  readonly isActive: () => boolean;
  /** How often that is done, in milliseconds. */
  readonly usedPollMs?: number;
  /** Called when a kind was listed in a namespace for the first time: objects that wait for it can be reconciled. */
  readonly onSynced: () => void;
  /** Called once when the cluster no longer serves a kind of which these owners have children. */
  readonly onUnserved: (owners: readonly Owner[]) => void;
  readonly onInterruption: (kind: string, error: Error) => void;
  /** Somebody deleted the Memory of an object that we do not own. */
  readonly onLost: (name: ObjectName) => void;
}

type DeclaredChild = Operator["children"][number];

/** How long the start waits for the first lists, in milliseconds. Later lists are completed beside the work. */
const LISTING_PATIENCE_MS = 5_000;

/**
 * What one operator knows of its cluster: its custom resources, or the objects of another kind that it watches, and their
 * children. Watches keep that up to date. Children are selected by the label that all of them have, so that other objects are
 * not even read.
 *
 * Guarantee (tests/integration/hostile/namespaces.test.ts): a kind or a namespace that is missing holds up only the
 * objects that need it, and {@link Watches.completeness} says which.
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
  readonly childResources: Resource[] = [];
  private readonly objectScopes: Scopes;
  private readonly childScopes: Scopes;
  private readonly memoryScopes: Scopes | undefined;
  private readonly sought = new SoughtKinds();
  private readonly stopping = new AbortController();
  /** Whether the API server answers the lists of the objects. */
  private readonly answersOthers = (signal: AbortSignal) => this.objectScopes.answers(signal);

  constructor(private readonly options: WatchesOptions) {
    const { client, operator, resource, onChild } = options;
    this.memories = this.newMemories();
    this.used = this.newUsed();
    this.objects = this.newObjects();
    this.outside = this.newOutside();
    this.children = childStoreOf(operator, { client, ownerKind: resource, onChange: onChild });
    this.objectScopes = this.newObjectScopes();
    this.memoryScopes = this.newMemoryScopes();
    this.childScopes = this.newChildScopes();
    this.completeness = new Completeness({
      sought: this.sought,
      objects: this.objectScopes,
      children: this.childScopes,
      memories: this.memoryScopes,
    });
  }

  /**
   * Begins to watch. Resolves when everything that can be listed was listed, or the first lists took too long. Kinds of children
   * that the cluster does not serve yet are awaited beside the work.
   */
  async start(): Promise<void> {
    const { operator, resource } = this.options;
    const { signal } = this.stopping;
    const sought = Promise.all(operator.children.map((declared) => this.seek(declared)));
    const usedListed = this.used.start();
    this.memoryScopes?.add(memoryResourceOf(operator));
    this.objectScopes.add(resource);
    this.outside?.start();
    const listed = sought.then(() =>
      Promise.all([
        this.objectScopes.whenListed(),
        this.childScopes.whenListed(),
        this.memoryScopes?.whenListed(),
        usedListed,
      ]),
    );
    await within(
      LISTING_PATIENCE_MS,
      listed.catch(() => {}),
    );
    signal.throwIfAborted();
  }

  /**
   * Looks for a kind of children until the cluster serves it, and begins to watch it then. Resolves when the cluster has said for
   * the first time whether it serves the kind.
   */
  private seek(declared: DeclaredChild): Promise<void> {
    const { client, onInterruption } = this.options;
    const { apiVersion, kind, retired } = declared;
    const { signal } = this.stopping;
    this.sought.seek(declared);
    const found = (resource: Resource) => {
      // The answer may come after the stop. Nobody would end a watch that begins then.
      signal.throwIfAborted();
      this.childResources.push(resource);
      this.childScopes.add(resource);
      this.sought.ended(declared);
    };
    return new Promise((resolve, reject) => {
      const onWait = (reason: Error) => {
        this.sought.failed(declared, reason);
        const isUnserved = reason instanceof UnknownKindError;
        // Nothing can be left of a retired kind that the cluster does not serve.
        if (!isUnserved || !retired) onInterruption(kind, isUnserved ? unserved(declared) : reason);
        if (isUnserved) resolve();
      };
      awaitKind(client, apiVersion, kind, { signal, onWait }).then(found).then(resolve, reject);
    });
  }

  async stop(): Promise<void> {
    this.stopping.abort(new Error("stopped before it watched"));
    const scopes = [this.objectScopes, this.childScopes, this.memoryScopes, this.used, this.outside];
    await Promise.all(scopes.map((each) => each?.stop()));
  }

  /**
   * Lists the objects and their memories again, so that nothing is older than this call.
   * @returns false if the API server refused a part of that
   */
  async refreshObjects(): Promise<boolean> {
    const listed = await Promise.all([this.objectScopes.relist(), this.memoryScopes?.relist()]);
    return !listed.includes(false);
  }

  /** The objects and their memories may have changed unseen. Each is read before it is reconciled. */
  doubtObjects(): void {
    this.objects.invalidateAll();
    this.memories?.invalidateAll();
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

  /** How long an object is together with its children and with what it uses, in characters of JSON, as far as that is known. */
  lengthOf(name: ObjectName): number {
    const uid = this.objects.uidOf(name);
    const children = uid === undefined ? 0 : this.children.lengthOf(uid);
    return this.objects.lengthOf(name) + children + this.used.lengthOf(keyOf(name));
  }

  /** Lists everything again. That finds changes that no watch reports, such as a default that was added to a CRD. */
  async relist(): Promise<void> {
    await this.refreshObjects();
    await this.childScopes.relist();
    await this.used.relist();
  }

  /** Why a watched object is not reconciled: it comes from this operator's own children, again and again. */
  whyCycling(object: KubernetesObject): ReconcileFailure | undefined {
    const { children, objects } = this;
    if (!this.options.operator.watch) return undefined;
    return whyCycling(object, {
      ownerOf: (uid) => children.ownerOf(uid),
      madeOf: (name) => objects.madeOf(name),
    });
  }

  /** The owners of the known children of a kind. @param namespace of the children. Undefined: all of them */
  private ownersOf(kind: Resource, namespace: string | undefined): Owner[] {
    return this.children.owners(
      (child) =>
        kindKey(child.resource) === kindKey(kind) &&
        (namespace === undefined || child.namespace === namespace),
    );
  }

  private newMemories(): MemoryStore | undefined {
    const { client, operator, onLost } = this.options;
    if (!operator.watch) return undefined;
    return new MemoryStore({
      client,
      identities: allIdentitiesOf(operator),
      assertKnown: () => this.completeness.assertRemembers(),
      onLost,
    });
  }

  private newUsed(): UsedObjects {
    const { client, operator, onUsed, onInterruption, isActive, usedPollMs } = this.options;
    return new UsedObjects({
      client,
      answersOthers: this.answersOthers,
      operator,
      onChange: onUsed,
      onInterruption,
      isActive,
      ...(usedPollMs !== undefined && { pollMs: usedPollMs }),
    });
  }

  private newObjects(): CustomResources {
    const { client, operator, resource, onChange, onGone } = this.options;
    const { watch } = operator;
    return new CustomResources({
      client,
      resource,
      finalizers: watch ? [] : finalizersOf(operator),
      onChange,
      onGone,
      onSeen: (name, object) => this.used.see(name, object),
      ...(watch && { watched: this.watched(watch) }),
    });
  }

  private newOutside(): OutsideObjects | undefined {
    const { client, operator, resource, onChange, onGone, onInterruption } = this.options;
    const { namespaces, watch } = operator;
    if (namespaces === "all" || !resource.namespaced || watch) return undefined;
    const finalizers = allIdentitiesOf(operator).flatMap(finalizersOf);
    return new OutsideObjects({ client, resource, namespaces, finalizers, onChange, onGone, onInterruption });
  }

  private newObjectScopes(): Scopes {
    const { watch } = this.options.operator;
    const labelSelector = watch && labelSelectorOf(watch);
    return new Scopes({
      ...this.scopeOptions(),
      ...(labelSelector !== undefined && { labelSelector }),
      sink: (_, namespace) => this.objects.sink(namespace),
    });
  }

  private newMemoryScopes(): Scopes | undefined {
    const { memories } = this;
    if (!memories) return undefined;
    return new Scopes({
      ...this.scopeOptions(),
      namespaces: [this.options.namespace],
      answersOthers: this.answersOthers,
      labelSelector: `${OPERATOR_LABEL} in (${this.ownNames()})`,
      sink: (_, where) => memories.sink(where),
    });
  }

  private newChildScopes(): Scopes {
    return new Scopes({
      ...this.scopeOptions(),
      answersOthers: this.answersOthers,
      labelSelector: `${CHILD_OF_LABEL} in (${this.ownNames()})`,
      sink: (kind, namespace) => this.children.sink(kind, namespace),
      onRefused: (kind, error, namespace) => {
        if (isApiError(error, 404)) this.options.onUnserved(this.ownersOf(kind, namespace));
      },
    });
  }

  private scopeOptions() {
    const { client, operator, onSynced, onInterruption } = this.options;
    return {
      client,
      namespaces: operator.namespaces,
      onSynced,
      onInterruption: ({ kind }: Resource, error: Error) => onInterruption(kind, error),
    };
  }

  /** The names of the operator as its labels have them. */
  private ownNames(): string {
    return allIdentitiesOf(this.options.operator).map(identityOf).join(",");
  }

  private watched({ labels, on }: Watch): WatchedObjects {
    const managers = managersOf(this.options.operator);
    return {
      isWatched: (object) =>
        isSelected(object, labels) && !isOwnWork(object, managers) && !isNeverGiven(object),
      partsOf: (object) => partsOf(object, on),
      isReady: (object) => this.memories?.isReady(object) ?? false,
    };
  }
}

function unserved({ apiVersion, kind }: DeclaredChild): Error {
  return new Error(
    `operator.yaml declares ${kind} (${apiVersion}) under "children", but the cluster does not serve this kind. Check the spelling, or install the software that provides it. Objects without such children do not wait for it.`,
  );
}
