import { writeFileSync } from "node:fs";
import { clean } from "../status/conditions";
import { TERMINATION_LOG } from "./layout";
import type { PodSettings } from "./podSettings";

/**
 * Writes why this container ends. `kubectl describe pod` shows that, and Argo makes it the message of the node and of
 * the Workflow: "main: Error (exit code 1): ..." (argo-workflows, workflow/controller/operator.go, inferFailedReason).
 * Outside of a container the file does not exist, and nothing is written.
 */
export function leaveWord({ root }: Pick<PodSettings, "root">, message: string): void {
  try {
    writeFileSync(`${root}${TERMINATION_LOG}`, clean(message), { flag: "r+" });
  } catch {
    // The log says the same.
  }
}
