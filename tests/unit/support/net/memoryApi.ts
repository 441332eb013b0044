import { isDeepStrictEqual } from "node:util";
import type {
  JsonObject,
  KubernetesObject,
  ManagedFieldsEntry,
  Manifest,
} from "../../../../runtime/base/objects";
import type { Resource } from "../../../../runtime/base/resource";
import { at, changes, type FieldSet, fieldsOf, merged, stepsOf, without, written } from "./fieldSets";

/** A kind that {@link MemoryApi} serves. */
export interface ServedKind extends Resource {
  /** Whether the status is a subresource, and the rest has a generation. */
  readonly hasStatus: boolean;
  /** Why a change is refused, as the field that cannot be changed. @default none is */
  readonly immutable?: string;
  /**
   * What the API server makes of an object before it stores it: defaults, and what it takes from the old object.
   * @default nothing
   */
  readonly admit?: (next: Manifest, before: KubernetesObject | undefined) => Manifest;
}

/** A request as the API server gets it. */
export interface MemoryCall {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What it answers. */
export interface MemoryAnswer {
  readonly code: number;
  readonly body: unknown;
  /** Headers in addition to those of every answer. */
  readonly headers?: Record<string, string>;
}

/** One change, as it was stored. */
export interface Change {
  readonly version: number;
  /** In milliseconds since 1970. */
  readonly at: number;
  readonly kind: ServedKind;
  readonly before: KubernetesObject | undefined;
  /** Undefined: it was deleted. */
  readonly after: KubernetesObject | undefined;
}

/** Who owns which fields, by "manager operation subresource". */
type Owners = Map<string, FieldSet>;

/** What a path names. */
interface Place {
  readonly kind: ServedKind;
  readonly namespace: string | undefined;
  /** Undefined: it is a collection. */
  readonly name: string | undefined;
  readonly subresource: string | undefined;
  /** Whether a list or a watch of the path with this query has the object. */
  readonly includes: (object: KubernetesObject, url: URL) => boolean;
}

/** The API server refuses a request. */
export class Refusal extends Error {
  constructor(
    readonly code: number,
    readonly reason: string,
    message: string,
    readonly details: object = {},
  ) {
    super(message);
  }
}

/** The API server's own fields, which no field manager owns. */
const UNOWNED = [
  ...["name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp"],
  ...["deletionTimestamp", "deletionGracePeriodSeconds", "managedFields"],
];
/** How long the garbage collector takes, in milliseconds. */
const COLLECTED_AFTER_MS = 100;

/**
 * An API server in memory: discovery, lists, watches, server-side apply with owners of single fields, updates, JSON patches,
 * conditions on uid and version, the status subresource, generations, finalizers and the garbage collector. Uids tell which
 * object of a name it is: "configmap.shop.a.1".
 */
export class MemoryApi {
  /** Every change since the beginning, but for those of Leases. */
  readonly log: Change[] = [];
  /** How many changes there were, but for those of Leases and Events, which are written all the time. */
  changed = 0;
  /** Called after each change. */
  onChange: (change: Change) => void = () => {};
  private readonly objects = new Map<string, KubernetesObject>();
  private readonly places = new Map<string, Place | undefined>();
  private readonly lives = new Map<string, number>();
  private version = 100;
  private isCollecting = false;

  /** @param after sets a timer of the cluster's own controllers */
  constructor(
    private readonly kinds: readonly ServedKind[],
    private readonly after: (ms: number, action: () => void) => void,
  ) {}

  /** Answers a request that is no watch. */
  handle(call: MemoryCall): MemoryAnswer {
    try {
      return this.answer(call);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const { code, reason, message, details } = error;
      const body = { kind: "Status", apiVersion: "v1", status: "Failure", code, reason, message, details };
      return { code, body };
    }
  }

