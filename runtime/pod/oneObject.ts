import { setTimeout as pause } from "node:timers/promises";
import { ChildIndex } from "../children/childIndex";
import { ChildWriter } from "../children/childWriter";
import { whyNotReady } from "../children/readiness";
import type { Operator } from "../definition/definition";
import type { HandlerPool } from "../handler/handlerPool";
import type { KubernetesClient } from "../kubernetes/client";
import { UnknownKindError } from "../kubernetes/discovery";
import { isApiError } from "../kubernetes/errors";
import type { KubernetesObject, ObjectName } from "../kubernetes/objects";
import type { Resource } from "../kubernetes/resource";
import { fieldManagerOf, finalizerOf, OWNER_UID_LABEL } from "../names";
import type { ReconcileReport } from "../reconcileReport";
import { Reconciler } from "../reconciler";
import { EventRecorder } from "../status/eventRecorder";
import { StatusWriter } from "../status/statusWriter";

/** What {@link OneObject} works with. */
export interface OneObjectOptions {
  readonly operator: Operator;
  /** The custom resource's kind, and its children's in the order of `operator.children`, as the API serves them. */
  readonly resource: Resource;
  readonly childResources: readonly Resource[];
  readonly client: KubernetesClient;
  readonly pool: HandlerPool;
  readonly name: ObjectName;
  /** The pod's name, for Kubernetes Events. */
  readonly instance: string;
  /** Names the Workflow that tells of a run: this pod's own, where it is to be told. */
  readonly runName: (report: ReconcileReport) => string | undefined;
}

/** An API server that is away must not hold up the end for Kubernetes Events. */
const EVENTS_GRACE_MS = 3_000;
/** Nothing fences a run in a pod of its own: its Workflow's mutex lets no other one of that object run. */
const noFence = () => {};
const nobody = () => {};

/**
 * The engine's reconcile of one object, without the watches of a resident runner: the object is read from the API
 * server each time, and its children are listed. Nobody else works on this object meanwhile.
 */
export class OneObject {
  private readonly events: EventRecorder;
  private readonly status: StatusWriter;
  /** One for all reconciles: what has not changed since the last one is neither read nor applied again. */
  private readonly index: ChildIndex;

  constructor(private readonly options: OneObjectOptions) {
    const { client, resource, childResources, operator, instance } = options;
    const fieldManager = fieldManagerOf(operator);
    this.index = new ChildIndex({
      client,
      ownerKind: resource,
      fieldManager,
      kinds: childResources,
      namespaces: operator.namespaces,
      onChange: nobody,
      onInterruption: nobody,
    });
    this.events = new EventRecorder({ client, controller: fieldManager, instance, onDrop: nobody });
    this.status = new StatusWriter({ client, resource, fieldManager, fence: noFence });
  }

  /** The object as it is now. */
  read(): Promise<KubernetesObject | undefined> {
    return this.options.client.get(this.options.resource, this.options.name);
  }

  /**
   * Reconciles the object.
   * @param object as it was read just before
   * @throws ApiError, ApiUnreachableError, UnknownKindError where its children cannot be listed
   */
  async reconcile(object: KubernetesObject, attempt: number): Promise<ReconcileReport> {
    const { options, index, events, status } = this;
    const { client, operator, name } = options;
    await this.learnChildren(object);
    const fieldManager = fieldManagerOf(operator);
    const reconciler = new Reconciler({
      ...options,
      index,
      children: new ChildWriter({ client, index, fieldManager, fence: noFence }),
      status,
      events,
      fence: noFence,
      objects: { read: async () => object, learn: nobody, invalidate: nobody },
    });
    return reconciler.reconcile(name, attempt);
  }

  /** Whether the children of the last reconcile are all ready, or one of them has gone: another one would tell more. */
  async childrenHaveSettled(uid: string): Promise<boolean> {
    const children = await Promise.all(
      this.index.of(uid).map((record) => this.options.client.get(record.resource, record)),
    );
    return children.every((child) => child === undefined || whyNotReady(child) === undefined);
  }

  /** Waits for what is left to be written. */
  async close(): Promise<void> {
    await Promise.race([this.events.flush(), pause(EVENTS_GRACE_MS, undefined, { ref: false })]);
  }

  /**
   * Finds the object's children: in its own namespace every object of a declared kind may be one, by its owner
   * reference, whatever became of its labels; elsewhere only those that carry the label with its uid. Of an object of
   * cluster scope an owner reference may be anywhere. Only metadata is listed.
   */
  private async learnChildren(object: KubernetesObject): Promise<void> {
    const { index } = this;
    const { client, childResources, operator } = this.options;
    const listed = new Set<string>();
    const { namespace: home, uid } = object.metadata;
    const labelSelector = `${OWNER_UID_LABEL}=${uid}`;
    const everywhere = operator.namespaces === "all" ? [undefined] : operator.namespaces;
    // Before the first child that is elsewhere the object gets our finalizer.
    const { finalizers = [] } = object.metadata;
    const elsewhere = finalizers.includes(finalizerOf(operator)) ? everywhere : [];
    const lists = childResources.flatMap((resource) => {
      const selections = !resource.namespaced
        ? home === undefined
          ? [{}]
          : elsewhere.slice(0, 1).map(() => ({ labelSelector }))
        : home === undefined
          ? everywhere.map((namespace) => ({ ...(namespace && { namespace }) }))
          : [
              { namespace: home },
              ...elsewhere
                .filter((namespace) => namespace !== home)
                .map((namespace) => ({ labelSelector, ...(namespace && { namespace }) })),
            ];
      return selections.map((selection) =>
        client
          .list(resource, { ...selection, metadataOnly: true }, (items) => {
            index.learn(resource, items);
            for (const { metadata } of items) listed.add(metadata.uid);
          })
          .catch((error: unknown) => {
            throw isApiError(error, 404) ? new UnknownKindError(resource.apiVersion, resource.kind) : error;
          }),
      );
    });
    await Promise.all(lists);
    index.retain(listed);
  }
}
