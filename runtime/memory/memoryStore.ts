import type { KubernetesClient } from "../kubernetes/client";
import { formatName, type KubernetesObject, type ObjectName } from "../kubernetes/objects";
import type { Resource } from "../kubernetes/resource";
import { memoryPrefixOf, type OperatorIdentity } from "../names";
import type { ReflectorSink } from "../watch/reflectorSink";
import { type Change, Store } from "../watch/store";
import type { StoredObject } from "../watch/storedObject";
import { conditionsOfObject, memoryResourceOf, nameIn, uidIn } from "./memoryKind";
import type { KnownMemoryObjects } from "./memoryObjects";

/** The Memory objects that a {@link MemoryStore} holds, and the callbacks that it calls. */
export interface MemoryStoreOptions {
  readonly client: Pick<KubernetesClient, "get">;
  /** The operator's identities, as `allIdentitiesOf` gives them. */
  readonly identities: readonly [OperatorIdentity, ...OperatorIdentity[]];
  /** The namespace of the Memory objects. */
  readonly namespace: string;
  /** Throws if the Memory objects are not all known. A Memory that is not known must not count as missing. */
  readonly assertKnown: () => void;
  /** Somebody else deleted the Memory of the object with that name. */
  readonly onLost: (name: ObjectName) => void;
}

interface Facts {
  /** The uid of the object that the Memory is about. */
  readonly about: string;
  readonly name: ObjectName;
  /** The place of its operator among the identities: 0 is our own. */
  readonly rank: number;
  /** The generation that was ready at the last verdict. Undefined: the object was not ready. */
  readonly readyGeneration: number | undefined;
}

type Known = StoredObject<Facts>;

/**
 * The Memory objects of one operator, as a watch shows them.
 *
 * Assumption: only we write them. Anyone who may write in the operators' namespace may make us forget an object, or remember one
 * that never was.
 */
export class MemoryStore implements KnownMemoryObjects {
  private readonly store: Store<Facts>;
  private readonly kind: Resource;
  /** The Memory objects about each object, by its uid. */
  private readonly byUid = new Map<string, readonly Known[]>();
  /** The uids of the objects that had a name. */
  private readonly uidsByName = new Map<string, ReadonlySet<string>>();
  /** The uids of the objects whose Memory may have been written unseen, each with a token of its latest invalidation. */
  private readonly outdated = new Map<string, symbol>();

  constructor(private readonly options: MemoryStoreOptions) {
    this.kind = memoryResourceOf(options.identities[0]);
    this.store = new Store<Facts>({
      client: options.client,
      factsOf: (memory) => this.factsOf(memory),
      onChange: (change) => this.changed(change),
    });
  }

  async read(uid: string): Promise<KubernetesObject[]> {
    this.options.assertKnown();
    if (this.outdated.has(uid)) await this.look(uid);
    const read = await Promise.all((this.byUid.get(uid) ?? []).map((known) => this.store.read(known)));
    return read.filter((memory) => memory !== undefined);
  }

  async uidsOf(name: ObjectName): Promise<string[]> {
    this.options.assertKnown();
    return [...(this.uidsByName.get(formatName(name)) ?? [])];
  }

  learn(memory: KubernetesObject): void {
    this.store.set(this.kind, memory, "handled");
  }

  drop(memory: KubernetesObject): void {
    const known = this.store.find(this.kind, memory.metadata);
    if (known?.uid === memory.metadata.uid) this.store.remove(known, "handled");
  }

  invalidate(uid: string): void {
    this.outdated.set(uid, Symbol());
  }

  /** What is stored about the objects that have, or had, this name may be outdated: it is read again when it is needed. */
  invalidateAllOf(name: ObjectName): void {
    for (const uid of this.uidsByName.get(formatName(name)) ?? []) this.invalidate(uid);
  }

  /** Every stored Memory is outdated: it is read again when it is needed. */
  invalidateAll(): void {
    this.store.invalidateAll();
  }

  /** The names of all objects that are remembered. */
  names(): ObjectName[] {
    return [...this.store.values()].map(({ facts }) => facts.name);
  }

  /** Whether the last verdict about the object was that this generation of it is ready. */
  isReady({ metadata: { uid, generation = 1 } }: KubernetesObject): boolean {
    return this.byUid.get(uid)?.[0]?.facts.readyGeneration === generation;
  }

  /** Takes in what a reflector sees. */
  sink(namespace: string | undefined): ReflectorSink {
    return this.store.sink(this.kind, namespace);
  }

  /** Reads the operator's own Memory about an object, whether one is known or not. */
  private async look(uid: string): Promise<void> {
    const { client, identities, namespace } = this.options;
    const token = this.outdated.get(uid);
    const name = { namespace, name: `${memoryPrefixOf(identities[0])}${uid}` };
    const known = this.store.find(this.kind, name);
    const memory = await client.get(this.kind, name);
    if (memory) this.learn(memory);
    else if (known) this.store.remove(known, "handled");
    // It may have been written unseen while it was read.
    if (this.outdated.get(uid) === token) this.outdated.delete(uid);
  }

  private factsOf(memory: KubernetesObject): Facts | undefined {
    const name = nameIn(memory);
    const { identities } = this.options;
    const rank = identities.findIndex((identity) => uidIn(memory, identity) !== undefined);
    const identity = identities[rank];
    const about = identity && uidIn(memory, identity);
    if (about === undefined || !name) return undefined;
    const ready = conditionsOfObject(memory).find(
      ({ type, status }) => type === "Ready" && status === "True",
    );
    return { about, name, rank, readyGeneration: ready?.observedGeneration };
  }

  private changed({ source, before, after }: Change<Facts>): void {
    if (before) this.unlink(before);
    if (after) this.link(after);
    else if (before && source !== "handled") this.options.onLost(before.facts.name);
  }

  private link(known: Known): void {
    const { about, name } = known.facts;
    const all = [...(this.byUid.get(about) ?? []), known];
    this.byUid.set(
      about,
      all.sort((one, other) => one.facts.rank - other.facts.rank),
    );
    const key = formatName(name);
    this.uidsByName.set(key, new Set([...(this.uidsByName.get(key) ?? []), about]));
  }

  private unlink({ uid, facts: { about, name } }: Known): void {
    const left = (this.byUid.get(about) ?? []).filter((known) => known.uid !== uid);
    if (left.length > 0) this.byUid.set(about, left);
    else this.byUid.delete(about);
    const key = formatName(name);
    const others = [...(this.uidsByName.get(key) ?? [])].filter((each) => each !== about || left.length > 0);
    if (others.length > 0) this.uidsByName.set(key, new Set(others));
    else this.uidsByName.delete(key);
  }
}
