import { Allowance } from "./allowance";
import { jsonOf } from "./flaw";
import { readJson } from "./json";
import type { KubernetesClient } from "./kubernetes/client";
import { isTrue, type KubernetesObject, type ObjectName } from "./kubernetes/objects";
import { Reflector, type ReflectorSink } from "./kubernetes/reflector";
import type { Resource } from "./kubernetes/resource";
import { isNewer } from "./kubernetes/resourceVersion";
import { DOMAIN } from "./names";
import { keyOf } from "./objectKey";
import type { Priority } from "./queue";

/** What a {@link CustomResourceWatch} watches and whom it tells. */
export interface CustomResourceWatchOptions {
  readonly client: KubernetesClient;
  readonly resource: Resource;
  readonly namespaces: "all" | readonly string[];
  /** An object is to be reconciled: it is new, has a new generation, is being deleted, or was asked for. */
  readonly onTrigger: (name: ObjectName, priority: Priority, resourceVersion: string) => void;
  /**
   * An object is not there any more.
   * @param uid where the watch has told of its deletion, and did not only not list it any more
   */
  readonly onGone: (name: ObjectName, uid?: string) => void;
  readonly onInterruption: (error: Error) => void;
  /** So many characters of objects are kept, the newest; the others are read when they are wanted. @default 24 Mi */
  readonly mostKept?: number;
}

const MOST_KEPT = 24 * 1024 * 1024;

/** What is remembered of an object. */
interface Seen extends ObjectName {
  readonly uid: string;
  /** The version that the watch told of last. */
  readonly told: string;
  /** What must differ for a reconcile: never the status, so that our own writes trigger nothing. */
  readonly trigger: string;
  /** The newest that is known of it, as JSON; undefined where that is known to be too old. */
  newest: { readonly resourceVersion: string; readonly json: string } | undefined;
}

/** Watches the custom resources of one kind, says when one is to be reconciled, and knows how each is now. */
export class CustomResourceWatch {
  private readonly seen = new Map<string, Seen>();
  private readonly reflectors: Reflector[];
  /** By the keys of {@link seen}. */
  private readonly kept: Allowance<string>;

  constructor(private readonly options: CustomResourceWatchOptions) {
    this.kept = new Allowance(options.mostKept ?? MOST_KEPT, (key) => this.forget(key));
    const { client, resource, namespaces, onInterruption } = options;
    this.reflectors = (namespaces === "all" || !resource.namespaced ? [undefined] : namespaces).map(
      (namespace) =>
        new Reflector({
          client,
          resource,
          onInterruption,
          sink: this.sink(namespace),
          ...(namespace !== undefined && { namespace }),
        }),
    );
  }

  /** Resolves when all that is there has been listed. */
  async start(): Promise<void> {
    await Promise.all(this.reflectors.map((reflector) => reflector.start()));
  }

  async stop(): Promise<void> {
    await Promise.all(this.reflectors.map((reflector) => reflector.stop()));
  }

  /** The object as it is now: as the watch or our own last write has it, or read from the API server. */
  async read(name: ObjectName): Promise<KubernetesObject | undefined> {
    const newest = this.seen.get(keyOf(name))?.newest;
    if (newest) return readJson(newest.json) as KubernetesObject;
    return this.options.client.get(this.options.resource, name);
  }

  /** Takes in what the API server answered to a write of ours, before the watch brings it. */
  learn(object: KubernetesObject): void {
    const key = keyOf(object.metadata);
    const seen = this.seen.get(key);
    if (seen?.uid !== object.metadata.uid) return;
    seen.newest = newer(seen.newest, object);
    this.kept.take(key, seen.newest?.json.length ?? 0);
  }

  /** What is known of the object has turned out to be too old: until the watch has caught up, it is read anew. */
  invalidate(name: ObjectName): void {
    this.kept.release(keyOf(name));
    this.forget(keyOf(name));
  }

  /** Whether the watch has told of that version of the object, or of a later one. */
  hasTold(name: ObjectName, resourceVersion: string): boolean {
    const told = this.seen.get(keyOf(name))?.told;
    return told !== undefined && !isNewer(resourceVersion, told);
  }

  /** Every object known now. */
  names(): ObjectName[] {
    return [...this.seen.values()].map(({ namespace, name }) => ({ namespace, name }));
  }

  private sink(namespace: string | undefined): ReflectorSink {
    let listed: Set<string> | undefined;
    return {
      listing: () => {
        listed = new Set();
      },
      set: (object) => {
        listed?.add(keyOf(object.metadata));
        this.set(object);
      },
      listed: () => {
        const known = listed;
        listed = undefined;
        for (const [key, object] of this.seen) {
          if ((!namespace || object.namespace === namespace) && !known?.has(key)) this.remove(object);
        }
      },
      remove: (object) => this.remove(object.metadata, object.metadata.uid),
    };
  }

  /** From now on the object is read anew. */
  private forget(key: string): void {
    const seen = this.seen.get(key);
    if (seen) seen.newest = undefined;
  }

  private set(object: KubernetesObject): void {
    const { namespace, name, uid } = object.metadata;
    const key = keyOf(object.metadata);
    const before = this.seen.get(key);
    const trigger = triggerOf(object);
    const same = before?.uid === uid;
    const newest = newer(same ? before.newest : undefined, object);
    this.seen.set(key, { namespace, name, uid, told: object.metadata.resourceVersion, trigger, newest });
    this.kept.take(key, newest?.json.length ?? 0);
    if (same && before.trigger === trigger) return;
    const priority = !before && isSettled(object) ? "routine" : "change";
    this.options.onTrigger({ namespace, name }, priority, object.metadata.resourceVersion);
  }

  private remove({ namespace, name }: ObjectName, deleted?: string): void {
    this.seen.delete(keyOf({ namespace, name }));
    this.kept.release(keyOf({ namespace, name }));
    this.options.onGone({ namespace, name }, deleted);
  }
}

/** A new generation, a deletion, or another annotation of ours: for these the object is reconciled. */
function triggerOf({ metadata }: KubernetesObject): string {
  const annotations = Object.entries(metadata.annotations ?? {}).filter(([key]) =>
    key.startsWith(`${DOMAIN}/`),
  );
  return JSON.stringify([metadata.generation, metadata.deletionTimestamp, annotations.sort()]);
}

/** Whether an object's status says that its newest generation was reconciled: its turn comes after the others'. */
function isSettled(object: KubernetesObject): boolean {
  const status = object["status"] as { observedGeneration?: number } | undefined;
  if (object.metadata.deletionTimestamp || status?.observedGeneration !== object.metadata.generation)
    return false;
  return isTrue(status, "Ready");
}

/** The newer one of what is known and an object that was seen. */
function newer(known: Seen["newest"], object: KubernetesObject): Seen["newest"] {
  const { resourceVersion } = object.metadata;
  if (known && !isNewer(resourceVersion, known.resourceVersion)) return known;
  const json = jsonOf(object);
  // It must not end the watch of all the others. Its reconcile reads it, and fails, and so says why.
  return json === undefined ? undefined : { resourceVersion, json };
}
