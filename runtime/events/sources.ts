/**
 * The types of Argo's event sources from which events from outside may come, and how Argo deploys each (argo-events,
 * pkg/apis/events/v1alpha1/const.go, RecreateStrategyEventSources). If an EventSource has types of both classes, Argo treats it
 * as either, by chance (pkg/eventsources/eventing.go, Start). So each class has an EventSource of its own.
 *
 * The type "resource" is left out, because it needs rights in the cluster.
 */
const SOURCES = {
  webhook: "rolling",
  github: "rolling",
  gitlab: "rolling",
  bitbucket: "rolling",
  bitbucketserver: "rolling",
  gerrit: "rolling",
  slack: "rolling",
  stripe: "rolling",
  sns: "rolling",
  sqs: "rolling",
  storageGrid: "rolling",
  azureQueueStorage: "rolling",
  mns: "rolling",
  amqp: "recreating",
  azureEventsHub: "recreating",
  azureServiceBus: "recreating",
  calendar: "recreating",
  emitter: "recreating",
  file: "recreating",
  generic: "recreating",
  hdfs: "recreating",
  kafka: "recreating",
  minio: "recreating",
  mqtt: "recreating",
  nats: "recreating",
  nsq: "recreating",
  pubSub: "recreating",
  pulsar: "recreating",
  redis: "recreating",
  redisStream: "recreating",
  sftp: "recreating",
} as const;

/** How Argo deploys a source. */
export type SourceClass = (typeof SOURCES)[keyof typeof SOURCES];
export const SOURCE_CLASSES: readonly SourceClass[] = ["rolling", "recreating"];

/** The types of sources, as an EventSource names them. */
export const SOURCE_TYPES = Object.keys(SOURCES) as readonly (keyof typeof SOURCES)[];

/** The class of a type of sources. */
export function classOfSource(type: string): SourceClass {
  return SOURCES[type as keyof typeof SOURCES];
}
