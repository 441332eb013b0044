import type { IncomingMessage } from "node:http";
import { isRecord } from "../base/json";
import type { Json, JsonObject, KubernetesObject, Manifest, ObjectName } from "../base/objects";
import { type Resource, resourcePath } from "../base/resource";
import type { ClusterConnection } from "./connection";
import { isApiError, isNotFound } from "./errors";
import { type ApiAnswer, type ApiRequest, answerOfAnother } from "./exchange";
import type { RequestTraits } from "./gate";
import { listPages, readPage, type Selection, selectionQuery } from "./list";
import { HttpTransport, type RequestReport } from "./transport";

/** How {@link KubernetesClient.apply} writes. */
export interface ApplyOptions {
  readonly fieldManager: string;
  /** Take fields over that other managers own. @default false */
  readonly force?: boolean;
  /** "status" to write that subresource. */
  readonly subresource?: string;
  /** The server answers what it would store, and stores nothing. @default false */
  readonly dryRun?: boolean;
}

/** The object that {@link KubernetesClient.delete} deletes. */
export interface DeleteOptions {
  /** Only the object with this uid is deleted, and not another one that has taken its name since. */
  readonly uid?: string;
  readonly propagation?: "Background" | "Foreground" | "Orphan";
}

/** One operation of a JSON patch; a path is a JSON pointer, such as "/metadata/uid" (RFC 6902, RFC 6901). */
export type JsonPatchOperation =
  | { readonly op: "test" | "add" | "replace"; readonly path: string; readonly value: Json }
  | { readonly op: "remove"; readonly path: string };

/** Pods, as the API serves them. */
export const PODS: Resource = { apiVersion: "v1", kind: "Pod", plural: "pods", namespaced: true };

/** Only metadata, or the whole object: an aggregated API server need not know the first form. */
const METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

/** What reads single objects. */
export type ObjectReader = Pick<KubernetesClient, "get">;

/**
 * A small Kubernetes client: the verbs that the engine uses, and nothing generated.
 *
 * Every method throws `ApiError` if the API server refuses, and `ApiUnreachableError` if it does not answer.
 */
export class KubernetesClient {
  private readonly transport: HttpTransport;
  private traits: RequestTraits = {};
  /** The namespace of requests that name none. */
  readonly namespace: string;
  /** The address of the API server: "https://127.0.0.1:6443". */
  readonly server: string;

  constructor(connection: ClusterConnection, onRequest?: (report: RequestReport) => void) {
    this.transport = new HttpTransport(connection, onRequest);
    this.namespace = connection.namespace ?? "default";
    this.server = connection.server;
  }

  /**
   * A client on the same connections whose requests pass the gate in this way. Settings that are not given stay as they were.
   * {@link close} of either client closes both. A watch does not pass the gate and does not ask a fence.
   */
  with(traits: RequestTraits): KubernetesClient {
    const client: KubernetesClient = Object.create(Object.getPrototypeOf(this));
    return Object.assign(client, this, { traits: { ...this.traits, ...traits } });
  }

  /** The object. Undefined if there is none with that name. @throws ApiError 404 if the API server does not serve the kind now */
  async get(resource: Resource, name: ObjectName): Promise<KubernetesObject | undefined> {
    const request = { method: "GET", path: resourcePath(resource, name) } as const;
    return (await this.sendForObject(request).catch(ifNotFound))?.body;
  }

  /**
   * The time by the API server's clock, in milliseconds since 1970: see {@link HttpTransport.now}. Times that the cluster has written
   * are compared with this one. The clock of our own machine may be wrong.
   */
  now(): number {
    return this.transport.now();
  }

  /** Reads any path of the API, such as "/apis/apps/v1". */
  async read<T>(path: string): Promise<T> {
    return (await this.send<T>({ method: "GET", path })).body;
  }

  /**
   * Reads every object of the selection, page by page: see {@link listPages}.
   * @param onPage called with each page's items and the list's version, so that a caller need not hold all objects
   * @returns the resourceVersion from which a watch continues. "" if the API knows no versions
   */
  list(
    resource: Resource,
    selection: Selection,
    onPage: (items: KubernetesObject[], resourceVersion: string) => void | Promise<void>,
    signal?: AbortSignal,
  ): Promise<string> {
    return listPages((request) => this.send(request), resource, selection, onPage, signal);
  }

