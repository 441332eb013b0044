import { ChildStore, type ChildStoreOptions } from "./children/childStore";
import { GRANT_REMEDY } from "./children/refusals";
import type { Operator } from "./definition/definition";
import { ReconcileFailure } from "./failure";
import { awaitKind } from "./kubernetes/awaitKind";
import type { KubernetesClient } from "./kubernetes/client";
import { discover } from "./kubernetes/discovery";
import { isApiError } from "./kubernetes/errors";
import type { KubernetesObject } from "./kubernetes/objects";
import { kindKey, type Resource } from "./kubernetes/resource";
import { CHILD_OF_LABEL, formerIdentitiesOf, identityOf } from "./names";
import { StillListingError } from "./reconcile/errors";
import { CustomResources, type CustomResourcesOptions } from "./watch/customResources";
import { type NotSynced, Scopes } from "./watch/scopes";
import { within } from "./within";

/** What {@link Watches} watch, and who is called. */
export interface WatchesOptions
  extends Pick<CustomResourcesOptions, "onChange" | "onGone">,
    Pick<ChildStoreOptions, "fieldManager" | "managers"> {
  readonly client: KubernetesClient;
  readonly operator: Operator;
  /** The custom resource's kind. */
  readonly resource: Resource;
  readonly onChild: ChildStoreOptions["onChange"];
  /** Called when a kind was listed in a namespace for the first time: objects that wait for it can be reconciled. */
  readonly onSynced: () => void;
  readonly onInterruption: (kind: string, error: Error) => void;
}

/** How long the start waits for the first lists, in milliseconds. Later lists are completed beside the work. */
const LISTING_PATIENCE_MS = 5_000;

/**
 * What one operator knows of its cluster: its custom resources and their children, kept up to date by watches. Children
 * are selected by the label that all of them bear, so that other objects are not even read.
 *
 * Guarantee (tests/integration/hostile/namespaces.test.ts): a kind or a namespace that is missing holds up only the
 * objects that need it, and {@link whyNot} says which.
 */
export class Watches {
  readonly objects: CustomResources;
  readonly children: ChildStore;
  /** The kinds of the children that were found in the cluster so far. */
  readonly childResources: Resource[] = [];
  private readonly objectScopes: Scopes;
  private readonly childScopes: Scopes;
  private readonly stopping = new AbortController();

  constructor(private readonly options: WatchesOptions) {
    const { client, operator, resource, onChange, onGone, onChild, onSynced, onInterruption } = options;
    const { fieldManager, managers } = options;
    this.objects = new CustomResources({ client, resource, onChange, onGone });
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
    this.objectScopes = new Scopes({ ...shared, sink: (_, namespace) => this.objects.sink(namespace) });
    this.childScopes = new Scopes({
      ...shared,
      labelSelector: `${CHILD_OF_LABEL} in (${[operator, ...formerIdentitiesOf(operator)].map(identityOf).join(",")})`,
      sink: (kind, namespace) => this.children.sink(kind, namespace),
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
    const finding = operator.children.map(async ({ apiVersion, kind }) => {
      const onWait = (reason: Error) => onInterruption(kind, reason);
      const found = awaitKinds
        ? await awaitKind(client, apiVersion, kind, { signal, onWait })
        : await discover(client, apiVersion, kind);
      this.childResources.push(found);
      this.childScopes.add(found);
    });
    const found = Promise.all(finding);
    if (!awaitKinds) await found;
    signal.throwIfAborted();
    this.objectScopes.add(resource);
    const listed = found.then(() =>
      Promise.all([this.objectScopes.whenListed(), this.childScopes.whenListed()]),
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
    await Promise.all([this.objectScopes.stop(), this.childScopes.stop()]);
  }

  /** Lists the custom resources again, so that none is older than this call. */
  async refreshObjects(): Promise<void> {
    await this.objectScopes.relist();
  }

  /** Lists everything again. That finds what no watch reports, such as a default that was added to a CRD. */
  async relist(): Promise<void> {
    await this.objectScopes.relist();
    await this.childScopes.relist();
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
    const served = this.childResources.map(kindKey);
    const missing = operator.children
      .map(kindKey)
      .find((kind) => kinds.includes(kind) && !served.includes(kind));
    if (missing !== undefined) {
      return kindMissing(missing);
    }
    const { namespace } = object.metadata;
    const notSynced = this.childScopes
      .notSynced(isElsewhere ? undefined : namespace)
      .find(({ resource, problem }) => !problem || kinds.includes(kindKey(resource)));
    return notSynced && notSyncedError(notSynced);
  }
}

const RETRY = { retryAfterSeconds: 30 };
const ROLE_REMEDY =
  "Somebody probably changed the runner's ClusterRole or its ClusterRoleBinding: run `pulumi up --refresh`.";

function kindMissing(kind: string): ReconcileFailure {
  const message = `the cluster serves no ${kind}, of which the object has children. Install what brings that kind: the object is reconciled again as soon as it is there.`;
  return new ReconcileFailure("KindMissing", message, RETRY);
}

function notSyncedError({ resource, namespace, problem }: NotSynced): ReconcileFailure | StillListingError {
  const what = `${kindKey(resource)}${namespace === undefined ? "" : ` in namespace ${namespace}`}`;
  if (!problem) return new StillListingError(what);
  if (isApiError(problem, 404)) return kindMissing(kindKey(resource));
  const message = `the runner may not list ${what}: ${problem.message}.`;
  if (namespace === undefined)
    return new ReconcileFailure("KindNotListed", `${message} ${ROLE_REMEDY}`, RETRY);
  return new ReconcileFailure("NamespaceNotGranted", `${message} ${GRANT_REMEDY}`, RETRY);
}
