import { getHeapStatistics } from "node:v8";
import { jsonOf } from "../base/json";
import { isSecretKind } from "../base/kinds";
import { Allowance } from "../base/limits";
import { formatName, isNewer, type KubernetesObject, type ObjectName } from "../base/objects";
import { Packer } from "../base/packed";
import { kindKey, type Resource, type TypeMeta } from "../base/resource";
import type { ObjectReader } from "../kubernetes/client";
import type { ReflectorSink } from "./reflector";
import {
  contentOf,
  isAlike,
  isFromWatch,
  type ListFacts,
  type Source,
  StoredObject,
  standingTo,
} from "./storedObject";

/** What changed in a store. */
export interface Change<Facts> {
  readonly source: Source;
  /** Undefined if the object is new here. */
  readonly before: StoredObject<Facts> | undefined;
  /** Undefined if the object is gone. */
  readonly after: StoredObject<Facts> | undefined;
  /** The object as it came. If it is gone: its last state, if a watch gave that. */
  readonly object: KubernetesObject | undefined;
}

/** Stores what a reflector sees. */
export interface StoreSink extends ReflectorSink {
  /**
   * The object is in the list in progress.
   * @returns a function that sets it, now or later
   */
  see(object: KubernetesObject): () => void;
}

/** How much of the newest objects a store keeps as they are, in characters of JSON. */
export const MOST_KEPT = 24 * 1024 * 1024;
/** How much of the older ones a store keeps packed, in characters: a tenth of the heap. Others are read when they are needed. */
const MOST_PACKED = getHeapStatistics().heap_size_limit / 10;
/** The longest object that is packed, in characters: packing blocks all other work. */
const LONGEST_PACKED = 64 * 1024;

/**
 * Objects as watches, lists and the answers to our own writes show them. Two questions are separate. Which version of an object is
 * stored? See {@link standingTo}. And may the store keep the content with which that version came? If it may not, the object is
 * read from the API server when it is needed.
 *
 * Guarantees, each with a test in tests/unit/store.test.ts:
 * - An older version never replaces a newer one, however late it comes, unless etcd was restored from a backup. The report that an
 *   object went, or is not selected any more, has a version too: it never removes a newer object.
 * - If a list has the same version with other content, the content is replaced: a default was added to a CRD.
 * - Every change is reported once, from the source that has it first. If only the version is another one, nothing is reported.
 * - After {@link Store.invalidate} of an object, the store keeps no content of this object from a list or a read that was requested
 *   earlier, however late it arrives. It keeps none from a watch either, until a later list, or the answer to a request of our own,
 *   has shown the object. {@link Store.invalidateAll} does this for all objects. If the store does not know an object yet, it keeps
 *   the content that a watch brings.
 * - At most `mostKept` characters of JSON are kept, unless the newest object alone is longer, and at most `mostPacked` of older objects
 *   in packed form.
 * - A list of a kind in one namespace looks at no object of another (tests/unit/sizes.test.ts).
 *
 * Assumption: resourceVersions of one resource are decimal integers that grow (KEP 5504), or none of its objects has one.
 */
export class Store<Facts> {
  /** By kind, then by namespace, then by name: most objects have no text as their key that they do not have anyway. */
  private readonly kinds = new Map<string, Map<string, Place<Facts>>>();
  private count = 0;
  private readonly allowance: Allowance<StoredObject<Facts>>;
  private readonly packedAllowance: Allowance<StoredObject<Facts>>;
  private readonly packers = new Map<string, Packer>();
  /** The clock of {@link StoredObject.invalidatedAt}: how often something was invalidated. */
  private clock = 0;
  /** When everything was last invalidated, on that clock. */
  private invalidatedAt = 0;
  /** Requests in progress, with the version that was known when each began. */
  private readonly reading = new Map<
    StoredObject<Facts>,
    { readonly version: string; readonly object: Promise<KubernetesObject | undefined> }
  >();

