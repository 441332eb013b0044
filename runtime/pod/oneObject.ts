import { ChildStore } from "../children/childStore";
import { ChildWriter } from "../children/childWriter";
import { ownManagers } from "../children/marks";
import { whyNotReady } from "../children/readiness";
import type { Operator } from "../definition/definition";
import { ReconcileFailure } from "../failure";
import type { DueSchedule, HandlerEvent, Used } from "../handler/contract";
import type { HandlerPool } from "../handler/handlerPool";
import { isRecord } from "../json";
import type { KubernetesClient } from "../kubernetes/client";
import { discover, UnknownKindError } from "../kubernetes/discovery";
import { isApiError } from "../kubernetes/errors";
import type { KubernetesObject, ObjectName } from "../kubernetes/objects";
import { isNewer, timeOf } from "../kubernetes/objects";
import { kindKey, type Resource } from "../kubernetes/resource";
import { fieldManagerOf, formerIdentitiesOf, formerManagersOf, OWNER_UID_LABEL } from "../names";
import { EventWriter } from "../outbox/eventWriter";
import { messageAbout } from "../outbox/message";
import type { RunRecord } from "../outbox/recorder";
import { Teller } from "../outbox/teller";
import { Finalizers } from "../reconcile/finalizers";
import { KeptMemories } from "../reconcile/keptMemories";
import { type Memories, statusMemories } from "../reconcile/memories";
import type { Footprint } from "../reconcile/memory";
import type { Outcome } from "../reconcile/outcome";
import { Reconcile } from "../reconcile/reconcile";
import type { ReconcileReport } from "../reconcile/report";
import { Statuses } from "../status/statuses";
import { StatusWriter } from "../status/statusWriter";
import { DirectUse } from "../uses/directUse";
import { type GatheredUse, gatherUsed } from "../uses/used";
import { partsOf } from "../watch/watched";
import { Following } from "./following";
import { childrenFingerprint, contentFingerprint, usedFingerprint } from "./footprint";
import { ReadMemories } from "./readMemories";
import type { RunTrace } from "./runTrace";
import { isWatched } from "./watchedObjects";

/** What {@link OneObject} works with. */
export interface OneObjectOptions {
  readonly operator: Operator;
  /** The custom resource's kind, and its children's, as the API serves them. */
  readonly resource: Resource;
  readonly childResources: readonly Resource[];
  readonly client: KubernetesClient;
  readonly pool: HandlerPool;
  readonly name: ObjectName;
  /** The uid that the object had when the run was submitted, if that is known. */
  readonly uid?: string | undefined;
  /** The namespace of the run: the platform's. */
  readonly namespace: string;
  /** The pod's name, for Kubernetes Events. */
  readonly instance: string;
  /** The name of the Workflow that records a run: this pod's own, if the status is to name it. */
  readonly runName: (report: ReconcileReport) => string | undefined;
  /** A fingerprint of the program that runs: see `programOfRun`. */
  readonly program: string | undefined;
  /** Whether the run will have ended after this many milliseconds. */
  readonly isBeyondRun: (afterMs: number) => boolean;
  /** The trace of the run. @default none */
  readonly trace?: RunTrace | undefined;
}

const nobody = () => {};
/**
 * If a run waits for longer than this, it begins to watch its object. Children of most updates are ready by then, which
 * saves that call. Until then a change of the object is noticed at the end of the wait.
 */
const WATCH_OBJECT_AFTER_MS = 5_000;
/** A watch reports what the run waits for. If the watch is silent, the run looks again after this time. */
const LONGEST_WAIT_MS = 60_000;

/**
 * The engine's reconcile of one object, without the watches of a resident runner. The object is read from the API
 * server once, and then known from the answers to our own writes. Its children are listed, unless the engine's memory
 * says that there are none. Watches are open only while the run waits, and only for what it waits for.
 *
 * Caveat: if a child has lost its labels, it is found by its name and labelled again as long as the handler answers
 * it. If the handler no longer answers it, it stays until its object is deleted.
 *
 * Assumption: nobody else works on this object meanwhile. Nothing fences a run in a pod of its own. Instead, the mutex
 * of its Workflow lets no other Workflow of that object run.
 */
