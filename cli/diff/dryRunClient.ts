import { isDeepStrictEqual } from "node:util";
import { isRecord } from "../../runtime/base/json";
import {
  formatName,
  groupOf,
  type KubernetesObject,
  type Manifest,
  type ObjectMeta,
  type ObjectName,
} from "../../runtime/base/objects";
import { kindKey, type Resource } from "../../runtime/base/resource";
import {
  type ApiAnswer,
  ApiError,
  type ApiRequest,
  type ApplyOptions,
  type DeleteOptions,
  isApiError,
  KubernetesClient,
  rehearsalName,
} from "../../runtime/cli";

/** A write that was only tried. */
export interface TriedWrite {
  readonly resource: Resource;
  readonly name: ObjectName;
  /** The object as it is. Undefined: there is none. */
  readonly live: KubernetesObject | undefined;
  /** The object as the API server would then store it. Undefined: it would be deleted. */
  readonly wanted: KubernetesObject | undefined;
  /** The manifest to apply, and who applies it. */
  readonly manifest?: Manifest;
  readonly fieldManager?: string;
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
  /** Objects that were created for a trial, by their names. */
  private readonly trials = new Map<string, KubernetesObject>();
  private readonly assumed: readonly KubernetesObject[] = [];

  /**
   * A client on the same connections that remembers its own writes. {@link close} of either closes both.
   * @param assumed objects of which a write that was only tried counts as done
   */
  recording(assumed: readonly KubernetesObject[] = []): DryRunClient {
    const client = this.with({}) as DryRunClient;
    return Object.assign(client, { tried: [], trials: new Map(), assumed });
  }

  override async get(resource: Resource, name: ObjectName): Promise<KubernetesObject | undefined> {
    const live = await super.get(resource, name);
    return this.assumed.find(({ metadata: { uid } }) => uid === live?.metadata.uid) ?? live;
  }

  override async apply(resource: Resource, manifest: Manifest, options: ApplyOptions) {
    const { metadata } = manifest;
    const { fieldManager } = options;
    const write = { resource, name: nameOf(metadata), manifest, fieldManager };
    const before = this.tried.findLast((each) => isImagined(each, resource, metadata));
    if (before?.wanted) {
      // It goes on from a write that was only tried, which the API server does not know.
      if (before.fieldManager !== fieldManager) return { object: before.wanted, created: false };
      const object = appliedTo(before.wanted, before.manifest, manifest) as KubernetesObject;
      if (!options.dryRun) this.tried.push({ ...write, live: before.live, wanted: object });
      return { object, created: false };
    }
    if (options.dryRun) return super.apply(resource, manifest, options);
    const live = await this.get(resource, metadata);
    const trial = live && this.isDeleted(live) ? this.trials.get(trialKey(resource, metadata)) : undefined;
    const answer = trial
      ? { object: { ...trial, metadata: { ...trial.metadata, name: metadata.name } }, created: true }
      : await super.apply(resource, manifest, options).catch((error: unknown) => {
          if (live || !this.waitsForTried(error)) throw error;
          return { object: imaginedObject(manifest), created: true };
        });
    const object = versioned(answer, live);
    this.tried.push({ ...write, live, wanted: object });
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
    propagation?: "Background" | "Foreground",
  ): Promise<"deleted" | "gone"> {
    const live = await this.get(resource, name);
    const result = await super.deleteVersion(resource, name, preconditions, propagation);
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

/**
 * A dry run leaves the version as it is. A write that changes something gets a later version, as a real write would give it.
 */
function versioned(
  { object, created }: { object: KubernetesObject; created: boolean },
  live: KubernetesObject | undefined,
): KubernetesObject {
  const isSame = live && !created && isDeepStrictEqual(contentOf(live), contentOf(object));
  const next = live ? `${live.metadata.resourceVersion}0` : IMAGINED_VERSION;
  const resourceVersion = isSame ? live.metadata.resourceVersion : next;
  return { ...object, metadata: { ...object.metadata, resourceVersion } };
}

/** An object without the API server's counters and times. It differs if a write changes something. */
function contentOf({ metadata, ...content }: KubernetesObject): unknown {
  const { managedFields = [], resourceVersion: _, generation: __, ...rest } = metadata;
  const owned = managedFields.map(({ time: _, ...entry }) => entry);
  return { ...content, metadata: { ...rest, owned } };
}

/** Whether this version of an object is the one that a write would have left. */
function isImagined(
  { resource, live, wanted }: TriedWrite,
  { apiVersion, kind }: Resource,
  { name, namespace, resourceVersion }: ObjectMeta,
): boolean {
  const { metadata } = wanted ?? {};
  const isSame = resource.kind === kind && resource.apiVersion === apiVersion;
  const isNamed = metadata?.name === name && metadata.namespace === namespace;
  const isVersion = resourceVersion !== undefined && metadata?.resourceVersion === resourceVersion;
  return isSame && isNamed && isVersion && live?.metadata.resourceVersion !== resourceVersion;
}

/**
 * What an apply makes of a value, where the API server cannot be asked. In a list, only what others have in entries with names is kept.
 * @param was what the same field manager applied before
 */
function appliedTo(there: unknown, was: unknown, wanted: unknown): unknown {
  if (isDeepStrictEqual(was, wanted)) return there;
  if (Array.isArray(there) && Array.isArray(wanted)) {
    const named = (list: unknown, entry: unknown) =>
      isRecord(entry) && Array.isArray(list)
        ? list.find((each) => isRecord(each) && each.name === entry.name)
        : undefined;
    return wanted.map((entry) => appliedTo(named(there, entry), named(was, entry), entry));
  }
  if (!isRecord(there) || !isRecord(wanted)) return wanted;
  const before = isRecord(was) ? was : {};
  const kept = Object.entries(there).filter(([key]) => !Object.hasOwn(before, key));
  const ours = Object.entries(wanted).filter(([, value]) => value != null);
  return Object.fromEntries([
    ...kept,
    ...ours.map(([key, value]) => [key, appliedTo(there[key], before[key], value)]),
  ]);
}

function imaginedObject(manifest: Manifest): KubernetesObject {
  const { name, namespace = "" } = manifest.metadata;
  const uid = `dry-run/${groupOf(manifest.apiVersion)}/${manifest.kind}/${namespace}/${name}`;
  return { ...manifest, metadata: { ...manifest.metadata, uid, resourceVersion: IMAGINED_VERSION } };
}

function nameOf({ namespace, name }: ObjectName): ObjectName {
  return { name, ...(namespace !== undefined && { namespace }) };
}

function trialKey(resource: Resource, { namespace, name }: ObjectName): string {
  return `${kindKey(resource)}/${formatName({ namespace, name: rehearsalName(name) })}`;
}
