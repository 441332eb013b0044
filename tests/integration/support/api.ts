import assert from "node:assert/strict";
import type { JsonObject, KubernetesObject, Manifest } from "../../../runtime/base/objects";
import { type Resource, resourcePath } from "../../../runtime/base/resource";
import type { ClusterConnection } from "../../../runtime/kubernetes/connection";
import { type Kind, Objects, type Reference } from "../../../tools/objects";

/** The default field manager of the tests' own writes. */
const OTHER_CLIENT = "other-client";

/** The API server as others than the engine use it: users, foreign controllers, the test itself. */
export class Api extends Objects {
  private namespaces = 0;

  constructor(connection: ClusterConnection) {
    super(connection, OTHER_CLIENT);
  }

  /**
   * Server-side apply of the status subresource.
   * @param force whether the manager may take fields over from others
   */
  async applyStatus(
    manifest: Reference,
    status: JsonObject,
    { manager = OTHER_CLIENT, force = true } = {},
  ): Promise<KubernetesObject> {
    const { apiVersion, kind, metadata } = manifest;
    const { name, namespace } = metadata;
    const named = { apiVersion, kind, metadata: { name, ...(namespace && { namespace }) }, status };
    const options = { fieldManager: manager, force, subresource: "status" };
    return (await this.client.apply(await this.resourceOf(manifest), named, options)).object;
  }

  /** A merge patch of a subresource. */
  async patchPart(reference: Reference, subresource: string, patch: JsonObject): Promise<void> {
    const path = resourcePath(await this.resourceOf(reference), reference.metadata, subresource);
    const contentType = "application/merge-patch+json";
    await this.transport.send({ method: "PATCH", path, contentType, body: patch });
  }

  /** Asks the API server for an apply that stores nothing. @throws ApiError if it would refuse the apply */
  async tryApply(manifest: Manifest): Promise<void> {
    const path = resourcePath(await this.resourceOf(manifest), manifest.metadata);
    await this.transport.send({
      method: "PATCH",
      path: `${path}?fieldManager=${OTHER_CLIENT}&dryRun=All`,
      contentType: "application/apply-patch+yaml",
      body: manifest,
    });
  }

  /** Creates by POST, as `kubectl create` does. */
  async create(manifest: Manifest): Promise<KubernetesObject> {
    return this.client.create(await this.resourceOf(manifest), manifest);
  }

  /** Sets annotations, or removes those that are null. */
  async annotate(reference: Reference, annotations: Record<string, string | null>): Promise<void> {
    await this.patch(reference, { metadata: { annotations } });
  }

  /** The object, which must exist. */
  async get(reference: Reference): Promise<KubernetesObject> {
    const object = await this.find(reference);
    assert.ok(object, `${reference.kind} ${reference.metadata.name} does not exist`);
    return object;
  }

  async assertGone(reference: Reference): Promise<void> {
    assert.ok(!(await this.find(reference)), `${reference.kind} ${reference.metadata.name} still exists`);
  }

  /** Posts to any path, for what no manifest can name. */
  async post<Answer>(path: string, body: JsonObject): Promise<Answer> {
    return (await this.transport.send<Answer>({ method: "POST", path, body })).body;
  }

  /** Lists a kind from the API server's cache. The cache begins with that, unless a client has watched the kind before. */
  async beginCache(kind: Kind): Promise<void> {
    const path = resourcePath(await this.resourceOf(kind), {});
    await this.transport.send({ method: "GET", path: `${path}?resourceVersion=0` });
  }

  /** A namespace for one test alone. */
  async newNamespace(hint = "test"): Promise<string> {
    this.namespaces += 1;
    const name = `${hint}-${process.pid}-${this.namespaces}`;
    await this.create({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
    return name;
  }

  /** A test that names a kind which is not served is wrong: to it such a kind is no empty one. */
  protected override known(kind: Kind): Promise<Resource> {
    return this.resourceOf(kind);
  }
}
