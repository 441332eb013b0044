import { ReconcileFailure } from "../../base/failure";
import { writeJson } from "../../base/json";
import { kindAndName } from "../../base/objects";
import { clean, cutBytes } from "../../base/text";
import type { ReconcileReport } from "../../reconcile/report";
import type { TrialResult } from "../../reconcile/trial";
import { describeRun, endOfLog, outputsOf } from "../../report/recordedRun";
import type { NodeResult } from "./taskSet";

/** The longest answer that is given whole, in bytes: a Workflow has room for 1.5 MiB, and Go escapes some characters by six. */
const LONGEST_ANSWER = 240 * 1024;
const LONGEST_MESSAGE = 1024;

/** The result of a reconcile, as the answer to the user who submitted it. */
export function resultOfReport(report: ReconcileReport): NodeResult {
  const { skipped, failure, kind } = report;
  const outputs = { parameters: outputsOf(report) };
  if (skipped === "gone")
    return { phase: "Failed", message: `${kindAndName(kind, report)} does not exist`, outputs };
  return { phase: failure ? "Failed" : "Succeeded", message: describeRun(report), outputs };
}

/** The result of a trial, as the answer to the user who submitted it: the handler's answer as JSON. */
export function resultOfTrial({ answer, log, durationMs }: TrialResult): NodeResult {
  const { text, message } = triedAnswer(answer);
  return {
    phase: "Succeeded",
    message,
    outputs: {
      parameters: [
        { name: "answer", value: text },
        { name: "durationMs", value: String(Math.round(durationMs)) },
        { name: "log", value: endOfLog(log) },
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
  const text = cutBytes(clean(json, LONGEST_ANSWER), LONGEST_ANSWER);
  const tried = "tried, nothing applied";
  const isWhole = Buffer.byteLength(json) <= LONGEST_ANSWER;
  const shown = `${tried}; the answer has ${json.length} characters, and the first ${text.length} are shown here`;
  return { text, message: isWhole ? tried : shown };
}

/** An error that prevented a reconcile or a trial, as the answer to the user who submitted it. */
export function resultOfError(error: unknown): NodeResult {
  const failure = error instanceof ReconcileFailure ? error : undefined;
  const message = error instanceof Error ? error.message : String(error);
  return {
    phase: "Failed",
    message: clean(failure ? `${failure.reason}: ${message}` : message, LONGEST_MESSAGE),
    outputs: {
      parameters: [
        { name: "reason", value: failure?.reason ?? "" },
        { name: "log", value: endOfLog(failure?.log ?? "") },
      ],
    },
  };
}