  /** The version that a list of these objects has now. Only one object is requested. */
  async versionOf(resource: Resource, selection: Selection, signal: AbortSignal): Promise<string> {
    const { body } = await readPage((request) => this.send(request), resource, selection, {
      limit: 1,
      signal,
    });
    return body.metadata.resourceVersion ?? "";
  }

  /**
   * How many objects a selection has. Only one is requested: the answer says how many remain. A label selector makes the API server count
   * none that remain.
   */
  async count(resource: Resource, selection: Selection): Promise<number> {
    const { body } = await readPage((request) => this.send(request), resource, selection, { limit: 1 });
    return (body.items ?? []).length + (body.metadata.remainingItemCount ?? 0);
  }

  /** Every object of a selection that is small enough to be in memory at once. */
  async listAll(resource: Resource, selection: Selection): Promise<KubernetesObject[]> {
    const found: KubernetesObject[] = [];
    await this.list(resource, selection, (items) => void found.push(...items));
    return found;
  }

  /**
   * Opens a watch with bookmarks, as a stream of lines of JSON. An API server that does not know `metadataOnly` gives whole
   * objects.
   */
  watch(
    resource: Resource,
    selection: Selection,
    options: { resourceVersion: string; timeoutSeconds: number; signal: AbortSignal },
  ): Promise<IncomingMessage> {
    const query = selectionQuery(selection, {
      watch: "true",
      allowWatchBookmarks: "true",
      resourceVersion: options.resourceVersion,
      timeoutSeconds: String(options.timeoutSeconds),
    });
    return this.transport.open({
      method: "GET",
      path: `${resourcePath(resource, selection)}?${query}`,
      signal: options.signal,
      ...(selection.metadataOnly && { accept: METADATA }),
    });
  }

  /**
   * Creates an object by POST. With `dryRun` the server checks the object, admission included, and stores nothing. With a
   * `fieldManager`, which `managedFields` then name, a field that the schema does not know is an error.
   */
  async create(
    resource: Resource,
    manifest: Manifest,
    options: { dryRun?: boolean; fieldManager?: string } = {},
  ): Promise<KubernetesObject> {
    const { dryRun, fieldManager } = options;
    const query = new URLSearchParams({
      ...(dryRun && { dryRun: "All" }),
      ...(fieldManager !== undefined && { fieldManager, fieldValidation: "Strict" }),
    }).toString();
    const path = `${resourcePath(resource, { namespace: manifest.metadata.namespace })}${query === "" ? "" : `?${query}`}`;
    return (await this.send<KubernetesObject>({ method: "POST", path, body: manifest })).body;
  }

  /** Replaces a whole object. With `metadata.resourceVersion`, only that version of it is replaced. */
  async replace(resource: Resource, object: Manifest): Promise<KubernetesObject> {
    const path = resourcePath(resource, object.metadata);
    return (await this.sendForObject({ method: "PUT", path, body: object })).body;
  }

  /**
   * Server-side apply. `created` says whether the object is new. A manifest with `metadata.uid` creates no object: the answer is
   * 409 if there is no object with that name, or another one.
   */
  async apply(
    resource: Resource,
    manifest: Manifest,
    options: ApplyOptions,
  ): Promise<{ object: KubernetesObject; created: boolean }> {
    const query = new URLSearchParams({
      fieldManager: options.fieldManager,
      force: String(options.force ?? false),
      // A field that the schema does not know is an error of every apply. With `Strict` or `Warn`, the API server only parses the
      // body once more, as YAML, for duplicate keys. We write none (k8s.io/apiserver, handlers/patch.go, applyPatcher).
      fieldValidation: "Ignore",
      ...(options.dryRun && { dryRun: "All" }),
    });
    const { code, body } = await this.sendForObject({
      method: "PATCH",
      path: `${resourcePath(resource, manifest.metadata, options.subresource)}?${query}`,
      // JSON is YAML: https://kubernetes.io/docs/reference/using-api/server-side-apply/#serialization
      contentType: "application/apply-patch+yaml",
      body: manifest,
    });
    return { object: body, created: code === 201 };
  }

