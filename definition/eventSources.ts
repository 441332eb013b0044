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

const ANSWERED = "the sender gets a 500";
const KEPT = "it stays in its queue and is delivered again";
const LOST = "it is lost";
const MISSED = "it is lost, and so is what arrives while the source does not run";

/** What becomes of an event that the bus does not accept (argo-events 1.9, pkg/eventsources/sources, start.go of each type). */
const WITHOUT_A_BUS: Readonly<Record<keyof typeof SOURCES, string>> = {
  webhook: ANSWERED,
  github: ANSWERED,
  gitlab: ANSWERED,
  bitbucket: ANSWERED,
  bitbucketserver: ANSWERED,
  gerrit: ANSWERED,
  slack: ANSWERED,
  stripe: ANSWERED,
  sns: ANSWERED,
  storageGrid: ANSWERED,
  sqs: KEPT,
  azureQueueStorage: KEPT,
  pubSub: KEPT,
  nsq: KEPT,
  azureServiceBus: `with deferDelete: true ${KEPT}, otherwise ${LOST}`,
  redisStream: "it stays pending and is read again when the source starts",
  kafka: `with consumerGroup it is not marked, and lost if a later one of its partition is marked before it is read again; without, ${MISSED}`,
  pulsar: LOST,
  mns: LOST,
  amqp: LOST,
  azureEventsHub: MISSED,
  nats: MISSED,
  redis: MISSED,
  mqtt: MISSED,
  emitter: MISSED,
  minio: MISSED,
  file: MISSED,
  sftp: MISSED,
  hdfs: MISSED,
  calendar: LOST,
  generic: LOST,
};

/** What an author should know of a type of sources: a sentence. */
export function aboutSource(type: keyof typeof SOURCES): string {
  return `One of Argo's event sources, in Argo's own form. If the bus does not accept an event, ${WITHOUT_A_BUS[type]}.`;
}

/** The class of a type of sources. */
export function classOfSource(type: string): SourceClass {
  return SOURCES[type as keyof typeof SOURCES];
}