export class OneObject {
  private readonly teller: Teller;
  private readonly reconciling: Reconcile;
  /** One store for all reconciles: what has not changed since the last one is not applied again. */
  private readonly children: ChildStore;
  private readonly finalizers: Finalizers;
  private readonly memories: Memories;
  /** The newest known state of the object. */
  private object: KubernetesObject | undefined;
  /** The object as the handler sees it. */
  private handled: KubernetesObject | undefined;
  /** What it uses, as the handler sees it. */
  private used: Used = {};
  private readonly direct: DirectUse;
  /** The version of the list of children, by kind. Undefined if they are to be listed. */
  private listed: Map<string, string> | undefined;
  private readonly following = new Following();

  constructor(private readonly options: OneObjectOptions) {
    const { client, resource, childResources, operator, instance, pool, runName } = options;
    const fieldManager = fieldManagerOf(operator);
    const formerManagers = formerManagersOf(operator);
    this.direct = new DirectUse(operator, client);
    const children = new ChildStore({
      client,
      ownerKind: resource,
      fieldManager,
      managers: ownManagers(fieldManager, formerManagers),
      onChange: this.following.wake,
    });
    const read = async () => this.object;
    const learn = (object: KubernetesObject) => {
      this.object = object;
    };
    const statuses = new Statuses({ writer: new StatusWriter({ resource, fieldManager }), read, learn });
    const kept = this.keptMemories();
    this.memories = kept ?? statusMemories(statuses);
    this.children = children;
    this.finalizers = new Finalizers(resource, operator);
    this.reconciling = new Reconcile({
      operator,
      resource,
      childResources,
      pool,
      children,
      memories: this.memories,
      departures: kept && {
        resource,
        memories: kept,
        children,
        isWatched: (uid) => uid === this.object?.metadata.uid,
        isBlind: true,
        // The run has asked whether the kind is served.
        assertSeen: nobody,
      },
      used: (object, event) => this.gather(object, event),
      writer: new ChildWriter({ store: children, ownerKind: resource, fieldManager, formerManagers }),
      objects: {
        read,
        learn,
        invalidate: () => this.forget(),
        isGoing: () => false,
      },
      recordOf: runName,
      footprintOf: (uid, report) => this.footprintOf(uid, report),
    });
    this.teller = new Teller({
      statuses: this.memories,
      events: new EventWriter({ controller: fieldManager, instance, onDrop: nobody }),
      // The Workflow of this pod is there already.
      record: async () => true,
    });
  }

  /** The newest known state of the object. Undefined if the object is gone, or must be read. */
  get known(): KubernetesObject | undefined {
    return this.object;
  }

  /** The object. It is read if it is not known. Undefined if there is none. */
  async read(): Promise<KubernetesObject | undefined> {
    this.object ??= this.ifWatched(await this.options.client.get(this.options.resource, this.options.name));
    return this.object;
  }

  /** What is known may be outdated: the next reconcile reads the object and lists its children. */
  forget(): void {
    this.object = undefined;
    this.listed = undefined;
  }

