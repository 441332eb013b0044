import type { ChildChange } from "../children/childWriter";
import type { ReconcileFailure } from "../failure";
import type { HandlerEvent } from "../handler/contract";
import { formatName } from "../kubernetes/objects";
import type { Arrival } from "../work/arrivals";
import type { ReconcileTiming } from "./timeline";

/** How a reconcile ended. */
export const RECONCILE_RESULTS = [
  /** Every child is as the handler wants it. */
  "succeeded",
  "failed",
  /** There was nothing to do, or not now: see {@link ReconcileReport.skipped}. */
  "skipped",
] as const;

/** One of {@link RECONCILE_RESULTS}. */
export type ReconcileResult = (typeof RECONCILE_RESULTS)[number];

/** The result of one reconcile. `npm run dev` prints it, and in a cluster it is recorded as a Workflow. */
export interface ReconcileReport {
  /** Tells this reconcile from every other: a UUID. */
  readonly id: string;
  readonly operator: string;
  /** The custom resource's kind. */
  readonly kind: string;
  readonly namespace?: string | undefined;
  readonly name: string;
  /** Undefined if the object was gone. */
  readonly uid?: string | undefined;
  readonly generation?: number | undefined;
  readonly event: HandlerEvent;
  readonly attempt: number;
  readonly result: ReconcileResult;
  /** Why nothing was done, if `result` is "skipped". */
  readonly skipped?:
    | "gone"
    | "paused"
    | "changed meanwhile"
    | "not the leader"
    | "not listed yet"
    | "API server away";
  /** The API server's message if it was busy, or why it was not reached. */
  readonly problem?: string;
  readonly failure?: ReconcileFailure | undefined;
  /** The schedules that were due. @default none */
  readonly due?: readonly string[] | undefined;
  readonly changes: readonly ChildChange[];
  /**
   * Whether the object's resourceVersion changed between the write of its children and the end of its status write. The handler's
   * status, a verdict or somebody else's write may be the cause.
   */
  readonly statusChanged?: boolean | undefined;
  /** The end of the handler's standard error. */
  readonly log: string;
  readonly durationMs: number;
  /** How the reconcile came about, and how long it waited for its turn. Undefined if nobody noted that. */
  readonly arrival?: Arrival | undefined;
  /** How long its steps took. */
  readonly timing?: ReconcileTiming | undefined;
  /** The trace of the reconcile, as 32 hexadecimal digits. Undefined if it is not traced. */
  readonly traceId?: string | undefined;
  /** How long the handler took to answer, including the wait for a free process. Undefined if it was not asked. */
  readonly handlerMs?: number | undefined;
  /** When the object is due again by itself, in milliseconds, because the handler asked for it. */
  readonly againAfterMs?: number | undefined;
  /** Whether every child is applied and ready. Undefined if the reconcile ended before it could judge that. */
  readonly ready?: boolean | undefined;
  /** How many children are there and not ready. Undefined if the reconcile ended before it could judge that. */
  readonly unready?: number | undefined;
  /**
   * How many children are ready, of how many, with those that wait until another one is ready. Undefined if the reconcile ended
   * before it could judge that.
   */
  readonly children?: { readonly ready: number; readonly total: number } | undefined;
  /** Whether a child waits until another one is ready. @default false */
  readonly waits?: boolean | undefined;
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