  /** The objects of a collection. @param until those that there were when this version was stored. @default now */
  list(url: URL, until = this.version): { readonly version: number; readonly items: KubernetesObject[] } {
    const place = this.placeOf(url.pathname);
    const items = new Map<string, KubernetesObject>();
    for (const { version, kind, before, after } of this.log) {
      if (version > until || kind !== place?.kind) continue;
      if (before) items.delete(keyOf(kind, before));
      if (after) items.set(keyOf(kind, after), after);
    }
    return { version: until, items: [...items.values()].filter((item) => place?.includes(item, url)) };
  }

  /** A change as a watch of that path has it. Undefined: the watch does not show it. */
  eventOf({ kind, before, after, version }: Change, url: URL): JsonObject | undefined {
    const place = this.placeOf(url.pathname);
    if (place?.kind !== kind) return undefined;
    const [was, is] = [before && place.includes(before, url), after && place.includes(after, url)];
    if (!was && !is) return undefined;
    const type = !was ? "ADDED" : is ? "MODIFIED" : "DELETED";
    const shown = (is ? after : before) as KubernetesObject;
    const metadata = { ...shown.metadata, resourceVersion: String(version) };
    return { type, object: { ...shown, metadata } as unknown as JsonObject };
  }

  /** The version of the newest change. */
  get newest(): number {
    return this.version;
  }

  /** Creates an object without content. */
  create(plural: string, name: string): void {
    const body = JSON.stringify({ metadata: { name } });
    this.handle({ method: "POST", url: new URL(`https://api/api/v1/${plural}`), headers: {}, body });
  }

  /** All objects of a kind are gone, and no watch tells. */
  forget(plural: string): void {
    for (const key of this.objects.keys()) if (key.startsWith(`${plural}/`)) this.objects.delete(key);
  }

  /** Whether a path is that of a collection, which can be listed and watched. */
  isCollection({ pathname }: URL): boolean {
    const place = this.placeOf(pathname);
    return place !== undefined && place.name === undefined;
  }

  /** The kind of the objects at a path. */
  kindAt({ pathname }: URL): string | undefined {
    return this.placeOf(pathname)?.kind.kind;
  }

  private answer(call: MemoryCall): MemoryAnswer {
    const { method, url, body: text } = call;
    const place = this.placeOf(url.pathname);
    if (!place) return { code: 200, body: this.discover(url.pathname) };
    const { kind, name, namespace } = place;
    if (method === "GET" && name === undefined) {
      const { version, items } = this.list(url);
      const metadata = { resourceVersion: String(version) };
      return { code: 200, body: { kind: `${kind.kind}List`, apiVersion: kind.apiVersion, metadata, items } };
    }
    const body = text === "" ? {} : JSON.parse(text);
    const there = this.objects.get(`${kind.plural}/${namespace ?? ""}/${name ?? body.metadata?.name}`);
    if (method === "POST") {
      if (there)
        throw new Refusal(409, "AlreadyExists", `${kind.plural} "${body.metadata.name}" already exists`);
      return { code: 201, body: this.update(call, place, undefined, body) };
    }
    const isApply = call.headers["content-type"] === "application/apply-patch+yaml";
    if (isApply) return this.apply(call, place, there, body);
    if (!there) throw new Refusal(404, "NotFound", `${kind.plural} "${name}" not found`, { name });
    if (method === "GET") return { code: 200, body: there };
    if (method === "DELETE") return { code: 200, body: this.delete(kind, there, body) };
    if (method === "PUT") return { code: 200, body: this.update(call, place, there, body) };
    const next =
      call.headers["content-type"] === "application/json-patch+json"
        ? patched(there, body)
        : mergePatched(there, body);
    return { code: 200, body: this.update(call, place, there, next as unknown as Manifest) };
  }

