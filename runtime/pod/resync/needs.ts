import { createHash } from "node:crypto";
import { resourceOf } from "../../argo/runTarget";
import type { ChildStore } from "../../children/childStore";
import type { Operator } from "../../definition/definition";
import { isExpired } from "../../events/eventMarks";
import { isRecord } from "../../json/json";
import { applyEntry } from "../../kubernetes/managedFields";
import { type Condition, conditionsIn, type KubernetesObject } from "../../kubernetes/objects";
import { kindKey } from "../../kubernetes/resource";
import { type Memory, memoryIn, memoryOf } from "../../memory/memory";
import { conditionsOfObject } from "../../memory/memoryKind";
import { fieldManagerOf } from "../../names";
import { hasElsewhere } from "../../reconcile/elsewhere";
import { Finalizers } from "../../reconcile/finalizers";
import { timetableOf } from "../../reconcile/timetable";
import { childrenFingerprint, contentFingerprint } from "../withoutWatches/footprint";

/**
 * Why an object needs a run. "urgent": it was never reconciled in this generation, or it is being deleted. "routine":
 * another run may find something to do.
 */
export type Need = "urgent" | "routine";

/** By what {@link Needs} judges, beside what was listed. */
export interface NeedsOptions {
  readonly operator: Operator;
  /** A fingerprint of the program that runs now. Undefined if that is not known: see `programFingerprint`. */
  readonly program: string | undefined;
  /** The time by the API server's clock, in milliseconds since 1970. */
  readonly now: number;
}

/** What the last run left about an object. */
interface LeftByRun {
  readonly memory: Memory;
  readonly conditions: readonly Condition[];
  /** When the operator last wrote the verdict, according to `managedFields`. */
  readonly verdictAt: string | undefined;
}

/** Of this many resyncs, one gives each object a run that the object does not seem to need. */
export const FULL_LOOK_RESYNCS = 10;

/**
 * Judges which objects need a run, from what was listed: see `lookAtObjects` for the reasons.
 *
 * Assumption: if it is not sure whether an object needs a run, the object gets one. A run that is not needed writes nothing.
 */
export class Needs {
  /** Undefined if the objects are not ours. */
  private readonly finalizers: Finalizers | undefined;
  private readonly declared: ReadonlySet<string>;

  constructor(
    private readonly options: NeedsOptions,
    private readonly children: ChildStore,
    /** Of objects that we do not own, by their uid. */
    private readonly memories: ReadonlyMap<string, KubernetesObject> | undefined,
  ) {
    const { operator } = options;
    this.finalizers = memories ? undefined : new Finalizers(resourceOf(operator.customResource), operator);
    this.declared = new Set(operator.children.map(kindKey));
  }

  /** Whether the object is being deleted and has none of our finalizers. */
  isNotOurs(object: KubernetesObject): boolean {
    return object.metadata.deletionTimestamp !== undefined && !this.finalizers?.hold(object);
  }

  /**
   * Why the object needs a run. Undefined if it needs none, as long as what it uses has not changed.
   * @param left see {@link leftAbout}
   */
  of(object: KubernetesObject, left: LeftByRun): Need | undefined {
    const ready = left.conditions.find(({ type }) => type === "Ready");
    const isDeleted = object.metadata.deletionTimestamp !== undefined;
    if (isDeleted || !this.isObserved(object, left) || !ready || left.verdictAt === undefined)
      return "urgent";
    if (isExpired(object, this.options.operator, this.options.now)) return "routine";
    const isCalm =
      ready.status === "True" &&
      this.isAsLeft(object, left) &&
      !this.lacksFinalizer(object, left.memory) &&
      !this.isInTurn(object);
    return isCalm ? undefined : "routine";
  }

  /** Whether a run has seen the object as it is. An object that we do not own has no room for the generation that was seen. */
  private isObserved(object: KubernetesObject, { memory }: LeftByRun): boolean {
    if (this.memories) return memory.content === contentFingerprint(object, this.options.operator);
    const { status } = object;
    return isRecord(status) && status["observedGeneration"] === object.metadata.generation;
  }

  /** Whether somebody took a finalizer of the operator away. Without the finalizer, nobody is asked before the object goes. */
  private lacksFinalizer(object: KubernetesObject, memory: Memory): boolean {
    const { children, finalizers, options } = this;
    if (!finalizers) return false;
    const known = children.of(object.metadata.uid);
    return (
      (options.operator.finalize && !finalizers.forHandler(object)) ||
      (!finalizers.forElsewhere(object) && hasElsewhere(object, memory, known))
    );
  }

  /**
   * The uids of deleted objects of this name that have children left. For objects that we do not own, each deleted object has a
   * run of its own: see `departed` in lookAtObjects.ts.
   */
  predecessorUidsOf({ metadata }: KubernetesObject): string[] {
    if (this.memories || metadata.deletionTimestamp !== undefined) return [];
    const left = this.children.ofPredecessors(metadata).filter(({ deleting }) => !deleting);
    return [...new Set(left.map(({ facts }) => facts.owner.uid))];
  }

  /** What the last run left about the object, in its status or in a Memory object: see `Memories`. */
  leftAbout(object: KubernetesObject): LeftByRun {
    const manager = fieldManagerOf(this.options.operator);
    if (!this.memories)
      return {
        memory: memoryOf(object),
        conditions: conditionsIn(object["status"]),
        verdictAt: applyEntry(object, manager, "status")?.time,
      };
    const memory = this.memories.get(object.metadata.uid);
    return {
      memory: memoryIn(memory?.["memory"]),
      conditions: conditionsOfObject(memory),
      verdictAt: memory && applyEntry(memory, manager)?.time,
    };
  }

  /** Whether everything is as the last run left it, and nothing is due. */
  private isAsLeft(object: KubernetesObject, { memory }: LeftByRun): boolean {
    const { operator, program, now } = this.options;
    if (timetableOf(operator, object, memory, now).due.length > 0) return false;
    if (memory.dueAt !== undefined && !(Date.parse(memory.dueAt) > now)) return false;
    return (
      (program === undefined || memory.program === program) &&
      memory.content === contentFingerprint(object, operator) &&
      memory.kinds.every((kind) => this.declared.has(kind)) &&
      memory.children === childrenFingerprint(this.children.of(object.metadata.uid), operator)
    );
  }

  /**
   * Whether this is the resync in which the object gets a run in any case. Its uid says which one of each ten that is, in each ten
   * another one. So the object has its turn even if every second resync is skipped, because each takes too long.
   */
  private isInTurn({ metadata: { uid } }: KubernetesObject): boolean {
    const { operator, now } = this.options;
    const resync = Math.floor(now / 1000 / operator.resyncSeconds);
    const round = Math.floor(resync / FULL_LOOK_RESYNCS);
    const turn = createHash("sha256").update(uid).digest().readUInt32BE(0);
    return turn % FULL_LOOK_RESYNCS === (resync + round) % FULL_LOOK_RESYNCS;
  }
}
