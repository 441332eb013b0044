import type { ChildStore } from "../children/childStore";
import type { KubernetesClient } from "../kubernetes/client";
import { lookAtNamespace } from "../kubernetes/namespaces";
import type { KubernetesObject, ObjectName } from "../kubernetes/objects";
import type { Resource } from "../kubernetes/resource";
import type { KeptMemories } from "../memory/keptMemories";
import { NOTHING } from "../memory/memory";
import type { Draft, Mandate } from "./run";
import type { Sweep } from "./sweep";

/** What {@link Departures} work with. */
export interface DeparturesOptions {
  /** The kind of the objects that are watched. */
  readonly resource: Resource;
  readonly memories: KeptMemories;
  readonly children: ChildStore;
  /** Whether an object with that uid is watched, under whatever name. */
  readonly isWatched: (uid: string) => boolean;
  /** Whether no watch shows the children, so that they must be listed. */
  readonly isBlind: boolean;
  /** Throws if nobody knows whether an object of that name is gone: its kind or its namespace may only be out of sight. */
  readonly assertSeen: (name: ObjectName) => void;
}

/**
 * Objects that are not ours and are no longer watched: they were deleted, or lost the labels by which they are selected. Nothing
 * on them says that we knew them, but the engine's memory does. Their children are deleted first, then the memory.
 *
 * Guarantees, each with a test in tests/unit/departures.test.ts:
 * - An object that is only out of sight keeps its children, unless its namespace is gone.
 * - The memory stays until every child is gone, so that a failure is tried again, by the next process too.
 * - Only objects that we applied are deleted.
 */
export class Departures {
  constructor(
    private readonly options: DeparturesOptions,
    private readonly sweep: Sweep,
  ) {}

  /**
   * Clears up after all objects that had this name.
   * @param uid the uid of the object that has the name now. Undefined: no watched object has the name
   */
  async clearUp(
    name: ObjectName,
    uid: string | undefined,
    { client, assert }: Pick<Mandate, "client" | "assert">,
    report: Draft,
  ): Promise<void> {
    const { memories, isWatched } = this.options;
    const left = [...(await memories.uidsOf(name)), ...this.ownersOf(name)];
    const gone = [...new Set(left)].filter((each) => each !== uid && !isWatched(each));
    if (gone.length === 0) return;
    await this.assertGone(name, client.with({ class: "work", fence: assert }));
    for (const each of gone) {
      const passage = { class: "work", share: each, fence: assert } as const;
      // The run of the object that has the name now reports about that object.
      if (uid === undefined) report.uid = each;
      await this.clear(client.with(passage), name, each, report);
    }
    if (uid === undefined && report.changes.length === 0) report.uid = undefined;
  }

  /**
   * Throws if nobody knows whether an object of that name is gone. If its namespace is gone, it is gone too. Our rights there went
   * first, so perhaps nobody saw that.
   */
  private async assertGone(name: ObjectName, client: KubernetesClient): Promise<void> {
    const { namespace } = name;
    try {
      this.options.assertSeen(name);
    } catch (error) {
      if (namespace === undefined || (await lookAtNamespace(client, namespace)) !== "gone") throw error;
    }
  }

  private async clear(
    client: KubernetesClient,
    { namespace, name }: ObjectName,
    uid: string,
    report: Draft,
  ): Promise<void> {
    const { resource, memories, isBlind } = this.options;
    const { apiVersion, kind } = resource;
    const metadata = { name, uid, resourceVersion: "", ...(namespace !== undefined && { namespace }) };
    const object: KubernetesObject = { apiVersion, kind, metadata };
    const memory = await memories.ofUid(uid);
    // If nothing is remembered, its children may be anywhere.
    const trace = memory === NOTHING ? { kinds: [], elsewhere: true as const } : memory;
    await this.sweep.deleteAll(client, object, trace, isBlind, report.changes);
    await memories.forget(client, uid);
  }

  /** The uids of the owners of children that name an owner of this name. */
  private ownersOf(name: ObjectName): string[] {
    const children = this.options.children.ofPredecessors({ ...name, uid: "" });
    return children.map(({ facts }) => facts.owner.uid);
  }
}
