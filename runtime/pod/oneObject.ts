import { ChildStore } from "../children/childStore";
import { ChildWriter, markManagerOf } from "../children/childWriter";
import { whyNotReady } from "../children/readiness";
import type { Operator } from "../definition/definition";
import type { HandlerPool } from "../handler/handlerPool";
import type { KubernetesClient } from "../kubernetes/client";
import { UnknownKindError } from "../kubernetes/discovery";
import { isApiError } from "../kubernetes/errors";
import type { KubernetesObject, ObjectName } from "../kubernetes/objects";
import type { Resource } from "../kubernetes/resource";
import { fieldManagerOf, formerManagersOf, OWNER_UID_LABEL } from "../names";
import { EventWriter } from "../outbox/eventWriter";
import { messageAbout } from "../outbox/message";
import type { RunRecord } from "../outbox/recorder";
import { Teller } from "../outbox/teller";
import { Finalizers } from "../reconcile/finalizers";
import { memoryOf } from "../reconcile/memory";
import { Reconcile } from "../reconcile/reconcile";
import type { ReconcileReport } from "../reconcile/report";
import { StatusWriter } from "../status/statusWriter";

/** What {@link OneObject} works with. */
export interface OneObjectOptions {
  readonly operator: Operator;
  /** The custom resource's kind, and its children's, as the API serves them. */
  readonly resource: Resource;
  readonly childResources: readonly Resource[];
  readonly client: KubernetesClient;
  readonly pool: HandlerPool;
  readonly name: ObjectName;
  /** The pod's name, for Kubernetes Events. */
  readonly instance: string;
  /** Names the Workflow that tells of a run: this pod's own, if that is to be said. */
  readonly runName: (report: ReconcileReport) => string | undefined;
}

const nobody = () => {};

/**
 * The engine's reconcile of one object, without the watches of a resident runner: the object is read from the API
 * server each time, and its children are listed.
 *
 * Assumption: nobody else works on this object meanwhile. Nothing fences a run in a pod of its own: its Workflow's mutex
 * lets no other one of that object run.
 */
export class OneObject {
  private readonly teller: Teller;
  private readonly reconciling: Reconcile;
  /** One for all reconciles: what has not changed since the last one is not applied again. */
  private readonly children: ChildStore;
  private readonly finalizers: Finalizers;
  /** The newest that is known of the object. */
  private object: KubernetesObject | undefined;

  constructor(private readonly options: OneObjectOptions) {
    const { client, resource, childResources, operator, instance, pool, runName } = options;
    const fieldManager = fieldManagerOf(operator);
    const formerManagers = formerManagersOf(operator);
    const managers = [fieldManager, markManagerOf(fieldManager), ...formerManagers];
    const children = new ChildStore({
      client,
      ownerKind: resource,
      fieldManager,
      managers,
      onChange: nobody,
    });
    const status = new StatusWriter({ resource, fieldManager });
    const learn = (object: KubernetesObject) => {
      this.object = object;
    };
    this.children = children;
    this.finalizers = new Finalizers(resource, operator);
    this.reconciling = new Reconcile({
      operator,
      resource,
      childResources,
      pool,
      children,
      status,
      writer: new ChildWriter({ store: children, ownerKind: resource, fieldManager, formerManagers }),
      objects: { read: async () => this.object, learn, invalidate: nobody, isGoing: () => false },
      isRecorded: (report) => runName(report) !== undefined,
    });
    this.teller = new Teller({
      read: async () => this.object,
      learn,
      status,
      events: new EventWriter({ controller: fieldManager, instance, onDrop: nobody }),
      // The Workflow of this pod is there already.
      record: async () => true,
    });
  }

  /** The object as it is now. */
  read(): Promise<KubernetesObject | undefined> {
    return this.options.client.get(this.options.resource, this.options.name);
  }

  /**
   * Reconciles the object, and tells what came of it.
   * @param object as it was read just before
   * @throws ApiError, ApiUnreachableError, UnknownKindError if its children cannot be listed
   */
  async reconcile(object: KubernetesObject, attempt: number): Promise<ReconcileReport> {
    const { client, name, resource, runName } = this.options;
    this.object = object;
    await this.learnChildren(object);
    const outcome = await this.reconciling.reconcile(name, attempt, { client, assert: nobody });
    const run = runName(outcome.report);
    const record: RunRecord | undefined = run === undefined ? undefined : { name: run, isFailure: false };
    const message = messageAbout(outcome, resource, record);
    // That a run could not be told of is no reason to fail it: the next one tells.
    if (message) await this.teller.tell(client, name, message);
    return outcome.report;
  }

  /** Whether the children of the last reconcile are all ready, or one of them has gone: another one would tell more. */
  async childrenHaveSettled(uid: string): Promise<boolean> {
    const children = await Promise.all(
      this.children.of(uid).map((child) => this.options.client.get(child.resource, child)),
    );
    return children.every((child) => child === undefined || whyNotReady(child) === undefined);
  }

  /** Finds the object's children by the label with its uid. An object that never had any needs no look. */
  private async learnChildren(object: KubernetesObject): Promise<void> {
    const { namespace: home, uid } = object.metadata;
    if (memoryOf(object).kinds.length === 0) return this.children.retain(new Set());
    const { client, childResources, operator } = this.options;
    const isEverywhere = home === undefined || this.finalizers.forElsewhere(object);
    const everywhere = operator.namespaces === "all" ? [undefined] : operator.namespaces;
    const listed = new Set<string>();
    const lists = childResources.flatMap((resource) => {
      const scopes = !resource.namespaced ? [undefined] : isEverywhere ? everywhere : [home];
      if (!resource.namespaced && !isEverywhere) return [];
      return scopes.map(async (namespace) => {
        const selection = {
          labelSelector: `${OWNER_UID_LABEL}=${uid}`,
          ...(namespace !== undefined && { namespace }),
        };
        try {
          await client.list(resource, selection, (items) => {
            this.children.learn(resource, items);
            for (const { metadata } of items) listed.add(metadata.uid);
          });
        } catch (error) {
          throw isApiError(error, 404) ? new UnknownKindError(resource.apiVersion, resource.kind) : error;
        }
      });
    });
    await Promise.all(lists);
    this.children.retain(listed);
  }
}
