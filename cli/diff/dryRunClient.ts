import { isDeepStrictEqual } from "node:util";
import { rehearsalName } from "../../runtime/children/rehearsal";
import { type ApplyOptions, type DeleteOptions, KubernetesClient } from "../../runtime/kubernetes/client";
import { ApiError, isApiError } from "../../runtime/kubernetes/errors";
import type { ApiAnswer, ApiRequest } from "../../runtime/kubernetes/exchange";
import {
  formatName,
  groupOf,
  type KubernetesObject,
  type Manifest,
  type ObjectName,
} from "../../runtime/kubernetes/objects";
import { kindKey, type Resource } from "../../runtime/kubernetes/resource";

/** A write that was only tried. */
export interface TriedWrite {
  readonly resource: Resource;
  readonly name: ObjectName;
  /** The object as it is. Undefined: there is none. */
  readonly live: KubernetesObject | undefined;
  /** The object as the API server would then store it. Undefined: it would be deleted. */
  readonly wanted: KubernetesObject | undefined;
  /** The manifest to apply. */
  readonly manifest?: Manifest;
}

/** A version of an object that exists only in a dry run. */
const IMAGINED_VERSION = "2";

/**
 * A client that writes nothing. Each write is a dry run (`dryRun=All`), which the API server checks and admits like any other,
 * but does not store. The answers look like those to real writes, so that the engine's own code goes on from them.
 *
 * Guarantee (tests/unit/cliDiff.test.ts): no request that could write leaves without `dryRun`.
 *
 * Caveat: a write cannot be tried if it needs an object that would only be created (a namespace, the role of a binding). Its
 * object counts as created, with the content of the manifest.
 *
 * @see https://kubernetes.io/docs/reference/using-api/api-concepts/#dry-run
 */
export class DryRunClient extends KubernetesClient {
  /** The writes that were tried since the last {@link recording}, in order. */
  readonly tried: TriedWrite[] = [];
  /** Objects in versions that exist only in this dry run, by their names and versions. */
  private readonly imagined = new Map<string, KubernetesObject>();
  /** Objects that were created for a trial, by their names. */
  private readonly trials = new Map<string, KubernetesObject>();

  /** A client on the same connections that remembers its own writes. {@link close} of either closes both. */
  recording(): DryRunClient {
    const client = this.with({}) as DryRunClient;
    return Object.assign(client, { tried: [], imagined: new Map(), trials: new Map() });
  }

  override async apply(resource: Resource, manifest: Manifest, options: ApplyOptions) {
    const { metadata } = manifest;
    const known = this.imagined.get(versionKey(resource, metadata, metadata.resourceVersion));
    // It goes on from a write that was only tried, which the API server does not know.
    if (known) return { object: known, created: false };
    const live = await this.get(resource, metadata);
    const trial = live && this.isDeleted(live) ? this.trials.get(trialKey(resource, metadata)) : undefined;
    const answer = trial
      ? { object: { ...trial, metadata: { ...trial.metadata, name: metadata.name } }, created: true }
      : await super.apply(resource, manifest, options).catch((error: unknown) => {
          if (live || !this.waitsForTried(error)) throw error;
          return { object: imaginedObject(manifest), created: true };
        });
    const object = this.versioned(resource, answer, live);
    this.tried.push({ resource, name: nameOf(metadata), live, wanted: object, manifest });
    return { object, created: answer.created };
  }

  override async create(
    resource: Resource,
    manifest: Manifest,
    options: { dryRun?: boolean; fieldManager?: string } = {},
  ): Promise<KubernetesObject> {
    const object = await super.create(resource, manifest, { ...options, dryRun: true });
    this.trials.set(`${kindKey(resource)}/${formatName(manifest.metadata)}`, object);
    return object;
  }

  override async delete(resource: Resource, name: ObjectName, options: DeleteOptions = {}): Promise<boolean> {
    const live = await this.get(resource, name);
    const isDone = await super.delete(resource, name, options);
    if (isDone) this.tried.push({ resource, name: nameOf(name), live, wanted: undefined });
    return isDone;
  }

