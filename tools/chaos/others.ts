import { CHILD_OF_LABEL, fieldManagerOf, identityOf, type OperatorIdentity } from "../../runtime/base/names";
import type { KubernetesObject, Manifest } from "../../runtime/base/objects";
import { builtIn } from "../../runtime/kubernetes/discovery";
import { isApiError } from "../../runtime/kubernetes/errors";
import { childResource, type Ground } from "./ground";
import type { Model } from "./model";
import { NotYetError, persist } from "./persist";
import { FOREIGNER } from "./snapshot";

/** A field of a ConfigMap that an autoscaler sets, and no handler answers. */
export const SCALED = "scaled";
const SCALINGS = 5;
const NAMESPACE = builtIn("v1", "Namespace");
const CONFIG_MAP = childResource("ConfigMap");

/** The options of {@link Others}. */
export interface OthersOptions {
  readonly ground: Ground;
  readonly model: Model;
  /** The operator whose objects they interfere with. */
  readonly operator: OperatorIdentity;
  /** How long they retry a request that the API server does not accept. */
  readonly patienceMs: number;
  readonly signal: AbortSignal;
}

/** All other clients in the cluster: other controllers, forgers, autoscalers, and administrators of namespaces. */
export class Others {
  constructor(private readonly options: OthersOptions) {}

  /**
   * Creates an object that a custom resource controls, as a second controller of the custom resource would do.
   * @param labels further labels
   */
  async makeForeigner(object: string, value: number, labels: Readonly<Record<string, string>> = {}) {
    const { client, resource, namespace } = this.options.ground;
    const name = `${FOREIGNER}-${object}-${value}`;
    return this.persist(async () => {
      const owner = await client.get(resource, { name: object, namespace });
      if (!owner) throw new NotYetError(`${object} does not exist yet`);
      const { apiVersion, kind, metadata } = owner;
      const reference = { apiVersion, kind, name: object, uid: metadata.uid, controller: true };
      const manifest: Manifest = {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name, namespace, labels, ownerReferences: [reference] },
        data: { value: "others" },
      };
      // An earlier try succeeded, but its answer was lost.
      return (
        (await client.get(CONFIG_MAP, { name, namespace })) ?? (await client.create(CONFIG_MAP, manifest))
      );
    });
  }

  /** The same with the label of the operator's children, and with a later write under the operator's own field manager. */
  async forge(object: string, value: number): Promise<KubernetesObject> {
    const { ground, operator } = this.options;
    const made = await this.makeForeigner(object, value, { [CHILD_OF_LABEL]: identityOf(operator) });
    const { name, namespace, uid } = made.metadata;
    const manifest = {
      ...{ apiVersion: "v1", kind: "ConfigMap" },
      metadata: { name, namespace, uid },
      data: { forged: "yes" },
    } as Manifest;
    const options = { fieldManager: fieldManagerOf(operator), force: true };
    return this.persist(async () => {
      // If the owner was deleted, the garbage collector may have deleted the object as well.
      if ((await ground.client.get(CONFIG_MAP, made.metadata))?.metadata.uid !== uid) return made;
      return (await ground.client.apply(CONFIG_MAP, manifest, options)).object;
    });
  }

  /** Sets a field of a child that no handler answers, again and again, as an autoscaler does. */
  async autoscale(object: string, value: number): Promise<void> {
    const { ground, model } = this.options;
    const child = model.childrenOf(object).find(({ kind }) => kind === CONFIG_MAP.kind);
    if (!child) return;
    const found = await this.persist(() => ground.client.get(CONFIG_MAP, child.metadata));
    if (!found) return;
    const { uid } = found.metadata;
    for (let time = 0; time < SCALINGS; time++) {
      const data = { [SCALED]: `${value}-${time}` };
      const isThere = await this.persist(async () => {
        try {
          await ground.client.mergePatch(CONFIG_MAP, child.metadata, { metadata: { uid }, data });
          return true;
        } catch (error) {
          // The child was deleted, or another one has its name.
          if (isApiError(error, 404) || isApiError(error, 409) || isApiError(error, 422)) return false;
          throw error;
        }
      });
      if (!isThere) return;
      model.scaled(uid, data[SCALED] ?? "");
    }
  }

  /** Deletes the namespace of the children elsewhere with everything in it, and creates it again with the bystanders. */
  async renewFar(): Promise<void> {
    const { ground, model } = this.options;
    const { client, far } = ground;
    const former = await this.persist(() => client.get(NAMESPACE, { name: far }));
    const uid = former?.metadata.uid;
    await this.persist(async () => {
      const found = await client.get(NAMESPACE, { name: far });
      if (found?.metadata.uid !== uid) return;
      if (!found?.metadata.deletionTimestamp)
        await client.delete(NAMESPACE, { name: far }, { ...(uid && { uid }) });
      throw new NotYetError(`the namespace ${far} still exists`);
    });
    const namespace: Manifest = { apiVersion: "v1", kind: "Namespace", metadata: { name: far } };
    await this.persist(async () => {
      if (!(await client.get(NAMESPACE, { name: far }))) await client.create(NAMESPACE, namespace);
    });
    const isFar = ({ metadata }: KubernetesObject) => metadata.namespace === far;
    const [gone, rest] = [model.bystanders.filter(isFar), model.bystanders.filter((each) => !isFar(each))];
    const again = await Promise.all(gone.map((each) => this.createAgain(each)));
    model.bystanders = [...rest, ...again];
  }

  private createAgain({
    apiVersion,
    kind,
    metadata,
    ...content
  }: KubernetesObject): Promise<KubernetesObject> {
    const { client } = this.options.ground;
    const { name, namespace, labels = {} } = metadata;
    const resource = childResource(kind);
    // The API server chooses a Service's addresses.
    const what = kind === "Service" ? { spec: { ports: [{ port: 80 }] } } : content;
    const manifest = { apiVersion, kind, metadata: { name, namespace, labels }, ...what } as Manifest;
    return this.persist(
      async () =>
        (await client.get(resource, { name, namespace })) ?? (await client.create(resource, manifest)),
    );
  }

  private persist<Result>(work: () => Promise<Result>): Promise<Result> {
    return persist(work, this.options);
  }
}
