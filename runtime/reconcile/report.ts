import type { ReconcileFailure } from "../base/failure";
import { fingerprint } from "../base/json";
import { formatName, type ObjectName } from "../base/objects";
import type { Arrival, WorkResult } from "../base/turn";
import type { AnsweredEvent, HandlerEvent } from "../handler/contract";
import type { Verdict } from "../remember/composeStatus";
import type { ChildChange } from "../write/childWriter";
import type { ReconcileTiming } from "./timeline";

/** How a reconcile ended. */
export const RECONCILE_RESULTS = [
  /** Every child is as the handler wants it. */
  "succeeded",
  "failed",
  /** There was nothing to do, or not now: see {@link ReconcileReport.skipped}. */
  "skipped",
] as const;

/** Which object a reconcile is about, and which attempt it is. */
export interface ReconcileIdentity extends ObjectName {
  /** Undefined if the object was gone. */
  readonly uid?: string | undefined;
  readonly generation?: number | undefined;
  readonly attempt: number;
}

/** How an object's children are. */
export interface ChildrenFound {
  /** Whether every child is applied and ready. */
  readonly ready: boolean;
  /** How many existing children are not ready. */
  readonly unready: number;
  /** How many children are ready, of how many, with those that wait until another one is ready. */
  readonly children: { readonly ready: number; readonly total: number };
  /** Whether a child waits until another one is ready. */
  readonly waits: boolean;
}

/**
 * The result of one reconcile. `npm run dev` prints it, and in a cluster it is recorded as a Workflow. It has no {@link ChildrenFound}
 * if the reconcile ended before it could judge the children.
 */
export interface ReconcileReport extends ReconcileIdentity, Partial<ChildrenFound> {
  /** The id of this reconcile: a UUID. */
  readonly id: string;
  readonly operator: string;
  /** The custom resource's kind. */
  readonly kind: string;
  readonly event: HandlerEvent;
  readonly result: (typeof RECONCILE_RESULTS)[number];
  /** Why nothing was done, if `result` is "skipped". */
  readonly skipped?:
    | "gone"
    | "paused"
    /** The answer to its question stands. */
    | "unchanged"
    /** A staged roll-out has not come to the object yet. */
    | "waits for its stage"
    | "changed during the run"
    | "not the leader"
    | "not listed yet"
    | "API server away"
    /** A run in a pod of its own is to do it. */
    | "awaits its run";
  /** The API server's message if it was busy, or why it was not reached. */
  readonly problem?: string;
  readonly failure?: ReconcileFailure | undefined;
  /** The schedules that were due. @default none */
  readonly due?: readonly string[] | undefined;
  readonly changes: readonly ChildChange[];
  /**
   * Whether the object's resourceVersion changed between the write of its children and the end of its status write. The handler's
   * status, a verdict or another client's write may be the cause.
   */
  readonly statusChanged?: boolean | undefined;
  /** The end of the handler's standard error. */
  readonly log: string;
  readonly durationMs: number;
  /** How the reconcile came about, and how long it waited for its turn. Undefined if that was not noted. */
  readonly arrival?: Arrival | undefined;
  /** How long its steps took. */
  readonly timing?: ReconcileTiming | undefined;
  /** The trace of the reconcile, as 32 hexadecimal digits. Undefined if it is not traced. */
  readonly traceId?: string | undefined;
  /** How long the handler took to answer, including the wait for a free process. Undefined if it was not asked. */
  readonly handlerMs?: number | undefined;
  /** When the object is due again by itself, in milliseconds, because the handler asked for it. */
  readonly againAfterMs?: number | undefined;
}

/** Something to report about an object, for `kubectl describe` and `kubectl events`. */
export interface ObjectEvent extends AnsweredEvent {
  /** The name of the Workflow that says more, if there is one. */
  readonly run?: string | undefined;
  /** The action, in CamelCase. @default "Reconcile" */
  readonly action?: string;
  /** Annotations of the Event, as of its latest time. @default none */
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  /** Whether the record of the run says the same, so that the Event is left out if there is one. @default false */
  readonly isInRecord?: boolean;
}

/** How an object is after a run in a pod, as its conditions say. */
export interface Settled {
  readonly isReady: boolean;
  /** Why it failed. Undefined: it did not fail. */
  readonly failure?: { readonly reason: string; readonly message: string } | undefined;
}

/** The result of one reconcile, and the reports about it. */
export interface Outcome {
  readonly report: ReconcileReport;
  /** What the object's conditions should say. Undefined: nothing new. */
  readonly verdict?: Verdict | undefined;
  /** The digest to remember with the verdict. @default none */
  readonly digest?: string | undefined;
  /** Kubernetes Events about the object, in addition to those that follow from the verdict and the changes. */
  readonly events: readonly ObjectEvent[];
  /** When the object is due again. */
  readonly again: WorkResult;
  /**
   * How a run in a pod has left the object. @default the report says how the object is
   */
  readonly settled?: Settled | undefined;
  /**
   * Whether a run in a pod has begun or ended since, so that another look follows and the verdict may be wrong. It is not written then.
   * @default it never is
   */
  readonly isOver?: () => boolean;
}

/**
 * Changes in words, for a Kubernetes Event or a Workflow: "created Deployment demo, deleted Service old".
 * @param namespace that of the custom resource: the namespace of a child is named only if it differs
 */
export function describeChanges(changes: readonly ChildChange[], namespace: string | undefined): string {
  return changes
    .map(
      ({ verb, kind, ...child }) =>
        `${verb} ${kind} ${child.namespace === namespace ? child.name : formatName(child)}`,
    )
    .join(", ");
}

/** The Events in an answer that must be reported, and the fingerprints to remember. */
interface NewEvents {
  /** Those that the last answer did not have, or had for another generation. */
  readonly events: readonly AnsweredEvent[];
  /** Fingerprints of all Events in the answer. */
  readonly fingerprints: readonly string[];
}

/**
 * Distinguishes new Events from those that were reported, because a handler answers the same Events again in each resync. They are
 * reported even if it cannot be remembered that they were, and then once more: the handler may never answer them again.
 *
 * Guarantees (tests/unit/memory.test.ts): an Event is reported once for a generation as long as every answer has it. After an
 * answer without it, it is new again.
 *
 * @param reported {@link NewEvents.fingerprints} of the last answer
 */
export function newEventsIn(
  events: readonly AnsweredEvent[],
  generation: number,
  reported: readonly string[] = [],
): NewEvents {
  const all = new Map(
    events.map((event) => [fingerprint([generation, event.type, event.reason, event.note]), event]),
  );
  return {
    events: [...all].filter(([key]) => !reported.includes(key)).map(([, event]) => event),
    fingerprints: [...all.keys()],
  };
}
