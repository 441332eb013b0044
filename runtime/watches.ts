import { ChildStore, type ChildStoreOptions } from "./children/childStore";
import { isOwnWork, type Owner } from "./children/ownership";
import { GRANT_REMEDY } from "./children/refusals";
import type { Operator, Watch } from "./definition/definition";
import { ReconcileFailure } from "./failure";
import { awaitKind } from "./kubernetes/awaitKind";
import type { KubernetesClient } from "./kubernetes/client";
import { discover, UnknownKindError } from "./kubernetes/discovery";
import { isApiError } from "./kubernetes/errors";
import { isNeverGiven } from "./kubernetes/kinds";
import { formatName, type KubernetesObject, type ObjectName } from "./kubernetes/objects";
import { isSameKind, kindKey, type Resource } from "./kubernetes/resource";
import {
  CHILD_OF_LABEL,
  elsewhereFinalizerOf,
  finalizerOf,
  formerIdentitiesOf,
  identityOf,
  OPERATOR_LABEL,
} from "./names";
import { StillListingError } from "./reconcile/errors";
import { memoryResourceOf } from "./reconcile/keptMemories";
import { MemoryStore } from "./reconcile/memoryStore";
import { UsedObjects, type UsedObjectsOptions } from "./uses/usedObjects";
import { CustomResources, type CustomResourcesOptions, type WatchedObjects } from "./watch/customResources";
import { type NotSynced, Scopes } from "./watch/scopes";
import { isSelected, labelSelectorOf, madeOf, partsOf } from "./watch/watched";
import { within } from "./within";

/** What {@link Watches} watch, and who is called. */
export interface WatchesOptions
  extends Pick<CustomResourcesOptions, "onChange" | "onGone">,
    Pick<ChildStoreOptions, "fieldManager" | "managers"> {
  readonly client: KubernetesClient;
  readonly operator: Operator;
  /** The kind of the objects. */
  readonly resource: Resource;
  /** The platform's namespace. */
  readonly namespace: string;
  readonly onChild: ChildStoreOptions["onChange"];
  /** What custom resources use has changed. */
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
  /** Somebody deleted what was remembered of an object that is not ours. */
  readonly onLost: (name: ObjectName) => void;
}

/** How long the start waits for the first lists, in milliseconds. Later lists are completed beside the work. */
const LISTING_PATIENCE_MS = 5_000;

/**
 * What one operator knows of its cluster: its custom resources, or the objects of another kind that it watches, and their
 * children. Watches keep that up to date. Children are selected by the label that all of them have, so that other objects are
 * not even read.
 *
 * Guarantee (tests/integration/hostile/namespaces.test.ts): a kind or a namespace that is missing holds up only the
 * objects that need it, and {@link whyNot} says which.
 */
export class Watches {
  readonly objects: CustomResources;
  readonly children: ChildStore;
  /** What the custom resources use. */
  readonly used: UsedObjects;
  /** What is remembered of objects that are not ours. Undefined if they are. */
  readonly memories: MemoryStore | undefined;
  /** The kinds of the children that were found in the cluster so far. */
  readonly childResources: Resource[] = [];
  private readonly objectScopes: Scopes;
  private readonly childScopes: Scopes;
  private readonly memoryScopes: Scopes | undefined;
  private readonly stopping = new AbortController();

  constructor(private readonly options: WatchesOptions) {
    const { client, operator, resource, onChange, onGone, onChild, onSynced, onInterruption } = options;
    const { fieldManager, managers, namespace, onLost } = options;
    const { watch } = operator;
    const former = formerIdentitiesOf(operator);
    const identities = [operator, ...former].map(identityOf).join(",");
    this.memories =
      watch &&
      new MemoryStore({
        client,
        identities: [operator, ...former],
        assertKnown: () => this.assertRemembers(),
        onLost,
      });
    this.used = new UsedObjects({
      client,
      operator,
      onChange: options.onUsed,
      onInterruption,
      isActive: options.isActive,
      ...(options.usedPollMs !== undefined && { pollMs: options.usedPollMs }),
    });
    const onSeen: CustomResourcesOptions["onSeen"] = (name, object) => this.used.see(name, object);
    this.objects = new CustomResources({
      client,
      resource,
      finalizers: watch ? [] : [finalizerOf(operator), elsewhereFinalizerOf(operator)],
      onChange,
      onGone,
      onSeen,
      ...(watch && { watched: this.watched(watch) }),
    });
    this.children = new ChildStore({
      client,
      ownerKind: resource,
      fieldManager,
      managers,
      onChange: onChild,
    });
    const shared = {
      client,
      namespaces: operator.namespaces,
      onSynced,
      onInterruption: ({ kind }: Resource, error: Error) => onInterruption(kind, error),
    };
    const labelSelector = watch && labelSelectorOf(watch);
    this.objectScopes = new Scopes({
      ...shared,
      ...(labelSelector !== undefined && { labelSelector }),
      sink: (_, namespace) => this.objects.sink(namespace),
    });
    const { memories } = this;
    this.memoryScopes =
      memories &&
      new Scopes({
        ...shared,
        namespaces: [namespace],
        labelSelector: `${OPERATOR_LABEL} in (${identities})`,
        sink: (_, where) => memories.sink(where),
      });
    this.childScopes = new Scopes({
      ...shared,
      labelSelector: `${CHILD_OF_LABEL} in (${identities})`,
      sink: (kind, namespace) => this.children.sink(kind, namespace),
      onRefused: (kind, error, namespace) => {
        if (isApiError(error, 404)) options.onUnserved(this.ownersOf(kind, namespace));
      },
    });
  }

