// One reconcile, as its steps see it: its client, its outcome so far, and the parts it works with.
import { randomUUID } from "node:crypto";
import { monotonicNow } from "../base/clock";
import { ObjectGoneError, type ReconcileFailure } from "../base/failure";
import type { KubernetesObject, ObjectName } from "../base/objects";
import type { Resource } from "../base/resource";
import type { TraceContext } from "../base/traceContext";
import type { WorkResult } from "../base/turn";
import type { DueSchedule, HandlerEvent } from "../handler/contract";
import type { Asked } from "../handler/handlerPool";
import type { KubernetesClient } from "../kubernetes/client";
import type { Child, ChildStore } from "../observe/childStore";
import type { CustomResources, KnownObjects, KnownUids } from "../observe/customResources";
import type { GatheredUse } from "../observe/uses/used";
import type { Operator } from "../operator/definition";
import type { StatusChange, Verdict } from "../remember/composeStatus";
import type { Footprint, Memories } from "../remember/memory";
import type { MemoryObjects } from "../remember/memoryObjects";
import type { Scrubber } from "../secrets/scrubber";
import type { WriteScope } from "../write/childApplier";
import type { ChildChange, ChildWriter } from "../write/childWriter";
import type { Finalizers } from "../write/finalizers";
import type { Outages } from "../write/outages";
import type { Sweep } from "../write/sweep";
import type { Completeness } from "./completeness";
import { type Consequence, consequenceOf, SHORTEST_WAIT_MS } from "./errors";
import type { ObjectEvent, Outcome, ReconcileIdentity, ReconcileReport } from "./report";
import type { RolloutGate } from "./rolloutGate";
import type { StandingAnswers } from "./standingAnswers";
import { Timeline } from "./timeline";

/** On whose behalf one reconcile works. */
export interface ReconcileContext {
  /** A client whose requests end with the term of leadership. */
  readonly client: KubernetesClient;
  /** Throws if the term has ended. */
  readonly fence: () => void;
  /** Schedules that a user starts by hand, instead of at their own times. @default none */
  readonly startedByHand?: readonly DueSchedule[] | undefined;
  /** Called when the handler has given an answer that is not large. The rest of the reconcile waits only for the API server. */
  readonly onAnswer?: () => void;
  /** How the reconcile came about. @default not noted */
  readonly arrival?: ReconcileReport["arrival"];
  /** The trace that the reconcile belongs to. @default none */
  readonly trace?: TraceContext | undefined;
}

/** The error of a term that has ended. Undefined if it has not. The next leader finds out what went wrong in the term. */
export function whyEnded({ fence }: ReconcileContext): unknown {
  try {
    fence();
    return undefined;
  } catch (error) {
    return error;
  }
}

/** The report of a reconcile that has found out nothing yet. */
function newReport(
  { operator, resource }: RunParts,
  { namespace, name }: ObjectName,
  attempt: number,
): ReconcileReport {
  const about = { operator: operator.name, kind: resource.kind, namespace, name, attempt };
  const nothing = { event: "reconcile", result: "succeeded", changes: [], log: "", durationMs: 0 } as const;
  return { id: randomUUID(), ...about, ...nothing };
}

/** The outcome of a reconcile of which nothing is known but its failure. */
export function failedOutcome(
  parts: RunParts,
  failure: ReconcileFailure,
  { attempt, uid, generation, ...name }: ReconcileIdentity,
): Outcome {
  const { report, again } = consequenceOf(failure, name.namespace);
  return {
    report: { ...newReport(parts, name, attempt), uid, generation, ...report },
    events: [],
    again,
    verdict: { kind: "failed", failure },
  };
}

/**
 * One reconcile of one object, as its steps see it: the client for its requests, and its outcome so far. Whatever was noted stays if a
 * later step fails.
 *
 * Guarantee (tests/unit/reconcile.test.ts, reconcileFinalizers.test.ts): if we no longer lead, or if the object is known to be
 * gone, none of its requests is sent, and the handler is not asked. An object that was being deleted when it began is still
 * finalized.
 */
