import { Allowance } from "../allowance";
import { fingerprint } from "../fingerprint";
import type { KubernetesClient } from "../kubernetes/client";
import { formatName, type KubernetesObject, type ObjectName } from "../kubernetes/objects";
import { Reflector, type ReflectorSink } from "../kubernetes/reflector";
import type { Resource } from "../kubernetes/resource";
import { isNewer } from "../kubernetes/resourceVersion";
import { applyEntry, type Owner, ownerOf } from "./ownership";

/** What the index holds of one child: little, since there may be many thousands. */
export interface ChildRecord extends ObjectName {
  readonly resource: Resource;
  readonly uid: string;
  readonly owner: Owner;
  /** The version of the object that this record speaks of. */
  resourceVersion: string;
  /** Fingerprint of the fields that we own of it, and since when: it moves when somebody else takes one over. */
  ownedFields: string;
  /** The same of what all others own. */
  others: string;
  /** Of its specification; undefined for a kind that counts none. */
  generation: number | undefined;
  /** Whether it is being deleted already. */
  deleting: boolean;
  /** The object as JSON without its managedFields, and the version which that is. */
  whole?: { readonly resourceVersion: string; readonly json: string };
  /** What we applied last, and the fields that we owned right afterwards. */
  applied?: { readonly manifest: string; readonly ownedFields: string };
}

/** A child from which somebody else took away what we have applied. */
export interface UndoneChild extends ObjectName {
  readonly kind: string;
  /** The field manager that wrote to it last, beside us; undefined where the child is gone, or nobody did. */
  readonly by?: string | undefined;
}

/** What a {@link ChildIndex} watches and whom it tells. */
export interface ChildIndexOptions {
  readonly client: KubernetesClient;
  /** The kind of the custom resources that own the children. */
  readonly ownerKind: Resource;
  readonly fieldManager: string;
  /** The declared kinds. */
  readonly kinds: readonly Resource[];
  readonly namespaces: "all" | readonly string[];
  /**
   * A child of `owner` was changed or deleted by somebody else.
   * @param undone what was done, where that took something away that we have applied, rather than only report a status
   */
  readonly onChange: (owner: Owner, undone?: UndoneChild) => void;
  readonly onInterruption: (resource: Resource, error: Error) => void;
  /** So many characters of children are kept, the newest; the others are read when they are wanted. @default 24 Mi */
  readonly mostKept?: number;
}

const MOST_KEPT = 24 * 1024 * 1024;

/**
 * The children of every custom resource, by their owner's uid, kept up to date by watches of the declared kinds'
 * metadata. No reconcile lists anything; a child is fetched whole only when its version has moved.
 */
export class ChildIndex {
  private readonly byKey = new Map<string, ChildRecord>();
  private readonly byOwner = new Map<string, Set<ChildRecord>>();
  /** The uids of owners by their name: more than one where an object was deleted and made anew. */
  private readonly namesakes = new Map<string, readonly string[]>();
  /** Children being written now, with the events that came meanwhile: they may be the echo of that write. */
  private readonly writing = new Map<string, (() => void)[]>();
  private readonly reflectors: Reflector[];
  private readonly kept: Allowance<ChildRecord>;

  constructor(private readonly options: ChildIndexOptions) {
    this.kept = new Allowance(options.mostKept ?? MOST_KEPT, (record) => {
      delete record.whole;
    });
    const { client, kinds, namespaces, onInterruption } = options;
    this.reflectors = kinds.flatMap((resource) =>
      (namespaces === "all" || !resource.namespaced ? [undefined] : namespaces).map(
        (namespace) =>
          new Reflector({
            client,
            resource,
            metadataOnly: true,
            sink: this.sink(resource, namespace),
            onInterruption: (error) => onInterruption(resource, error),
            ...(namespace !== undefined && { namespace }),
          }),
      ),
    );
  }

  /** Resolves when every kind has been listed once. */
  async start(): Promise<void> {
    await Promise.all(this.reflectors.map((reflector) => reflector.start()));
  }

  async stop(): Promise<void> {
    await Promise.all(this.reflectors.map((reflector) => reflector.stop()));
  }

  /** Children known now. */
  get size(): number {
    return this.byKey.size;
  }

  /** The children of an owner, sorted by kind and name. */
  of(ownerUid: string): ChildRecord[] {
    return [...(this.byOwner.get(ownerUid) ?? [])].sort((a, b) =>
      childKey(a.resource, a) < childKey(b.resource, b) ? -1 : 1,
    );
  }

