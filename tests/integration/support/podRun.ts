import { ChildProcessTransport } from "../../../runtime/handler/childProcessTransport";
import type { KubernetesClient } from "../../../runtime/kubernetes/client";
import { type RunOnceOptions, type RunOutcome, runOnce } from "../../../runtime/pod/runOnce";
import type { TestOperator } from "./testOperator";

/** Does what the pod of a Workflow that is there would, with a child process as the handler. */
export function runLikeAPod(
  { operator, runnerNamespace }: TestOperator,
  client: KubernetesClient,
  workflow: string,
  more: Partial<RunOnceOptions> = {},
): Promise<RunOutcome> {
  const { handler, folder } = operator;
  return runOnce({
    operator,
    client,
    transport: new ChildProcessTransport({ command: handler.command, folder, env: {} }),
    namespace: runnerNamespace,
    workflow,
    instance: `${workflow}-pod`,
    ...more,
  });
}
