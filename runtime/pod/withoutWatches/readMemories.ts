import type { Operator } from "../../definition/definition";
import type { KubernetesClient } from "../../kubernetes/client";
import { formatName, type KubernetesObject, type ObjectName } from "../../kubernetes/objects";
import type { Resource } from "../../kubernetes/resource";
import { memoryResourceOf, nameIn } from "../../memory/memoryKind";
import { type KnownMemoryObjects, MemoryObjects } from "../../memory/memoryObjects";
import { allIdentitiesOf, memoryPrefixOf, type OperatorIdentity } from "../../names";

/** The Memory objects that {@link ReadMemories} read. */
export interface ReadMemoriesOptions {
  readonly client: KubernetesClient;
  /** The operator's identities, as {@link allIdentitiesOf} gives them. */
  readonly identities: readonly [OperatorIdentity, ...OperatorIdentity[]];
  /** The namespace of the Memory objects. */
  readonly namespace: string;
  /** The uid that the object of a run had when the run was submitted. The object may be gone by now. */
  readonly uid?: string | undefined;
}

/** The Memory objects about one object, without a watch: read once, and then known from the answers to our own writes. */
export class ReadMemories implements KnownMemoryObjects {
  private readonly known = new Map<string, readonly KubernetesObject[]>();

  constructor(private readonly options: ReadMemoriesOptions) {}

  async read(uid: string): Promise<readonly KubernetesObject[]> {
    const known = this.known.get(uid) ?? (await this.get(uid));
    this.known.set(uid, known);
    return known;
  }

  /** The uid of the run's object. The object may have left children even if nothing is remembered about it. */
  async uidsOf(name: ObjectName): Promise<string[]> {
    const { uid } = this.options;
    if (uid === undefined) return [];
    const about = (await this.read(uid)).map(nameIn);
    const isOther = about.some((each) => each && formatName(each) !== formatName(name));
    return isOther ? [] : [uid];
  }

  learn(memory: KubernetesObject): void {
    const [identity] = this.options.identities;
    const uid = memory.metadata.name.slice(memoryPrefixOf(identity).length);
    const others = this.known.get(uid) ?? [];
    this.known.set(uid, [memory, ...others.filter((each) => each.metadata.name !== memory.metadata.name)]);
  }

  drop(memory: KubernetesObject): void {
    for (const [uid, known] of this.known)
      this.known.set(
        uid,
        known.filter((each) => each.metadata.name !== memory.metadata.name),
      );
  }

  invalidate(uid: string): void {
    this.known.delete(uid);
  }

  private async get(uid: string): Promise<KubernetesObject[]> {
    const { client, identities, namespace } = this.options;
    const resource = memoryResourceOf(identities[0]);
    const read = await Promise.all(
      identities.map((identity) =>
        client.get(resource, { namespace, name: `${memoryPrefixOf(identity)}${uid}` }),
      ),
    );
    return read.filter((memory) => memory !== undefined);
  }
}

/** The options of {@link readMemories}. */
export interface ReadMemoriesOf extends Omit<ReadMemoriesOptions, "identities"> {
  readonly operator: Operator;
  /** The kind of the objects as the API serves it. */
  readonly resource: Resource;
}

/** The memories of objects that are not the operator's own, without a watch: each Memory object is read when it is needed. */
export function readMemories({ operator, resource, ...options }: ReadMemoriesOf): {
  readonly memories: MemoryObjects;
  readonly known: ReadMemories;
} {
  const { namespace } = options;
  const known = new ReadMemories({ ...options, identities: allIdentitiesOf(operator) });
  return {
    known,
    memories: new MemoryObjects({ operator, resource, namespace, known, isThere: () => true }),
  };
}
