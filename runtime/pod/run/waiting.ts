import type { ChildStore } from "../../children/childStore";
import { whyNotReady } from "../../children/readiness";
import type { Operator } from "../../definition/definition";
import type { KubernetesClient } from "../../kubernetes/client";
import { named } from "../../kubernetes/list";
import { isNewer, type KubernetesObject, type ObjectName } from "../../kubernetes/objects";
import { kindKey, type Resource } from "../../kubernetes/resource";
import { OWNER_UID_LABEL } from "../../names";
import { partsOf } from "../../watch/watched";
import type { Following } from "./following";

/** What {@link Waiting} works with. */
export interface WaitingOptions {
  readonly operator: Operator;
  readonly client: KubernetesClient;
  /** The object's kind, as the API serves it. */
  readonly resource: Resource;
  readonly name: ObjectName;
  readonly children: ChildStore;
  /** The watches that are open. */
  readonly following: Following;
  /** The newest known state of the object. Undefined if the object is gone, or must be read. */
  readonly known: () => KubernetesObject | undefined;
  /** Called with a newer state of the object. */
  readonly seen: (object: KubernetesObject) => void;
  /** Called when the object is gone. */
  readonly gone: () => void;
  /** The version of the list of children of a kind. Undefined if they were not listed. */
  readonly listed: (kind: string) => string | undefined;
}

/**
 * If a run waits for longer than this, it begins to watch its object, in milliseconds. After most updates the children are ready
 * by then, which saves that request. Until then a change of the object is noticed at the end of the wait.
 */
const WATCH_OBJECT_AFTER_MS = 5_000;
/**
 * A watch reports the change for which the run waits. If the watch is silent, the run looks again after this time, in
 * milliseconds.
 */
const LONGEST_WAIT_MS = 60_000;

/**
 * How a run waits for its object and the object's children. Watches are open only while the run waits, and only for these
 * objects.
 */
export class Waiting {
  constructor(private readonly options: WaitingOptions) {}

  /**
   * Waits until another reconcile would find something new: the object has changed or is gone, enough children are ready, or
   * a child is gone.
   * @param mostUnready how many children may still not be ready. Undefined: the run waits for the object only
   * @returns false if nothing happened within this many milliseconds, or the signal aborted
   */
  async awaitNews(
    ms: number,
    mostUnready: number | undefined,
    signal: AbortSignal | undefined,
  ): Promise<boolean> {
    const { children, following, known } = this.options;
    const object = known();
    if (!object) return true;
    const begin = performance.now();
    const { uid } = object.metadata;
    const count = children.of(uid).length;
    if (mostUnready !== undefined) await this.watchUnready(object);
    for (;;) {
      if (this.triggerOf(known()) !== this.triggerOf(object)) return true;
      if (mostUnready !== undefined) {
        const isShort = children.of(uid).length < count;
        if (isShort || (await this.unready(uid)) <= mostUnready) return true;
      }
      const left = begin + ms - performance.now();
      if (left <= 0 || signal?.aborted) return false;
      const untilWatch = begin + WATCH_OBJECT_AFTER_MS - performance.now();
      if (untilWatch <= 0) this.watchObject(object);
      await following.next(Math.min(left, untilWatch > 0 ? untilWatch : LONGEST_WAIT_MS), signal);
    }
  }

  /** How many children are not ready. */
  private async unready(uid: string): Promise<number> {
    const { children } = this.options;
    const read = await Promise.all(children.of(uid).map((child) => children.read(child)));
    return read.filter((child) => child !== undefined && whyNotReady(child) !== undefined).length;
  }

  /** Opens one watch for each kind and namespace in which a child is not ready. */
  private async watchUnready({ metadata: { uid } }: KubernetesObject): Promise<void> {
    const { client, children, following, listed } = this.options;
    for (const child of children.of(uid)) {
      const read = await children.read(child);
      if (read && whyNotReady(read) === undefined) continue;
      const { resource, namespace } = child;
      following.open(`${kindKey(resource)}/${namespace ?? ""}`, {
        client,
        resource,
        labelSelector: `${OWNER_UID_LABEL}=${uid}`,
        namespace,
        from: listed(kindKey(resource)) ?? this.oldestOf(uid, resource),
        sink: children.sink(resource, namespace),
      });
    }
  }

  /** The oldest version of the children of a kind that was never listed. A watch from there misses nothing. */
  private oldestOf(uid: string, resource: Resource): string {
    const [first = "", ...others] = this.options.children
      .of(uid)
      .filter((child) => kindKey(child.resource) === kindKey(resource))
      .map(({ resourceVersion }) => resourceVersion);
    return others.reduce((oldest, version) => (isNewer(oldest, version) ? version : oldest), first);
  }

  private watchObject({ metadata }: KubernetesObject): void {
    const { client, resource, name, following, known, seen } = this.options;
    const { namespace } = name;
    const gone = () => {
      this.options.gone();
      following.wake();
    };
    let isThere = true;
    following.open("object", {
      client,
      resource,
      ...named(name.name),
      namespace,
      from: metadata.resourceVersion,
      sink: {
        listing: () => {
          isThere = false;
        },
        set: (object) => {
          isThere = true;
          const { uid, resourceVersion } = known()?.metadata ?? {};
          const isOlder =
            resourceVersion !== undefined && !isNewer(object.metadata.resourceVersion, resourceVersion);
          if (uid === object.metadata.uid && isOlder) return;
          seen(object);
          following.wake();
        },
        listed: () => {
          if (!isThere) gone();
        },
        remove: gone,
      },
    });
  }

  /** The parts of an object for which another reconcile is needed when they differ. */
  private triggerOf(object: KubernetesObject | undefined): string {
    if (!object) return "";
    const { watch } = this.options.operator;
    const { uid, generation, deletionTimestamp } = object.metadata;
    return JSON.stringify([uid, watch ? partsOf(object, watch.on) : generation, deletionTimestamp]);
  }
}
