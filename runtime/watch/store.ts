import { jsonOf } from "../json/flaw";
import { readJson } from "../json/json";
import type { KubernetesClient } from "../kubernetes/client";
import { formatName, isNewer, type KubernetesObject, type ObjectName } from "../kubernetes/objects";
import type { Resource } from "../kubernetes/resource";
import { Allowance } from "./allowance";
import type { ReflectorSink } from "./reflector";
import { newStored, noteReport, type StoredObject, standingTo } from "./storedObject";

/**
 * How an object came to a store: by the first list of its kind, a later list, a watch, or the answer to our own request. A change
 * in an answer is "handled" if the one who asked acts on it, so that nobody else need be woken, and otherwise only "asked" for.
 */
export type Source = "initial" | "list" | "watch" | "asked" | "handled";

/** The sources that report without being asked: the watch, and the lists with which it begins. */
const UNASKED: readonly Source[] = ["initial", "list", "watch"];

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

/** The objects that a {@link Store} keeps, and the callback that it calls. */
export interface StoreOptions<Facts> {
  readonly client: Pick<KubernetesClient, "get">;
  /** The facts to keep of an object. Undefined: we do not own the object, and it is not kept. */
  readonly factsOf: (object: KubernetesObject, resource: Resource) => Facts | undefined;
  /** The part of an object that is kept as JSON. @default the whole object */
  readonly kept?: ((object: KubernetesObject) => object) | undefined;
  readonly onChange: (change: Change<Facts>) => void;
  /**
   * Whether watches and lists bring only metadata, so that whole objects are read when they are needed. An object that was read
   * is kept until a watch reports another version. @default false
   */
  readonly isMetadataOnly?: boolean;
  /** How many characters of the newest JSON are kept. Other objects are read when they are needed. @default 24 Mi */
  readonly mostKept?: number | undefined;
}

/** Takes in what a reflector sees. */
export interface StoreSink extends ReflectorSink {
  /**
   * The object is in the list in progress.
   * @returns a function that sets it, now or later
   */
  see(object: KubernetesObject): () => void;
}

/** An object that a {@link Store} takes in, when it is known that the object replaces the stored one. */
interface Replacement<Facts> {
  readonly resource: Resource;
  readonly object: KubernetesObject;
  readonly source: Source;
  readonly facts: Facts;
  /** Whether the object has everything that the store keeps of it. */
  readonly isWhole: boolean;
}

const MOST_KEPT = 24 * 1024 * 1024;

/**
 * Objects as watches, lists and the answers to our own writes show them.
 *
 * Guarantees, each with a test in tests/unit/store.test.ts:
 * - An older version never replaces a newer one, however late it comes, unless the API server itself went back, because etcd was
 *   restored from a backup. Two things show that. A list is older than a version that the watch has shown. Or a list that is
 *   newer than the known version of an object has an older version of the object.
 * - If a list has the same version with other content, the content is replaced: a default was added to a CRD.
 * - Every change is reported once, from the source that has it first.
 * - No object is kept from a list or a read that is older than the last {@link Store.invalidate} of the object, or the last {@link
 *   Store.invalidateAll}, however late it brings the object, nor from an event of a watch before a newer list or request of ours
 *   has shown the object. An object that was not known when it was invalidated is an exception.
 * - At most `mostKept` characters of JSON are kept, unless the newest object alone is longer.
 *
 * Assumption: resourceVersions of one resource are decimal integers that grow (KEP 5504), or none of its objects has one.
 */
export class Store<Facts> {
  private readonly byKey = new Map<string, StoredObject<Facts>>();
  private readonly allowance: Allowance<StoredObject<Facts>>;
  /** How often something was outdated: the clock of {@link StoredObject.outdatedAt}. */
  private clock = 0;
  /** When everything was last outdated, on that clock. */
  private outdatedAt = 0;
  /** Requests in progress, with the version that was known when each began. */
  private readonly reading = new Map<
    StoredObject<Facts>,
    { readonly version: string; readonly object: Promise<KubernetesObject | undefined> }
  >();

