import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import {
  formatName,
  groupOf,
  type JsonObject,
  type KubernetesObject,
  type ManagedFieldsEntry,
  type Manifest,
  type ObjectMeta,
  type ObjectName,
} from "../../../runtime/base/objects";
import type { Resource } from "../../../runtime/base/resource";
import {
  type ApplyOptions,
  type JsonPatchOperation,
  KubernetesClient,
} from "../../../runtime/kubernetes/client";
import { builtIn } from "../../../runtime/kubernetes/discovery";
import { ApiError, isApiError } from "../../../runtime/kubernetes/errors";
import type { RequestTraits } from "../../../runtime/kubernetes/gate";
import type { Selection } from "../../../runtime/kubernetes/list";
import { entryOf } from "./objects";

/**
 * The objects of a cluster in memory, with as much of server-side apply as the engine's order of steps needs: a manager's
 * apply replaces the top-level fields and the marks that it applied before, and versions and uids are checked. It
 * remembers every request.
 */
export class FakeCluster {
  /** Every request but reads, in order: "apply ConfigMap settings". */
  readonly steps: string[] = [];
  /** Errors with which requests are answered, by their step. */
  readonly refusals = new Map<string, Error>();
  /** Errors with which requests are answered that are done all the same, by their step. */
  readonly lost = new Map<string, Error>();
  /** Errors with which reads are answered: "get ConfigMap", "list ConfigMap in shop", "list v1 ConfigMap". */
  readonly readRefusals = new Map<string, Error>();
  /** The kinds that the API server says it serves, by their version. A list does not ask for them. */
  readonly served = new Map<string, readonly Resource[]>([
    ["v1", [builtIn("v1", "ConfigMap"), builtIn("v1", "Secret")]],
  ]);
  /** What another client does just before the API server has one of our requests, with that request. */
  beforeRequest: (step: string) => void = () => {};
  /** The class of each write, by its step. */
  readonly classes = new Map<string, RequestTraits["class"]>();
  /** Called with what exists before one of our writes changes or deletes that. */
  onOverwrite: (step: string, there: KubernetesObject) => void = () => {};
  /** What the clock of the API server says, in milliseconds since 1970. */
  time = Date.parse("2026-01-01T00:00:00Z");
  private readonly objects = new Map<string, KubernetesObject>();
  private version = 100;

  client(): KubernetesClient {
    return new FakeClient(this, {});
  }

  /** Puts an object there, as another client would. */
  put(object: KubernetesObject): KubernetesObject {
    const resourceVersion = String(++this.version);
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion } };
    this.objects.set(keyOf(object.kind, object.metadata), stored);
    return stored;
  }

  /** Changes what there is of an object, as another client would. It must be there. */
  change(
    object: KubernetesObject | undefined,
    metadata: Partial<ObjectMeta>,
    content: object = {},
  ): KubernetesObject {
    assert.ok(object, "there is nothing to change");
    return this.put({ ...object, ...content, metadata: { ...object.metadata, ...metadata } });
  }

  find(kind: string, name: ObjectName): KubernetesObject | undefined {
    return this.objects.get(keyOf(kind, name));
  }

  remove(kind: string, name: ObjectName): void {
    this.objects.delete(keyOf(kind, name));
  }

  /** The objects of a kind, as a list with this selection has them. */
  ofKind(kind: string, { namespace, labelSelector, fieldSelector }: Selection = {}): KubernetesObject[] {
    const wanted = labelSelector?.match(/[^,(]+(\([^)]*\))?/g) ?? [];
    return [...this.objects.values()].filter(({ kind: its, metadata }) => {
      if (its !== kind || (namespace !== undefined && metadata.namespace !== namespace)) return false;
      if (fieldSelector !== undefined && fieldSelector !== `metadata.name=${metadata.name}`) return false;
      return wanted.every((term) => {
        if (term.startsWith("!")) return metadata.labels?.[term.slice(1)] === undefined;
        const [, label = term, sign, values = ""] = /^(.+?)(!=|=| in )\(?([^)]*)\)?$/.exec(term) ?? [];
        const value = metadata.labels?.[label];
        if (sign === undefined) return value !== undefined;
        return values.split(",").includes(value ?? "") === (sign !== "!=");
      });
    });
  }

  step(what: string): void {
    this.steps.push(what);
    this.beforeRequest(what);
    const refusal = this.refusals.get(what);
    if (refusal) throw refusal;
  }

  reads(what: string): void {
    const refusal = this.readRefusals.get(what);
    if (refusal) throw refusal;
  }
}