  constructor(
    private readonly options: {
      readonly client: ObjectReader;
      /** The facts to keep of an object. Undefined: we do not own the object, and it is not kept. */
      readonly factsOf: (object: KubernetesObject) => Facts | undefined;
      /** The part of an object that is kept as JSON. @default the whole object */
      readonly kept?: ((object: KubernetesObject) => object) | undefined;
      readonly onChange: (change: Change<Facts>) => void;
      /**
       * Whether watches and lists bring only metadata, so that whole objects are read when they are needed. An object that was read
       * is kept until a watch reports another version. @default false
       */
      readonly isMetadataOnly?: boolean;
      /** How many characters of the newest JSON are kept. @default 24 Mi */
      readonly mostKept?: number | undefined;
      /**
       * How many characters are kept of packed JSON, of older objects. Other objects are read when they are needed.
       * @default a tenth of the heap, or 0 if `mostKept` is given
       */
      readonly mostPacked?: number | undefined;
    },
  ) {
    const { mostKept = MOST_KEPT, mostPacked = options.mostKept === undefined ? MOST_PACKED : 0 } = options;
    this.allowance = new Allowance(mostKept, (stored) => this.pack(stored, mostPacked));
    this.packedAllowance = new Allowance(mostPacked, (stored) => drop(stored));
  }

  get size(): number {
    return this.count;
  }

  *values(): IterableIterator<StoredObject<Facts>> {
    for (const places of this.kinds.values())
      for (const { byName } of places.values()) yield* byName.values();
  }

  find(resource: Resource, { namespace = "", name }: ObjectName): StoredObject<Facts> | undefined {
    return this.kinds.get(kindKey(resource))?.get(namespace)?.byName.get(name);
  }

  private place(resource: Resource, namespace = ""): Place<Facts> {
    const kind = kindKey(resource);
    const places = this.kinds.get(kind) ?? new Map<string, Place<Facts>>();
    const place = places.get(namespace) ?? { namespace: namespace || undefined, byName: new Map() };
    this.kinds.set(kind, places.set(namespace, place));
    return place;
  }

  /**
   * The object, from the store or read from the API server. It is not older than the stored version, but the watch may have brought
   * a newer one while it was read. Undefined if it is gone, or no longer ours.
   * @param source whether the caller handles a change that is found by this read
   */
  async read(
    stored: StoredObject<Facts>,
    source: "answer" | "handled" = "answer",
  ): Promise<KubernetesObject | undefined> {
    const kept = contentOf(stored);
    if (kept) return kept;
    const requestedAt = this.clock;
    const object = await this.get(stored);
    // The object may have been deleted, or forgotten, while it was read.
    const isThere = this.find(stored.resource, stored) === stored;
    if (!isThere || object?.metadata.uid !== stored.uid) return undefined;
    if (this.set(stored.resource, object, source, undefined, requestedAt) !== stored) return undefined;
    return this.options.kept ? (this.options.kept(object) as KubernetesObject) : object;
  }

  /** If many need the same object at once, it is read once. */
  private get(stored: StoredObject<Facts>): Promise<KubernetesObject | undefined> {
    const version = stored.resourceVersion;
    const known = this.reading.get(stored);
    if (known && known.version === version) return known.object;
    const object = this.options.client.get(stored.resource, stored);
    // In a store of whole objects, the caller may know of a later change than the request in progress shows.
    if (!this.options.isMetadataOnly) return object;
    const reading = { version, object };
    this.reading.set(stored, reading);
    const end = () => {
      if (this.reading.get(stored) === reading) this.reading.delete(stored);
    };
    object.then(end, end);
    return object;
  }

  /**
   * The stored object may be outdated, so its content is discarded. It is read again when it is needed: a list that was requested
   * before this call may be outdated too, and an event of the watch may come late.
   */
  invalidate(stored: StoredObject<Facts>): void {
    stored.invalidatedAt = ++this.clock;
    stored.isInvalid = true;
    this.discard(stored);
  }

  /** Every object may be outdated: see {@link invalidate}. */
  invalidateAll(): void {
    this.invalidatedAt = ++this.clock;
    for (const stored of this.values()) this.invalidate(stored);
  }

