import type { ReconcileFailure } from "../failure";
import type { Condition } from "../kubernetes/objects";
import { clean } from "../text/clean";

/** The verdict of a reconcile, as far as the conditions show it. */
export type Verdict =
  /** Every child is as the handler wants it, and ready. */
  | { readonly kind: "ready" }
  /** Every child is applied, and some are not ready yet. */
  | { readonly kind: "progressing"; readonly message: string }
  /** The object is being deleted and its handler has not finished with it. */
  | { readonly kind: "finalizing" }
  | { readonly kind: "failed"; readonly failure: ReconcileFailure };

/**
 * The standard conditions of a verdict: Ready, and the two of kstatus that say whether to wait (Reconciling) or to step in
 * (Stalled).
 *
 * @param previous the object's conditions now. A condition whose status stays the same keeps its transition time
 * @param generation the generation that the verdict is about
 * @param now RFC 3339
 * @param run the Workflow that reports this run, which Ready then names. If there is none, because the run changed nothing, Ready
 *   goes on naming the earlier one: a routine reconcile must not write the status
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

/** A condition as the engine or a handler states it, without the fields that the engine adds to each. */
export type Statement = Pick<Condition, "type" | "status" | "reason" | "message">;

/**
 * A statement as a condition. Its message is cut to a length that people read.
 * @param previous the object's conditions now. A condition whose status stays the same keeps its transition time
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
          ? state("Reconciling", "False", reason, "waiting for a change, or for the next resync")
          : state("Reconciling", "True", "Retrying", "the reconcile is tried again"),
        state("Stalled", permanent ? "True" : "False", permanent ? reason : "Retrying", message),
      ];
    }
  }
}

/** The reasons of a Ready condition that is False while nothing fails. */
const WAITING_REASONS = ["ChildrenNotReady", "Finalizing"] as const;

/** One of {@link WAITING_REASONS}. */
export type WaitingReason = (typeof WAITING_REASONS)[number];

/** The reasons of Ready while nothing fails. */
const REASONS_OF_SUCCESS: readonly string[] = ["Reconciled", ...WAITING_REASONS];

function state(type: string, status: Condition["status"], reason: string, message: string): Statement {
  return { type, status, reason, message };
}

/** A text with the name of the run that the text reports. */
export function withRun(text: string, run: string | undefined): string {
  return run === undefined ? text : `${text} (run ${run})`;
}

/** The run that Ready names already, unless that run failed and this one has not. */
function runStillToName(verdict: Verdict, ready: Condition | undefined): string | undefined {
  if (!ready || verdict.kind === "failed" || !REASONS_OF_SUCCESS.includes(ready.reason)) return undefined;
  return / \(run ([a-z0-9-]+)\)$/.exec(ready.message)?.[1];
}
