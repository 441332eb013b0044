import {
  type ApplyOptions,
  type JsonPatchOperation,
  KubernetesClient,
} from "../../../runtime/kubernetes/client";
import { ApiError } from "../../../runtime/kubernetes/errors";
import type { Passage } from "../../../runtime/kubernetes/gate";
import {
  formatName,
  type KubernetesObject,
  type Manifest,
  type ObjectName,
} from "../../../runtime/kubernetes/objects";
import type { Resource } from "../../../runtime/kubernetes/resource";
import { entryOf } from "./objects";

/**
 * The objects of a cluster in memory, with as much of server-side apply as the engine's order of steps needs: a manager's
 * apply replaces what it applied before, and versions and uids are checked. It remembers every request.
 */
export class FakeCluster {
  /** Every request but reads, in order: "apply ConfigMap settings". */
  readonly steps: string[] = [];
  /** Errors with which requests are answered, by their step. */
  readonly refusals = new Map<string, Error>();
  private readonly objects = new Map<string, KubernetesObject>();
  private version = 100;

  client(): KubernetesClient {
    return new FakeClient(this, undefined);
  }

  /** Puts an object there, as if somebody else had. */
  put(object: KubernetesObject): KubernetesObject {
    const resourceVersion = String(++this.version);
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion } };
    this.objects.set(keyOf(object.kind, object.metadata), stored);
    return stored;
  }

  find(kind: string, name: ObjectName): KubernetesObject | undefined {
    return this.objects.get(keyOf(kind, name));
  }

  remove(kind: string, name: ObjectName): void {
    this.objects.delete(keyOf(kind, name));
  }

  ofKind(kind: string): KubernetesObject[] {
    return [...this.objects.values()].filter((object) => object.kind === kind);
  }

  step(what: string): void {
    this.steps.push(what);
    const refusal = this.refusals.get(what);
    if (refusal) throw refusal;
  }
}

class FakeClient extends KubernetesClient {
  constructor(
    private readonly cluster: FakeCluster,
    private readonly fence: (() => void) | undefined,
  ) {
    super({ server: "https://127.0.0.1:1" });
  }

  override with(passage: Passage): KubernetesClient {
    return new FakeClient(this.cluster, passage.fence ?? this.fence);
  }

  override async get(resource: Resource, name: ObjectName): Promise<KubernetesObject | undefined> {
    return this.cluster.find(resource.kind, name);
  }

  override async list(
    resource: Resource,
    _: object,
    onPage: (items: KubernetesObject[], version: string) => void,
  ): Promise<string> {
    onPage(this.cluster.ofKind(resource.kind), "1000");
    return "1000";
  }

  override async apply(resource: Resource, manifest: Manifest, options: ApplyOptions) {
    const { kind } = resource;
    const { name, finalizers } = manifest.metadata;
    this.request(
      options.subresource ?? (finalizers ? `apply finalizers ${finalizers.join()}` : `apply ${kind} ${name}`),
    );
    const there = this.cluster.find(kind, manifest.metadata);
    const { uid, resourceVersion } = manifest.metadata;
    const isMoved = resourceVersion !== undefined && resourceVersion !== there?.metadata.resourceVersion;
    if ((uid !== undefined && uid !== there?.metadata.uid) || (there && isMoved))
      throw new ApiError(409, { reason: "Conflict" }, `PATCH ${kind}`);
    const object = this.cluster.put(merged(there, manifest, options));
    return { object, created: there === undefined };
  }

  override async jsonPatch(resource: Resource, name: ObjectName, operations: readonly JsonPatchOperation[]) {
    const there = this.cluster.find(resource.kind, name);
    const removed = operations.find(({ op }) => op === "remove")?.path ?? "";
    const index = Number(/\/metadata\/finalizers\/(\d+)$/.exec(removed)?.[1]);
    const { finalizers = [] } = there?.metadata ?? {};
    this.request(`remove ${finalizers[index]}`);
    if (!there) throw new ApiError(404, {}, "PATCH");
    const left = finalizers.filter((_, at) => at !== index);
    return this.cluster.put({ ...there, metadata: { ...there.metadata, finalizers: left } });
  }

  override async deleteVersion(resource: Resource, name: ObjectName) {
    this.request(`delete ${resource.kind} ${name.name}`);
    this.cluster.remove(resource.kind, name);
    return "deleted" as const;
  }

  private request(step: string): void {
    this.fence?.();
    this.cluster.step(step);
  }
}

function merged(
  there: KubernetesObject | undefined,
  manifest: Manifest,
  options: ApplyOptions,
): KubernetesObject {
  const { uid = `${manifest.metadata.name}-uid`, managedFields = [] } = there?.metadata ?? {};
  const { resourceVersion: _, ...metadata } = manifest.metadata;
  const { subresource } = options;
  const entry = { ...entryOf(manifest, options.fieldManager), ...(subresource && { subresource }) };
  const others = managedFields.filter(
    (each) => each.manager !== options.fieldManager || each.subresource !== subresource,
  );
  return {
    ...there,
    ...manifest,
    metadata: {
      ...there?.metadata,
      ...metadata,
      uid,
      resourceVersion: "0",
      managedFields: [...others, entry],
    },
  };
}

function keyOf(kind: string, { namespace, name }: ObjectName): string {
  return `${kind} ${formatName({ namespace, name })}`;
}
