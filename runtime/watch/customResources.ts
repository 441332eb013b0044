import { fingerprint } from "../fingerprint";
import type { KubernetesClient } from "../kubernetes/client";
import { isNewer, isTrue, type KubernetesObject, type ObjectName } from "../kubernetes/objects";
import type { Resource } from "../kubernetes/resource";
import { DOMAIN } from "../names";
import type { ReflectorSink } from "./reflector";
import { type Change, Store } from "./store";

/** What is known of the custom resources. */
export interface KnownObjects {
  /** The object as it is now, to reconcile it. Undefined if it is gone. */
  read(name: ObjectName): Promise<KubernetesObject | undefined>;
  /** Takes in what the API server answered to a write of ours, before the watch brings it. */
  learn(object: KubernetesObject): void;
  /** What is known of the object is outdated: it is read again when it is needed. */
  invalidate(name: ObjectName): void;
  /** Whether the object with that uid is known to be gone, or to be being deleted. */
  isGoing(name: ObjectName, uid: string): boolean;
}

/** What {@link CustomResources} hold, and who is called. */
export interface CustomResourcesOptions {
  readonly client: Pick<KubernetesClient, "get">;
  readonly resource: Resource;
  /** An object is to be reconciled. */
  readonly onChange: (change: ObjectChange) => void;
  /** An object is gone. */
  readonly onGone: (name: ObjectName, gone: GoneObject) => void;
  /** @see StoreOptions.mostKept */
  readonly mostKept?: number;
}

/** A change of a custom resource for which it is to be reconciled. */
export interface ObjectChange {
  readonly name: ObjectName;
  readonly resourceVersion: string;
  /** Whether its status says that everything was done already. Its turn then comes after the others'. */
  readonly isSettled: boolean;
  /** Whether the event path sends a hint for it: the object is new, or has a new generation or annotation of ours. */
  readonly isAnnounced: boolean;
}

/** A custom resource that is gone. */
export interface GoneObject {
  readonly uid: string;
  /** Whether a watch reported its deletion. If not, it was only missing in a list. */
  readonly isDeleted: boolean;
}

interface Facts {
  /** A change of this causes a reconcile. It does not include the status, so our own writes cause none. */
  readonly trigger: string;
  /** The part of {@link trigger} that the event path announces. */
  readonly announced: string;
  readonly isSettled: boolean;
}

/** The annotation in which `kubectl apply` keeps what was applied. It says nothing that the object does not say. */
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";
/** How many deleted objects are remembered, so that a reconcile in progress knows that its object is gone. */
const MOST_REMOVED = 10_000;

/** The custom resources of one operator as they are now. Says when one is to be reconciled. */
export class CustomResources implements KnownObjects {
  private readonly store: Store<Facts>;
  private readonly removed = new Set<string>();

  constructor(private readonly options: CustomResourcesOptions) {
    const { client, mostKept } = options;
    this.store = new Store<Facts>({
      client,
      factsOf,
      onChange: (change) => this.changed(change),
      ...(mostKept !== undefined && { mostKept }),
    });
  }

  /**
   * The object as it is now, to reconcile it: as the watch or our own last write has it, or read from the API server. A
   * change that is found by this read is not reported, since this reconcile handles it.
   */
  async read(name: ObjectName): Promise<KubernetesObject | undefined> {
    const { client, resource } = this.options;
    const stored = this.store.find(resource, name);
    return stored ? this.store.read(stored) : client.get(resource, name);
  }

  /** The object as it is now, for everybody else. A change that is found by this read is reported. */
  async look(name: ObjectName): Promise<KubernetesObject | undefined> {
    const { client, resource } = this.options;
    const stored = this.store.find(resource, name);
    return stored ? this.store.read(stored, "answer") : client.get(resource, name);
  }

  learn(object: KubernetesObject): void {
    const { resource } = this.options;
    // An object that the watch has not reported yet is not taken in: its creation would be missed.
    if (this.store.find(resource, object.metadata)?.uid === object.metadata.uid)
      this.store.set(resource, object, "answer");
  }

  invalidate(name: ObjectName): void {
    const stored = this.store.find(this.options.resource, name);
    if (stored) this.store.invalidate(stored);
  }

  isGoing(name: ObjectName, uid: string): boolean {
    const stored = this.store.find(this.options.resource, name);
    return this.removed.has(uid) || (stored !== undefined && (stored.uid !== uid || stored.deleting));
  }

  /** Whether an object of that name is known. */
  has(name: ObjectName): boolean {
    return this.store.find(this.options.resource, name) !== undefined;
  }

  /** Whether the watch has reported that version of the object, or a later one. */
  hasTold(name: ObjectName, resourceVersion: string): boolean {
    const told = this.store.find(this.options.resource, name)?.toldVersion;
    return told !== undefined && !isNewer(resourceVersion, told);
  }

  /** Every object known now. */
  names(): ObjectName[] {
    return [...this.store.values()].map(({ namespace, name }) => ({ namespace, name }));
  }

  /** How many objects are known now. */
  get size(): number {
    return this.store.size;
  }

  /** Takes in what a reflector sees. */
  sink(namespace: string | undefined): ReflectorSink {
    return this.store.sink(this.options.resource, namespace);
  }

  private changed({ source, before, after }: Change<Facts>): void {
    // The answer to our own write may bring somebody else's change before the watch does. The watch then reports nothing new.
    if (source === "read") return;
    if (before && before.uid !== after?.uid) this.gone(before, source === "watch" && !after);
    if (!after) return;
    // It is there again if etcd was restored to a time before its deletion.
    this.removed.delete(after.uid);
    const { trigger, announced, isSettled } = after.facts;
    const same = before?.uid === after.uid ? before.facts : undefined;
    if (same?.trigger === trigger) return;
    const { namespace, name, resourceVersion } = after;
    this.options.onChange({
      name: { namespace, name },
      resourceVersion,
      isSettled: !before && isSettled,
      isAnnounced: same?.announced !== announced,
    });
  }

  private gone({ namespace, name, uid }: ObjectName & { uid: string }, isDeleted: boolean): void {
    this.removed.add(uid);
    const [oldest] = this.removed;
    if (this.removed.size > MOST_REMOVED && oldest !== undefined) this.removed.delete(oldest);
    this.options.onGone({ namespace, name }, { uid, isDeleted });
  }
}

function factsOf(object: KubernetesObject): Facts {
  const { generation, deletionTimestamp, labels, annotations = {} } = object.metadata;
  const given = Object.entries(annotations).sort();
  const ours = given.filter(([key]) => key.startsWith(`${DOMAIN}/`));
  const announced = fingerprint([generation, deletionTimestamp, ours]);
  const others = given.filter(([key]) => key !== LAST_APPLIED);
  return {
    announced,
    trigger: fingerprint([announced, Object.entries(labels ?? {}).sort(), others]),
    isSettled: isSettled(object),
  };
}

/** Whether an object's status says that its newest generation was reconciled and is ready. */
function isSettled(object: KubernetesObject): boolean {
  const status = object["status"] as { observedGeneration?: number } | undefined;
  if (object.metadata.deletionTimestamp || status?.observedGeneration !== object.metadata.generation)
    return false;
  return isTrue(status, "Ready");
}
