import type { KubernetesObject, Manifest } from "../kubernetes/objects";

/** The version of the contract, in every request. */
const CONTRACT_VERSION = "argosy.dev/v1";

/** What a handler is asked to do: give the children, or clean up outside Kubernetes before the object goes. */
export type HandlerEvent = "reconcile" | "finalize";

/** A scheduled act that is due. */
export interface DueSchedule {
  /** The schedule's name in the definition. */
  readonly name: string;
  /** The instant that it is due for, in RFC 3339. With the name it is the idempotency key of this act. */
  readonly at: string;
}

/** What a handler is asked, without the id that its process is given with it. */
export interface HandlerQuestion {
  readonly apiVersion: typeof CONTRACT_VERSION;
  /** "<uid>/<generation>": the idempotency key for a handler that acts outside Kubernetes. */
  readonly key: string;
  readonly event: HandlerEvent;
  /** The custom resource as it is now, without `metadata.managedFields`. */
  readonly object: KubernetesObject;
  /** Its children as they are now, without `metadata.managedFields`, sorted by kind, namespace and name. */
  readonly children: readonly KubernetesObject[];
  /** Objects that the definition's `uses` names, by its keys. Not built yet: always empty. */
  readonly used: Readonly<Record<string, KubernetesObject | null | readonly KubernetesObject[]>>;
  /** Schedules of the definition that are due. Not built yet: always empty. */
  readonly due: readonly DueSchedule[];
  /** What the handler answered as `state` the last time. Not built yet: never given. */
  readonly state?: Readonly<Record<string, unknown>>;
  /** 1 for the first try, and one more for each failure since the last success. */
  readonly attempt: number;
  /** True: the answer is only looked at. The handler must not act outside Kubernetes. */
  readonly dryRun?: true;
  /** The trace that the run belongs to, as the header `traceparent` has it. Not built yet: never given. */
  readonly trace?: string;
}

/** One line to the handler. */
export interface HandlerRequest extends HandlerQuestion {
  /** A nonce of this request alone. The answer must echo it. */
  readonly id: string;
}

/** What {@link questionAbout} makes a question of. */
export type QuestionParts = Pick<HandlerQuestion, "event" | "object" | "children" | "attempt" | "dryRun">;

/** Completes a question: with the contract's version, the object's key, and what is not built yet. */
export function questionAbout({ event, object, children, attempt, dryRun }: QuestionParts): HandlerQuestion {
  const { managedFields: _, ...metadata } = object.metadata;
  return {
    apiVersion: CONTRACT_VERSION,
    key: `${metadata.uid}/${metadata.generation ?? 1}`,
    event,
    object: { ...object, metadata },
    children,
    used: {},
    due: [],
    attempt,
    ...(dryRun && { dryRun }),
  };
}

/** The answer to "reconcile", without its id. */
export interface ReconcileAnswer {
  readonly children: readonly Manifest[];
  /** Replaces the handler's earlier status. Undefined: the handler has no status. */
  readonly status?: Readonly<Record<string, unknown>>;
  /** Ask again after this many seconds, whether anything changes or not. */
  readonly requeueAfterSeconds?: number;
}

/** The answer to "finalize", without its id. */
export interface FinalizeAnswer {
  /** Whether all is cleaned up. False: ask again later. */
  readonly finalized: boolean;
  readonly status?: Readonly<Record<string, unknown>>;
  readonly requeueAfterSeconds?: number;
}

/** A failure in the handler's own words, without its id. */
export interface ErrorAnswer {
  readonly error: {
    readonly message: string;
    /** Try again after this many seconds. @default the queue's backoff */
    readonly retryAfterSeconds?: number;
    /** Trying again is of no use until the object changes. @default false */
    readonly permanent?: boolean;
  };
}

/** One line from the handler, without its id. */
export type HandlerAnswer = ReconcileAnswer | FinalizeAnswer | ErrorAnswer;

/** Keys of an answer that have a meaning in the contract and are not built yet. They are refused until they are. */
export const RESERVED_ANSWER_KEYS = ["state", "conditions", "events"] as const;
