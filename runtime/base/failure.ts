// Every reason of a failure and of a Warning, and the failures of a wrong answer.
import { writeJson } from "./json";
import type { TypeMeta } from "./resource";
import { CUT, cut } from "./text";

/**
 * Why a reconcile failed: the reason of the Ready condition, of the Kubernetes Event and of the metrics.
 *
 * - `HandlerError`: the handler returned an error, or raised one
 * - `HandlerCrashed`, `HandlerTimedOut`, `HandlerNotStarted`: its process did not answer
 * - `InvalidAnswer`: the answer breaks the contract
 * - `ChildConflict`: a child's name is taken by an object that we do not own
 * - `ChildCycle`: the object is the last in a chain of too many objects, each a child of the one before
 * - `ChildRefused`: the API server does not accept a child
 * - `StatusRefused`: the API server does not accept the status
 * - `DeletionWithheld`: in a staged roll-out, the answer leaves out a child although the object has not changed
 * - `RunFailed`: a run in a pod of its own ended before it could say anything
 * - `RunSuspended`, `RunOverdue`: a run in a pod of its own holds the object's lock and does not end by itself
 * - `NamespaceNotGranted`: the runner may not read or write children in a namespace
 * - `KindMissing`: the cluster does not serve a declared kind, or no longer serves the operator's own kind
 * - `KindNotListed`: the runner may not list a kind of children, or the API server fails to list it
 * - `WatchCycle`: a watched object was created because of the operator's own children, many times over
 * - `UsedNotReadable`: what the object uses cannot be read, or is too much
 * - `ApiError`: anything else that the API server refused
 * - `InternalError`: a bug in Argosy
 */
export const FAILURE_REASONS = [
  "HandlerError",
  "HandlerCrashed",
  "HandlerTimedOut",
  "HandlerNotStarted",
  "InvalidAnswer",
  "ChildConflict",
  "ChildCycle",
  "ChildRefused",
  "StatusRefused",
  "DeletionWithheld",
  "RunFailed",
  "RunSuspended",
  "RunOverdue",
  "NamespaceNotGranted",
  "KindMissing",
  "KindNotListed",
  "WatchCycle",
  "UsedNotReadable",
  "ApiError",
  "InternalError",
] as const;

/** One of {@link FAILURE_REASONS}. */
export type FailureReason = (typeof FAILURE_REASONS)[number];

/** The reasons that the dispatcher reports about a run that reports nothing itself. No memory says what that run has applied. */
export const UNREPORTED_RUN_REASONS: readonly string[] = [
  "RunFailed",
  "RunSuspended",
  "RunOverdue",
] satisfies readonly FailureReason[];

/**
 * The reasons of the engine's Warning Events, in addition to those of a failed reconcile. A handler's own Events have reasons of
 * its own.
 */
export const WARNING_REASONS = [
  "AnswersDiffer",
  "ChildContested",
  "ChildrenTooLarge",
  "EventBusRestarted",
  "EventContradicts",
  "EventRefused",
  "FinalizeSkipped",
  "ForeignFinalizer",
  "RolloutHalted",
  "RunStopped",
  "StatusRefused",
  "UseCycle",
  "UsedKindMissing",
  "UsedNotReadable",
  "UsedSecretNotGiven",
] as const;

/** One of {@link WARNING_REASONS}. */
export type WarningReason = (typeof WARNING_REASONS)[number];

/** What to do if the cluster does not serve a kind that an object needs. */
export const MISSING_KIND_REMEDY =
  "Install the software that provides the kind in this version, or declare a version that the cluster serves. The object is reconciled again soon after that.";
/** What to do if the cluster does not serve an operator's own kind any more, in the version that is watched. */
export const UNSERVED_REMEDY =
  "The cluster does not serve this version of the kind: serve it again in its CustomResourceDefinition, or deploy the operator again.";