  /**
   * Stores an object.
   * @param list the list that has it, if it comes by a list
   * @param requestedAt when it was requested, on the clock of the store. @default when the list was, or now
   * @param isBehind whether a newer version was seen of its kind. After a restore of etcd, that is how the object is. A cache that
   *   is behind shows the same. Only a read shows which of them it is, so the content is not kept
   * @returns the stored object with that name now. Undefined if we do not own it
   */
  set(
    resource: Resource,
    object: KubernetesObject,
    source: Source,
    list?: ListFacts,
    requestedAt = list?.requestedAt ?? this.clock,
    isBehind = list?.isReset ?? false,
  ): StoredObject<Facts> | undefined {
    const known = this.find(resource, object.metadata);
    const isCurrent = !isBehind && this.isCurrent(known, source, requestedAt);
    if (known) {
      const { uid, resourceVersion } = object.metadata;
      // It may be an earlier object of the name.
      if (isFromWatch(source) && known.uid === uid && isNewer(resourceVersion, known.observedVersion))
        known.observedVersion = resourceVersion;
      const standing = standingTo(known, object, list, isCurrent);
      if (standing === "same" && isCurrent && known.json === undefined) this.keep(known, object);
      if (standing !== "newer") return known;
    }
    const facts = this.options.factsOf(object);
    if (facts !== undefined) return this.replace(known, resource, object, source, facts, isCurrent);
    if (known) this.remove(known, source, object);
    return undefined;
  }

  /** Whether the content of an object that comes in may be kept. */
  private isCurrent(known: StoredObject<Facts> | undefined, source: Source, requestedAt: number): boolean {
    if (this.options.isMetadataOnly && isFromWatch(source)) return false;
    if (source === "watch") return known?.isInvalid !== true;
    return requestedAt >= Math.max(known?.invalidatedAt ?? 0, this.invalidatedAt);
  }

  /** Stores an object in the place of the one that has its name. @param isCurrent whether its content may be kept */
  private replace(
    known: StoredObject<Facts> | undefined,
    resource: Resource,
    object: KubernetesObject,
    source: Source,
    facts: Facts,
    isCurrent: boolean,
  ): StoredObject<Facts> {
    const { uid, resourceVersion, deletionTimestamp } = object.metadata;
    const before = known && { ...known };
    // Objects of an API without versions may have no uid either.
    const same = known && known.uid === uid ? known : undefined;
    const { namespace, byName } = this.place(resource, object.metadata.namespace);
    const stored = same ?? new StoredObject(resource, namespace, object, facts);
    stored.resourceVersion = resourceVersion;
    stored.deleting = deletionTimestamp !== undefined;
    stored.facts = facts;
    if (known && !same) this.release(known);
    if (isFromWatch(source)) stored.observedVersion = resourceVersion;
    if (!known) this.count++;
    if (!same) byName.set(stored.name, stored);
    if (isCurrent) this.keep(stored, object);
    else this.discard(stored);
    if (!same || !before || !isAlike(before, stored))
      this.options.onChange({ source, before, after: stored, object });
    return stored;
  }

  /** The object is gone. */
  remove(stored: StoredObject<Facts>, source: Source, object?: KubernetesObject): void {
    const { resource, namespace = "", name } = stored;
    const places = this.kinds.get(kindKey(resource));
    const byName = places?.get(namespace)?.byName;
    if (byName?.get(name) !== stored) return;
    byName.delete(name);
    if (byName.size === 0) places?.delete(namespace);
    this.count--;
    this.release(stored);
    this.options.onChange({ source, before: stored, after: undefined, object });
  }

