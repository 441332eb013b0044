import { writeFileSync } from "node:fs";
import { clean } from "../status/conditions";
import { TERMINATION_LOG } from "./layout";
import type { PodSettings } from "./podSettings";

/**
 * Leaves word of why this container ends, for `kubectl describe pod` and for Argo, which shows it as the message of the
 * node and of the Workflow: "main: Error (exit code 1): ..." (argo-workflows, workflow/controller/operator.go,
 * inferFailedReason). Outside of a container, where nobody has made the file, nothing is written.
 */
export function leaveWord({ root }: Pick<PodSettings, "root">, message: string): void {
  try {
    writeFileSync(`${root}${TERMINATION_LOG}`, clean(message), { flag: "r+" });
  } catch {
    // The log has it all the same.
  }
}
