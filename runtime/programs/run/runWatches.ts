// What a run knows of its object and of the object's children.
import { within } from "../../base/clock";
import { isRecord } from "../../base/json";
import { OWNER_UID_LABEL } from "../../base/names";
import { conditionsIn, isNewer, type KubernetesObject, type ObjectName } from "../../base/objects";
import { isListed, kindKey, type Resource, scopesOf } from "../../base/resource";
import type { KubernetesClient } from "../../kubernetes/client";
import { UnknownKindError } from "../../kubernetes/discovery";
import { ApiError, isApiError, isBusy } from "../../kubernetes/errors";
import { named } from "../../kubernetes/list";
import { unlessGone } from "../../kubernetes/namespaces";
import { ChildStore } from "../../observe/childStore";
import { CustomResources } from "../../observe/customResources";
import type { RememberedPlaces } from "../../observe/ownership";
import { Reflector, type ReflectorOptions } from "../../observe/reflector";
import { isWatchedBy, partsOf } from "../../observe/watched";
import type { Operator } from "../../operator/definition";
import { isOutOfReach, isPlaceOfChildren } from "../../reconcile/completeness";

/**
 * If a run waits for longer than this, it begins to watch its object, in milliseconds. After most updates the children are ready
 * by then, which saves that request. Until then a change of the object is noticed at the end of the wait.
 */
const WATCH_OBJECT_AFTER_MS = 5_000;
/**
 * A watch reports the change for which the run waits. If the watch is silent, the run looks again after this time, in
 * milliseconds.
 */
const LONGEST_WAIT_MS = 60_000;
/** After this time, in milliseconds, an object may have had children even if nothing says so. */
const NEW_MS = 60_000;

/**
 * The stores of the engine, restricted to one object and its children: the object is selected by its name, and its children by the
 * label with its uid. They are filled by lists, and by our own writes. Watches continue from the lists, but only while the run waits
 * for something. Once open, a watch stays open until the run ends, so the API server is not asked again and again.
 */
export class RunWatches {
  readonly objects: CustomResources;
  /** One store for all reconciles: a child that has not changed since the last reconcile is not applied again. */
  readonly children: ChildStore;
  /** By what they show. */
  private readonly reflectors = new Map<string, Reflector>();
  private isObjectListed = false;
  private areChildrenListed = false;
  /** Whether an answer or a watch has shown the object changed, or gone, since it was last read. */
  private isChanged = false;
  /** Ends the wait in progress, or the next one. */
  private wake = () => {};
  private news = this.newsToCome();

  constructor(
    private readonly options: {
      readonly operator: Operator;
      readonly client: KubernetesClient;
      /** The object's kind, as the API serves it. */
      readonly resource: Resource;
      readonly name: ObjectName;
      /** The namespace of the run's Workflow. */
      readonly namespace: string;
      /** The kinds of the children, as the API serves them. */
      readonly childResources: readonly Resource[];
    },
  ) {
    const { operator, client, resource, namespace } = options;
    const { watch } = operator;
    this.objects = new CustomResources({
      client,
      resource,
      emit: () => {
        this.isChanged = true;
        this.wake();
      },
      watched: watch && {
        isWatched: isWatchedBy(operator, namespace),
        partsOf: (object) => partsOf(object, watch.on),
        isReady: () => false,
      },
    });
    this.children = new ChildStore({ client, operator, ownerKind: resource, emit: () => this.wake() });
  }

  /**
   * The object. Undefined if there is none, or if it is none of those that are watched. It is listed if it is not known: while the
   * cluster does not serve the kind, the answer to a GET is that there is no object, and a list fails.
   * @throws UnknownKindError, ApiError, ApiUnreachableError
   */
  async read(): Promise<KubernetesObject | undefined> {
    const { objects, options } = this;
    const { client, resource, name } = options;
    const { namespace } = name;
    const selection = { client, resource, namespace, ...named(name.name), sink: objects.sink(namespace) };
    this.isObjectListed ||= (await unlessGone(client, name, () => this.list("object", selection))) === true;
    this.isChanged = false;
    return this.isObjectListed && objects.has(name) ? objects.readToReconcile(name) : undefined;
  }

  /** What is known may be outdated: the object is read again, and its children are listed again. */
  forget(): void {
    this.isObjectListed = false;
    this.areChildrenListed = false;
    this.objects.invalidate(this.options.name);
  }

  /**
   * Lists an object's children if they are not known. A new object has none: one that is a moment old, and of which nothing is
   * remembered. The engine's memory does not say which kinds there may be: a client may have emptied it, or put back an older one.
   *
   * As with a resident runner, a kind that cannot be listed holds up only the objects of which the engine remembers children of
   * that kind there. If the kind is missing or we may not list it, it holds up no object that is being deleted: our rights in a
   * namespace go before the objects in it.
   *
   * Caveat: another run of a new object may have been ended while it applied children. If the handler answers such a child, the child
   * is found by its name, and everything is listed for another reconcile.
   * @param memory the engine's memory of the object
   * @param isElsewhere whether the object may have children outside of its own namespace
   * @param wasInterrupted whether a reconcile of this run was interrupted, so that it may have applied children that no memory
   *   names
   * @throws UnknownKindError, ApiError, ApiUnreachableError
   */
  async learnChildren(
    object: KubernetesObject,
    memory: RememberedPlaces,
    isElsewhere: boolean,
    wasInterrupted: boolean,
  ): Promise<void> {
    if (this.areChildrenListed) return;
    const { operator, client, childResources } = this.options;
    const { namespace: home, uid, deletionTimestamp } = object.metadata;
    const isNothing = operator.watch === undefined && memory.kinds.length === 0 && !wasInterrupted;
    const hasNone = isNothing && isNew(object, client);
    const isEverywhere = home === undefined || isElsewhere || wasInterrupted;
    // We may list nothing in a namespace that the operator no longer lists.
    const here = isListed(operator.namespaces, home) ? [home] : [];
    const lists = (hasNone ? [] : childResources).flatMap((resource) => {
      if (!resource.namespaced && !isEverywhere) return [];
      const scopes = isEverywhere ? scopesOf(operator.namespaces, resource) : here;
      return scopes.map(async (namespace) => {
        const key = keyOf(resource, namespace);
        try {
          if (wasInterrupted || !this.reflectors.get(key)?.isFollowing)
            await this.list(key, this.childrenIn(resource, namespace, uid));
        } catch (error) {
          const isPlace = isPlaceOfChildren(object, memory, resource, namespace);
          const isNeeded = isPlace && !(deletionTimestamp !== undefined && isOutOfReach(error));
          const isRefused =
            error instanceof UnknownKindError || (error instanceof ApiError && !isBusy(error));
          if (isNeeded || !isRefused) throw error;
        }
      });
    });
    await Promise.all(lists);
    this.areChildrenListed = true;
  }