  /**
   * Reconciles the object, and reports on it.
   * @param object as {@link read} gave it just before. Undefined: it is not ours, and is gone
   * @param due schedules that somebody starts by hand
   * @throws ApiError, ApiUnreachableError, UnknownKindError if its children cannot be listed
   */
  async reconcile(
    object: KubernetesObject | undefined,
    attempt: number,
    due?: readonly DueSchedule[],
  ): Promise<ReconcileReport> {
    const { client, name, resource, runName } = this.options;
    const trace = this.options.trace?.begin();
    this.handled = object;
    if (object) this.listed ??= await this.listChildren(object);
    const outcome = await this.sayMissingKind(
      await this.reconciling.reconcile(name, attempt, { client, assert: nobody, due, trace }),
    );
    const run = runName(outcome.report);
    const record: RunRecord | undefined = run === undefined ? undefined : { name: run, isFailure: false };
    const message = messageAbout(outcome, resource, record);
    const from = performance.now();
    // If the report fails, the run does not fail: the next run reports.
    if (message) await this.teller.tell(client, name, message);
    const told = message && { from, to: performance.now() };
    if (trace) this.options.trace?.ended(trace, outcome.report, told);
    return outcome.report;
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
    const { object } = this;
    if (!object) return true;
    const begin = performance.now();
    const { uid } = object.metadata;
    const count = this.children.of(uid).length;
    if (mostUnready !== undefined) await this.watchUnready(object);
    for (;;) {
      if (this.triggerOf(this.object) !== this.triggerOf(object)) return true;
      if (mostUnready !== undefined) {
        const isShort = this.children.of(uid).length < count;
        if (isShort || (await this.unready(uid)) <= mostUnready) return true;
      }
      const left = begin + ms - performance.now();
      if (left <= 0 || signal?.aborted) return false;
      const untilWatch = begin + WATCH_OBJECT_AFTER_MS - performance.now();
      if (untilWatch <= 0) this.watchObject(object);
      await this.following.next(Math.min(left, untilWatch > 0 ? untilWatch : LONGEST_WAIT_MS), signal);
    }
  }

  /** Ends every watch. */
  close(): Promise<void> {
    return this.following.stop();
  }

  /** How many children are not ready. */
  private async unready(uid: string): Promise<number> {
    const read = await Promise.all(this.children.of(uid).map((child) => this.children.read(child)));
    return read.filter((child) => child !== undefined && whyNotReady(child) !== undefined).length;
  }