export class Run implements WriteScope {
  client: KubernetesClient;
  readonly namespace: string | undefined;
  readonly timeline = new Timeline();
  /** Every change of a child. */
  readonly changes: ChildChange[] = [];
  readonly events: ObjectEvent[] = [];
  verdict: Verdict | undefined;
  /** The digest of the question whose answer stands. Undefined: of none. */
  digest: string | undefined;
  /** The digest that the object remembers. */
  remembered: string | undefined;
  /** @see Outcome.settled */
  settled: Outcome["settled"];
  /** When a schedule of the object is due, on the monotonic clock, in milliseconds. */
  private dueAt = Number.POSITIVE_INFINITY;
  /** What the handler was asked with. Undefined: it has not been asked. */
  asked: StatusChange["asked"];
  /** The uids of the children with which the handler was asked. Undefined: it has not been asked. */
  shown: ReadonlySet<string> | undefined;
  readonly isShown = ({ uid }: Child): boolean => this.shown?.has(uid) ?? true;
  /** Whether the object has been read, or is known to be gone. */
  isRead = false;
  /** Undefined as long as it has not been read, or if it is gone. */
  private object: KubernetesObject | undefined;
  private again: WorkResult = { kind: "done" };
  /** The part of the report that is known. */
  report: ReconcileReport;
  private confirming: Promise<void> | undefined;
  /** Writes that begin together share one read: many children may have vanished at the same time. */
  readonly confirmOwner = (): Promise<void> => {
    this.confirming ??= this.readOwner().finally(() => {
      this.confirming = undefined;
    });
    return this.confirming;
  };

  constructor(
    private readonly parts: RunParts,
    readonly name: ObjectName,
    attempt: number,
    readonly context: ReconcileContext,
    readonly masked: (text: string) => string,
  ) {
    const { client, fence, arrival, trace } = context;
    this.namespace = name.namespace;
    this.client = client.with({ class: "work", fence });
    this.report = {
      ...newReport(parts, name, attempt),
      changes: this.changes,
      ...(arrival && { arrival }),
      ...(trace?.isSampled && { traceId: trace.traceId }),
    };
  }

  /** The object has been read. Its requests have its fence from now on. @param object undefined: it is gone */
  begin(object: KubernetesObject | undefined): void {
    this.isRead = true;
    if (!object) return;
    const { uid, generation } = object.metadata;
    this.object = object;
    this.note({ uid, generation });
    this.client = this.context.client.with({ class: "work", flow: uid, fence: this.assertMayGoOn });
  }

  /**
   * Asks whether it may go on. Each of its requests asks this when it leaves, and so does the question to the handler.
   * @throws NotLeadingError if we no longer lead; ObjectGoneError if the object is known to be gone
   */
  readonly assertMayGoOn = (): void => {
    this.context.fence();
    const { uid, deletionTimestamp } = this.object?.metadata ?? {};
    if (uid !== undefined && deletionTimestamp === undefined && this.parts.objects.isGoing(this.name, uid))
      throw new ObjectGoneError();
  };

  /** Notes what a step found out. */
  note(found: Partial<ReconcileReport>): void {
    this.report = { ...this.report, ...found };
  }

  /** Nothing is to be done. @param skipped why */
  skip(skipped: "gone" | "paused" | "unchanged" | "waits for its stage"): void {
    this.note({ result: "skipped", skipped });
  }

  /** The handler wants to be asked again after this time, in milliseconds. */
  againAfter(ms: number): void {
    this.note({ againAfterMs: ms });
    this.again = { kind: "done", againAfterMs: Math.max(SHORTEST_WAIT_MS, ms) };
  }

  /**
   * A schedule of the object is due after this time, in milliseconds, even if the handler wants to be asked again later. If the clock
   * is set in between, the object's resync notices.
   */
  dueAfter(ms: number): void {
    this.dueAt = monotonicNow() + ms;
  }

  /** When the object is due again. */
  end(again: WorkResult): void {
    this.again = again;
  }

  /** An error ended the reconcile. */
  fail({ report, isReported, again }: Consequence): void {
    const { failure } = report;
    this.note({ ...report, log: this.report.log || (failure?.log ?? "") });
    this.again = again;
    this.digest = undefined;
    // A user must not read that all is well before the status has what the handler answered.
    this.verdict = failure && isReported ? { kind: "failed", failure } : undefined;
  }

