import { labelsOf } from "./metadata";

/** Name of an operator's runner: of its Deployment, Service, service account and all other parts. */
export function runnerNameOf(operator: string): string {
  return `${operator}-runner`;
}

/** Name of the service account of an operator's runs, if these have pods of their own. */
export function runAccountOf(operator: string): string {
  return `${operator}-run`;
}

/** Name of the ConfigMap that says how many runs of an operator have a pod at once, in the form "pod". */
export function runLimitNameOf(operator: string): string {
  return `${operator}-run-limit`;
}

/** Name of the NetworkPolicy that limits where an operator's handler may connect to. */
export function egressNameOf(operator: string): string {
  return `${operator}-egress`;
}

/** Names of the parts of the event path, without its shards. */
export function eventPathNames(name: string) {
  return {
    eventBus: name,
    eventBusAccount: `${name}-event-bus`,
    sourceAccount: `${name}-event-source`,
    sensorAccount: `${name}-sensor`,
    keeper: `${name}-keeper`,
  } as const;
}

/**
 * Name of the EventSource and of the Sensor of a shard: the event path's own, "argosy", and then "argosy-shard-2". No installation
 * can have the name of a shard, nor one of {@link outsideNames}: see `INSTALLATION`.
 */
export function shardName(name: string, number: number): string {
  return number === 1 ? name : `${name}-shard-${number}`;
}

/** Names of the parts that carry events from outside. */
export function outsideNames(installation: string) {
  const path = `${installation}-outside`;
  return { path, single: `${path}-single`, intake: `${path}-intake`, caller: `${path}-caller` } as const;
}

/** The labels of the intake's pods. They ask runners to wake objects, and a NetworkPolicy admits them by these labels. */
export function intakePodLabels(installation: string): Record<string, string> {
  return labelsOf(outsideNames(installation).path, "intake");
}

/**
 * The labels of a Sensor's pods, whatever its shard. Sensors send hints to the runners, and a NetworkPolicy admits them by these
 * labels.
 */
export function sensorPodLabels(name: string): Record<string, string> {
  return labelsOf(name, "sensor");
}