class FakeClient extends KubernetesClient {
  constructor(
    private readonly cluster: FakeCluster,
    private readonly sentAs: RequestTraits,
  ) {
    super({ server: "https://127.0.0.1:1" });
  }

  override with(traits: RequestTraits): KubernetesClient {
    return Object.assign(super.with(traits), { sentAs: { ...this.sentAs, ...traits } });
  }

  override async get(resource: Resource, name: ObjectName): Promise<KubernetesObject | undefined> {
    this.sentAs.fence?.();
    this.cluster.reads(`get ${resource.kind}`);
    return this.cluster.find(resource.kind, name);
  }

  override now() {
    return this.cluster.time;
  }

  override async read<T>(path: string): Promise<T> {
    const version = path.replace(/^\/apis?\//, "");
    const { served } = this.cluster;
    const ofGroup = [...served.keys()].filter((each) => each.includes("/") && groupOf(each) === version);
    if (ofGroup.length > 0) return { versions: ofGroup.map((groupVersion) => ({ groupVersion })) } as T;
    const resources = served.get(version)?.map(({ plural: name, ...kind }) => ({ name, ...kind }));
    if (!resources) throw new ApiError(404, {}, `GET ${path}`);
    return { resources } as T;
  }

  override async list(
    { apiVersion, kind }: Resource,
    selection: Selection,
    onPage: (items: KubernetesObject[], version: string) => void,
  ): Promise<string> {
    const { namespace } = selection;
    this.cluster.reads(`list ${apiVersion} ${kind}`);
    this.cluster.reads(namespace === undefined ? `list ${kind}` : `list ${kind} in ${namespace}`);
    onPage(this.cluster.ofKind(kind, selection), "1000");
    return "1000";
  }

  override async apply(resource: Resource, manifest: Manifest, options: ApplyOptions) {
    const { kind } = resource;
    const { name, finalizers } = manifest.metadata;
    const step =
      options.subresource ?? (finalizers ? `apply finalizers ${finalizers.join()}` : `apply ${kind} ${name}`);
    this.request(options.dryRun ? `try to ${step}` : step);
    const there = this.cluster.find(kind, manifest.metadata);
    this.check(kind, there, manifest.metadata);
    const next = merged(there, manifest, options);
    if (options.dryRun) return { object: next, created: false };
    // A write that changes nothing makes no new version.
    if (there && isDeepStrictEqual(withoutVersion(there), withoutVersion(next)))
      return this.answer(step, { object: there, created: false });
    if (there) this.cluster.onOverwrite(step, there);
    return this.answer(step, { object: this.cluster.put(next), created: there === undefined });
  }

  override async create(resource: Resource, manifest: Manifest, options: { dryRun?: boolean } = {}) {
    const { kind } = resource;
    this.request(`${options.dryRun ? "try" : "create"} ${kind}`);
    return merged(undefined, manifest, { fieldManager: "create", force: false });
  }

  override async jsonPatch(resource: Resource, name: ObjectName, operations: readonly JsonPatchOperation[]) {
    const there = this.cluster.find(resource.kind, name);
    const removed = operations.find(({ op }) => op === "remove")?.path ?? "";
    const index = Number(/\/metadata\/finalizers\/(\d+)$/.exec(removed)?.[1]);
    const { finalizers = [] } = there?.metadata ?? {};
    this.request(`remove ${finalizers[index]}`);
    if (!there) throw new ApiError(404, {}, "PATCH");
    const left = finalizers.filter((_, at) => at !== index);
    return this.cluster.change(there, { finalizers: left });
  }

  override async delete({ kind }: Resource, name: ObjectName, { uid }: { uid?: string } = {}) {
    try {
      return (await this.remove(kind, name, uid === undefined ? {} : { uid })) === "deleted";
    } catch (error) {
      if (isApiError(error, 409)) return false;
      throw error;
    }
  }

  override async deleteVersion(
    { kind }: Resource,
    name: ObjectName,
    preconditions: { readonly uid: string; readonly resourceVersion: string },
  ) {
    return this.remove(kind, name, preconditions);
  }

  private async remove(kind: string, name: ObjectName, conditions: Partial<ObjectMeta>) {
    const step = `delete ${kind} ${name.name}`;
    this.request(step);
    const there = this.cluster.find(kind, name);
    if (!there) return "gone" as const;
    this.check(kind, there, conditions);
    this.cluster.onOverwrite(step, there);
    if (there.metadata.finalizers?.length)
      this.cluster.change(there, { deletionTimestamp: "2026-01-01T00:00:00Z" });
    else this.cluster.remove(kind, name);
    return this.answer(step, "deleted" as const);
  }

  private check(
    kind: string,
    there: KubernetesObject | undefined,
    { uid, resourceVersion }: Partial<ObjectMeta>,
  ) {
    const isMoved = resourceVersion !== undefined && resourceVersion !== there?.metadata.resourceVersion;
    if ((uid !== undefined && uid !== there?.metadata.uid) || (there && isMoved))
      throw new ApiError(409, { reason: "Conflict" }, `PATCH ${kind}`);
  }

  private answer<Answer>(step: string, answer: Answer): Answer {
    const error = this.cluster.lost.get(step);
    if (error) throw error;
    return answer;
  }

  private request(step: string): void {
    this.sentAs.fence?.();
    this.cluster.classes.set(step, this.sentAs.class);
    this.cluster.step(step);
  }
}

function merged(
  there: KubernetesObject | undefined,
  manifest: Manifest,
  { fieldManager, subresource }: ApplyOptions,
): KubernetesObject {
  const { uid = `${manifest.metadata.name}-uid`, managedFields = [] } = there?.metadata ?? {};
  const { resourceVersion: _, ...metadata } = manifest.metadata;
  const isOurs = (each: ManagedFieldsEntry) =>
    each.manager === fieldManager && each.operation === "Apply" && each.subresource === subresource;
  const before = managedFields.find(isOurs);
  const others = managedFields.filter((each) => each !== before);
  const entry = { ...entryOf(manifest, fieldManager), ...(subresource && { subresource }) };
  const isEmpty = Object.keys(manifest).length === 3 && Object.keys(metadata).every(isName);
  const map = (field: "labels" | "annotations") => {
    const owned = ((before?.fieldsV1?.["f:metadata"] as JsonObject)?.[`f:${field}`] ?? {}) as JsonObject;
    const isTheirs = (key: string) =>
      !(`f:${key}` in owned) ||
      others.some(
        ({ fieldsV1 }) =>
          ((fieldsV1?.["f:metadata"] as JsonObject)?.[`f:${field}`] as JsonObject)?.[`f:${key}`],
      );
    const kept = Object.entries(there?.metadata[field] ?? {}).filter(([key]) => isTheirs(key));
    const all = { ...Object.fromEntries(kept), ...metadata[field] };
    return Object.keys(all).length > 0 ? { [field]: all } : {};
  };
  // A set, of which each manager owns what it applied.
  const owned = before?.fieldsV1?.["f:metadata"] as JsonObject | undefined;
  const ownFinalizers = Object.keys((owned?.["f:finalizers"] ?? {}) as JsonObject);
  const othersFinalizers = (there?.metadata.finalizers ?? []).filter(
    (finalizer) => !ownFinalizers.includes(`v:${JSON.stringify(finalizer)}`),
  );
  const finalizers = [...new Set([...othersFinalizers, ...(manifest.metadata.finalizers ?? [])])];
  const { labels: _l, annotations: _a, ...rest } = there?.metadata ?? {};
  const { labels: __, annotations: ___, ...own } = metadata;
  return {
    ...there,
    ...manifest,
    metadata: {
      ...rest,
      ...own,
      ...map("labels"),
      ...map("annotations"),
      ...((there?.metadata.finalizers || manifest.metadata.finalizers) && { finalizers }),
      uid,
      resourceVersion: "0",
      managedFields: isEmpty ? others : [...others, entry],
    },
  };
}

function isName(field: string): boolean {
  return ["name", "namespace", "uid"].includes(field);
}

function withoutVersion({ metadata, ...content }: KubernetesObject) {
  const { resourceVersion: _, managedFields = [], ...others } = metadata;
  const inOrder = [...managedFields].sort((a, b) => ((a.manager ?? "") < (b.manager ?? "") ? -1 : 1));
  return { ...content, metadata: { ...others, managedFields: inOrder } };
}

function keyOf(kind: string, { namespace, name }: ObjectName): string {
  return `${kind} ${formatName({ namespace, name })}`;
}