  /** The children of former objects of the owner's name. */
  ofFormer(owner: Owner): ChildRecord[] {
    const uids = this.namesakes.get(formatName(owner)) ?? [];
    return uids.filter((uid) => uid !== owner.uid).flatMap((uid) => this.of(uid));
  }

  /** The record of the child of that name, whoever its owner is. */
  find(resource: Resource, name: ObjectName): ChildRecord | undefined {
    return this.byKey.get(childKey(resource, name));
  }

  /** Who owns an object; undefined where it is nobody's child. */
  ownerOf(object: KubernetesObject): Owner | undefined {
    return ownerOf(object, this.options.ownerKind, this.options.fieldManager);
  }

  /** The child as it is now, fetched only when its version has moved; undefined where it has gone meanwhile. */
  async read(record: ChildRecord): Promise<KubernetesObject | undefined> {
    if (record.whole?.resourceVersion !== record.resourceVersion) {
      const object = await this.options.client.get(record.resource, record);
      if (object?.metadata.uid !== record.uid) return undefined;
      return JSON.parse(this.keep(record, object)) as KubernetesObject;
    }
    return JSON.parse(record.whole.json) as KubernetesObject;
  }

  /** Takes in children that were listed beside the watches. */
  learn(resource: Resource, objects: readonly KubernetesObject[]): void {
    for (const object of objects) this.receive(resource, object, () => this.changed(resource, object, true));
  }

  /** Forgets every child but those with these uids: lists beside the watches did not have them. */
  retain(uids: ReadonlySet<string>): void {
    for (const [key, { uid }] of this.byKey) if (!uids.has(uid)) this.drop(key);
  }

  /**
   * Runs a write to a child, and takes its result into the index before the watch brings it, so that our own
   * write wakes nobody.
   * @param applied fingerprint of the manifest that is applied; undefined for a deletion
   * @param write gives the object that the API server answered with; undefined when the child is gone
   */
  async write<Result extends { object: KubernetesObject | undefined }>(
    resource: Resource,
    name: ObjectName,
    applied: string | undefined,
    write: () => Promise<Result>,
  ): Promise<Result> {
    const key = childKey(resource, name);
    const held: (() => void)[] = [];
    this.writing.set(key, held);
    // Until the answer says so, nobody knows what is applied: a write whose answer is lost may have been done.
    delete this.byKey.get(key)?.applied;
    try {
      const result = await write();
      if (!result.object) this.drop(key);
      else {
        const record = this.put(resource, result.object);
        if (record) {
          this.keep(record, result.object);
          if (applied !== undefined) record.applied = { manifest: applied, ownedFields: record.ownedFields };
        }
      }
      return result;
    } finally {
      this.writing.delete(key);
      for (const event of held) event();
    }
  }

  private sink(resource: Resource, namespace: string | undefined): ReflectorSink {
    let seen: Set<string> | undefined;
    let first = true;
    return {
      listing: () => {
        seen = new Set();
      },
      set: (object) => {
        seen?.add(childKey(resource, object.metadata));
        this.receive(resource, object, () => this.changed(resource, object, first));
      },
      listed: () => {
        const known = seen;
        seen = undefined;
        first = false;
        for (const [key, record] of this.byKey) {
          const covered =
            sameKind(record.resource, resource) && (!namespace || record.namespace === namespace);
          if (covered && !known?.has(key)) this.gone(key, record.uid);
        }
      },
      remove: (object) => {
        this.receive(resource, object, () =>
          this.gone(childKey(resource, object.metadata), object.metadata.uid),
        );
      },
    };
  }

  private receive(resource: Resource, object: KubernetesObject, event: () => void): void {
    const held = this.writing.get(childKey(resource, object.metadata));
    if (held) held.push(event);
    else event();
  }

  private changed(resource: Resource, object: KubernetesObject, first: boolean): void {
    const key = childKey(resource, object.metadata);
    const known = this.byKey.get(key);
    const before = known && { ...known };
    if (
      known?.uid === object.metadata.uid &&
      !isNewer(object.metadata.resourceVersion, known.resourceVersion)
    )
      return;
    const record = this.put(resource, object);
    // The first list finds what was there before us: start-up reconciles every object anyway.
    if (first) return;
    const undone = { ...nameOf(resource, object.metadata), by: this.lastWriter(object) };
    if (known && known.owner.uid !== record?.owner.uid) this.options.onChange(known.owner, undone);
    if (!record) return;
    if (isUnexplained(before, record)) {
      delete record.applied;
      return this.options.onChange(record.owner, nameOf(resource, object.metadata));
    }
    const isReport = record.ownedFields === before?.ownedFields;
    this.options.onChange(record.owner, isReport ? undefined : undone);
  }

