import { readJson, writeJson } from "../base/json";
import { dropOldest } from "../base/limits";
import {
  isNewer,
  type JsonObject,
  type KubernetesObject,
  type ObjectName,
  withoutManagedFields,
} from "../base/objects";
import type { Resource } from "../base/resource";
import type { KubernetesClient, ObjectReader } from "../kubernetes/client";
import { unlessGone } from "../kubernetes/namespaces";
import type { Emit } from "./news";
import type { ReflectorSink } from "./reflector";
import { type Change, Store } from "./store";
import type { StoredObject } from "./storedObject";
import { isHandled, type MemoryFacts, type ObjectFacts, objectFactsOf, type WatchedObjects } from "./watched";

/** Which objects are known, by their uids. */
export type KnownUids = Pick<CustomResources, "hasUid" | "removedAt">;

/** What a reconcile needs of the objects that are known. */
export type KnownObjects = Pick<
  CustomResources,
  "readToReconcile" | "learn" | "invalidate" | "isGoing" | "isShown"
>;

/**
 * The longest memory that is kept of an object, in characters of JSON: room for about 200 children that are created once. The
 * memory is kept as long as the object exists, and any client that may write a status can write a memory of more than a megabyte.
 */
const MOST_MEMORY_LENGTH = 16 * 1024;

/**
 * How many deleted objects are remembered, so that a reconcile in progress knows that its object is gone. As many are remembered that
 * we wrote before the watch brought them.
 */
const MOST_REMEMBERED = 10_000;

/**
 * The custom resources of one operator as they are now, or the objects of another kind that it watches. Says when one is
 * to be reconciled.
 */
export class CustomResources {
  private readonly store: Store<ObjectFacts>;
  private readonly reader: ObjectReader;
  /** When each object was seen to be gone, by the API server's clock, by its uid. */
  private readonly removed = new Map<string, number>();
  /** The versions in which we wrote objects that the watch has not brought yet, by their uids. */
  private readonly ahead = new Map<string, string>();
  /** The uids of the objects that are known now. */
  private readonly uids = new Set<string>();

  constructor(
    private readonly options: {
      readonly client: Pick<KubernetesClient, "get" | "now">;
      readonly resource: Resource;
      /**
       * Our finalizers. If an object that is not being deleted loses one of them, it is reconciled. Otherwise it would go before
       * the operator could act. @default none
       */
      readonly finalizers?: readonly string[];
      /**
       * The engine's memory that the status of an object has. Undefined: it has none. If an object that is not being deleted loses it, the
       * object is reconciled, and {@link CustomResources.lastMemoryOf} still has it. @default nothing is remembered in the status
       */
      readonly memoryIn?: (object: KubernetesObject) => JsonObject | undefined;
      readonly emit: Emit;
      /**
       * Called with each new state of an object, no matter who changed it and whether it is to be reconciled or not. It is called
       * before the news are emitted.
       * @param object undefined: it is gone
       */
      readonly onSeen?: (name: ObjectName, object: KubernetesObject | undefined) => void;
      /** Whether an object of that name may have changed unseen. It is read then before it is reconciled. @default none has */
      readonly isOutdated?: (name: ObjectName) => boolean;
      /** Whether a watch would show an object of that name. @default always */
      readonly wouldShow?: (name: ObjectName) => boolean;
      /** Set if these are not custom resources of our own. */
      readonly watched?: WatchedObjects | undefined;
    },
  ) {
    const { client, watched, finalizers = [] } = options;
    this.reader = { get: (kind, name) => unlessGone(client, name, () => client.get(kind, name)) };
    this.store = new Store<ObjectFacts>({
      client: this.reader,
      factsOf: (object) =>
        watched?.isWatched(object) === false
          ? undefined
          : objectFactsOf(object, watched, finalizers, this.memoryFactsOf(object)),
      // We write no objects of others, so their `managedFields` are not needed.
      kept: watched && withoutManagedFields,
      onChange: (change) => this.changed(change),
    });
  }