  /**
   * Begins to watch. Resolves when everything was listed, or the first lists took too long.
   * @param awaitKinds whether to wait, beside the work, for kinds of children that the cluster does not serve yet
   * @throws UnknownKindError if the cluster does not serve a kind and `awaitKinds` is false
   */
  async start(awaitKinds: boolean): Promise<void> {
    const { client, operator, resource, onInterruption } = this.options;
    const { signal } = this.stopping;
    const finding = operator.children.map(async ({ apiVersion, kind, retired }) => {
      const onWait = (reason: Error) => onInterruption(kind, reason);
      const found = awaitKinds
        ? await awaitKind(client, apiVersion, kind, { signal, onWait })
        : await discover(client, apiVersion, kind).catch((error: unknown) => {
            // Nothing can be left of a kind that the cluster does not serve.
            if (retired && error instanceof UnknownKindError) return undefined;
            throw error;
          });
      // The answer may come after the stop. Nobody would end a watch that begins then.
      signal.throwIfAborted();
      if (!found) return;
      this.childResources.push(found);
      this.childScopes.add(found);
    });
    const found = Promise.all(finding);
    if (!awaitKinds) await found;
    signal.throwIfAborted();
    const usedListed = this.used.start();
    this.memoryScopes?.add(memoryResourceOf(operator));
    this.objectScopes.add(resource);
    const listed = found.then(() =>
      Promise.all([
        this.objectScopes.whenListed(),
        this.childScopes.whenListed(),
        this.memoryScopes?.whenListed(),
        usedListed,
      ]),
    );
    // Only the signal ends the wait for a kind.
    await within(
      LISTING_PATIENCE_MS,
      listed.catch(() => {}),
    );
    signal.throwIfAborted();
  }

  async stop(): Promise<void> {
    this.stopping.abort(new Error("stopped before it watched"));
    const scopes = [this.objectScopes, this.childScopes, this.memoryScopes, this.used];
    await Promise.all(scopes.map((each) => each?.stop()));
  }

  /**
   * Lists the objects again, and what is remembered of them, so that nothing is older than this call.
   * @returns false if the API server refused a part of that
   */
  async refreshObjects(): Promise<boolean> {
    const listed = await Promise.all([this.objectScopes.relist(), this.memoryScopes?.relist()]);
    return !listed.includes(false);
  }

  /** The objects, and what is remembered of them, may have changed unseen: each is read before it is reconciled. */
  doubtObjects(): void {
    this.objects.invalidateAll();
    this.memories?.invalidateAll();
  }

  /**
   * The names of all objects to look at. Objects that are not ours leave nothing behind that says that they were there: so
   * these are also the names of those that are remembered, and of those whose children are left.
   */
  names(): ObjectName[] {
    const { namespaces } = this.options.operator;
    if (!this.memories) return this.objects.names();
    const left = [...this.memories.names(), ...this.children.owners()].filter(
      ({ namespace = "" }) => namespaces === "all" || namespaces.includes(namespace),
    );
    const all = [...this.objects.names(), ...left];
    return [...new Map(all.map((name) => [formatName(name), name])).values()];
  }

  /**
   * Throws if an object of that name may be there although no watch shows it.
   * @throws ReconcileFailure, StillListingError
   */
  assertSeen({ namespace }: ObjectName): void {
    const [notSynced] = this.objectScopes.notSynced(namespace);
    if (notSynced) throw notSyncedError(notSynced, "of which it watches objects");
  }

