import { KubernetesClient } from "../../../runtime/kubernetes/client";
import type { ClusterConnection } from "../../../runtime/kubernetes/connection";
import { discover, UnknownKindError } from "../../../runtime/kubernetes/discovery";
import { isApiError } from "../../../runtime/kubernetes/errors";
import { isNamespaced, pluralOf } from "../../../runtime/kubernetes/kinds";
import type { KubernetesObject, Manifest } from "../../../runtime/kubernetes/objects";
import type { Resource } from "../../../runtime/kubernetes/resource";
import { HttpTransport } from "../../../runtime/kubernetes/transport";

const FIELD_MANAGER = "argosy-bench";

/** What names an object: any manifest will do. */
export type Reference = Pick<Manifest, "apiVersion" | "kind"> & {
  readonly metadata: { readonly name: string; readonly namespace?: string };
};

/** Objects of any kind in a cluster: what is there, applied and deleted by manifests. */
export class Objects {
  private readonly client: KubernetesClient;
  private readonly transport: HttpTransport;
  private readonly resources = new Map<string, Promise<Resource>>();

  constructor(connection: ClusterConnection) {
    this.client = new KubernetesClient(connection);
    this.transport = new HttpTransport(connection);
  }

  /** Server-side apply. */
  async apply(manifest: Manifest): Promise<void> {
    await this.client.apply(await this.resourceOf(manifest), manifest, {
      fieldManager: FIELD_MANAGER,
      force: true,
    });
  }

  /** The object; undefined where there is none, or no such kind. */
  async find(reference: Reference): Promise<KubernetesObject | undefined> {
    const resource = await this.known(reference);
    return resource && this.client.get(resource, reference.metadata);
  }

  /** Every object of a kind in a namespace, of these labels where some are given. None where there is no such kind. */
  async list(
    { apiVersion, kind }: Pick<Reference, "apiVersion" | "kind">,
    namespace?: string,
    labelSelector?: string,
  ): Promise<KubernetesObject[]> {
    const resource = await this.known({ apiVersion, kind });
    const found: KubernetesObject[] = [];
    const selection = { ...(namespace && { namespace }), ...(labelSelector && { labelSelector }) };
    if (!resource) return found;
    try {
      await this.client.list(resource, selection, (page) => void found.push(...page));
    } catch (error) {
      // Known from before, and its definition has gone since.
      if (!isApiError(error, 404)) throw error;
    }
    return found;
  }

  /** Deletes without waiting for the end. */
  async delete(reference: Reference): Promise<void> {
    const resource = await this.known(reference);
    if (resource) await this.client.delete(resource, reference.metadata);
  }

  /** Takes every finalizer from an object: nobody is left who would. */
  async release(reference: Reference): Promise<void> {
    const resource = await this.known(reference);
    if (!resource) return;
    const patch = { metadata: { finalizers: null } };
    // It may have gone meanwhile.
    await this.client.mergePatch(resource, reference.metadata, patch).catch(() => undefined);
  }

  /** What a path of the API answers, as JSON. */
  read<Answer>(path: string): Promise<Answer> {
    return this.client.read<Answer>(path);
  }

  /** What a path of the API answers, as text. */
  async text(path: string): Promise<string> {
    const response = await this.transport.open({ method: "GET", path, accept: "*/*" });
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks).toString("utf8");
  }

  close(): void {
    this.client.close();
    this.transport.close();
  }

  private async known(kind: Pick<Reference, "apiVersion" | "kind">): Promise<Resource | undefined> {
    try {
      return await this.resourceOf(kind);
    } catch (error) {
      if (error instanceof UnknownKindError) return undefined;
      throw error;
    }
  }

  private resourceOf({ apiVersion, kind }: Pick<Reference, "apiVersion" | "kind">): Promise<Resource> {
    const namespaced = isNamespaced(apiVersion, kind);
    if (namespaced !== undefined) {
      return Promise.resolve({ apiVersion, kind, plural: pluralOf(apiVersion, kind), namespaced });
    }
    const key = `${apiVersion} ${kind}`;
    const known = this.resources.get(key);
    if (known) return known;
    const found = discover(this.client, apiVersion, kind);
    this.resources.set(key, found);
    // A kind that is not served yet may be served a moment later.
    found.catch(() => this.resources.delete(key));
    return found;
  }
}