  /**
   * The object as it is now, to reconcile it: in the version of the watch or of our own last write, or read from the API server.
   * A change that is found by this read is not reported, since this reconcile handles it.
   */
  async readToReconcile(name: ObjectName): Promise<KubernetesObject | undefined> {
    if (this.options.isOutdated?.(name)) this.invalidate(name);
    return this.get(name, "handled");
  }

  /** The object as it is now, for any other purpose. A change that is found by this read is reported. */
  async read(name: ObjectName): Promise<KubernetesObject | undefined> {
    return this.get(name, "answer");
  }

  /** The object as the API server has it now, whatever is known. Undefined also if it is none of those that are watched. */
  async readNow(name: ObjectName): Promise<KubernetesObject | undefined> {
    const { resource, watched } = this.options;
    const object = await this.reader.get(resource, name);
    return object && watched?.isWatched(object) === false ? undefined : object;
  }

  /** Stores the API server's answer to one of our writes, before the watch brings it. */
  learn(object: KubernetesObject): void {
    const { resource } = this.options;
    const { uid, resourceVersion } = object.metadata;
    // An object that the watch has not reported yet is not stored. Otherwise its creation would be missed.
    if (this.store.find(resource, object.metadata)?.uid === uid) this.store.set(resource, object, "answer");
    else {
      this.ahead.delete(uid);
      this.ahead.set(uid, resourceVersion);
      dropOldest(this.ahead, MOST_REMEMBERED);
    }
  }

  /** The stored object is outdated: it is read again when it is needed. */
  invalidate(name: ObjectName): void {
    const stored = this.store.find(this.options.resource, name);
    if (stored) this.store.invalidate(stored);
  }

  /** Every stored object is outdated. */
  invalidateAll(): void {
    this.store.invalidateAll();
  }

  /** Whether the object with that uid is known to be gone, or to be being deleted. */
  isGoing(name: ObjectName, uid: string): boolean {
    const stored = this.store.find(this.options.resource, name);
    return this.removed.has(uid) || (stored !== undefined && (stored.uid !== uid || stored.deleting));
  }

  /** Whether a watch shows an object of that name now. False if it cannot show any, because the kind cannot be listed. */
  isShown(name: ObjectName): boolean {
    const { wouldShow = () => true } = this.options;
    return this.has(name) && wouldShow(name);
  }

  /** Whether an object of that name is known. */
  has(name: ObjectName): boolean {
    return this.store.find(this.options.resource, name) !== undefined;
  }

  /** The uid of the object of that name. Undefined if none is known. */
  uidOf(name: ObjectName): string | undefined {
    return this.store.find(this.options.resource, name)?.uid;
  }

  /** How long the object of that name is, in characters of JSON. 0 if that is not known. */
  lengthOf(name: ObjectName): number {
    return this.store.find(this.options.resource, name)?.length ?? 0;
  }

  /**
   * The uids of the objects of which the object of that name was made. None if no such object is known, or if the objects are our
   * own.
   */
  madeOf(name: ObjectName): readonly string[] {
    return this.store.find(this.options.resource, name)?.facts.madeOf ?? [];
  }

  /**
   * The engine's memory that the object's status has, or had before another client emptied it. Undefined if none is known, or if
   * it is too long to be kept.
   */
  lastMemoryOf({ metadata }: KubernetesObject): JsonObject | undefined {
    const stored = this.store.find(this.options.resource, metadata);
    const memory = stored?.uid === metadata.uid ? stored.facts.memory : undefined;
    return memory === undefined ? undefined : (readJson(memory) as JsonObject);
  }

  /** Whether an object with that uid is known. */
  hasUid(uid: string): boolean {
    return this.uids.has(uid);
  }

  /**
   * When the object with that uid was seen to be gone, or to be watched no more, in milliseconds since 1970 by the API server's clock.
   * Undefined if that was not seen.
   */
  removedAt(uid: string): number | undefined {
    return this.removed.get(uid);
  }