  /** Lists everything again. That finds what no watch reports, such as a default that was added to a CRD. */
  async relist(): Promise<void> {
    await this.refreshObjects();
    await this.childScopes.relist();
    await this.used.relist();
  }

  /**
   * Why an object cannot be reconciled now: it may have children that are not known. Undefined if it can be reconciled.
   * @param kinds the kinds of children that the engine remembers for the object, as `kindKey` gives them
   * @param isElsewhere whether it has children in other namespaces
   */
  whyNot(
    object: KubernetesObject,
    kinds: readonly string[],
    isElsewhere: boolean,
  ): ReconcileFailure | StillListingError | undefined {
    const { operator } = this.options;
    if (operator.watch && this.roundsOf(object) > MOST_ROUNDS) return watchCycle();
    const served = this.childResources.map(kindKey);
    const isRemembered = (kind: string) => kinds.some((each) => isSameKind(each, kind));
    // Of a kind that is retired, and that the cluster does not serve, nothing is left.
    const missing = operator.children
      .filter(({ retired }) => !retired)
      .map(kindKey)
      .find((kind) => isRemembered(kind) && !served.includes(kind));
    if (missing !== undefined) {
      return kindMissing(missing);
    }
    const { namespace } = object.metadata;
    const notSynced = this.childScopes
      .notSynced(isElsewhere ? undefined : namespace)
      .find(({ resource, problem }) => !problem || isRemembered(kindKey(resource)));
    return notSynced && notSyncedError(notSynced);
  }

  /**
   * How many times in a row a watched object comes of this operator: 1 if it was made of a child of the operator's, 2 if that
   * child is one of an object that was made in the same way, and so on.
   */
  private roundsOf(object: KubernetesObject): number {
    let rounds = 0;
    for (let uids: readonly string[] = madeOf(object); rounds <= MOST_ROUNDS; rounds++) {
      const owner = uids.map((uid) => this.children.ownerOf(uid)).find((each) => each !== undefined);
      if (!owner) break;
      uids = this.objects.madeOf(owner);
    }
    return rounds;
  }

  /** The owners of the known children of a kind. @param namespace of the children. Undefined: all of them */
  private ownersOf(kind: Resource, namespace: string | undefined): Owner[] {
    return this.children.owners(
      (child) =>
        kindKey(child.resource) === kindKey(kind) &&
        (namespace === undefined || child.namespace === namespace),
    );
  }

  private watched({ labels, on }: Watch): WatchedObjects {
    const { managers } = this.options;
    return {
      isWatched: (object) =>
        isSelected(object, labels) && !isOwnWork(object, managers) && !isNeverGiven(object),
      partsOf: (object) => partsOf(object, on),
      isSettled: (object) => this.memories?.isSettled(object) ?? false,
    };
  }

  private assertRemembers(): void {
    const [notSynced] = this.memoryScopes?.notSynced(undefined) ?? [];
    if (notSynced) throw notSyncedError(notSynced, "in which is kept what must be remembered");
  }
}

/** So many times an object may come of this operator by way of others. Work in several steps takes one or two. */
const MOST_ROUNDS = 5;

function watchCycle(): ReconcileFailure {
  const message = `another operator makes objects of this operator's children, and this operator watches them: this one was made so more than ${MOST_ROUNDS} times in a row. No children are made of it, since that would go on without end.`;
  return new ReconcileFailure("WatchCycle", message, { permanent: true });
}

const RETRY = { retryAfterSeconds: 30 };
const ROLE_REMEDY =
  "Somebody probably changed the runner's ClusterRole or its ClusterRoleBinding: run `pulumi up --refresh`.";

function kindMissing(kind: string, why = "of which the object has children"): ReconcileFailure {
  const message = `the cluster serves no ${kind}, ${why}. Install what brings that kind: the object is reconciled again as soon as it is there.`;
  return new ReconcileFailure("KindMissing", message, RETRY);
}

function notSyncedError(
  { resource, namespace, problem }: NotSynced,
  why?: string,
): ReconcileFailure | StillListingError {
  const what = `${kindKey(resource)}${namespace === undefined ? "" : ` in namespace ${namespace}`}`;
  if (!problem) return new StillListingError(what);
  if (isApiError(problem, 404)) return kindMissing(kindKey(resource), why);
  const message = `the runner may not list ${what}: ${problem.message}.`;
  if (namespace === undefined)
    return new ReconcileFailure("KindNotListed", `${message} ${ROLE_REMEDY}`, RETRY);
  return new ReconcileFailure("NamespaceNotGranted", `${message} ${GRANT_REMEDY}`, RETRY);
}
