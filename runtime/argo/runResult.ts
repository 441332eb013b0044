import { ReconcileFailure } from "../failure";
import { writeJson } from "../json";
import { formatName } from "../kubernetes/objects";
import type { ReconcileReport } from "../reconcile/report";
import type { TrialResult } from "../reconcile/trial";
import { clean } from "../status/conditions";
import { endOf, messageOf, outputsOf } from "./recordedRun";
import type { NodeResult } from "./taskSet";

/** The longest answer that is given whole, in characters. The whole Workflow must fit into etcd's 1.5 MiB. */
const LONGEST_ANSWER = 512 * 1024;
const LONGEST_MESSAGE = 1024;

/** The result of a reconcile, as the answer to whoever submitted it. */
export function resultOfReport(report: ReconcileReport): NodeResult {
  const { skipped, failure, kind } = report;
  const outputs = { parameters: outputsOf(report) };
  if (skipped === "gone") {
    return { phase: "Failed", message: `${kind} ${formatName(report)} does not exist`, outputs };
  }
  return { phase: failure ? "Failed" : "Succeeded", message: messageOf(report), outputs };
}

/** The result of a trial, as the answer to whoever submitted it: the handler's answer as JSON. */
export function resultOfTrial({ answer, log, durationMs }: TrialResult): NodeResult {
  const { text, message } = triedAnswer(answer);
  return {
    phase: "Succeeded",
    message,
    outputs: {
      parameters: [
        { name: "answer", value: text },
        { name: "durationMs", value: String(Math.round(durationMs)) },
        { name: "log", value: endOf(log) },
      ],
    },
  };
}

/** An answer as a Workflow can give it, and a message that says whether the answer is whole. */
export function triedAnswer(answer: TrialResult["answer"]): {
  readonly text: string;
  readonly message: string;
} {
  const json = writeJson(answer);
  const tried = "tried, nothing applied";
  return {
    text: clean(json.slice(0, LONGEST_ANSWER), LONGEST_ANSWER),
    message:
      json.length > LONGEST_ANSWER
        ? `${tried}; the answer has ${json.length} characters, of which the first ${LONGEST_ANSWER} are here`
        : tried,
  };
}

/** An error that prevented a reconcile or a trial, as the answer to whoever submitted it. */
export function resultOfError(error: unknown): NodeResult {
  const failure = error instanceof ReconcileFailure ? error : undefined;
  const message = error instanceof Error ? error.message : String(error);
  return {
    phase: "Failed",
    message: clean(failure ? `${failure.reason}: ${message}` : message, LONGEST_MESSAGE),
    outputs: {
      parameters: [
        { name: "reason", value: failure?.reason ?? "" },
        { name: "log", value: endOf(failure?.log ?? "") },
      ],
    },
  };
}
