import { labelsOf } from "./metadata";

/** Name of an operator's runner: its Deployment, Service, service account and all that goes with them. */
export function runnerNameOf(operator: string): string {
  return `${operator}-runner`;
}

/** Name of what looks for objects that need a run, in the form "pod": CronWorkflow, WorkflowTemplate, account. */
export function resyncNameOf(operator: string): string {
  return `${operator}-resync`;
}

/** Name of what says how many runs of an operator have a pod at once, in the form "pod". */
export function runLimitNameOf(operator: string): string {
  return `${operator}-run-limit`;
}

/** Names of what the event path is made of, beside those of its shards. */
export function eventPathNames(name: string) {
  return {
    eventBus: name,
    eventBusAccount: `${name}-event-bus`,
    sourceAccount: `${name}-event-source`,
    sensorAccount: `${name}-sensor`,
    keeper: `${name}-keeper`,
  } as const;
}

/** Names of what carries events from outside. */
export function outsideNames(installation: string) {
  const path = `${installation}-outside`;
  return { path, intake: `${path}-intake`, caller: `${path}-caller` } as const;
}

/**
 * The labels of a Sensor's pods, whatever its shard: who sends hints to the runners. By them a NetworkPolicy lets
 * them in.
 */
export function sensorPodLabels(name: string): Record<string, string> {
  return labelsOf(name, "sensor");
}
