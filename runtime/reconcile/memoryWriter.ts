import type { ChildStore } from "../children/childStore";
import type { DesiredChild } from "../children/desiredChildren";
import { releaseFormer } from "../children/former";
import { canReference } from "../children/ownership";
import type { Operator } from "../definition/definition";
import { ReconcileFailure } from "../failure";
import type { FinalizeAnswer, ReconcileAnswer } from "../handler/contract";
import type { KubernetesClient } from "../kubernetes/client";
import type { JsonObject, KubernetesObject } from "../kubernetes/objects";
import { isListed, type Resource } from "../kubernetes/resource";
import type { Memories } from "../memory/memories";
import {
  type Footprint,
  isSameMemory,
  type Memory,
  memoryOf,
  NOTHING,
  remembered,
  writtenMemory,
} from "../memory/memory";
import { memoryAfter, memoryOfPart, type Progress } from "../memory/rememberedChildren";
import { formerManagersOf, type OperatorNames } from "../names";
import type { StatusChange } from "../status/composeStatus";
import type { Verdict } from "../status/conditions";
import type { KnownObjects } from "../watch/customResources";
import { hasElsewhere } from "./elsewhere";
import type { ReconcileReport } from "./report";

/** What {@link MemoryWriter} works with. */
export interface MemoryWriterOptions {
  readonly operator: Pick<Operator, "namespaces"> & OperatorNames;
  /** The custom resource's kind. */
  readonly resource: Resource;
  readonly children: ChildStore;
  readonly objects: KnownObjects;
  readonly memories: Memories;
  /** Whether we own the objects. */
  readonly isOurs: boolean;
  /** The name that the record of a run has, or will have. Undefined if the run is not recorded. */
  readonly recordOf: (report: ReconcileReport) => string | undefined;
  /** Further parts of an object's memory, after its children were written. @default nothing */
  readonly footprintOf?: (uid: string, report: ReconcileReport) => Footprint;
}

/** What a reconcile did with a handler's answer. */
export interface Made {
  /** The object as it was then. */
  readonly object: KubernetesObject;
  readonly answer: ReconcileAnswer;
  readonly desired: readonly DesiredChild[];
  /** How far it came with the desired children. */
  readonly progress: Progress;
  /** The object's memory from before. */
  readonly before: Memory;
}

/**
 * Writes what the next reconcile of an object must know: the handler's own fields, and the engine's memory.
 *
 * Guarantees, each with a test in tests/unit/reconcile.test.ts:
 * - What was applied of an answer is remembered, even if the API server refused the rest of the answer, or if the children could not
 *   be read to judge them.
 * - A verdict goes along with a status that is written anyway, and names the record of the run.
 */
export class MemoryWriter {
  /** The field managers under which the operator may have written the objects before it was renamed. */
  private readonly formerManagers: readonly string[];

  constructor(private readonly options: MemoryWriterOptions) {
    const { operator, isOurs } = options;
    this.formerManagers = isOurs ? formerManagersOf(operator) : [];
  }

  /**
   * Remembers a reconcile that made every child as desired.
   * @param report the report until now: it says whether the run is recorded
   * @returns the object as it is then
   * @throws ReconcileFailure if the API server refuses the handler's fields: what was applied is remembered all the same; ApiError,
   *   ApiUnreachableError
   */
  async writeAfter(
    client: KubernetesClient,
    made: Made,
    { reportedEvents, schedules }: Pick<Memory, "reportedEvents" | "schedules">,
    verdict: Verdict,
    report: ReconcileReport,
  ): Promise<KubernetesObject> {
    const { object, answer, desired, progress, before } = made;
    const { children, memories, footprintOf, recordOf } = this.options;
    const { uid } = object.metadata;
    const memory: Memory = {
      ...memoryAfter(before, desired, children.of(uid), progress),
      reportedEvents,
      schedules,
      ...footprintOf?.(uid, report),
      ...this.ofWhere(made),
    };
    const isEmpty = isSameMemory(memory, NOTHING) && isSameMemory(before, NOTHING);
    const change = { ...saidIn(answer, object), ...(!isEmpty && { memory: remembered(memory) }) };
    // The class "status" lets the writes of other objects' children go first.
    const later = client.with({ class: "status" });
    const along = { verdict: { verdict, generation: report.generation ?? 1, run: recordOf(report) } };
    try {
      return (await memories.write(later, nameOf(object), change, along)) ?? object;
    } catch (error) {
      // The handler's fields may be refused for as long as it answers them. The children are there all the same. A status of which
      // the API server only dropped a part is stored, with the memory.
      if (error instanceof ReconcileFailure && error.cause !== undefined) await this.writePart(client, made);
      throw error;
    }
  }

