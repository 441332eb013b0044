// Whether an object needs a run.
import { createHash } from "node:crypto";
import { isRecord } from "../../base/json";
import { type Condition, isTrue, type KubernetesObject } from "../../base/objects";
import { kindKey, type Resource } from "../../base/resource";
import type { Child } from "../../observe/childStore";
import { hasElsewhere } from "../../observe/ownership";
import type { Operator } from "../../operator/definition";
import { isExpired } from "../../operator/eventMarks";
import { timetableOf } from "../../reconcile/due";
import { isWaitingReason } from "../../remember/composeStatus";
import type { Memory } from "../../remember/memory";
import { areOrdered, isOrdered, lastOf } from "../../write/deletionOrder";
import { Finalizers } from "../../write/finalizers";
import { changeFingerprint, childrenFingerprint, contentFingerprint } from "./footprint";

/**
 * Why an object needs a run:
 *
 * | need | why | when |
 * | --- | --- | --- |
 * | urgent | it was never reconciled, or not in this generation | before all others |
 * | retry | its last run failed | after the queue's backoff |
 * | due | a schedule or a requeue is due, or an event from outside has woken it | at that time |
 * | routine | it, a child or what it uses is not as its last run left it, its ordered deletion can go on, a condition is about a run that is over, it has lasted long enough, or it has its turn | after a pause that grows |
 */
export type Need = "urgent" | "retry" | "due" | "routine";

/** What the last run left about an object. */
export interface LeftByRun {
  readonly memory: Memory;
  readonly conditions: readonly Condition[];
  /** When the operator last wrote the verdict, according to `managedFields`. */
  readonly verdictAt: string | undefined;
}

/** What else a need follows from. */
export interface Circumstances {
  /** The children as the watches show them. */
  readonly children: readonly Child[];
  /** A fingerprint of the objects that the object uses: see `usedFingerprint`. */
  readonly used: string | undefined;
  /** A fingerprint of the program of runs now. Undefined if that is not known. */
  readonly program: string | undefined;
  /** Whether an event from outside has named it since the last run began. */
  readonly isWoken: boolean;
  /** Whether a child has changed since the last run. */
  readonly isChildNews: boolean;
  /**
   * When this process began the last run of the object, what the run was about, and how many children were not ready after it.
   * Undefined: it began none.
   */
  readonly last: { readonly at: number; readonly about: string; readonly unready: number } | undefined;
  /** When this process began to lead, in the same time as `now`. */
  readonly since: number;
  /** By the API server's clock, in milliseconds since 1970. */
  readonly now: number;
}

/** Of this many resyncs, one gives each object a run that the object does not seem to need. */
export const FULL_LOOK_RESYNCS = 10;

/**
 * Judges whether an object needs a run. It follows only from the arguments.
 *
 * Assumption: if it is not sure whether an object needs a run, the object gets one. A run that is not needed writes nothing.
 */
export class Needs {
  /** Undefined if the objects are not ours. */
  private readonly finalizers: Finalizers | undefined;
  private readonly declared: ReadonlySet<string>;

  constructor(
    private readonly operator: Operator,
    resource: Resource,
  ) {
    this.finalizers = operator.watch ? undefined : new Finalizers(resource, operator);
    this.declared = new Set(operator.children.map(kindKey));
  }

  /** Whether the object is being deleted and has none of our finalizers. */
  isNotOurs(object: KubernetesObject): boolean {
    return object.metadata.deletionTimestamp !== undefined && !this.finalizers?.areOn(object);
  }

  /** Why the object needs a run. Undefined if it needs none now. */
  of(object: KubernetesObject, left: LeftByRun, circumstances: Circumstances): Need | undefined {
    const { memory, conditions } = left;
    const { now, last, since, children, isChildNews, isWoken } = circumstances;
    const unfinished = this.unfinished(object, left);
    if (unfinished) return unfinished;
    if (isWoken || this.isDue(object, memory, now)) return "due";
    // A run does not delete it if the clock of the run's machine is behind. Another run at once would not either.
    if (isExpired(object, this.operator, now)) return "routine";
    const resyncMs = this.operator.resyncSeconds * 1000;
    const isRested = now - (last?.at ?? since) >= resyncMs;
    // A run that ends by itself leaves neither reason.
    const isAboutRun = conditions.some(
      ({ type, reason }) => type === "Reconciling" && (reason === "AwaitingPod" || reason === "RunStopped"),
    );
    const isAsLeft = this.isAsLeft(object, left, circumstances) && !isAboutRun;
    if (!isAsLeft || this.lacksFinalizer(object, memory, children)) return "routine";
    const isStalled = isTrue({ conditions }, "Stalled");
    const isWaiting = !isTrue({ conditions }, "Ready") && !isStalled;
    const unready = children.filter(({ facts }) => !facts.isReady).length;
    if (isWaiting && unready < (last?.unready ?? children.length + 1)) return "routine";
    // The last child may have become ready after the verdict, and before the end of the run was noticed.
    if (unready === 0 && children.length > 0 && conditions.some(saysNotReady)) return "routine";
    if (this.deletesOn(object, children)) return "routine";
    const isResynced = isRested && (isWaiting || isStalled || isChildNews);
    return isResynced || this.isInTurn(object, last?.at, now) ? "routine" : undefined;
  }