/** What to do if the runner lacks a right that follows from the definition. */
export const ROLE_REMEDY =
  "The runner's role or its binding was probably changed: run `pulumi up --refresh`.";
/** What to do if a kind cannot be listed that an object needs. */
export const UNLISTED_KIND_REMEDY =
  "Repair what serves this kind, or the proxy that cuts its lists: the object is reconciled again soon after that.";

/** The most characters of a message. Nothing shows more, and a handler may send a message of megabytes. */
const LONGEST_MESSAGE = 4 * 1024;

/** A reconcile failed, and the object's owner should read why. */
export class ReconcileFailure extends Error {
  /** Another try cannot succeed until the object changes: no retry, and the Stalled condition. */
  readonly permanent: boolean;
  /** When to try again, in seconds, if the handler gave a time. */
  readonly retryAfterSeconds: number | undefined;
  /** The end of the handler's standard error of this reconcile. */
  log: string;

  constructor(
    readonly reason: FailureReason,
    message: string,
    options: {
      permanent?: boolean;
      retryAfterSeconds?: number | undefined;
      log?: string;
      cause?: unknown;
    } = {},
  ) {
    super(cut(message, LONGEST_MESSAGE), { cause: options.cause });
    this.name = "ReconcileFailure";
    this.permanent = options.permanent ?? false;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.log = options.log ?? "";
  }
}

/** The failure of an object that needs a kind that the cluster does not serve. @param why the rest of the sentence */
export function kindMissing(type: TypeMeta, why: string, remedy = MISSING_KIND_REMEDY): ReconcileFailure {
  const message = `the cluster serves no kind ${type.kind} (${type.apiVersion}), ${why}. ${remedy}`;
  return new ReconcileFailure("KindMissing", message, { retryAfterSeconds: 30 });
}

/** The custom resource was deleted, or is being deleted, while it was handled. */
export class ObjectGoneError extends Error {
  constructor() {
    super("the object is gone");
    this.name = "ObjectGoneError";
  }
}

/** The most characters of a handler's output that a sentence quotes. */
const LONGEST_QUOTE = 80;

/** The failure of an answer that breaks the contract. */
export function invalid(problem: string): ReconcileFailure {
  return new ReconcileFailure("InvalidAnswer", `the handler's answer is wrong: ${problem}.`);
}

/** The failure of an answer whose status does not fit the schema in the CRD. */
export function invalidStatus(flaw: string): ReconcileFailure {
  return invalid(`${flaw}. Correct the handler, or the schema of status in the CRD`);
}

/**
 * Checks that a part of an answer has no other keys than these. A key with the value null counts as left out.
 * @param path where the part is in the answer, with a dot at its end: "conditions[0]."; "" for the answer itself
 * @throws ReconcileFailure with reason `InvalidAnswer`
 */
export function checkKeys(
  part: Readonly<Record<string, unknown>>,
  known: readonly string[],
  path: string,
): void {
  const unknown = Object.keys(part).find((key) => part[key] !== null && !known.includes(key));
  if (unknown !== undefined)
    throw invalid(`an unknown key ${quote(path + unknown)}; the keys here are ${known.join(", ")}`);
}

/** A text in quotes, no longer than can be read. */
export function quote(text: string): string {
  return `"${cut(text, LONGEST_QUOTE)}"`;
}

/** Where the values of a Secret begin, in JSON or in what a language prints of a map, also in a text within a text. */
const VALUES = /\b((?:data|stringData)["'\\]*\s*[:=]).*/s;

/**
 * A line of a handler in quotes, as far as the first values of a Secret. The line is no answer, so the `Scrubber` does not know
 * these values and cannot mask them.
 */
export function quoteLine(line: string): string {
  return quote(line.replace(VALUES, `$1${CUT}`));
}

/** A value as JSON has it, no longer than can be read. */
export function shown(value: unknown): string {
  return cut(writeJson(value), LONGEST_QUOTE);
}
