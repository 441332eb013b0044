import assert from "node:assert/strict";
import { KubernetesClient } from "../../../runtime/kubernetes/client";
import type { ClusterConnection } from "../../../runtime/kubernetes/connection";
import { discover } from "../../../runtime/kubernetes/discovery";
import type { JsonObject, KubernetesObject, Manifest } from "../../../runtime/kubernetes/objects";
import type { Resource } from "../../../runtime/kubernetes/resource";
import { HttpTransport } from "../../../runtime/kubernetes/transport";

/** What names an object: any manifest will do. */
export type Reference = Pick<Manifest, "apiVersion" | "kind"> & {
  readonly metadata: { readonly name: string; readonly namespace?: string };
};

/** Who changes what the engine made, where a test does not say otherwise. */
export const SOMEBODY = "somebody";

/** The API server as others than the engine use it: users, foreign controllers, the test itself. */
export class Api {
  readonly client: KubernetesClient;
  private readonly transport: HttpTransport;
  private readonly resources = new Map<string, Promise<Resource>>();
  private namespaces = 0;

  constructor(connection: ClusterConnection) {
    this.client = new KubernetesClient(connection);
    this.transport = new HttpTransport(connection);
  }

  /** Server-side apply as a field manager. */
  async apply(manifest: Manifest, manager = SOMEBODY): Promise<KubernetesObject> {
    const resource = await this.resourceOf(manifest);
    return (await this.client.apply(resource, manifest, { fieldManager: manager, force: true })).object;
  }

  /**
   * Server-side apply of the status subresource.
   * @param force whether the manager may take fields over from others
   */
  async applyStatus(
    manifest: Reference,
    status: JsonObject,
    { manager = SOMEBODY, force = true } = {},
  ): Promise<KubernetesObject> {
    const { apiVersion, kind, metadata } = manifest;
    const { name, namespace } = metadata;
    const named = { apiVersion, kind, metadata: { name, ...(namespace && { namespace }) }, status };
    const options = { fieldManager: manager, force, subresource: "status" };
    return (await this.client.apply(await this.resourceOf(manifest), named, options)).object;
  }

  /** Creates by POST, as `kubectl create` does. */
  async create(manifest: Manifest): Promise<KubernetesObject> {
    return this.client.create(await this.resourceOf(manifest), manifest);
  }

  /** A merge patch, as `kubectl edit` and many controllers write. */
  async patch(reference: Reference, patch: JsonObject): Promise<KubernetesObject> {
    return this.client.mergePatch(await this.resourceOf(reference), reference.metadata, patch);
  }

  /** Sets the number of replicas, as `kubectl scale` does. */
  async scale({ apiVersion, kind, metadata }: Reference, replicas: number): Promise<void> {
    const { plural, namespaced } = await this.resourceOf({ apiVersion, kind });
    assert.ok(namespaced && metadata.namespace);
    const path = `/apis/${apiVersion}/namespaces/${metadata.namespace}/${plural}/${metadata.name}/scale`;
    const contentType = "application/merge-patch+json";
    await this.transport.send({ method: "PATCH", path, contentType, body: { spec: { replicas } } });
  }

  /** Sets annotations, or removes those that are null. */
  async annotate(reference: Reference, annotations: Record<string, string | null>): Promise<void> {
    await this.patch(reference, { metadata: { annotations } });
  }

  async find(reference: Reference): Promise<KubernetesObject | undefined> {
    return this.client.get(await this.resourceOf(reference), reference.metadata);
  }

  /** The object, which must be there. */
  async get(reference: Reference): Promise<KubernetesObject> {
    const object = await this.find(reference);
    assert.ok(object, `${reference.kind} ${reference.metadata.name} is not there`);
    return object;
  }

  async assertGone(reference: Reference): Promise<void> {
    assert.ok(!(await this.find(reference)), `${reference.kind} ${reference.metadata.name} is still there`);
  }

  /** Deletes without waiting for the end. */
  async delete(
    reference: Reference,
    propagation: "Background" | "Foreground" | "Orphan" = "Background",
  ): Promise<void> {
    await this.client.delete(await this.resourceOf(reference), reference.metadata, { propagation });
  }

  /** Every object of a kind in a namespace, or in the whole cluster. */
  async list(apiVersion: string, kind: string, namespace?: string): Promise<KubernetesObject[]> {
    const found: KubernetesObject[] = [];
    const resource = await this.resourceOf({ apiVersion, kind });
    await this.client.list(resource, { ...(namespace && { namespace }) }, (page) => {
      found.push(...page);
    });
    return found;
  }

  /** Posts to any path, for what no manifest can name. */
  async post<Answer>(path: string, body: JsonObject): Promise<Answer> {
    return (await this.transport.send<Answer>({ method: "POST", path, body })).body;
  }

  /** A namespace for one test alone. */
  async newNamespace(hint = "test"): Promise<string> {
    this.namespaces += 1;
    const name = `${hint}-${process.pid}-${this.namespaces}`;
    await this.create({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
    return name;
  }

  /** Ends the kept-alive connections. */
  close(): void {
    this.client.close();
    this.transport.close();
  }

  private resourceOf({ apiVersion, kind }: Pick<Manifest, "apiVersion" | "kind">): Promise<Resource> {
    const key = `${apiVersion} ${kind}`;
    const known = this.resources.get(key);
    if (known) return known;
    const found = discover(this.client, apiVersion, kind);
    // A kind that is not served yet may be served a moment later.
    found.catch(() => this.resources.delete(key));
    this.resources.set(key, found);
    return found;
  }
}
