export { handlerAccountOf } from "../../../runtime/program";

/** Name of an operator's runner: its Deployment, Service, service account and all that goes with them. */
export function runnerNameOf(operator: string): string {
  return `${operator}-runner`;
}

/** Name of what looks for objects that need a run, in the form "pod": CronWorkflow, WorkflowTemplate, account. */
export function resyncNameOf(operator: string): string {
  return `${operator}-resync`;
}