  /** Opens one watch for each kind and namespace in which a child is not ready. */
  private async watchUnready({ metadata: { uid } }: KubernetesObject): Promise<void> {
    const { client } = this.options;
    for (const child of this.children.of(uid)) {
      const read = await this.children.read(child);
      if (read && whyNotReady(read) === undefined) continue;
      const { resource, namespace } = child;
      this.following.open(`${kindKey(resource)}/${namespace ?? ""}`, {
        client,
        resource,
        labelSelector: `${OWNER_UID_LABEL}=${uid}`,
        ...(namespace !== undefined && { namespace }),
        from: this.listed?.get(kindKey(resource)) ?? this.oldestOf(uid, resource),
        sink: this.children.sink(resource, namespace),
      });
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

  private watchObject({ metadata }: KubernetesObject): void {
    const { client, resource, name } = this.options;
    const { namespace } = name;
    const gone = () => {
      this.forget();
      this.following.wake();
    };
    let isThere = true;
    this.following.open("object", {
      client,
      resource,
      fieldSelector: `metadata.name=${name.name}`,
      ...(namespace !== undefined && { namespace }),
      from: metadata.resourceVersion,
      sink: {
        listing: () => {
          isThere = false;
        },
        set: (object) => {
          isThere = true;
          const { uid, resourceVersion } = this.object?.metadata ?? {};
          const isOlder =
            resourceVersion !== undefined && !isNewer(object.metadata.resourceVersion, resourceVersion);
          if (uid === object.metadata.uid && isOlder) return;
          this.object = this.ifWatched(object);
          this.following.wake();
        },
        listed: () => {
          if (!isThere) gone();
        },
        remove: gone,
      },
    });
  }

  /** Reads what the object uses, and remembers that for the next resync. */
  private async gather(object: KubernetesObject, event: HandlerEvent): Promise<GatheredUse> {
    const gathered = await gatherUsed(this.options.operator, object, event, this.direct);
    this.used = gathered.used;
    return gathered;
  }

  /** The memories of an object that is not ours. Undefined if it is. */
  private keptMemories(): KeptMemories | undefined {
    const { client, operator, resource, namespace, uid } = this.options;
    if (!operator.watch) return undefined;
    const identities = [operator, ...formerIdentitiesOf(operator)] as const;
    const shelf = new ReadMemories({ client, identities, namespace, uid });
    return new KeptMemories({ operator, resource, namespace, shelf, isThere: () => true });
  }

  /** The object, if it is one of ours or has what the operator watches. */
  private ifWatched(object: KubernetesObject | undefined): KubernetesObject | undefined {
    return object && isWatched(object, this.options.operator) ? object : undefined;
  }

  /** What another reconcile is needed for, if it differs. */
  private triggerOf(object: KubernetesObject | undefined): string {
    if (!object) return "";
    const { watch } = this.options.operator;
    const { uid, generation, deletionTimestamp } = object.metadata;
    return JSON.stringify([uid, watch ? partsOf(object, watch.on) : generation, deletionTimestamp]);
  }

  /** How the run leaves the object, for the next resync. */
  private footprintOf(uid: string, { againAfterMs }: ReconcileReport): Footprint {
    const { operator, program, isBeyondRun } = this.options;
    const isLater = againAfterMs !== undefined && isBeyondRun(againAfterMs);
    return {
      content: this.handled && contentFingerprint(this.handled, operator),
      children: childrenFingerprint(this.children.of(uid), operator),
      used: usedFingerprint(this.used),
      program,
      dueAt: isLater ? timeOf(new Date(Date.now() + againAfterMs)) : undefined,
    };
  }

  /** A child may have been refused because the cluster does not serve its kind. That is not looked up before. */
  private async sayMissingKind(outcome: Outcome): Promise<Outcome> {
    const { failure } = outcome.report;
    if (failure?.reason !== "ChildRefused" || !isApiError(failure.cause, 404)) return outcome;
    for (const child of this.options.operator.children) {
      const isMissing = await discover(this.options.client, child.apiVersion, child.kind).then(
        () => false,
        (error: Error) => error instanceof UnknownKindError,
      );
      if (!isMissing) continue;
      const message = `the cluster serves no kind ${child.kind} (${child.apiVersion}), of which the handler answered a child. Install what brings that kind: the object is reconciled again at the next resync.`;
      const missing = new ReconcileFailure("KindMissing", message);
      return {
        ...outcome,
        report: { ...outcome.report, failure: missing },
        verdict: { kind: "failed", failure: missing },
      };
    }
    return outcome;
  }

  /**
   * Lists the object's children by the label with its uid. If every generation except the newest was observed, only
   * the kinds in the engine's memory are listed. Otherwise a run may have ended before it could remember what it had
   * applied, and every kind is listed.
   * @returns the version of each list, by kind
   */
  private async listChildren(object: KubernetesObject): Promise<Map<string, string>> {
    const { namespace: home, uid } = object.metadata;
    const { client, childResources, operator } = this.options;
    const { kinds, elsewhere } = await this.memories.of(object);
    const isSure = operator.watch === undefined && isNext(object);
    const hasElsewhere = operator.watch ? elsewhere === true : this.finalizers.forElsewhere(object);
    const isEverywhere = home === undefined || hasElsewhere;
    const everywhere = operator.namespaces === "all" ? [undefined] : operator.namespaces;
    const listed = new Set<string>();
    const versions = new Map<string, string>();
    const lists = childResources.flatMap((resource) => {
      if (isSure && !kinds.includes(kindKey(resource))) return [];
      const scopes = !resource.namespaced ? [undefined] : isEverywhere ? everywhere : [home];
      if (!resource.namespaced && !isEverywhere) return [];
      return scopes.map(async (namespace) => {
        const selection = {
          labelSelector: `${OWNER_UID_LABEL}=${uid}`,
          ...(namespace !== undefined && { namespace }),
        };
        try {
          const version = await client.list(resource, selection, (items) => {
            this.children.learn(resource, items);
            for (const { metadata } of items) listed.add(metadata.uid);
          });
          const other = versions.get(kindKey(resource));
          if (other === undefined || isNewer(other, version)) versions.set(kindKey(resource), version);
        } catch (error) {
          throw isApiError(error, 404) ? new UnknownKindError(resource.apiVersion, resource.kind) : error;
        }
      });
    });
    await Promise.all(lists);
    this.children.retain(listed);
    return versions;
  }
}

/** Whether the generation before the object's own was observed, so that exactly one run is due. */
function isNext({ metadata: { generation = 1 }, status }: KubernetesObject): boolean {
  const observed = isRecord(status) ? status["observedGeneration"] : undefined;
  return generation - (typeof observed === "number" ? observed : 0) === 1;
}