  constructor(private readonly options: StoreOptions<Facts>) {
    this.allowance = new Allowance(options.mostKept ?? MOST_KEPT, (stored) => {
      stored.json = undefined;
    });
  }

  get size(): number {
    return this.byKey.size;
  }

  values(): IterableIterator<StoredObject<Facts>> {
    return this.byKey.values();
  }

  find(resource: Resource, name: ObjectName): StoredObject<Facts> | undefined {
    return this.byKey.get(storeKey(resource, name));
  }

  /**
   * The object as it is now, from the store or read from the API server. Undefined if it is gone, or no longer ours.
   * @param source whether the caller handles a change that is found by this read
   */
  async read(
    stored: StoredObject<Facts>,
    source: "asked" | "handled" = "asked",
  ): Promise<KubernetesObject | undefined> {
    if (stored.json !== undefined) return readJson(stored.json) as KubernetesObject;
    const askedAt = this.clock;
    const object = await this.get(stored);
    // The object may have been deleted, or forgotten, while it was read.
    const isThere = this.find(stored.resource, stored) === stored;
    if (!isThere || object?.metadata.uid !== stored.uid) return undefined;
    const isOutdated = askedAt < stored.outdatedAt;
    if (this.set(stored.resource, object, source, { isOutdated }) !== stored) return undefined;
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
   * The stored object is outdated, and so it is in a list that was requested before, and in what a watch brings: it is read again
   * when it is needed.
   */
  invalidate(stored: StoredObject<Facts>): void {
    stored.outdatedAt = ++this.clock;
    stored.isOutdated = true;
    this.discard(stored);
  }

  /** Every stored object is outdated: see {@link invalidate}. */
  invalidateAll(): void {
    this.outdatedAt = ++this.clock;
    for (const stored of this.byKey.values()) this.invalidate(stored);
  }

  /**
   * Takes in an object.
   * @param how `isReset`: it counts although a newer version is known. `isOutdated`: a newer version may be there, so that the object
   *   is read when it is needed. @default neither
   * @returns the stored object with that name now. Undefined if we do not own it
   */
  set(
    resource: Resource,
    object: KubernetesObject,
    source: Source,
    {
      isReset = false,
      isOutdated = false,
    }: { readonly isReset?: boolean; readonly isOutdated?: boolean } = {},
  ): StoredObject<Facts> | undefined {
    const known = this.find(resource, object.metadata);
    const isLate = source === "watch" && known?.isOutdated === true;
    const isWhole = !this.isMetadata(source) && !isOutdated && !isLate;
    if (known && !isReset) {
      if (UNASKED.includes(source)) noteReport(known, object);
      const standing = standingTo(known, object, source === "list" && isWhole);
      if (standing === "same" && isWhole && known.json === undefined) this.keep(known, object);
      if (standing !== "newer") return known;
    }
    const facts = this.options.factsOf(object, resource);
    if (facts !== undefined) return this.replace(known, { resource, object, source, facts, isWhole });
    if (known) this.remove(known, source, object);
    return undefined;
  }

  /** Stores an object in the place of the one that has its name. */
  private replace(
    known: StoredObject<Facts> | undefined,
    { resource, object, source, facts, isWhole }: Replacement<Facts>,
  ): StoredObject<Facts> {
    const { uid, resourceVersion, deletionTimestamp } = object.metadata;
    const before = known && { ...known };
    // Objects of an API without versions may have no uid either.
    const same = known && known.uid === uid ? known : undefined;
    const stored = same ?? newStored(resource, object, facts);
    if (known && !same) this.allowance.release(known);
    stored.resourceVersion = resourceVersion;
    if (UNASKED.includes(source)) stored.reportedVersion = resourceVersion;
    stored.deleting = deletionTimestamp !== undefined;
    stored.facts = facts;
    this.byKey.set(storeKey(resource, object.metadata), stored);
    if (isWhole) this.keep(stored, object);
    else this.discard(stored);
    const isUnchanged = before?.resourceVersion === resourceVersion && before?.json === stored.json;
    if (!same || !isUnchanged) this.options.onChange({ source, before, after: stored, object });
    return stored;
  }

  /** The object is gone. */
  remove(stored: StoredObject<Facts>, source: Source, object?: KubernetesObject): void {
    const key = storeKey(stored.resource, stored);
    if (this.byKey.get(key) !== stored) return;
    this.byKey.delete(key);
    this.allowance.release(stored);
    this.options.onChange({ source, before: stored, after: undefined, object });
  }

  /** Takes in what a reflector sees of a kind, in one namespace or all. */
  sink(resource: Resource, namespace: string | undefined): StoreSink {
    let listed: Set<string> | undefined;
    let isReset = false;
    let listVersion = "";
    let listing: Source = "initial";
    let askedAt = 0;
    const see = (object: KubernetesObject) => {
      listed?.add(storeKey(resource, object.metadata));
      const [source, wentBack, version, before] = [listing, isReset, listVersion, askedAt];
      return () => {
        const { outdatedAt = 0 } = this.find(resource, object.metadata) ?? {};
        this.set(resource, object, source, {
          isReset: wentBack || this.isContradicted(resource, object, version),
          isOutdated: before < Math.max(outdatedAt, this.outdatedAt),
        });
      };
    };
    return {
      asking: () => {
        askedAt = this.clock;
      },
      listing: (reset, version) => {
        listed = new Set();
        isReset = reset;
        listVersion = version;
      },
      see,
      set: (object, isListed) => {
        if (isListed) see(object)();
        else this.set(resource, object, "watch");
      },
      listed: (version) => {
        const seen = listed;
        listed = undefined;
        for (const [key, stored] of this.byKey) {
          const { apiVersion, kind } = stored.resource;
          const isOfKind = apiVersion === resource.apiVersion && kind === resource.kind;
          const isCovered = isOfKind && (!namespace || stored.namespace === namespace);
          // The list lacks objects that we created while it was made.
          const isLater = !isReset && isNewer(stored.resourceVersion, version);
          if (isCovered && !isLater && !seen?.has(key)) this.remove(stored, listing);
        }
        listing = "list";
      },
      remove: (object) => {
        const stored = this.find(resource, object.metadata);
        if (stored && stored.uid === object.metadata.uid) this.remove(stored, "watch", object);
      },
    };
  }

  /** Whether a list has an older version of an object than the store, although the list is newer than the stored version. */
  private isContradicted(resource: Resource, { metadata }: KubernetesObject, listVersion: string): boolean {
    const known = this.find(resource, metadata)?.resourceVersion;
    return known !== undefined && isNewer(known, metadata.resourceVersion) && !isNewer(known, listVersion);
  }

  private isMetadata(source: Source): boolean {
    return this.options.isMetadataOnly === true && UNASKED.includes(source);
  }

  private discard(stored: StoredObject<Facts>): void {
    stored.json = undefined;
    this.allowance.release(stored);
  }

  private keep(stored: StoredObject<Facts>, object: KubernetesObject): void {
    // An object that is nested too deeply for JSON must not end the watch of all others. Anyone who reads it learns why.
    stored.json = jsonOf(this.options.kept ? this.options.kept(object) : object);
    stored.length = stored.json?.length;
    stored.isOutdated = false;
    this.allowance.take(stored, stored.length ?? 0);
  }
}

/** The key of an object in a store: its kind, namespace and name. Sorts by kind first. */
export function storeKey({ apiVersion, kind }: Resource, { namespace, name }: ObjectName): string {
  return `${apiVersion} ${kind} ${formatName({ namespace, name })}`;
}
