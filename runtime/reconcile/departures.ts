import type { ChildStore } from "../children/childStore";
import type { ChildChange } from "../children/childWriter";
import type { KubernetesClient } from "../kubernetes/client";
import { lookAtNamespace } from "../kubernetes/namespaces";
import type { KubernetesObject, ObjectName } from "../kubernetes/objects";
import type { Resource } from "../kubernetes/resource";
import { NOTHING } from "../memory/memory";
import type { MemoryObjects } from "../memory/memoryObjects";
import type { CustomResources } from "../watch/customResources";
import type { Completeness } from "./completeness";
import type { Draft } from "./draft";
import type { ReconcileContext } from "./reconciliation";
import type { Sweep } from "./sweep";

/** What {@link Departures} work with. */
export interface DeparturesOptions {
  /** The kind of the objects that are watched. */
  readonly resource: Resource;
  readonly memories: MemoryObjects;
  readonly children: ChildStore;
  readonly objects: Pick<CustomResources, "hasUid" | "removedAt">;
  readonly completeness: Pick<Completeness, "assertSeen">;
  /** Whether no watch shows the children, so that they must be listed. */
  readonly isBlind: boolean;
}

/**
 * Objects that are not ours and are no longer watched: they were deleted, or lost the labels by which they are selected. Nothing
 * on them says that we knew them, but the engine's memory does. Their children are deleted first, then the memory.
 *
 * Guarantees, each with a test in tests/unit/departures.test.ts:
 * - An object that is only out of sight keeps its children, unless it was seen to go, or its namespace is gone.
 * - The memory stays until every child is gone, so that a failure is tried again, by the next process too.
 * - Only objects that we applied are deleted.
 */
export class Departures {
  constructor(
    private readonly options: DeparturesOptions,
    private readonly sweep: Sweep,
  ) {}

  /**
   * Cleans up after all objects that had this name and are gone.
   * @param uid the uid of the object that has the name now. Undefined: no watched object has the name
   * @param draft gets each deletion when it is done. If no object has the name now, the report is about the one that left something
   * @throws ReconcileFailure, StillListingError if nobody knows whether they are gone
   */
  async clearUp(
    name: ObjectName,
    uid: string | undefined,
    context: Pick<ReconcileContext, "client" | "fence">,
    draft: Pick<Draft, "changes" | "note">,
  ): Promise<void> {
    for (const gone of await this.goneOf(name, uid, context)) {
      if (uid === undefined) draft.note({ uid: gone });
      await this.clearUpAfter(name, gone, context, draft.changes);
    }
    if (uid === undefined && draft.changes.length === 0) draft.note({ uid });
  }

  /** The uids of all objects that had this name and are gone, but may have left something. */
  private async goneOf(
    name: ObjectName,
    uid: string | undefined,
    { client, fence }: Pick<ReconcileContext, "client" | "fence">,
  ): Promise<readonly string[]> {
    const { memories, objects } = this.options;
    const left = [...(await memories.uidsOf(name)), ...this.ownersOf(name)];
    const gone = [...new Set(left)].filter((each) => each !== uid && !objects.hasUid(each));
    // If all of them were seen to go, it does not matter that their kind may have gone since.
    if (gone.some((each) => objects.removedAt(each) === undefined))
      await this.assertGone(name, client.with({ class: "work", fence }));
    return gone;
  }

  private async clearUpAfter(
    { namespace, name }: ObjectName,
    uid: string,
    context: Pick<ReconcileContext, "client" | "fence">,
    changes: ChildChange[],
  ): Promise<void> {
    const { resource, memories, isBlind } = this.options;
    const client = context.client.with({ class: "work", flow: uid, fence: context.fence });
    const { apiVersion, kind } = resource;
    const metadata = { name, uid, resourceVersion: "", ...(namespace !== undefined && { namespace }) };
    const object: KubernetesObject = { apiVersion, kind, metadata };
    const memory = await memories.ofUid(uid);
    // If nothing is remembered, its children may be anywhere.
    const trace = memory === NOTHING ? { kinds: [], elsewhere: true as const } : memory;
    await this.sweep.deleteAll(client, object, trace, isBlind, changes);
    await memories.forget(client, uid);
  }

  /**
   * Throws if nobody knows whether an object with that name is gone. If its namespace is gone, it is gone too. Our rights there
   * went first, so perhaps nobody saw that.
   */
  private async assertGone(name: ObjectName, client: KubernetesClient): Promise<void> {
    const { namespace } = name;
    try {
      this.options.completeness.assertSeen(name);
    } catch (error) {
      if (namespace === undefined || (await lookAtNamespace(client, namespace)) !== "gone") throw error;
    }
  }

  /** The uids of the owners of children that name an owner with this name. */
  private ownersOf(name: ObjectName): string[] {
    const children = this.options.children.ofPredecessors({ ...name, uid: "" });
    return children.map(({ facts }) => facts.owner.uid);
  }
}