  /** Stores what a reflector sees of a kind, in one namespace or all. */
  sink(resource: Resource, namespace: string | undefined): StoreSink {
    let requestedAt = 0;
    /** The list in progress, or the last one. */
    let list: ListFacts = { source: "initial", requestedAt, version: "", isReset: false };
    let isComplete = false;
    let listed = new Listed();
    /** The newest version that was seen, until a list shows that the API server continues from an earlier one. */
    let newest = "";
    const see = (object: KubernetesObject) => {
      const its = list;
      listed.add(object.metadata);
      return () => void this.set(resource, object, its.source, its);
    };
    return {
      asking: () => {
        requestedAt = this.clock;
      },
      listing: (isReset, version) => {
        list = { source: isComplete ? "list" : "initial", requestedAt, version, isReset };
        if (!isReset) newest = version;
        listed = new Listed();
      },
      see,
      set: (object, isListed) => {
        if (isListed) return see(object)();
        const { resourceVersion } = object.metadata;
        this.set(resource, object, "watch", undefined, undefined, isNewer(newest, resourceVersion));
        if (isNewer(resourceVersion, newest)) newest = resourceVersion;
      },
      listed: (version) => {
        this.removeMissing(resource, namespace, { ...list, version }, listed);
        isComplete = true;
        listed = new Listed();
      },
      isKnown: (object) => {
        listed.add(object.metadata);
        const { uid, resourceVersion } = object.metadata;
        const stored = this.find(resource, object.metadata);
        return stored?.uid === uid && !isNewer(resourceVersion, stored.resourceVersion);
      },
      remove: (object) => {
        const { uid, resourceVersion } = object.metadata;
        const stored = this.find(resource, object.metadata);
        // An object may leave the selection, and our own write then brings it back before the watch reports that it left.
        const isOutdated = stored && isNewer(stored.resourceVersion, resourceVersion);
        if (stored?.uid === uid && !isOutdated) this.remove(stored, "watch", object);
      },
    };
  }

  /** Removes the objects of a kind that a complete list lacks. */
  private removeMissing(
    resource: Resource,
    namespace: string | undefined,
    { source, version, isReset }: ListFacts,
    listed: Listed,
  ): void {
    const places = this.kinds.get(kindKey(resource));
    const covered = namespace ? [places?.get(namespace)] : [...(places?.values() ?? [])];
    for (const { byName } of covered.filter((each) => each !== undefined)) {
      for (const stored of byName.values()) {
        // The list lacks objects that we created while it was made.
        const isLater = !isReset && isNewer(stored.resourceVersion, version);
        if (!isLater && !listed.has(stored)) this.remove(stored, source);
      }
    }
  }

  private discard(stored: StoredObject<Facts>): void {
    drop(stored);
    this.release(stored);
  }

  /** Its content counts no more. */
  private release(stored: StoredObject<Facts>): void {
    this.allowance.release(stored);
    this.packedAllowance.release(stored);
  }

  private keep(stored: StoredObject<Facts>, object: KubernetesObject): void {
    // An object that is nested too deeply for JSON must not end the watch of all others. A read of it says why.
    const kept = this.options.kept ? this.options.kept(object) : object;
    const json = jsonOf(kept);
    stored.json = json;
    stored.parsed = json === undefined ? undefined : new WeakRef(kept);
    stored.length = json?.length;
    stored.isInvalid = false;
    this.packedAllowance.release(stored);
    this.allowance.hold(stored, stored.length ?? 0);
  }

  /** It is not one of the newest any more. */
  private pack(stored: StoredObject<Facts>, mostPacked: number): void {
    const { json, resource } = stored;
    drop(stored);
    if (typeof json !== "string" || json.length > Math.min(LONGEST_PACKED, mostPacked)) return;
    const kind = kindKey(resource);
    const packer = this.packers.get(kind) ?? new Packer(isSecretKind(resource));
    this.packers.set(kind, packer);
    const packed = packer.pack(json);
    stored.json = packed;
    this.packedAllowance.hold(stored, packed.bytes.length);
  }
}

/** The objects of a kind in one namespace, or those that have none. */
interface Place<Facts> {
  readonly namespace: string | undefined;
  readonly byName: Map<string, StoredObject<Facts>>;
}

/** The names in a list, by their namespaces. */
class Listed {
  private readonly names = new Map<string, Set<string>>();

  add({ namespace = "", name }: ObjectName): void {
    const names = this.names.get(namespace);
    if (names) names.add(name);
    else this.names.set(namespace, new Set([name]));
  }

  has({ namespace = "", name }: ObjectName): boolean {
    return this.names.get(namespace)?.has(name) === true;
  }
}

/** Its content is read when it is needed. */
function drop(stored: StoredObject<unknown>): void {
  stored.json = undefined;
  stored.parsed = undefined;
}

/** The key of an object in a store: its kind, namespace and name. Sorts by kind first. */
export function storeKey({ apiVersion, kind }: TypeMeta, { namespace, name }: ObjectName): string {
  return `${apiVersion} ${kind} ${formatName({ namespace, name })}`;
}