  /** The outcome, when the reconcile has ended. */
  outcome(): Outcome {
    const { events, verdict, digest, settled } = this;
    const timing = this.timeline.timing();
    this.note({ timing, durationMs: timing.to - timing.from });
    return { report: this.report, events, again: this.whenAgain(), verdict, digest, settled };
  }

  private whenAgain(): WorkResult {
    const { again } = this;
    const dueInMs = Math.max(SHORTEST_WAIT_MS, Math.ceil(this.dueAt - monotonicNow()));
    if (!Number.isFinite(dueInMs) || this.report.skipped === "gone") return again;
    if (again.kind === "done")
      return { ...again, againAfterMs: Math.min(again.againAfterMs ?? dueInMs, dueInMs) };
    // A backoff is short.
    if (again.kind === "again" || !(again.permanent || again.retryAfterMs)) return again;
    return { ...again, retryAfterMs: Math.min(again.retryAfterMs ?? dueInMs, dueInMs) };
  }

  private async readOwner(): Promise<void> {
    const { resource, objects } = this.parts;
    const now = await this.client.get(resource, this.name);
    if (now?.metadata.uid !== this.report.uid || now?.metadata.deletionTimestamp) throw new ObjectGoneError();
    if (now) objects.learn(now);
  }
}

/** What a {@link Run} itself works with. */
export interface RunParts {
  readonly operator: Operator;
  /** The custom resource's kind. */
  readonly resource: Resource;
  readonly objects: KnownObjects;
}

/** What a `Reconciler` works with. */
export interface ReconcilerOptions extends RunParts {
  /** The kinds of the declared children that the API serves. */
  readonly childResources: readonly Resource[];
  readonly children: ChildStore;
  readonly writer: ChildWriter;
  readonly memories: Memories;
  readonly pool: Asked;
  /** The objects that an object uses: see `gatherUsed`. */
  readonly used: (object: KubernetesObject, event: HandlerEvent) => Promise<GatheredUse>;
  /** Why a handler cannot be asked about an object now. */
  readonly whyNot: Completeness["whyNot"];
  /** Why it is not known whether the cluster serves a declared kind. Undefined if that is known. */
  readonly whyUnknown: Completeness["whyUnknown"];
  /** Whether a known child is still followed: see `Completeness`. @default all are */
  readonly isFollowed?: (child: Child) => boolean;
  /** The name that the record of a run has, or will have. Undefined if the run is not recorded. @default none is */
  readonly recordOf?: ((report: ReconcileReport) => string | undefined) | undefined;
  /** The questions that need not be asked again. @default the handler is asked in every reconcile */
  readonly standing?: StandingAnswers | undefined;
  /** The staged roll-out of this program. @default every object is asked */
  readonly rollout?: RolloutGate | undefined;
  /** Further parts of an object's memory, after its children were written. @default nothing */
  readonly footprintOf?: (uid: string, againAfterMs: number | undefined) => Footprint;
  /** The clock of schedules, in milliseconds since 1970. @default Date.now */
  readonly now?: () => number;
  /** The clock of this machine, in milliseconds since 1970. @default Date.now */
  readonly machineNow?: () => number;
  /** What the API server fails to answer about objects. @default none is known yet */
  readonly outages?: Outages;
  /** Set if the objects are not ours, so that nothing may be written on them. */
  readonly others?: OthersObjects | undefined;
}

/** What is known of objects that are not ours, of those that have gone too. */
export interface OthersObjects {
  readonly memories: MemoryObjects;
  readonly objects: KnownUids & Pick<CustomResources, "readNow">;
  /** Throws if an object with that name may exist although no watch shows it: see `Completeness.assertSeen`. */
  readonly assertSeen: (name: ObjectName) => void;
  /** Whether no watch shows the children, so that they must be listed. */
  readonly isBlind: boolean;
}

/** What the steps of a reconcile work with. */
export interface Parts extends ReconcilerOptions {
  readonly isFollowed: (child: Child) => boolean;
  /** Undefined if the objects are not ours. */
  readonly finalizers: Finalizers | undefined;
  readonly sweep: Sweep;
  /** Remembers every Secret that the handler is given or answers. */
  readonly scrubber: Scrubber;
  /** Says what is wrong with a status that a handler has answered. Undefined: nothing is. */
  readonly checkStatus: (status: unknown) => string | undefined;
}
