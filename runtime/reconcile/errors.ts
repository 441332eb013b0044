// The one table of errors: whose fault, reported or not, when again.
import { ObjectGoneError, ReconcileFailure } from "../base/failure";
import type { WorkResult } from "../base/turn";
import {
  ApiError,
  ApiUnreachableError,
  isBusy,
  isNamespaceMissing,
  isNamespaceTerminating,
  isRace,
  retryAfterMs,
  withRemedy,
} from "../kubernetes/errors";
import { NotLeadingError } from "../leadership/term";
import { StillListingError } from "../observe/kindWatch";
import type { ReconcileReport } from "./report";

/**
 * A read did not find the custom resource, and its watch still shows it. The watch is late, or the API server did not serve the kind
 * for a moment. In that moment it ends no watch.
 */
export class WatchLateError extends Error {
  constructor() {
    super("the object is gone, and its watch still shows it");
    this.name = "WatchLateError";
  }
}

/** The consequences of an error that ended a reconcile. */
export interface Consequence {
  /** What the report says. */
  readonly report: Partial<ReconcileReport>;
  /** Whether the object's status, an Event and a recorded run report it. */
  readonly isReported: boolean;
  readonly again: WorkResult;
}

/** A handler that wants to be asked again at once must not cause a busy loop. */
export const SHORTEST_WAIT_MS = 1_000;

/**
 * The one table of errors: whose fault each is, whether it is reported, and when the object is tried again.
 *
 * | error | whose | reported | again |
 * | --- | --- | --- | --- |
 * | `ReconcileFailure` | the object's or its handler's | yes | after a backoff, or as the failure says |
 * | `NotLeadingError` | no fault | no | by the next leader |
 * | the object is gone, or its namespace is being deleted or gone | no fault | no | no |
 * | 409: the object or a child moved on | no fault | no | soon |
 * | `WatchLateError`: the object is gone, and its watch still shows it | no fault | no | soon |
 * | `PersistentConflictError`: 409, and nothing moved | the object's | yes | after a backoff |
 * | the children, or what the object uses, are still being listed | no fault | no | soon, and as soon as they are |
 * | the API server is busy, or out of reach | no fault | no | when it says, or soon, after what has changed |
 * | any other refusal of the API server | the object's | yes | after a backoff |
 * | anything else | ours | yes | after a backoff |
 *
 * Some errors are rewritten earlier, where more is known about them, in this order:
 *
 * | where | what | becomes |
 * | --- | --- | --- |
 * | `apiErrorOf` (kubernetes/errors.ts) | an admission webhook's denial, with almost any code | a refusal: 403 |
 * | `apiErrorOf` | a policy that could not be applied, for example without its parameters | like a webhook that does not answer: 500 |
 * | `settled` (kubernetes/errors.ts) | 403, soon after the API server came up: it may not know its roles yet | busy: 503 |
 * | `Conflicts` (kubernetes/errors.ts), `Finalizers` | 409 though nothing moved | `PersistentConflictError` |
 * | `Outages` (write/outages.ts) | a request that fails while the API server answers for its object, or at least lists it | busy; later `ChildRefused`, or `ApiError` |
 * | `Reconciler` | `ObjectGoneError`, while a watch shows the object | `WatchLateError` |
 * | `childRefused`, `deletionRefused` (write/refusals.ts) | a refusal of a child | `ChildRefused`, `NamespaceNotGranted`, or `KindMissing` if nothing is at the path of its kind |
 * | `refusedBy` (remember/statusMemories.ts) | a refusal of the status | `StatusRefused` |
 *
 * @param namespace the object's own namespace. If another one is missing, such as that of memories, the object is not gone
 */
export function consequenceOf(error: unknown, namespace: string | undefined): Consequence {
  if (error instanceof ReconcileFailure) return failed(error);
  if (error instanceof NotLeadingError) return skipped("not the leader", { kind: "done" });
  const isGone = isNamespaceTerminating(error) || isNamespaceMissing(error, namespace);
  if (error instanceof ObjectGoneError || isGone) return skipped("gone", { kind: "done" });
  if (isRace(error) || error instanceof WatchLateError)
    return skipped("changed during the run", { kind: "again" });
  if (error instanceof StillListingError) return skipped("not listed yet", { kind: "again", afterMs: 1_000 });
  const message = error instanceof Error ? withRemedy(error) : String(error);
  if (isBusy(error) || error instanceof ApiUnreachableError) {
    const afterMs = retryAfterMs(error) ?? 1_000 + Math.random() * 2_000;
    const report = { result: "skipped", skipped: "API server away", problem: message } as const;
    // Perhaps it answers for other objects: a webhook may hang for some of them only.
    return { report, isReported: false, again: { kind: "again", afterMs, yields: true } };
  }
  const reason = error instanceof ApiError ? "ApiError" : "InternalError";
  return failed(new ReconcileFailure(reason, message, { cause: error }));
}

function failed(failure: ReconcileFailure): Consequence {
  const { permanent, retryAfterSeconds } = failure;
  const retryAfter = retryAfterSeconds === undefined || permanent ? undefined : retryAfterSeconds * 1000;
  return {
    report: { result: "failed", failure },
    isReported: true,
    again: {
      kind: "failed",
      permanent,
      ...(retryAfter !== undefined && { retryAfterMs: Math.max(SHORTEST_WAIT_MS, retryAfter) }),
    },
  };
}

function skipped(why: NonNullable<ReconcileReport["skipped"]>, again: WorkResult): Consequence {
  return { report: { result: "skipped", skipped: why }, isReported: false, again };
}
