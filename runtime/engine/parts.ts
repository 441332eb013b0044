import type { Child } from "../children/childStore";
import { Orphans } from "../children/orphans";
import type { HandlerPool } from "../handler/handlerPool";
import type { Resource } from "../kubernetes/resource";
import { MemoryObjects } from "../memory/memoryObjects";
import { Outbox } from "../outbox/outbox";
import type { Recorder } from "../outbox/recorder";
import type { Teller } from "../outbox/teller";
import type { Reconciler } from "../reconcile/reconciler";
import type { ReconcileRequests } from "../reconcile/requests";
import { Trials } from "../reconcile/trial";
import { onceAMinute } from "../text/notices";
import { gatherUsed } from "../uses/used";
import type { Alarms } from "../work/alarms";
import type { Arrivals } from "../work/arrivals";
import type { Triggers } from "../work/triggers";
import type { WorkQueue } from "../work/workQueue";
import type { Metrics } from "./metrics";
import { newReconcileParts } from "./reconcileParts";
import { Watches, type WatchesOptions } from "./watches";

/** The parts that decide what an engine works on and when. They exist from its beginning. */
export interface WorkParts {
  readonly queue: WorkQueue;
  readonly triggers: Triggers;
  readonly arrivals: Arrivals;
  readonly requests: ReconcileRequests;
  readonly alarms: Alarms;
  /** The parts that know the cluster. Throws until the custom resource's kind is known: nothing is watched or worked on before. */
  readonly parts: () => Parts;
  /** Called with a notice that no object shows, but that a user should know. */
  readonly notice: (text: string) => void;
}

/** The parts of which {@link Parts} are built. */
export interface PartsOptions extends WatchesOptions {
  readonly pool: HandlerPool;
  readonly metrics: Metrics;
  readonly recorder: Recorder | undefined;
  /** The reporting instance in Kubernetes Events. */
  readonly instance: string;
  /** Called with what goes wrong beside the work. */
  readonly notice: (text: string) => void;
}

/** The parts of an engine that exist once the custom resource's kind is known. */
export interface Parts {
  readonly resource: Resource;
  readonly watches: Watches;
  readonly reconciler: Reconciler;
  readonly outbox: Outbox;
  /** Undefined if the objects are not ours: `Departures` clean up after them. */
  readonly orphans: Orphans | undefined;
  readonly trials: Trials;
}

/** Builds the parts that know the cluster, change it, and report. */
export function newParts(options: PartsOptions): Parts {
  const { operator, resource, pool, recorder, metrics, instance, notice } = options;
  const watches = new Watches(options);
  const { objects, children, childResources, completeness } = watches;
  const isFollowed = (child: Child) => completeness.isFollowed(child);
  const { reconciler, writer, teller } = newReconcileParts({
    operator,
    resource,
    childResources,
    pool,
    objects,
    read: (name) => objects.read(name),
    children,
    lastMemoryOf: (object) => objects.lastMemoryOf(object),
    memoryObjects: memoryObjectsOf(watches, options),
    sight: { objects, completeness, isBlind: false },
    used: (object, event) => gatherUsed(operator, object, event, watches.used),
    isFollowed,
    whyUnknown: (kind) => completeness.whyUnknown(kind),
    whyNot: (...about) => completeness.whyNot(...about),
    recordOf: (report) => recorder?.recordOf(report)?.name,
    record: recorder?.write,
    instance,
    onEventDropped: () => metrics.eventDropped(),
  });
  return {
    resource,
    watches,
    reconciler,
    outbox: newOutbox(teller, options),
    orphans: operator.watch
      ? undefined
      : new Orphans({
          store: children,
          writer,
          ownerKind: resource,
          objects,
          wouldShow: (name) => watches.wouldShow(name),
          isFollowed,
          masked: (text) => reconciler.masked(text),
          notice,
        }),
    trials: new Trials({ operator, childResources, pool }),
  };
}

/** The memories of objects that we do not own. Undefined if we own the objects. */
function memoryObjectsOf(
  { memories, objects }: Watches,
  { operator, resource, namespace }: PartsOptions,
): MemoryObjects | undefined {
  if (!memories) return undefined;
  // It includes objects that the watch has not brought yet.
  const isThere = (uid: string) => objects.removedAt(uid) === undefined;
  return new MemoryObjects({ operator, resource, namespace, known: memories, isThere });
}

function newOutbox(teller: Teller, { metrics, recorder, notice }: PartsOptions): Outbox {
  const tell = onceAMinute(notice);
  const eventDropped = (reason: string) => {
    metrics.eventDropped();
    tell(`an Event is not written: ${reason}`);
  };
  const outbox = new Outbox({
    teller,
    join: recorder?.join ?? ((_, later) => later),
    onDrop: (what, reason) => (what === "event" ? eventDropped(reason) : recorder?.drop(reason)),
  });
  if (recorder) metrics.observeRecording(recorder, outbox);
  return outbox;
}