  /**
   * Changes the object by operations (RFC 6902). Either all of them are done or none: if a "test" fails, or a path does not exist,
   * the API server answers 422. With `dryRun` the server checks the object, admission included, and stores nothing.
   */
  jsonPatch(
    resource: Resource,
    name: ObjectName,
    operations: readonly JsonPatchOperation[],
    { subresource, dryRun = false }: { subresource?: string | undefined; dryRun?: boolean } = {},
  ): Promise<KubernetesObject> {
    const path = `${resourcePath(resource, name, subresource)}${dryRun ? "?dryRun=All" : ""}`;
    return this.patch(path, "application/json-patch+json", operations);
  }

  /**
   * Merges `patch` into the object (RFC 7386). With `metadata.resourceVersion`, it is merged only into that version of the
   * object.
   * @param subresource "status" to write that subresource
   */
  mergePatch(
    resource: Resource,
    name: ObjectName,
    patch: JsonObject,
    subresource?: string,
  ): Promise<KubernetesObject> {
    return this.patch(resourcePath(resource, name, subresource), "application/merge-patch+json", patch);
  }

  private async patch(path: string, contentType: string, body: unknown): Promise<KubernetesObject> {
    return (await this.sendForObject({ method: "PATCH", path, contentType, body })).body;
  }

  /** Deletes the object. @returns false if there was no object, or another one than `options.uid` */
  async delete(resource: Resource, name: ObjectName, options: DeleteOptions = {}): Promise<boolean> {
    const body = {
      propagationPolicy: options.propagation ?? "Background",
      ...(options.uid && { preconditions: { uid: options.uid } }),
    };
    return isDone(this.send({ method: "DELETE", path: resourcePath(resource, name), body }));
  }

  /**
   * Deletes exactly the version of an object that was seen.
   * @param propagation "Background": what it owns goes after it. "Foreground": before it. @default "Background"
   * @throws ApiError 409 if it is another object by now, or another version
   */
  async deleteVersion(
    resource: Resource,
    name: ObjectName,
    preconditions: { readonly uid: string; readonly resourceVersion: string },
    propagation: "Background" | "Foreground" = "Background",
  ): Promise<"deleted" | "gone"> {
    const body = { propagationPolicy: propagation, preconditions };
    const deletion = this.send({ method: "DELETE", path: resourcePath(resource, name), body });
    return (await deletion.catch(ifNotFound)) ? "deleted" : "gone";
  }

  /**
   * Evicts a pod: the pod is deleted if its disruption budgets allow that. @returns false if there was no pod, or another one
   * than that with the uid
   */
  async evict({ namespace, name }: ObjectName, uid: string): Promise<boolean> {
    const body = {
      apiVersion: "policy/v1",
      kind: "Eviction",
      metadata: { name, ...(namespace !== undefined && { namespace }) },
      deleteOptions: { preconditions: { uid } },
    };
    return isDone(
      this.send({ method: "POST", path: resourcePath(PODS, { namespace, name }, "eviction"), body }),
    );
  }

  /** Closes every connection. A request that still waits or runs fails. */
  close(): void {
    this.transport.close();
  }

  private async sendForObject(request: ApiRequest): Promise<{ code: number; body: KubernetesObject }> {
    const { code, body } = await this.send<unknown>(request);
    if (isRecord(body) && isRecord(body["metadata"]) && typeof body["metadata"]["name"] === "string")
      return { code, body: body as KubernetesObject };
    throw answerOfAnother(request, "an object");
  }

  /** Every request but a watch goes through here. */
  protected send<T>(request: ApiRequest): Promise<ApiAnswer<T>> {
    return this.transport.send<T>({ ...this.traits, ...request });
  }
}

/** Whether the request was done. False if there is no such object, or another one than was meant. */
function isDone(answer: Promise<unknown>): Promise<boolean> {
  return answer.then(
    () => true,
    (error: unknown) => {
      if (isNotFound(error) || isApiError(error, 409)) return false;
      throw error;
    },
  );
}

function ifNotFound(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
}
