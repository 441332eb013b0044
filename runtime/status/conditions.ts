import type { ReconcileFailure } from "../failure";
import type { Condition } from "../kubernetes/objects";

/** What a reconcile found, as far as the conditions tell it. */
export type Verdict =
  /** Every child is as the handler wants it, and ready. */
  | { readonly kind: "ready" }
  /** Every child is applied; some are not ready yet. */
  | { readonly kind: "progressing"; readonly message: string }
  /** The object is being deleted and its handler has not finished with it. */
  | { readonly kind: "finalizing" }
  | { readonly kind: "failed"; readonly failure: ReconcileFailure };

/** How much of a message a condition carries. The API allows 32768 characters; nobody reads them. */
const LONGEST_MESSAGE = 1024;

/**
 * The standard conditions of a verdict: Ready, and the two of kstatus that say whether to wait (Reconciling) or
 * to step in (Stalled).
 *
 * @param previous the object's conditions now: a condition whose status is the same keeps its transition time
 * @param generation the generation that the verdict is about
 * @param now RFC 3339
 * @param run the Workflow that reports this run, which Ready then names. Where there is none, because the run changed
 *   nothing, Ready goes on naming the one that did: a routine reconcile must not write the status
 */
export function conditionsOf(
  verdict: Verdict,
  previous: readonly Condition[],
  generation: number,
  now: string,
  run?: string,
): Condition[] {
  return statements(verdict).map((statement) => {
    const condition = written(statement, previous, generation, now);
    if (condition.type !== "Ready") return condition;
    const before = previous.find(({ type }) => type === "Ready");
    return { ...condition, message: withRun(condition.message, run ?? runStillToName(verdict, before)) };
  });
}

/** A condition as the engine or a handler says it: without what the engine adds to each. */
export type Statement = Pick<Condition, "type" | "status" | "reason" | "message">;

/**
 * A statement as a condition, with its message cut to a length that is read.
 * @param previous the object's conditions now: a condition whose status is the same keeps its transition time
 */
export function written(
  { type, status, reason, message }: Statement,
  previous: readonly Condition[],
  generation: number,
  now: string,
): Condition {
  const before = previous.find((condition) => condition.type === type);
  return {
    type,
    status,
    reason,
    message: clean(message),
    observedGeneration: generation,
    lastTransitionTime: before?.status === status ? before.lastTransitionTime : now,
  };
}

function statements(verdict: Verdict): Statement[] {
  switch (verdict.kind) {
    case "ready":
      return [
        state("Ready", "True", "Reconciled", "every child is applied and ready"),
        state("Reconciling", "False", "Reconciled", "nothing is left to do"),
        state("Stalled", "False", "Reconciled", "nothing is in the way"),
      ];
    case "progressing":
      return [
        state("Ready", "False", "ChildrenNotReady", verdict.message),
        state("Reconciling", "True", "ChildrenNotReady", verdict.message),
        state("Stalled", "False", "Progressing", "nothing is in the way"),
      ];
    case "finalizing":
      return [
        state("Ready", "False", "Finalizing", "the object is being deleted and its handler cleans up"),
        state("Reconciling", "True", "Finalizing", "the handler has not finished yet"),
        state("Stalled", "False", "Progressing", "nothing is in the way"),
      ];
    case "failed": {
      const { reason, message, permanent } = verdict.failure;
      return [
        state("Ready", "False", reason, message),
        permanent
          ? state("Reconciling", "False", reason, "waiting for a change of the object")
          : state("Reconciling", "True", "Retrying", "the reconcile is tried again"),
        state("Stalled", permanent ? "True" : "False", permanent ? reason : "Retrying", message),
      ];
    }
  }
}

/** The reasons of Ready while nothing fails. */
const REASONS_OF_SUCCESS: readonly string[] = ["Reconciled", "ChildrenNotReady", "Finalizing"];

/** The reasons of a Ready condition that is False while nothing fails. */
export type WaitingReason = "ChildrenNotReady" | "Finalizing";

function state(type: string, status: Condition["status"], reason: string, message: string): Statement {
  return { type, status, reason, message };
}

/** A text with the name of the run that it reports. */
export function withRun(text: string, run: string | undefined): string {
  return run === undefined ? text : `${text} (run ${run})`;
}

/** The run that Ready names already, unless that one failed and this one has not. */
function runStillToName(verdict: Verdict, ready: Condition | undefined): string | undefined {
  if (!ready || verdict.kind === "failed" || !REASONS_OF_SUCCESS.includes(ready.reason)) return undefined;
  return / \(run ([a-z0-9-]+)\)$/.exec(ready.message)?.[1];
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is to be removed
const ESCAPE_SEQUENCE = /\u001b(\[[0-?]*[ -/]*[@-~]|[@-Z\\-_])/g;
/** Control characters but the newline, and what ends a line or turns the order of reading around. */
const ACTIVE = /[^\P{Cc}\n]|[\u2028\u2029\p{Bidi_Control}]/gu;

/** Half of a character: a surrogate without its other half. It would not come back from the API server as it was. */
const HALF_CHARACTER = /\p{Cs}/gu;

/**
 * Takes out what a terminal would act on, puts U+FFFD in the place of half of a character, and cuts what is too long to be
 * read.
 */
export function clean(text: string, longest = LONGEST_MESSAGE): string {
  const plain = text.replace(ESCAPE_SEQUENCE, "").replace(ACTIVE, "").replace(HALF_CHARACTER, "\ufffd");
  const cut = plain.length > longest ? `${plain.slice(0, longest - 1)}…` : plain;
  // The cut itself may have left half of a character, which nobody wrote.
  return cut.replace(HALF_CHARACTER, "");
}
