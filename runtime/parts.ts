import { ChildWriter } from "./children/childWriter";
import { ownManagers } from "./children/marks";
import { Orphans } from "./children/orphans";
import type { Operator } from "./definition/definition";
import type { HandlerPool } from "./handler/handlerPool";
import type { KubernetesClient } from "./kubernetes/client";
import type { Resource } from "./kubernetes/resource";
import type { Metrics } from "./metrics";
import { fieldManagerOf, formerManagersOf } from "./names";
import { EventWriter } from "./outbox/eventWriter";
import { Outbox } from "./outbox/outbox";
import type { Recorder } from "./outbox/recorder";
import { Teller } from "./outbox/teller";
import { KeptMemories } from "./reconcile/keptMemories";
import { type Memories, statusMemories } from "./reconcile/memories";
import { Reconcile } from "./reconcile/reconcile";
import { Trials } from "./reconcile/trials";
import { Statuses } from "./status/statuses";
import { StatusWriter } from "./status/statusWriter";
import { gatherUsed } from "./uses/used";
import { Watches, type WatchesOptions } from "./watches";

/** The parts of which {@link Parts} are built, and the callbacks of their watches. */
export interface PartsOptions
  extends Pick<
    WatchesOptions,
    | "onChange"
    | "onGone"
    | "onChild"
    | "onUsed"
    | "isActive"
    | "usedPollMs"
    | "onSynced"
    | "onUnserved"
    | "onInterruption"
    | "onLost"
    | "namespace"
  > {
  readonly operator: Operator;
  /** The custom resource's kind as the API serves it. */
  readonly resource: Resource;
  readonly client: KubernetesClient;
  readonly pool: HandlerPool;
  readonly metrics: Metrics;
  readonly recorder: Recorder | undefined;
  /** The reporting instance in Kubernetes Events. */
  readonly instance: string;
}

/** The parts of an engine that exist once the custom resource's kind is known. */
export interface Parts {
  readonly resource: Resource;
  readonly watches: Watches;
  readonly reconcile: Reconcile;
  readonly outbox: Outbox;
  readonly orphans: Orphans;
  readonly trials: Trials;
}

/** Builds the parts that know the cluster, change it, and report. */
export function newParts(options: PartsOptions): Parts {
  const { operator, resource, pool, recorder } = options;
  const fieldManager = fieldManagerOf(operator);
  const formerManagers = formerManagersOf(operator);
  const managers = ownManagers(fieldManager, formerManagers);
  const watches = new Watches({ ...options, fieldManager, managers });
  const { objects, children, childResources } = watches;
  const writer = new ChildWriter({
    store: children,
    ownerKind: resource,
    fieldManager,
    formerManagers,
    isNamespaced: operator.namespaces !== "all",
  });
  const kept = keptMemories(watches, options);
  const memories = kept ?? statusMemories(newStatuses(watches, resource, fieldManager));
  const reconcile = new Reconcile({
    operator,
    resource,
    childResources,
    pool,
    objects,
    children,
    writer,
    memories,
    departures: kept && {
      resource,
      memories: kept,
      children,
      isWatched: (uid) => objects.hasUid(uid),
      isBlind: false,
      assertSeen: (name) => watches.completeness.assertSeen(name),
    },
    used: (object, event) => gatherUsed(operator, object, event, watches.used),
    recordOf: (report) => recorder?.recordOf(report)?.name,
    isFollowed: (child) => watches.completeness.isFollowed(child),
    whyUnknown: (kind) => watches.completeness.whyUnknown(kind),
    whyNot: (event, object, kinds, isElsewhere) =>
      watches.whyCycling(object) ?? watches.completeness.whyNot(event, object, kinds, isElsewhere),
  });
  const outbox = newOutbox(memories, fieldManager, options);
  return {
    resource,
    watches,
    reconcile,
    outbox,
    orphans: new Orphans({ store: children, writer }),
    trials: new Trials({ operator, childResources, pool }),
  };
}

function newStatuses({ objects }: Watches, resource: Resource, fieldManager: string): Statuses {
  return new Statuses({
    writer: new StatusWriter({ resource, fieldManager }),
    read: (name) => objects.look(name),
    learn: (object) => objects.learn(object),
  });
}

/** The memories of objects that are not ours. Undefined if the objects are ours. */
function keptMemories(
  { memories, objects }: Watches,
  { operator, resource, namespace }: PartsOptions,
): KeptMemories | undefined {
  if (!memories) return undefined;
  // One that the watch has not brought yet is there too.
  const isThere = (uid: string) => !objects.isRemoved(uid);
  return new KeptMemories({ operator, resource, namespace, shelf: memories, isThere });
}

function newOutbox(
  statuses: Memories,
  controller: string,
  { instance, metrics, recorder }: PartsOptions,
): Outbox {
  const events = new EventWriter({ controller, instance, onDrop: () => metrics.eventDropped() });
  const outbox = new Outbox({
    teller: new Teller({ statuses, events, ...(recorder && { record: recorder.write }) }),
    join: recorder?.join ?? ((_, later) => later),
    onDrop: (what, reason) => (what === "event" ? metrics.eventDropped() : recorder?.drop(reason)),
  });
  if (recorder) metrics.observeRecording(recorder, outbox);
  return outbox;
}