  /** Releases the fields of an object that a former name of the operator owned. @param object as {@link writeAfter} gave it */
  async releaseFormer(client: KubernetesClient, object: KubernetesObject): Promise<void> {
    const released = await releaseFormer(client, this.options.resource, object, this.formerManagers);
    if (released !== object) this.options.objects.learn(released);
  }

  /**
   * Remembers a reconcile that wrote only a part of the answer: some of the children, or all of them and not the status. An error of
   * this write is not reported.
   */
  async writePart(client: KubernetesClient, made: Made): Promise<void> {
    const { object, desired, progress, before } = made;
    const { children, memories } = this.options;
    const isThere = ({ resource, manifest, ownerUid }: DesiredChild) => {
      const found = children.find(resource, manifest.metadata);
      return found?.facts.owner.uid === ownerUid && !found.deleting;
    };
    const there = children.of(object.metadata.uid);
    const memory: Memory = {
      ...memoryOfPart(before, desired, there, isThere, progress),
      ...this.ofWhere(made, true),
    };
    if (isSameMemory(memory, before)) return;
    // The error that ended the reconcile says more. But the memory may have been written all the same.
    const readAgain = () => this.options.objects.invalidate(nameOf(object));
    await memories.write(client, nameOf(object), { memory: remembered(memory) }).catch(readAgain);
  }

  /**
   * Remembers the first look at a schedule, and the memory that somebody took from the object's status, before anything is done.
   * @returns the object's memory then
   */
  async writeFirstLook(
    client: KubernetesClient,
    object: KubernetesObject,
    before: Memory,
    schedules: Memory["schedules"],
  ): Promise<Memory> {
    const memory = { ...before, schedules };
    const isFirst = !isSameMemory(memory, before);
    const isTaken = this.options.isOurs && !writtenMemory(object) && !isSameMemory(before, memoryOf(object));
    if (!isFirst && !isTaken) return before;
    await this.write(client, object, memory).catch((error: unknown) => {
      // This process still knows what somebody took. The end of the run tries once more, and says what is wrong.
      if (isFirst || !(error instanceof ReconcileFailure)) throw error;
    });
    return memory;
  }

  /** Remembers something in the midst of a reconcile. */
  async write(client: KubernetesClient, object: KubernetesObject, memory: Memory): Promise<void> {
    await this.options.memories.write(client, nameOf(object), { memory: remembered(memory) });
  }

  /** Remembers the answer of a handler that has not finished finalizing. Parts that the answer leaves out stay as they are. */
  async writeUnfinished(
    client: KubernetesClient,
    object: KubernetesObject,
    answer: FinalizeAnswer,
    before: Memory,
    reportedEvents: readonly string[],
  ): Promise<void> {
    const { fields, conditions } = saidIn(answer, object);
    const memory = { ...before, reportedEvents };
    const change = {
      ...(answer.status && { fields }),
      ...(answer.conditions && { conditions }),
      ...(!isSameMemory(memory, before) && { memory: remembered(memory) }),
    };
    if (Object.keys(change).length > 0) await this.options.memories.write(client, nameOf(object), change);
  }

  /**
   * Where the children are, and, for an object that we do not own, the state that the handler wants to get back. If the handler
   * answers no state, the object keeps the one that it has.
   * @param isPart whether there may be children where there were some before
   */
  private ofWhere(
    { object, answer: { state }, desired, before }: Made,
    isPart = false,
  ): Pick<Memory, "state" | "elsewhere" | "namespaces"> {
    const { isOurs, children, operator } = this.options;
    const there = [...desired.map(({ manifest }) => manifest.metadata), ...children.of(object.metadata.uid)];
    const far = there.flatMap(({ namespace }) =>
      namespace === undefined || canReference(object, namespace) ? [] : [namespace],
    );
    // No watch shows the children that are left in a namespace that the operator no longer lists.
    const left = (before.namespaces ?? []).filter((each) => isPart || !isListed(operator.namespaces, each));
    const namespaces = [...far, ...left];
    const where = { namespaces, elsewhere: isPart ? before.elsewhere : undefined };
    return {
      ...(hasElsewhere(object, where, there) && { elsewhere: true as const }),
      ...(isOurs ? { namespaces } : { state: (state as JsonObject | undefined) ?? before.state }),
    };
  }
}

/** All parts of the status that belong to the handler. */
function saidIn(
  { status, conditions }: Pick<ReconcileAnswer, "status" | "conditions">,
  { metadata: { generation = 1 } }: KubernetesObject,
): Required<Pick<StatusChange, "fields" | "conditions">> {
  return { fields: status ?? {}, conditions: { statements: conditions ?? [], generation } };
}

function nameOf({ metadata: { name, namespace, uid } }: KubernetesObject) {
  return { name, namespace, uid };
}