  private discover(path: string): unknown {
    const version = path.replace(/^\/apis?\//, "");
    const resources = this.kinds
      .filter(({ apiVersion }) => apiVersion === version)
      .map(({ plural: name, kind, namespaced }) => ({ name, kind, namespaced }));
    if (resources.length > 0) return { kind: "APIResourceList", resources };
    const versions = this.kinds
      .map(({ apiVersion: groupVersion }) => groupVersion)
      .filter((each) => each.startsWith(`${version}/`));
    if (versions.length === 0)
      throw new Refusal(404, "NotFound", "the server could not find the requested resource");
    return { kind: "APIGroup", versions: [...new Set(versions)].map((groupVersion) => ({ groupVersion })) };
  }

  private placeOf(path: string): Place | undefined {
    if (!this.places.has(path)) this.places.set(path, this.readPlace(path));
    return this.places.get(path);
  }

  private readPlace(path: string): Place | undefined {
    const steps = path.split("/").slice(1).map(decodeURIComponent);
    const apiVersion = steps
      .splice(0, steps[0] === "api" ? 2 : 3)
      .slice(1)
      .join("/");
    const namespace = steps[0] === "namespaces" && steps.length > 2 ? steps.splice(0, 2)[1] : undefined;
    const [plural, name, subresource] = steps;
    const kind = this.kinds.find((each) => each.apiVersion === apiVersion && each.plural === plural);
    if (!kind) return undefined;
    const includes = ({ metadata }: KubernetesObject, { searchParams }: URL) =>
      (namespace === undefined || metadata.namespace === namespace) &&
      hasLabels(metadata.labels ?? {}, searchParams.get("labelSelector")) &&
      [null, `metadata.name=${metadata.name}`].includes(searchParams.get("fieldSelector"));
    return { kind, namespace, name, subresource, includes };
  }

  private apply(
    { url }: MemoryCall,
    { kind, subresource }: { kind: ServedKind; subresource: string | undefined },
    there: KubernetesObject | undefined,
    manifest: Manifest,
  ): MemoryAnswer {
    if (!there && subresource)
      throw new Refusal(404, "NotFound", `${kind.plural} "${manifest.metadata.name}" not found`, {
        name: manifest.metadata.name,
      });
    this.check(kind, there, manifest.metadata, "apply");
    const manager = `${url.searchParams.get("fieldManager")} Apply ${subresource ?? ""}`;
    const owners = ownersOf(there);
    const applied = ownedPart(manifest, kind, subresource);
    const fields = fieldsOf(applied);
    fields.delete("");
    for (const [other, theirs] of owners) {
      if (other === manager) continue;
      for (const way of fields) {
        if (!theirs.has(way) || isDeepStrictEqual(at(there, way), at(applied, way))) continue;
        if (url.searchParams.get("force") !== "true")
          throw new Refusal(
            409,
            "Conflict",
            `Apply failed with 1 conflict: conflict with "${other}": ${way}`,
          );
        theirs.delete(way);
      }
    }
    let next = merged(there ?? { ...manifest, metadata: { ...manifest.metadata } }, applied) as Manifest;
    for (const way of owners.get(manager) ?? []) {
      const isOwned =
        fields.has(way) || [...owners].some(([other, theirs]) => other !== manager && theirs.has(way));
      if (!isOwned) next = without(next, stepsOf(way)) as Manifest;
    }
    // A map that becomes empty by that stays if the manifest has it.
    next = merged(next, applied) as Manifest;
    owners.set(manager, fields);
    const code = there ? 200 : 201;
    return { code, body: this.store(kind, there, next, owners, subresource, url) };
  }

  private update(
    { url }: MemoryCall,
    {
      kind,
      subresource,
      namespace,
    }: { kind: ServedKind; subresource: string | undefined; namespace: string | undefined },
    there: KubernetesObject | undefined,
    next: Manifest,
  ): KubernetesObject {
    if (there) this.check(kind, there, next.metadata, "update");
    const owners = ownersOf(there);
    const manager = `${url.searchParams.get("fieldManager") ?? "unknown"} Update ${subresource ?? ""}`;
    const { set, gone } = changes(ownedPart(there, kind, subresource), ownedPart(next, kind, subresource));
    for (const fields of owners.values()) for (const way of [...set, ...gone]) fields.delete(way);
    owners.set(manager, new Set([...(owners.get(manager) ?? []), ...set]));
    const metadata = { ...next.metadata, ...(namespace && { namespace }) };
    return this.store(kind, there, { ...next, metadata }, owners, subresource, url);
  }

  private check(
    { plural }: ServedKind,
    there: KubernetesObject | undefined,
    { uid, resourceVersion, name }: Manifest["metadata"],
    how: "apply" | "update",
  ): void {
    const conflict = (why: string) =>
      new Refusal(409, "Conflict", `Operation cannot be fulfilled on ${plural} "${name}": ${why}`);
    if (uid !== undefined && uid !== there?.metadata.uid) throw conflict("uid mismatch");
    if (resourceVersion !== undefined && there && resourceVersion !== there.metadata.resourceVersion)
      throw conflict(
        "the object has been modified; please apply your changes to the latest version and try again",
      );
    if (resourceVersion !== undefined && !there && how === "update") throw conflict("it does not exist");
  }

  private store(
    kind: ServedKind,
    there: KubernetesObject | undefined,
    next: Manifest,
    owners: Owners,
    subresource: string | undefined,
    url: URL,
  ): KubernetesObject {
    const { name, namespace } = next.metadata;
    const { apiVersion, kind: kindName } = kind;
    const life = `${kindName}/${namespace ?? ""}/${name}`;
    const isStatus = subresource === "status";
    const status = kind.hasStatus && !isStatus ? there?.["status"] : next["status"];
    const { status: _, ...content } = isStatus && there ? there : next;
    const whole = { ...content, ...(status !== undefined && { status }), apiVersion, kind: kindName };
    const written = { ...(kind.admit?.(whole, there) ?? whole) };
    const isNew = !there;
    const uid =
      there?.metadata.uid ?? `${life.replaceAll("/", ".").toLowerCase()}.${(this.lives.get(life) ?? 0) + 1}`;
    const isOtherSpec = there && !isDeepStrictEqual(specOf(there), specOf(written as Manifest));
    if (isOtherSpec && kind.immutable !== undefined) this.assertMutable(kind, there, written as Manifest);
    const generation = kind.hasStatus && {
      generation: (there?.metadata.generation ?? 0) + (isNew || isOtherSpec ? 1 : 0),
    };
    const metadata = {
      ...written.metadata,
      name,
      ...(namespace && { namespace }),
      uid,
      creationTimestamp: there?.metadata.creationTimestamp ?? timeNow(),
      ...generation,
      ...(there?.metadata.deletionTimestamp && { deletionTimestamp: there.metadata.deletionTimestamp }),
      managedFields: entriesOf(owners, kind.apiVersion),
      resourceVersion: there?.metadata.resourceVersion ?? "",
    };
    for (const field of ["labels", "annotations", "finalizers", "ownerReferences"] as const)
      if (Object.keys(metadata[field] ?? {}).length === 0) delete metadata[field];
    const stored = { ...written, metadata } as KubernetesObject;
    const had = there?.metadata.finalizers ?? [];
    const isAdding = metadata.finalizers?.some((each) => !had.includes(each));
    if (there?.metadata.deletionTimestamp && isAdding)
      throw new Refusal(
        422,
        "Invalid",
        "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted",
      );
    if (url.searchParams.get("dryRun")) return stored;
    if (there && isDeepStrictEqual(there, stored)) return there;
    this.lives.set(life, isNew ? (this.lives.get(life) ?? 0) + 1 : (this.lives.get(life) ?? 1));
    const isGone = metadata.deletionTimestamp !== undefined && metadata.finalizers === undefined;
    return this.commit(kind, there, stored, isGone);
  }

  private assertMutable({ immutable = "" }: ServedKind, before: KubernetesObject, after: Manifest): void {
    const way = immutable
      .split(".")
      .map((field) => `f:${field}`)
      .join("\n");
    if (isDeepStrictEqual(at(before, way), at(after, way))) return;
    const causes = [{ reason: "FieldValueInvalid", field: immutable, message: "field is immutable" }];
    throw new Refusal(422, "Invalid", `${immutable}: Invalid value: field is immutable`, { causes });
  }

  private delete(
    kind: ServedKind,
    there: KubernetesObject,
    { preconditions = {}, propagationPolicy }: { preconditions?: JsonObject; propagationPolicy?: string },
  ): KubernetesObject {
    this.check(kind, there, { name: there.metadata.name, ...preconditions }, "update");
    if (propagationPolicy === "Orphan") this.orphan(there.metadata.uid);
    const { finalizers, deletionTimestamp } = there.metadata;
    if (!finalizers) return this.commit(kind, there, there, true);
    if (deletionTimestamp) return there;
    const { generation } = there.metadata;
    const deleting = { deletionTimestamp: timeNow(), ...(generation && { generation: generation + 1 }) };
    return this.commit(kind, there, { ...there, metadata: { ...there.metadata, ...deleting } }, false);
  }

  private commit(
    kind: ServedKind,
    before: KubernetesObject | undefined,
    next: KubernetesObject,
    isGone: boolean,
  ): KubernetesObject {
    const version = ++this.version;
    const stored = { ...next, metadata: { ...next.metadata, resourceVersion: String(version) } };
    if (isGone) this.objects.delete(keyOf(kind, stored));
    else this.objects.set(keyOf(kind, stored), stored);
    const change = { version, at: Date.now(), kind, before, after: isGone ? undefined : stored };
    if (kind.kind !== "Lease") {
      this.log.push(change);
      if (kind.kind !== "Event") this.changed += 1;
      this.onChange(change);
    }
    if (!this.isCollecting) {
      this.isCollecting = true;
      this.after(COLLECTED_AFTER_MS, () => this.collect());
    }
    return stored;
  }

  /** The garbage collector: deletes what has owners, none of which exists. */
  private collect(): void {
    this.isCollecting = false;
    const uids = new Set([...this.objects.values()].map(({ metadata }) => metadata.uid));
    for (const [key, object] of [...this.objects]) {
      const owners = object.metadata.ownerReferences ?? [];
      if (owners.length === 0 || owners.some(({ uid }) => uids.has(uid))) continue;
      this.delete(this.kindOf(key), object, {});
    }
  }

  private orphan(owner: string): void {
    for (const [key, object] of [...this.objects]) {
      const { ownerReferences, ...metadata } = object.metadata;
      const left = ownerReferences?.filter(({ uid }) => uid !== owner) ?? [];
      if (left.length === (ownerReferences?.length ?? 0)) continue;
      const call = { method: "PUT", url: new URL("https://gc/?fieldManager=gc"), headers: {}, body: "" };
      const next = {
        ...object,
        metadata: { ...metadata, ...(left.length > 0 && { ownerReferences: left }) },
      };
      this.update(
        call,
        { kind: this.kindOf(key), subresource: undefined, namespace: metadata.namespace },
        object,
        next,
      );
    }
  }

  private kindOf(key: string): ServedKind {
    return this.kinds.find(({ plural }) => key.startsWith(`${plural}/`)) as ServedKind;
  }
}

function keyOf({ plural }: ServedKind, { metadata: { namespace = "", name } }: Manifest): string {
  return `${plural}/${namespace}/${name}`;
}

function timeNow(): string {
  return `${new Date().toISOString().slice(0, 19)}Z`;
}

function specOf({ metadata: _, status: __, ...spec }: Manifest): object {
  return spec;
}

/** The part of an object whose fields have owners. */
function ownedPart(
  object: Manifest | undefined,
  { hasStatus }: ServedKind,
  subresource: string | undefined,
): JsonObject {
  if (!object) return {};
  const { apiVersion: _a, kind: _k, metadata, status, ...content } = object;
  if (subresource === "status") return status === undefined ? {} : ({ status } as JsonObject);
  const owned = Object.entries(metadata).filter(([field]) => !UNOWNED.includes(field));
  return {
    ...content,
    ...(!hasStatus && status !== undefined && { status }),
    ...(owned.length > 0 && { metadata: Object.fromEntries(owned) }),
  } as JsonObject;
}

function ownersOf(object: KubernetesObject | undefined): Owners {
  const entries = object?.metadata.managedFields ?? [];
  return new Map(
    entries.map(({ manager, operation, subresource = "", fieldsV1 = {} }) => [
      `${manager} ${operation} ${subresource}`,
      readFields(fieldsV1),
    ]),
  );
}

function readFields(node: JsonObject, way = ""): FieldSet {
  const fields: FieldSet = new Set();
  for (const [step, inner] of Object.entries(node)) {
    if (step === ".") {
      fields.add(way);
      continue;
    }
    const next = way === "" ? step : `${way}\n${step}`;
    if (Object.keys(inner as JsonObject).length === 0) fields.add(next);
    else for (const each of readFields(inner as JsonObject, next)) fields.add(each);
  }
  return fields;
}

function entriesOf(owners: Owners, apiVersion: string): ManagedFieldsEntry[] {
  return [...owners]
    .filter(([, fields]) => fields.size > 0)
    .map(([owner, fields]) => {
      const [manager = "", operation, subresource] = owner.split(" ");
      return {
        manager,
        operation: operation as "Apply",
        apiVersion,
        ...(subresource && { subresource }),
        fieldsType: "FieldsV1",
        fieldsV1: written(fields),
      };
    })
    .sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}

function hasLabels(labels: Readonly<Record<string, string>>, selector: string | null): boolean {
  const terms = selector?.match(/[^,(]+(\([^)]*\))?/g) ?? [];
  return terms.every((term) => {
    if (term.startsWith("!")) return labels[term.slice(1)] === undefined;
    const [, label = term, sign, values = ""] = /^(.+?)(!=|=| notin | in )\(?([^)]*)\)?$/.exec(term) ?? [];
    if (sign === undefined) return labels[label] !== undefined;
    const isIn = values
      .split(",")
      .map((each) => each.trim())
      .includes(labels[label] ?? "");
    return isIn === (sign === "=" || sign === " in ");
  });
}

function mergePatched(value: unknown, patch: unknown): unknown {
  if (typeof patch !== "object" || patch === null || Array.isArray(patch)) return patch;
  const next: JsonObject = {
    ...(typeof value === "object" && !Array.isArray(value) ? (value as JsonObject) : {}),
  };
  for (const [key, inner] of Object.entries(patch as JsonObject)) {
    if (inner === null) delete next[key];
    else next[key] = mergePatched(next[key], inner) as JsonObject;
  }
  return next;
}

interface Operation {
  readonly op: string;
  readonly path: string;
  readonly value?: unknown;
}

/** An object after a JSON patch. @throws Refusal if a test of it fails, or it has no such place */
export function patched(object: KubernetesObject, operations: readonly Operation[]): KubernetesObject {
  const next = structuredClone(object);
  for (const { op, path, value } of operations) {
    const steps = path
      .split("/")
      .slice(1)
      .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
    const last = steps.pop() ?? "";
    let node = next as unknown as Record<string, unknown>;
    const invalid = () =>
      new Refusal(
        422,
        "Invalid",
        `the server rejected our request due to an error in our request: ${op} ${path}`,
      );
    for (const step of steps) {
      node = node?.[step] as Record<string, unknown>;
      if (node === undefined) throw invalid();
    }
    if (op === "test" ? !isDeepStrictEqual(node[last], value) : op !== "add" && !(last in node))
      throw invalid();
    if (op === "remove") Array.isArray(node) ? node.splice(Number(last), 1) : delete node[last];
    else if (op !== "test") node[last] = value;
  }
  return next;
}