  private gone(key: string, uid: string): void {
    const record = this.byKey.get(key);
    if (record?.uid !== uid) return;
    this.drop(key);
    this.options.onChange(record.owner, nameOf(record.resource, record));
  }

  /** Keeps the child whole, as long as there is room. @returns it as JSON */
  private keep(record: ChildRecord, object: KubernetesObject): string {
    const { managedFields: _, ...metadata } = object.metadata;
    const json = JSON.stringify({ ...object, metadata });
    record.whole = { resourceVersion: metadata.resourceVersion, json };
    // A record that has been dropped meanwhile must not come back by this.
    if (this.byOwner.get(record.owner.uid)?.has(record)) this.kept.take(record, json.length);
    return json;
  }

  private lastWriter({ metadata }: KubernetesObject): string | undefined {
    const others = (metadata.managedFields ?? []).filter(
      ({ manager, subresource }) => manager !== this.options.fieldManager && !subresource,
    );
    // RFC 3339 in UTC sorts as text.
    return others.sort((a, b) => ((a.time ?? "") < (b.time ?? "") ? 1 : -1))[0]?.manager;
  }

  private put(resource: Resource, object: KubernetesObject): ChildRecord | undefined {
    const { metadata } = object;
    const key = childKey(resource, metadata);
    const known = this.byKey.get(key);
    const owner = this.ownerOf(object);
    if (!owner || known?.uid !== metadata.uid || known.owner.uid !== owner.uid) this.drop(key);
    if (!owner) return undefined;
    const record: ChildRecord = this.byKey.get(key) ?? {
      resource,
      name: metadata.name,
      namespace: metadata.namespace,
      uid: metadata.uid,
      owner,
      resourceVersion: "",
      ownedFields: "",
      others: "",
      generation: undefined,
      deleting: false,
    };
    record.resourceVersion = metadata.resourceVersion;
    const entry = applyEntry(object, this.options.fieldManager);
    // The time too: another leader of this operator, or a late write of a former one, applies the same fields.
    record.ownedFields = fingerprint([entry?.fieldsV1, entry?.time]);
    record.others = fingerprint(metadata.managedFields?.filter((each) => each !== entry));
    record.generation = metadata.generation;
    record.deleting = metadata.deletionTimestamp !== undefined;
    this.byKey.set(key, record);
    const siblings = this.byOwner.get(owner.uid) ?? new Set();
    this.byOwner.set(owner.uid, siblings.add(record));
    const uids = this.namesakes.get(formatName(owner)) ?? [];
    if (!uids.includes(owner.uid)) this.namesakes.set(formatName(owner), [...uids, owner.uid]);
    return record;
  }

  private drop(key: string): void {
    const record = this.byKey.get(key);
    if (!record) return;
    this.byKey.delete(key);
    this.kept.release(record);
    const siblings = this.byOwner.get(record.owner.uid);
    siblings?.delete(record);
    if (siblings?.size !== 0) return;
    const { owner } = record;
    this.byOwner.delete(owner.uid);
    const left = this.namesakes.get(formatName(owner))?.filter((uid) => uid !== owner.uid) ?? [];
    if (left.length > 0) this.namesakes.set(formatName(owner), left);
    else this.namesakes.delete(formatName(owner));
  }
}

/**
 * Whether a child has changed although nobody's entry of its managedFields has: these have times of whole seconds, so
 * that it may be a write of our own field manager in the second of our last one, by a former leader or after its answer
 * was lost. Where there is a generation, it tells a new specification from a second report of a status.
 */
function isUnexplained(before: ChildRecord | undefined, record: ChildRecord): boolean {
  if (before?.uid !== record.uid || record.deleting) return false;
  if (before.ownedFields !== record.ownedFields || before.others !== record.others) return false;
  return record.generation === undefined || record.generation !== before.generation;
}

/** Sorts by kind, then namespace and name. */
function childKey(resource: Resource, name: ObjectName): string {
  return `${resource.apiVersion} ${resource.kind} ${formatName({ namespace: name.namespace, name: name.name })}`;
}

function nameOf({ kind }: Resource, { namespace, name }: ObjectName): UndoneChild {
  return { kind, namespace, name };
}

function sameKind(a: Resource, b: Resource): boolean {
  return a.apiVersion === b.apiVersion && a.kind === b.kind;
}
