import type { ChildChange } from "../children/childWriter";
import type { ReconcileFailure } from "../failure";
import type { HandlerEvent } from "../handler/contract";
import { formatName } from "../kubernetes/objects";

/** How a reconcile ended. */
export const RECONCILE_RESULTS = [
  /** Every child is as the handler wants it, and the status says so. */
  "succeeded",
  "failed",
  /** Nothing was to be done: the object is gone, or paused, or changed while it was handled. */
  "skipped",
] as const;

/** One of {@link RECONCILE_RESULTS}. */
export type ReconcileResult = (typeof RECONCILE_RESULTS)[number];

/** What one reconcile did: what `npm run dev` prints, and what is recorded as a Workflow in a cluster. */
export interface ReconcileReport {
  readonly operator: string;
  /** The custom resource's kind. */
  readonly kind: string;
  readonly namespace?: string | undefined;
  readonly name: string;
  /** Undefined where the object was gone. */
  readonly uid?: string | undefined;
  readonly generation?: number | undefined;
  readonly event: HandlerEvent;
  readonly attempt: number;
  readonly result: ReconcileResult;
  /** Why nothing was done, where `result` is "skipped". */
  readonly skipped?:
    | "gone"
    | "paused"
    | "changed meanwhile"
    | "not the leader"
    | "not listed yet"
    | "API server away";
  /** What the API server said, or why it was not reached, if it was away: busy, or out of reach. */
  readonly problem?: string;
  readonly failure?: ReconcileFailure | undefined;
  readonly changes: readonly ChildChange[];
  /** The end of what the handler wrote to standard error. */
  readonly log: string;
  readonly durationMs: number;
  /** How long the handler took to answer, a wait for a free process included. Undefined where it was not asked. */
  readonly handlerMs?: number | undefined;
  /** When the object is due again by itself, in milliseconds, because the handler asked for it. */
  readonly againAfterMs?: number | undefined;
  /** Whether every child is ready. Undefined where the run did not come to judge it. */
  readonly ready?: boolean | undefined;
}

/**
 * Changes in words, for a Kubernetes Event or a Workflow: "created Deployment demo, deleted Service old".
 * @param namespace that of the custom resource: only another one is told
 */
export function describeChanges(changes: readonly ChildChange[], namespace: string | undefined): string {
  return changes
    .map(
      ({ verb, kind, ...child }) =>
        `${verb} ${kind} ${child.namespace === namespace ? child.name : formatName(child)}`,
    )
    .join(", ");
}
