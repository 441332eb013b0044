import { ReconcileFailure } from "../../base/failure";
import { writeJson } from "../../base/json";
import { kindAndName } from "../../base/objects";
import { clean } from "../../base/text";
import type { ReconcileReport } from "../../reconcile/report";
import type { TrialResult } from "../../reconcile/trial";
import { describeRun, endOfLog, outputsOf } from "../../report/recordedRun";
import type { NodeResult } from "./taskSet";

/** The longest answer that is given whole, in characters. */
const LONGEST_ANSWER = 512 * 1024;
/** The most room in etcd that an answer takes, in bytes. The whole Workflow must fit into etcd's 1.5 MiB. */
const MOST_STORED_BYTES = 768 * 1024;
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
  const tried = "tried, nothing applied";
  const text = clean(beginningOf(json), LONGEST_ANSWER);
  const isWhole = json.length <= LONGEST_ANSWER && storedBytes(json) <= MOST_STORED_BYTES;
  return {
    text,
    message: isWhole
      ? tried
      : `${tried}; the answer has ${json.length} characters, and the first ${text.length} are shown here`,
  };
}

/** As much of a text as a Workflow has room for. */
function beginningOf(text: string): string {
  let kept = text.slice(0, LONGEST_ANSWER);
  for (let bytes = storedBytes(kept); bytes > MOST_STORED_BYTES; bytes = storedBytes(kept))
    kept = kept.slice(0, Math.floor((kept.length * MOST_STORED_BYTES) / bytes));
  return kept;
}

/** How many bytes of etcd a text takes. Custom resources are kept there as JSON, in which Go escapes `<`, `>` and `&` too. */
function storedBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text.replace(/[<>&\u2028\u2029]/g, "------")));
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
