import type { KubernetesObject, Manifest } from "../kubernetes/objects";

/** The version of the contract, in every request. */
export const CONTRACT_VERSION = "argosy.dev/v1";

/** What a handler is asked to do: give the children, or clean up outside Kubernetes before the object goes. */
export type HandlerEvent = "reconcile" | "finalize";

/** One line to the handler. */
export interface HandlerRequest {
  readonly apiVersion: typeof CONTRACT_VERSION;
  /** "<uid>/<generation>": the idempotency key for a handler that acts outside Kubernetes. */
  readonly id: string;
  readonly event: HandlerEvent;
  /** The custom resource as it is now, without `metadata.managedFields`. */
  readonly object: KubernetesObject;
  /** Its children as they are now, without `metadata.managedFields`, sorted by kind, namespace and name. */
  readonly children: readonly KubernetesObject[];
  /** 1 for the first try, and one more for each failure since the last success. */
  readonly attempt: number;
}

/** The answer to "reconcile". */
export interface ReconcileAnswer {
  readonly children: readonly Manifest[];
  /** Replaces the handler's earlier status. Undefined: the handler has no status. */
  readonly status?: Readonly<Record<string, unknown>>;
  /** Ask again after this many seconds, whether anything changes or not. */
  readonly requeueAfterSeconds?: number;
}

/** The answer to "finalize". */
export interface FinalizeAnswer {
  /** Whether all is cleaned up. False: ask again later. */
  readonly finalized: boolean;
  readonly status?: Readonly<Record<string, unknown>>;
  readonly requeueAfterSeconds?: number;
}

/** A failure in the handler's own words. */
export interface ErrorAnswer {
  readonly error: {
    readonly message: string;
    /** Try again after this many seconds. @default the queue's backoff */
    readonly retryAfterSeconds?: number;
    /** Trying again is of no use until the object changes. @default false */
    readonly permanent?: boolean;
  };
}

/** One line from the handler. */
export type HandlerAnswer = ReconcileAnswer | FinalizeAnswer | ErrorAnswer;