  /** Whether the watch has reported that version of the object, or a later one. */
  hasReported(name: ObjectName, resourceVersion: string): boolean {
    const observed = this.store.find(this.options.resource, name)?.observedVersion;
    return observed !== undefined && !isNewer(resourceVersion, observed);
  }

  /** Every object known now. */
  names(): ObjectName[] {
    return [...this.store.values()].map(({ namespace, name }) => ({ namespace, name }));
  }

  /** Stores what a reflector sees. */
  sink(namespace: string | undefined): ReflectorSink {
    return this.store.sink(this.options.resource, namespace);
  }

  private async get(name: ObjectName, source: "answer" | "handled"): Promise<KubernetesObject | undefined> {
    const stored = this.store.find(this.options.resource, name);
    return stored ? this.store.read(stored, source) : this.readNow(name);
  }

  private changed({ source, before, after, object }: Change<ObjectFacts>): void {
    const left = before && before.uid !== after?.uid ? before : undefined;
    if (left) this.leave(left.uid);
    if (after) this.enter(after);
    const same = left ? undefined : before?.facts;
    const { name, namespace } = after ?? before ?? { name: "" };
    // The references of an object may be in a part of it that does not count as a change.
    if (!after || this.options.watched || same?.trigger !== after.facts.trigger)
      this.options.onSeen?.({ name, namespace }, after && object);
    // The answer to our own write may bring another client's change before the watch does. The watch then reports nothing new.
    if (source === "handled") return;
    const { emit } = this.options;
    if (left) emit({ kind: "object gone", name: { namespace, name }, uid: left.uid });
    if (!after) return;
    const { trigger, hinted, isReady, finalizers, isEmptied } = after.facts;
    const isStripped =
      same?.finalizers.some((each) => !finalizers.includes(each)) || (isEmptied && same?.isEmptied !== true);
    if (same?.trigger === trigger && (after.deleting || !isStripped)) return;
    if (same?.trigger === trigger) return emit({ kind: "object stripped", name: { namespace, name } });
    if (!before && isReady) return emit({ kind: "object ready", name: { namespace, name } });
    // Whether an object of others was handled is known only where that is remembered.
    const wasHandled = this.options.watched ? source === "initial" : object && isHandled(object);
    if (!before && !after.deleting && wasHandled)
      return emit({ kind: "object unready", name: { namespace, name } });
    const isHinted = same?.hinted !== hinted;
    emit({
      kind: "object changed",
      name: { namespace, name },
      resourceVersion: after.resourceVersion,
      isHinted,
    });
  }

  private memoryFactsOf(object: KubernetesObject): MemoryFacts {
    const memory = this.options.memoryIn?.(object);
    if (memory) {
      const text = writeJson(memory);
      return text.length <= MOST_MEMORY_LENGTH ? { memory: text } : {};
    }
    const { uid, resourceVersion } = object.metadata;
    const known = this.store.find(this.options.resource, object.metadata);
    // If etcd was restored, the memory is of a time that has not come yet.
    const isLater = known?.uid === uid && !isNewer(known.resourceVersion, resourceVersion);
    const last = isLater ? known.facts.memory : undefined;
    return last ? { memory: last, isEmptied: true } : {};
  }

  /** The object with that uid is gone, or no longer one of those that are watched. */
  private leave(uid: string): void {
    this.uids.delete(uid);
    this.ahead.delete(uid);
    this.removed.set(uid, this.options.client.now());
    dropOldest(this.removed, MOST_REMEMBERED);
  }

  private enter(stored: StoredObject<ObjectFacts>): void {
    this.uids.add(stored.uid);
    // It exists again if etcd was restored to a time before its deletion.
    this.removed.delete(stored.uid);
    const written = this.ahead.get(stored.uid);
    if (written === undefined) return;
    // The watch may bring it in an older state than our own writes left it. It is read again then.
    if (isNewer(written, stored.resourceVersion)) this.store.invalidate(stored);
    else this.ahead.delete(stored.uid);
  }
}
