import { type KubernetesObject, type Manifest, withoutManagedFields } from "../kubernetes/objects";

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

/** Objects that the definition's `uses` names, by its keys: one object or null, or a list. */
export type Used = Readonly<Record<string, KubernetesObject | null | readonly KubernetesObject[]>>;

/**
 * The most that a handler is given of its object's children, and again of the objects that it uses, in bytes of JSON. A request is in
 * memory several times, and others may write into these objects as much as they like.
 */
export const MOST_GIVEN_BYTES = 8 * 1024 * 1024;

/** A question to a handler, without the id that its process is given with it. */
export interface HandlerQuestion {
  readonly apiVersion: typeof CONTRACT_VERSION;
  /** "<uid>/<generation>": the idempotency key for a handler that acts outside Kubernetes. */
  readonly key: string;
  readonly event: HandlerEvent;
  /** The custom resource as it is now, without `metadata.managedFields`. */
  readonly object: KubernetesObject;
  /** Its children as they are now, without `metadata.managedFields`, sorted by kind, namespace and name. */
  readonly children: readonly KubernetesObject[];
  /** What the object uses, as it is now, without `metadata.managedFields`. Null or [] where there is none. */
  readonly used: Used;
  /** Schedules of the definition that are due, by name. */
  readonly due: readonly DueSchedule[];
  /** The `state` that the handler returned last. Only for objects of a kind that the operator watches. */
  readonly state?: Readonly<Record<string, unknown>>;
  /** 1 for the first try, and one more for each failure since the last success. */
  readonly attempt: number;
  /** True: the answer is only looked at. The handler must not act outside Kubernetes. */
  readonly dryRun?: true;
  /**
   * The trace that the run belongs to, as the header `traceparent` has it (https://www.w3.org/TR/trace-context). Its parent is
   * the span of this request. Only given if traces are on.
   */
  readonly trace?: string;
}

/** One line to the handler. */
export interface HandlerRequest extends HandlerQuestion {
  /** A nonce for this request only. The answer must echo it. */
  readonly id: string;
}

/** The parts of which {@link questionAbout} makes a question. */
export type QuestionParts = Pick<HandlerQuestion, "event" | "object" | "children" | "attempt" | "dryRun"> &
  Partial<Pick<HandlerQuestion, "used" | "due">> & {
    readonly state?: HandlerQuestion["state"] | undefined;
    readonly trace?: HandlerQuestion["trace"] | undefined;
  };

/** Completes a question with the contract's version, the object's key, and the fields that every question has. */
export function questionAbout(parts: QuestionParts): HandlerQuestion {
  const { event, object, children, used = {}, due = [], attempt, dryRun, state, trace } = parts;
  const { uid, generation = 1 } = object.metadata;
  return {
    apiVersion: CONTRACT_VERSION,
    key: `${uid}/${generation}`,
    event,
    object: withoutManagedFields(object),
    children,
    used,
    due,
    ...(state !== undefined && { state }),
    attempt,
    ...(dryRun && { dryRun }),
    ...(trace !== undefined && { trace }),
  };
}

/** A condition of the handler's own. The engine adds observedGeneration and lastTransitionTime. */
export interface AnsweredCondition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
}

/** A Kubernetes Event about the object, in the handler's own words. */
export interface AnsweredEvent {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly note: string;
}

/** The reports about the object that any answer but an error may have. */
interface Reports {
  /** Replaces the handler's earlier status. Undefined: the handler has no status. */
  readonly status?: Readonly<Record<string, unknown>>;
  /** Replace the handler's earlier conditions. Undefined: the handler has none. */
  readonly conditions?: readonly AnsweredCondition[];
  /** Each is reported once for a generation of the object, as long as every answer has it. */
  readonly events?: readonly AnsweredEvent[];
}

/** The answer to "reconcile", without its id. */
export interface ReconcileAnswer extends Reports {
  readonly children: readonly Manifest[];
  /**
   * The handler gets it back in the next request. Undefined: the earlier state stays. Only for objects of a kind that is watched.
   */
  readonly state?: Readonly<Record<string, unknown>>;
  /** Ask again after this many seconds, whether anything changes or not. */
  readonly requeueAfterSeconds?: number;
}

/** The answer to "finalize", without its id. */
export interface FinalizeAnswer extends Reports {
  /** Whether everything is cleaned up. False: ask again later. */
  readonly finalized: boolean;
  readonly requeueAfterSeconds?: number;
}

/** A failure in the handler's own words, without its id. */
export interface ErrorAnswer {
  readonly error: {
    readonly message: string;
    /** Try again after this many seconds. @default the queue's backoff */
    readonly retryAfterSeconds?: number;
    /** Whether another try is of no use until the object changes. @default false */
    readonly permanent?: boolean;
  };
}

/** One line from the handler, without its id. */
export type HandlerAnswer = ReconcileAnswer | FinalizeAnswer | ErrorAnswer;
