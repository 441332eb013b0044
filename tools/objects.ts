// A cluster's objects for tools and tests, as kubectl reads and writes them.
import { text } from "node:stream/consumers";
import type { JsonObject, KubernetesObject, Manifest } from "../runtime/base/objects";
import { type Resource, resourcePath } from "../runtime/base/resource";
import { KubernetesClient } from "../runtime/kubernetes/client";
import type { ClusterConnection } from "../runtime/kubernetes/connection";
import { findResource, UnknownKindError } from "../runtime/kubernetes/discovery";
import { ifRefused } from "../runtime/kubernetes/errors";
import { HttpTransport } from "../runtime/kubernetes/transport";

/** A kind in a version of its API. */
export type Kind = Pick<Manifest, "apiVersion" | "kind">;

/** The fields that identify an object. Any manifest has them. */
export type Reference = Kind & {
  readonly metadata: { readonly name: string; readonly namespace?: string };
};

/** Objects of any kind in a cluster, as `kubectl` reads and writes them: a manifest names each of them. */
export class Objects {
  readonly client: KubernetesClient;
  protected readonly transport: HttpTransport;
  private readonly resources = new Map<string, Promise<Resource>>();

  /** @param manager the field manager of applied objects */
  constructor(
    connection: ClusterConnection,
    private readonly manager: string,
  ) {
    this.client = new KubernetesClient(connection);
    this.transport = new HttpTransport(connection);
  }

  /** Server-side apply, which takes over fields from others. */
  async apply(manifest: Manifest, manager = this.manager): Promise<KubernetesObject> {
    const resource = await this.resourceOf(manifest);
    return (await this.client.apply(resource, manifest, { fieldManager: manager, force: true })).object;
  }

  /** A merge patch, as `kubectl edit` and many controllers write. */
  async patch(reference: Reference, patch: JsonObject): Promise<KubernetesObject> {
    return this.client.mergePatch(await this.resourceOf(reference), reference.metadata, patch);
  }

  /** Sets the number of replicas, as `kubectl scale` does. */
  async scale(reference: Reference, replicas: number): Promise<void> {
    const path = resourcePath(await this.resourceOf(reference), reference.metadata, "scale");
    const contentType = "application/merge-patch+json";
    const query = "fieldManager=kubectl";
    await this.transport.send({
      method: "PATCH",
      path: `${path}?${query}`,
      contentType,
      body: { spec: { replicas } },
    });
  }

  /** The object. Undefined if there is no such object, or no such kind. */
  async find(reference: Reference): Promise<KubernetesObject | undefined> {
    const resource = await this.known(reference);
    return resource && this.client.get(resource, reference.metadata);
  }

  /**
   * The objects of a kind. None if there is no such kind.
   * @param namespace
   * @default all
   * @param labelSelector
   * @default all
   */
  async list(kind: Kind, namespace?: string, labelSelector?: string): Promise<KubernetesObject[]> {
    const resource = await this.known(kind);
    const selection = { ...(namespace && { namespace }), ...(labelSelector && { labelSelector }) };
    if (!resource) return [];
    // The kind was known, but its definition may have been deleted since then.
    return this.client.listAll(resource, selection).catch(ifRefused(404, []));
  }

  /** Deletes without waiting for the end. */
  async delete(
    reference: Reference,
    propagation: "Background" | "Foreground" | "Orphan" = "Background",
  ): Promise<void> {
    const resource = await this.known(reference);
    if (resource) await this.client.delete(resource, reference.metadata, { propagation });
  }

  /** Removes every finalizer from an object whose controller no longer exists. */
  async release(reference: Reference): Promise<void> {
    const resource = await this.known(reference);
    if (!resource) return;
    const patch = { metadata: { finalizers: null } };
    // The object may have been deleted since it was read.
    await this.client.mergePatch(resource, reference.metadata, patch).catch(() => undefined);
  }

  /** The answer for a path of the API, as text. */
  text(path: string): Promise<string> {
    return textOf(this.transport, path);
  }

  /** Ends the kept-alive connections. */
  close(): void {
    this.client.close();
    this.transport.close();
  }

  /** How the API server serves a kind. @throws UnknownKindError if it serves no such kind */
  protected resourceOf({ apiVersion, kind }: Kind): Promise<Resource> {
    const key = `${apiVersion} ${kind}`;
    const known = this.resources.get(key);
    if (known) return known;
    const found = findResource(this.client, apiVersion, kind);
    this.resources.set(key, found);
    // A kind that is not served yet may be served a moment later.
    found.catch(() => this.resources.delete(key));
    return found;
  }

  /** As {@link resourceOf}. Undefined if the API server serves no such kind. */
  protected async known(kind: Kind): Promise<Resource | undefined> {
    try {
      return await this.resourceOf(kind);
    } catch (error) {
      if (error instanceof UnknownKindError) return undefined;
      throw error;
    }
  }
}

/** The answer for a path of the API, as text. */
export async function textOf(transport: HttpTransport, path: string, signal?: AbortSignal): Promise<string> {
  return text(await transport.open({ method: "GET", path, accept: "*/*", ...(signal && { signal }) }));
}
