import { formatName, type KubernetesObject, type ObjectName } from "../../base/objects";
import { nameIn } from "../../remember/memoryKind";
import { MemoryObjects, type MemoryObjectsOptions } from "../../remember/memoryObjects";

/** The memories of objects that are not the operator's own, without a watch: each is read once, and then known from our own writes. */
export class ReadMemories extends MemoryObjects {
  /** Which objects the Memory objects are about, by the uid in their names. */
  private readonly about = new Map<string, readonly (ObjectName | undefined)[]>();

  constructor(
    private readonly reading: MemoryObjectsOptions & {
      /** The uid that the object of a run had when the run was submitted. The object may be gone by now. */
      readonly uid?: string | undefined;
    },
  ) {
    super(reading);
  }

  override async read(uid: string): Promise<readonly KubernetesObject[]> {
    const { client, resource } = this.reading;
    if (!this.about.has(uid)) {
      const found = await Promise.all(this.memoryNames(uid).map((name) => this.look(client, name)));
      this.about.set(
        uid,
        found.flatMap((memory) => (memory ? [nameIn(memory, resource)] : [])),
      );
    }
    return super.read(uid);
  }

  /** The uid of the run's object. The object may have left children even if nothing is remembered about it. */
  override async uidsOf(name: ObjectName): Promise<string[]> {
    const { uid } = this.reading;
    if (uid === undefined) return [];
    await this.read(uid);
    const isOther = this.about.get(uid)?.some((each) => !each || formatName(each) !== formatName(name));
    return isOther ? [] : [uid];
  }

  override invalidate(uid: string): void {
    this.about.delete(uid);
  }
}