  /** Why the last run has not done what it was for. Undefined if it has. */
  unfinished(
    object: KubernetesObject,
    { memory, conditions, verdictAt }: LeftByRun,
  ): "urgent" | "retry" | undefined {
    const ready = conditions.find(({ type }) => type === "Ready");
    if (!this.isObserved(object, memory) || !ready || verdictAt === undefined) return "urgent";
    const isFailing = ready.status !== "True" && !isWaitingReason(ready.reason);
    return isFailing && !isTrue({ conditions }, "Stalled") ? "retry" : undefined;
  }

  /**
   * After how long the object is due by itself, in milliseconds. Infinite: never.
   * @param now the time for which its need was judged, by the API server's clock. By a later time, what became due in between would
   *   be neither due nor to come
   */
  dueInMs(object: KubernetesObject, memory: Memory, now: number): number {
    const dueAt = Date.parse(memory.dueAt ?? "");
    const { nextLook } = this.timetable(object, memory, now);
    return Math.min(nextLook, dueAt > now ? dueAt : Number.POSITIVE_INFINITY) - now;
  }

  private isDue(object: KubernetesObject, memory: Memory, now: number): boolean {
    if (memory.dueAt !== undefined && !(Date.parse(memory.dueAt) > now)) return true;
    if (object.metadata.deletionTimestamp !== undefined) return false;
    return this.timetable(object, memory, now).due.length > 0;
  }

  private timetable({ metadata: { uid, creationTimestamp } }: KubernetesObject, memory: Memory, now: number) {
    return timetableOf(this.operator.schedules, memory.schedules, { now, uid, creationTimestamp });
  }

  /** Whether a run has seen the object as it is. An object that we do not own has no room for the generation that was seen. */
  private isObserved(object: KubernetesObject, memory: Memory): boolean {
    if (!this.finalizers) return memory.content === contentFingerprint(object, this.operator);
    const { status } = object;
    return isRecord(status) && status["observedGeneration"] === object.metadata.generation;
  }

  /** Whether a finalizer of the operator is missing. Without it, the object would go before the operator could act. */
  private lacksFinalizer(object: KubernetesObject, memory: Memory, children: readonly Child[]): boolean {
    const { finalizers, operator } = this;
    if (!finalizers || object.metadata.deletionTimestamp !== undefined) return false;
    return (
      (operator.finalize && !finalizers.areOn(object, "handler")) ||
      (!finalizers.areOn(object, "elsewhere") && hasElsewhere(object, memory, children)) ||
      (!finalizers.areOn(object, "order") && areOrdered(children))
    );
  }

  /**
   * Whether the deletion of an object's children in their order can go on, since no child is left that it waits for. The last one may
   * have gone after the verdict, and before the end of the run was noticed.
   */
  private deletesOn(object: KubernetesObject, children: readonly Child[]): boolean {
    const { finalizers } = this;
    if (object.metadata.deletionTimestamp === undefined || !finalizers?.areOn(object, "order")) return false;
    const last = lastOf(children.filter(isOrdered));
    return (
      !finalizers.areOn(object, "handler") && (last.length === 0 || last.some(({ deleting }) => !deleting))
    );
  }

  /**
   * Whether everything is as the last run left it. No run notes how it leaves an object that is being deleted, whose user may still
   * ask for something by an annotation.
   */
  private isAsLeft(
    object: KubernetesObject,
    { memory }: LeftByRun,
    { children, used, program, last }: Circumstances,
  ): boolean {
    const { operator } = this;
    if (object.metadata.deletionTimestamp !== undefined)
      return last?.about === changeFingerprint(object, operator);
    return (
      (program === undefined || memory.program === program) &&
      memory.content === contentFingerprint(object, operator) &&
      memory.kinds.every((kind) => this.declared.has(kind)) &&
      memory.children === childrenFingerprint(children, operator) &&
      memory.used === used
    );
  }

  /**
   * Whether this is the resync in which the object gets a run in any case. Its uid says which one of each ten that is, in each ten
   * another one.
   * @param ranAt when its last run began, which may have been in this resync
   */
  private isInTurn({ metadata: { uid } }: KubernetesObject, ranAt: number | undefined, now: number): boolean {
    const resyncOf = (time: number) => Math.floor(time / 1000 / this.operator.resyncSeconds);
    const resync = resyncOf(now);
    if (ranAt !== undefined && resyncOf(ranAt) === resync) return false;
    const round = Math.floor(resync / FULL_LOOK_RESYNCS);
    const turn = createHash("sha256").update(uid).digest().readUInt32BE(0);
    return turn % FULL_LOOK_RESYNCS === (resync + round) % FULL_LOOK_RESYNCS;
  }
}

/** Whether the last run says that a child is not ready. */
function saysNotReady({ type, reason }: Condition): boolean {
  return type === "Ready" && reason === "ChildrenNotReady";
}
