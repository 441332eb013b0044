import { writeFileSync } from "node:fs";
import { clean } from "../base/text";
import type { ReconcileReport } from "../reconcile/report";
import { endOfLog } from "../report/recordedRun";
import { timingText } from "../report/traces/spans";
import { HANDLER_EXIT_CODE, TERMINATION_LOG, TIMINGS_FILE } from "./layout";
import type { PodRoot } from "./pod";

/**
 * Writes why this container ends. `kubectl describe pod` shows the text, and Argo makes it the message of the node and of the
 * Workflow: "main: Error (exit code 1): ..." (argo-workflows, workflow/controller/operator.go, inferFailedReason). Outside of a
 * container the file does not exist, and nothing is written.
 */
export function writeTerminationMessage({ root }: PodRoot, message: string): void {
  try {
    writeFileSync(`${root}${TERMINATION_LOG}`, clean(message), { flag: "r+" });
  } catch {
    // The log says the same.
  }
}

/** Writes how long the steps of a run took, to the file that Argo takes as an output of the run. */
export function leaveTimings({ root }: PodRoot, reports: readonly ReconcileReport[]): void {
  try {
    writeFileSync(`${root}${TIMINGS_FILE}`, endOfLog(timingText(reports)));
  } catch {
    // A run without timings is as good as one with them.
  }
}

/** The exit code of a killed container: 128 + SIGKILL. */
const KILLED = "137";

/**
 * Reports to Argo that the handler's container has ended, unless that was reported already. A container that runs out of memory is
 * killed with all of its processes (memory.oom.group of its cgroup), including Argo's executor, which would have reported this.
 * Argo's container `wait` would then wait for this report until the deadline of the pod, and so would every other run of the
 * object.
 */
export function leaveExitOfHandler({ root }: PodRoot): void {
  try {
    writeFileSync(`${root}${HANDLER_EXIT_CODE}`, KILLED, { flag: "wx" });
  } catch {
    // The executor has reported it, or Argo does not wait for this container.
  }
}
