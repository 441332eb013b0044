// What is left of objects that we do not own and no longer watch.
import type { KubernetesObject, ObjectName } from "../base/objects";
import type { Resource } from "../base/resource";
import { lookAtNamespace } from "../kubernetes/namespaces";
import type { ChildStore } from "../observe/childStore";
import { NOTHING } from "../remember/memory";
import type { ChildChange } from "../write/childWriter";
import type { Sweep } from "../write/sweep";
import { isOutOfReach } from "./completeness";
import type { ReconcileReport } from "./report";
import type { OthersObjects, ReconcileContext } from "./run";
import type { Timeline } from "./timeline";

/** The run that clears up, and what it has done so far. */
export interface ClearingUp {
  readonly name: ObjectName;
  readonly context: ReconcileContext;
  readonly timeline: Timeline;
  readonly changes: ChildChange[];
  note(found: Partial<ReconcileReport>): void;
}

/**
 * Clears up after all objects of others that had the run's name and are gone: they were deleted, or lost the labels by which they are
 * selected. Nothing on them says that we knew them, but the engine's memory does. Their children are deleted first, then the memory.
 *
 * Guarantees, each with a test in tests/unit/departures.test.ts:
 * - An object that is only out of sight keeps its children, unless it was seen to go, or its namespace is gone.
 * - An object that exists keeps them, whatever was seen.
 * - The memory stays until every child is gone, so that a failure is tried again, by the next process too.
 * - Only objects that we applied are deleted.
 *
 * @param run gets each deletion when it is done. If no object has the name now, its report is about the one that left something
 * @param uid the uid of the object that has the name now. Undefined: no watched object has the name
 * @throws ReconcileFailure, StillListingError if it is not known whether they are gone
 */
export async function clearUpAfterGone(
  others: OthersObjects,
  children: ChildStore,
  sweep: Sweep,
  run: ClearingUp,
  uid: string | undefined,
): Promise<void> {
  const clearUp = async () => {
    for (const gone of await goneOf(others, children, run, uid)) {
      if (uid === undefined) run.note({ uid: gone });
      await clearUpAfter(others, children.ownerKind, sweep, run, gone);
    }
    if (uid === undefined && run.changes.length === 0) run.note({ uid });
  };
  await run.timeline.step("sweep", clearUp, () => run.changes.length > 0);
}

/** The uids of all objects that had this name and are gone, but may have left something. */
async function goneOf(
  { memories, objects, assertSeen }: OthersObjects,
  children: ChildStore,
  { name, context: { client, fence } }: ClearingUp,
  uid: string | undefined,
): Promise<readonly string[]> {
  const owners = children.ofPredecessors({ ...name, uid: "" }).map(({ facts }) => facts.owner.uid);
  const left = new Set([...(await memories.uidsOf(name)), ...owners]);
  const gone = [...left].filter((each) => each !== uid && !objects.hasUid(each));
  if (gone.length === 0) return gone;
  // If all of them were seen to go, it does not matter that their kind may have gone since.
  const areSeen = gone.every((each) => objects.removedAt(each) !== undefined);
  try {
    if (!areSeen) assertSeen(name);
  } catch (error) {
    // If its namespace is gone, an object is gone too. Our rights there went first, so perhaps no watch showed that.
    const { namespace } = name;
    if (
      namespace === undefined ||
      (await lookAtNamespace(client.with({ class: "work", fence }), namespace)) !== "gone"
    )
      throw error;
  }
  // A restore of etcd may have brought one back that the watch does not show yet.
  const there = await objects.readNow(name).catch((error: unknown) => {
    if (!isOutOfReach(error)) throw error;
    return undefined;
  });
  return gone.filter((each) => each !== there?.metadata.uid);
}

async function clearUpAfter(
  { memories, isBlind }: OthersObjects,
  { apiVersion, kind }: Resource,
  sweep: Sweep,
  run: ClearingUp,
  uid: string,
): Promise<void> {
  const object: KubernetesObject = {
    apiVersion,
    kind,
    metadata: { ...named(run.name), uid, resourceVersion: "" },
  };
  const client = run.context.client.with({ class: "work", flow: uid, fence: run.context.fence });
  const memory = await memories.ofUid(uid);
  // If nothing is remembered, its children may be anywhere.
  const trace = memory === NOTHING ? { kinds: [], elsewhere: true as const } : memory;
  await sweep.deleteAll(client, object, trace, isBlind, run.changes);
  await memories.forget(client, uid);
}

function named({ name, namespace }: ObjectName) {
  return { name, ...(namespace !== undefined && { namespace }) };
}