  /**
   * Waits until another reconcile would find something new: the object has changed or is gone, enough children are ready, or
   * a child is gone.
   * @param mostUnready how many children may still not be ready. Undefined: the run waits for the object only
   * @returns false if nothing happened within this many milliseconds, or the signal aborted
   */
  async awaitNews(
    ms: number,
    mostUnready: number | undefined,
    signal: AbortSignal | undefined,
  ): Promise<boolean> {
    const { children, objects, options } = this;
    const begin = performance.now();
    const uid = objects.uidOf(options.name) ?? "";
    const count = children.of(uid).length;
    if (mostUnready !== undefined) this.watchUnready(uid);
    for (;;) {
      if (this.isChanged || !this.isObjectListed) return true;
      const left = children.of(uid);
      const unready = left.filter(({ facts }) => !facts.isReady).length;
      if (mostUnready !== undefined && (left.length < count || unready <= mostUnready)) return true;
      const leftMs = begin + ms - performance.now();
      if (leftMs <= 0 || signal?.aborted) return false;
      const untilWatch = begin + WATCH_OBJECT_AFTER_MS - performance.now();
      if (untilWatch <= 0) this.reflectors.get("object")?.startWatching();
      await this.nextNews(Math.min(leftMs, untilWatch > 0 ? untilWatch : LONGEST_WAIT_MS), signal);
    }
  }

  /** Ends every watch. */
  async stopAll(): Promise<void> {
    await Promise.all([...this.reflectors.values()].map((each) => each.stopWatching()));
  }

  /** Lists what a new reflector shows. @returns true @throws UnknownKindError if the cluster does not serve the kind */
  private async list(key: string, options: ReflectorOptions): Promise<true> {
    await this.reflectors.get(key)?.stopWatching();
    try {
      await this.reflector(key, options).list();
      return true;
    } catch (error) {
      const { apiVersion, kind } = options.resource;
      throw isApiError(error, 404) ? new UnknownKindError(apiVersion, kind) : error;
    }
  }

  private reflector(key: string, options: ReflectorOptions): Reflector {
    const reflector = new Reflector({ ...options, onSynced: () => this.wake() });
    this.reflectors.set(key, reflector);
    return reflector;
  }

  private childrenIn(resource: Resource, namespace: string | undefined, uid: string): ReflectorOptions {
    const { client } = this.options;
    const labelSelector = `${OWNER_UID_LABEL}=${uid}`;
    return { client, resource, namespace, labelSelector, sink: this.children.sink(resource, namespace) };
  }

  /** Begins one watch for each kind and namespace in which a child is not ready. */
  private watchUnready(uid: string): void {
    for (const { resource, namespace, facts } of this.children.of(uid)) {
      if (facts.isReady) continue;
      const key = keyOf(resource, namespace);
      const known = this.reflectors.get(keyOf(resource, undefined)) ?? this.reflectors.get(key);
      const from = this.oldestOf(uid, resource);
      const reflector = known ?? this.reflector(key, { ...this.childrenIn(resource, namespace, uid), from });
      reflector.startWatching();
    }
  }

  /** The oldest version of the children of a kind that was never listed. A watch from there misses nothing. */
  private oldestOf(uid: string, resource: Resource): string {
    const [first = "", ...others] = this.children
      .of(uid)
      .filter((child) => kindKey(child.resource) === kindKey(resource))
      .map(({ resourceVersion }) => resourceVersion);
    return others.reduce((oldest, version) => (isNewer(oldest, version) ? version : oldest), first);
  }

  /** Resolves when something has changed since the last wait, after this many milliseconds, or when the signal aborts. */
  private async nextNews(ms: number, signal: AbortSignal | undefined): Promise<void> {
    const wake = () => this.wake();
    signal?.addEventListener("abort", wake);
    await within(ms, this.news);
    signal?.removeEventListener("abort", wake);
    this.news = this.newsToCome();
  }

  private newsToCome(): Promise<void> {
    return new Promise((resolve) => {
      this.wake = resolve;
    });
  }
}

function keyOf(resource: Resource, namespace: string | undefined): string {
  return `${kindKey(resource)}/${namespace ?? ""}`;
}

/** Whether nothing was reported on the object yet, so that no run can have ended. A client may have emptied an older one's status. */
function isNew({ metadata, status }: KubernetesObject, client: KubernetesClient): boolean {
  const { generation, creationTimestamp = "" } = metadata;
  const observed = isRecord(status) && Number(status["observedGeneration"]) > 0;
  if (generation !== 1 || observed || conditionsIn(status).length > 0) return false;
  return client.now() - Date.parse(creationTimestamp) < NEW_MS;
}