  override async deleteVersion(
    resource: Resource,
    name: ObjectName,
    preconditions: { readonly uid: string; readonly resourceVersion: string },
  ): Promise<"deleted" | "gone"> {
    const live = await this.get(resource, name);
    const result = await super.deleteVersion(resource, name, preconditions);
    if (result === "deleted") this.tried.push({ resource, name: nameOf(name), live, wanted: undefined });
    return result;
  }

  /** Every request leaves here, and every request that could write becomes a dry run. */
  protected override send<T>(request: ApiRequest): Promise<ApiAnswer<T>> {
    return super.send<T>(asDryRun(request));
  }

  private isDeleted({ metadata: { uid } }: KubernetesObject): boolean {
    return this.tried.some(({ live, wanted }) => live?.metadata.uid === uid && wanted === undefined);
  }

  /** Whether the API server refuses a write because something is missing that would have been created just before. */
  private waitsForTried(error: unknown): boolean {
    if (!isApiError(error, 404)) return false;
    const { kind: plural, name } = error.status.details ?? {};
    return this.tried.some(
      ({ resource, live, wanted, name: tried }) =>
        !live && wanted && resource.plural === plural && tried.name === name,
    );
  }

  /**
   * A dry run leaves the version as it is. A write that changes something gets a later version, as a real write would give it.
   */
  private versioned(
    resource: Resource,
    { object, created }: { object: KubernetesObject; created: boolean },
    live: KubernetesObject | undefined,
  ): KubernetesObject {
    if (live && !created && isDeepStrictEqual(contentOf(live), contentOf(object))) {
      return { ...object, metadata: { ...object.metadata, resourceVersion: live.metadata.resourceVersion } };
    }
    const resourceVersion = live ? `${live.metadata.resourceVersion}0` : IMAGINED_VERSION;
    const imagined = { ...object, metadata: { ...object.metadata, resourceVersion } };
    this.imagined.set(versionKey(resource, imagined.metadata, resourceVersion), imagined);
    return imagined;
  }
}

/** The same request, so that the API server stores nothing. */
export function asDryRun(request: ApiRequest): ApiRequest {
  const { method, path, body } = request;
  if (method === "GET") return request;
  // For a deletion with a body, the API server ignores the query (apiserver, pkg/endpoints/handlers/delete.go).
  if (method === "DELETE") return { ...request, body: { ...(body as object | undefined), dryRun: ["All"] } };
  const [place = "", query = ""] = path.split("?");
  const parameters = new URLSearchParams(query);
  parameters.set("dryRun", "All");
  return { ...request, path: `${place}?${parameters}` };
}

/** Whether a request that a dry run refused could be done: only the dry run itself prevents it. */
export function isRefusedDryRun(error: unknown): error is ApiError {
  return error instanceof ApiError && /does not support dry run/.test(error.message);
}

/** An object without the API server's counters. It differs if a write changes something. */
function contentOf({ metadata, ...content }: KubernetesObject): unknown {
  const { managedFields: _, resourceVersion: __, generation: ___, ...rest } = metadata;
  return { ...content, metadata: rest };
}

function imaginedObject(manifest: Manifest): KubernetesObject {
  const { name, namespace = "" } = manifest.metadata;
  const uid = `dry-run/${groupOf(manifest.apiVersion)}/${manifest.kind}/${namespace}/${name}`;
  return { ...manifest, metadata: { ...manifest.metadata, uid, resourceVersion: IMAGINED_VERSION } };
}

function nameOf({ namespace, name }: ObjectName): ObjectName {
  return { name, ...(namespace !== undefined && { namespace }) };
}

function versionKey(resource: Resource, name: ObjectName, version: string | undefined): string {
  return `${kindKey(resource)}/${formatName(name)} ${version}`;
}

function trialKey(resource: Resource, { namespace, name }: ObjectName): string {
  return `${kindKey(resource)}/${formatName({ namespace, name: rehearsalName(name) })}`;
}
