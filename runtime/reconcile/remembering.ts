import type { ChildStore } from "../children/childStore";
import type { DesiredChild } from "../children/desiredChildren";
import { releaseFormer } from "../children/former";
import type { ReconcileAnswer } from "../handler/contract";
import type { KubernetesObject } from "../kubernetes/objects";
import type { Resource } from "../kubernetes/resource";
import type { Verdict } from "../status/conditions";
import type { Statuses } from "../status/statuses";
import type { StatusChange } from "../status/statusWriter";
import type { KnownObjects } from "../watch/customResources";
import {
  type Footprint,
  isSameMemory,
  type Memory,
  memoryAfter,
  memoryOf,
  memoryOfPart,
  NOTHING,
  remembered,
} from "./memory";
import type { ReconcileReport } from "./report";
import type { Run } from "./run";

/** What {@link Remembering} works with. */
export interface RememberingOptions {
  /** The custom resource's kind. */
  readonly resource: Resource;
  readonly children: ChildStore;
  readonly objects: KnownObjects;
  readonly statuses: Pick<Statuses, "write">;
  /** Whether a run will be recorded, so that its verdict waits for the record's name. @default never */
  readonly isRecorded?: (report: ReconcileReport) => boolean;
  /** The name of the record of a run, if it is there already: the verdict names it at once. @default none is */
  readonly recordOf?: (report: ReconcileReport) => string | undefined;
  /** What is remembered of an object beside its kinds, after its children were written. @default nothing */
  readonly footprintOf?: (uid: string, report: ReconcileReport) => Footprint;
}

/**
 * Writes into an object's status what the next reconcile must know: the handler's own fields, and the engine's memory.
 *
 * Guarantees, each with a test in tests/unit/reconcile.test.ts:
 * - What was applied of an answer is remembered, even if the API server refused the rest of the answer.
 * - A verdict goes along with a status that is written anyway, unless the verdict waits for the record of the run.
 */
export class Remembering {
  /** @param formerManagers the field managers of the operator's former names */
  constructor(
    private readonly options: RememberingOptions,
    private readonly formerManagers: readonly string[],
  ) {}

  /** Remembers a run that made every child as desired, and releases what a former name of the operator owned. */
  async all(
    object: KubernetesObject,
    answer: ReconcileAnswer,
    desired: readonly DesiredChild[],
    verdict: Verdict,
    { client, report }: Run,
  ): Promise<void> {
    const { resource, children, objects, statuses, footprintOf } = this.options;
    const { uid } = object.metadata;
    const memory: Memory = { ...memoryAfter(desired, children.of(uid)), ...footprintOf?.(uid, report) };
    const isEmpty = isSameMemory(memory, NOTHING) && isSameMemory(memoryOf(object), NOTHING);
    const change = { fields: answer.status ?? {}, ...(!isEmpty && { memory: remembered(memory) }) };
    // The children of other objects come first.
    const later = client.with({ class: "status" });
    const written = await statuses.write(later, nameOf(object), change, this.along(verdict, report));
    const current = written ?? object;
    const released = await releaseFormer(client, resource, current, this.formerManagers);
    if (released !== current) objects.learn(released);
  }

  /** Remembers a run that could apply only a part of the answer. An error of this write is not reported. */
  async part(object: KubernetesObject, desired: readonly DesiredChild[], { client }: Run): Promise<void> {
    const { children, statuses } = this.options;
    const before = memoryOf(object);
    const isThere = ({ resource, manifest, ownerUid }: DesiredChild) =>
      children.find(resource, manifest.metadata)?.facts.owner.uid === ownerUid;
    const memory = memoryOfPart(before, desired.filter(isThere), children.of(object.metadata.uid));
    if (isSameMemory(memory, before)) return;
    // The error that ended the run says more.
    await statuses.write(client, nameOf(object), { memory: remembered(memory) }).catch(() => {});
  }

  /** Remembers the fields that a handler gave which has not finished finalizing. */
  async fields(object: KubernetesObject, fields: StatusChange["fields"], { client }: Run): Promise<void> {
    if (fields) await this.options.statuses.write(client, nameOf(object), { fields });
  }

  private along(verdict: Verdict, report: ReconcileReport): StatusChange {
    const run = this.options.recordOf?.(report);
    const isAlone = run !== undefined || !this.options.isRecorded?.(report);
    return isAlone ? { verdict: { verdict, generation: report.generation ?? 1, run } } : {};
  }
}

function nameOf({ metadata: { name, namespace, uid } }: KubernetesObject) {
  return { name, namespace, uid };
}
