import { type KubernetesObject, type Manifest, withoutManagedFields } from "../base/objects";

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
  /** `argosy.dev/v1`. */
  readonly apiVersion: typeof CONTRACT_VERSION;
  /** `<uid>/<generation>` of the object: the idempotency key for acts outside Kubernetes. */
  readonly key: string;
  /** `reconcile`, or `finalize` when the object is being deleted and the definition has `finalize: true`. */
  readonly event: HandlerEvent;
  /** The custom resource or the watched object as it is now. */
  readonly object: KubernetesObject;
  /** Its children as they are now, sorted by kind, namespace and name. At most 8 MiB of JSON. */
  readonly children: readonly KubernetesObject[];
  /** The used objects, by the names in `uses`: an object, `null`, or a list for each name. At most 8 MiB of JSON. */
  readonly used: Used;
  /** Schedules that are due: `{"name": "nightly", "at": "2026-11-23T03:00:00Z"}`. */
  readonly due: readonly DueSchedule[];
  /** Only with `watch`: the `state` that the handler returned last. Absent until it has returned one. */
  readonly state?: Readonly<Record<string, unknown>>;
  /** 1, and one more for each failure since the last success. */
  readonly attempt: number;
  /** If present, the answer is only shown and not applied. The handler must not act outside Kubernetes. */
  readonly dryRun?: true;
  /**
   * If present, the trace of this run in the format of the header `traceparent` (https://www.w3.org/TR/trace-context). Its span is
   * that of this request.
   */
  readonly trace?: string;
}

/** One line to the handler. */
export interface HandlerRequest extends HandlerQuestion {
  /** A nonce of this request. The answer must echo it. */
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
  /** The name of a label, and neither Ready, Reconciling nor Stalled. */
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  /** One word. */
  readonly reason: string;
  /** Cut after 1,024 characters. */
  readonly message: string;
}

/** A Kubernetes Event about the object, in the handler's own words. */
export interface AnsweredEvent {
  readonly type: "Normal" | "Warning";
  /** One word in CamelCase. */
  readonly reason: string;
  /** Cut after 1,024 bytes. */
  readonly note: string;
}

/** The reports about the object that any answer but an error may have. */
interface Reports {
  /** Not with `watch`. The handler's own fields of `status`. A field that is left out is removed. */
  readonly status?: Readonly<Record<string, unknown>>;
  /** Not with `watch`. The handler's own conditions, at most 16. One that is left out is removed. */
  readonly conditions?: readonly AnsweredCondition[];
  /** At most 8. Each is reported once for a generation of the object, as long as every answer has it. */
  readonly events?: readonly AnsweredEvent[];
}

/** The answer to "reconcile", without its id. */
export interface ReconcileAnswer extends Reports {
  /** Every child as it should be. At most 5,000. */
  readonly children: readonly Manifest[];
  /** Only with `watch`: the next request contains it. At most 64 KiB. If it is left out, the last one is kept; `{}` clears it. */
  readonly state?: Readonly<Record<string, unknown>>;
  /** The engine asks again after this many seconds, 0 to 604,800. Less than 1 counts as 1. */
  readonly requeueAfterSeconds?: number;
}

/** The answer to "finalize", without its id. */
export interface FinalizeAnswer extends Reports {
  /** Whether everything is cleaned up, so that the object may go. */
  readonly finalized: boolean;
  /** As in an answer to reconcile. */
  readonly requeueAfterSeconds?: number;
}

/** What a handler says of a failure. */
export interface FailureAnswer {
  /** In the handler's own words. */
  readonly message: string;
  /** Try again after this many seconds, 0 to 604,800. @default the queue's backoff */
  readonly retryAfterSeconds?: number;
  /** Whether another try is of no use until the object, a child or a used object changes. @default false */
  readonly permanent?: boolean;
}

/** A failure in the handler's own words, without its id. */
export interface ErrorAnswer {
  readonly error: FailureAnswer;
}

/** One line from the handler, without its id. */
export type HandlerAnswer = ReconcileAnswer | FinalizeAnswer | ErrorAnswer;
