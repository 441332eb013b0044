// Its parts, each with the parts that it uses.
import { fieldManagerOf, leaseNameOf } from "../base/names";
import { countedEachMinute, onceAMinute } from "../base/notices";
import { type KubernetesObject, keyOf } from "../base/objects";
import type { Resource } from "../base/resource";
import type { HandlerEvent } from "../handler/contract";
import type { HandlerPool } from "../handler/handlerPool";
import type { KubernetesClient } from "../kubernetes/client";
import { leaseApi } from "../leadership/lease";
import type { Emit } from "../observe/news";
import { type GatheredUse, gatherUsed } from "../observe/uses/used";
import { Reconciler } from "../reconcile/reconciler";
import type { ReconcileReport } from "../reconcile/report";
import { StandingAnswers } from "../reconcile/standingAnswers";
import { Trials } from "../reconcile/trial";
import { StatusMemories, StatusWriter } from "../remember/statusMemories";
import { EventWriter } from "../report/eventWriter";
import { Outbox } from "../report/outbox";
import { Teller } from "../report/teller";
import { CHILDREN_CHANGED_BACK, Contests, CYCLE } from "../when/contests";
import { Pace, Resync } from "../when/resync";
import { Wakeups } from "../when/wakeups";
import { HeapBudget, Workers } from "../when/workers";
import { WorkQueue } from "../when/workQueue";
import { ChildWriter } from "../write/childWriter";
import { Dispatcher } from "./dispatch/dispatcher";
import type { EngineOptions } from "./engineOptions";
import { Leading } from "./leading";
import type { Metrics } from "./metrics";
import { NewsReceiver } from "./newsReceiver";
import { ObjectWork, ReconcileRequests } from "./objectWork";
import { Orphans } from "./orphans";
import { StagedRollout } from "./stagedRollout";
import { Watches } from "./watches";

/**
 * For each handler that may be asked at once, at most this many objects may be between the handler's answer and the end of their
 * writes. Their answers are held in memory.
 */
export const AT_WORK_FOR_EACH_HANDLER = 16;

/** How many objects are looked at at once, if runs in pods reconcile them. */
const LOOKS_AT_ONCE = 8;

/**
 * How often a change of an object that we do not own may lead to a run. Custom resources change when a user wants something. The
 * status of a Deployment changes many times in a roll-out, and other kinds change for ever.
 */
const RATE_OF_OTHERS = { burst: 5, refillMs: 2_000 };

/** Given to the handler of an operator without uses. */
const NOTHING_USED: GatheredUse = { used: {}, warnings: [], secrets: [] };

/** The parts of an engine that its callers use. */
export type Parts = ReturnType<typeof compose>;

/**
 * Builds the parts of an engine when the kind of its objects is known, each with the parts that it uses. None of them does anything
 * before `watches.start()` and `leading.start()`.
 * @param pool undefined if runs in pods ask the handler
 * @param interrupted called when a watch was interrupted, or the cluster does not serve a kind
 */
export function compose(
  { operator, namespace, identity, recorder, traces, ...options }: EngineOptions,
  resource: Resource,
  client: KubernetesClient,
  pool: HandlerPool | undefined,
  metrics: Metrics,
  interrupted: (kind: string, error: Error) => void,
) {
  const isOurs = operator.watch === undefined;
  const resyncMs = operator.resyncSeconds * 1000;
  const notice = (text: string): void => options.onNotice?.(text);
  const noticeSometimes = onceAMinute(notice);
  const tellDropped = countedEachMinute((counts) => {
    const [[only = ""] = [], ...others] = counts;
    if (others.length === 0 && counts.get(only) === 1) return notice(`an Event is not written: ${only}`);
    notice(`Events are not written: ${[...counts].map(([kind, count]) => `${count} ${kind}`).join("; ")}`);
  });
  const eventDropped = (why: string, event: string): void => {
    metrics.droppedEvents.inc();
    tellDropped(`${event}, since ${why}`);
  };
  const isLeading = () => leading.isLeading;
  const emit: Emit = (news) => receiver.receive(news);

  // What is known.
  const watches = new Watches({
    client,
    operator,
    resource,
    namespace,
    emit,
    onInterruption: interrupted,
    isActive: isLeading,
    usedPollMs: options.usedPollMs,
  });
  const { objects, children, childResources, completeness } = watches;

  // What is due.
  const queue = new WorkQueue({ longestWaitMs: resyncMs, ...(!isOurs && { rateLimit: RATE_OF_OTHERS }) });
  const contests = { children: new Contests(CHILDREN_CHANGED_BACK), uses: new Contests(CYCLE) };
  const requests = new ReconcileRequests();
  const wakeups = new Wakeups({
    queue,
    wake: () => workers.wake(),
    objects,
    names: () => watches.names(),
    contests,
    isOurs,
    isLeading,
    requests,
  });

  // What is done.
  const fieldManager = fieldManagerOf(operator);
  const writer = new ChildWriter(children, operator.namespaces !== "all");
  const memories =
    watches.memories ??
    new StatusMemories(
      new StatusWriter({ resource, fieldManager, schema: operator.customResource.statusSchema }),
      objects,
    );
  const { memories: ofOthers } = watches;
  const rollout: StagedRollout | undefined =
    operator.rollout && (!pool || options.program !== undefined)
      ? new StagedRollout({
          policy: operator.rollout,
          resource,
          program: () => (pool ? options.program : dispatcher?.runs.program),
          objects: () =>
            objects.names().flatMap((name) => {
              const uid = objects.uidOf(name);
              return uid === undefined ? [] : [{ uid, key: keyOf(name) }];
            }),
          areKnown: () => watches.areKnown,
          isReady: ofOthers && ((object) => ofOthers.isReady(object)),
          leadership: () => leading.leadership,
          put: (name, message) => outbox.put(name, message),
          emit,
          notice,
        })
      : undefined;
  const working = {
    operator,
    resource,
    childResources,
    objects,
    children,
    writer,
    memories,
    others: watches.memories && {
      memories: watches.memories,
      objects,
      assertSeen: completeness.assertSeen,
      isBlind: false,
    },
    used: async (object: KubernetesObject, event: HandlerEvent) =>
      watches.used ? gatherUsed(operator, object, event, watches.used) : NOTHING_USED,
    isFollowed: completeness.isFollowed,
    whyUnknown: completeness.whyUnknown,
    whyNot: completeness.whyNot,
    recordOf: recorder && ((report: ReconcileReport) => recorder.recordOf(report)?.name),
    rollout,
  };
  const standing =
    pool && operator.ask === "changed"
      ? new StandingAnswers((exceptions) => void leading.leadership.markAsked(exceptions))
      : undefined;
  const reconciler = pool
    ? new Reconciler({ ...working, pool, standing })
    : new Dispatcher({
        ...working,
        client,
        namespace,
        instanceId: options.runs?.instanceId ?? "",
        emit,
        isLeading,
        onInterruption: interrupted,
      });
  const dispatcher: Dispatcher | undefined = reconciler instanceof Dispatcher ? reconciler : undefined;
  const orphans = isOurs
    ? new Orphans({
        store: children,
        writer,
        objects,
        wouldShow: (name) => watches.wouldShow(name),
        isFollowed: completeness.isFollowed,
        masked: reconciler.masked,
        notice,
      })
    : undefined;

  // What is reported.
  const events = new EventWriter({
    controller: fieldManager,
    instance: options.instance ?? identity,
    onDrop: () => metrics.droppedEvents.inc(),
  });
  const outbox = new Outbox({
    teller: new Teller(memories, events, recorder?.write),
    join: recorder?.join ?? ((_, later) => later),
    onDrop: (what, why, event = "") => (what === "event" ? eventDropped(why, event) : recorder?.drop(why)),
    onFault: (uid, frames) => noticeSometimes(`the report about the object ${uid} failed: ${frames}`),
  });
  if (recorder) metrics.observeRecording(recorder, outbox);
  const receiver = new NewsReceiver({
    resource,
    watches,
    wakeups,
    reconciler,
    outbox,
    orphans,
    rollout,
    isLeading,
    onListed: () => leading.objectsListed(),
    notice,
    onChange: options.onChange,
    onGone: options.onGone,
  });

  // Who works, and when.
  const work = new ObjectWork({
    client,
    resource,
    watches,
    queue,
    contests,
    requests,
    heapBudget: new HeapBudget((key) => emit({ kind: "has room", key }), options.heapBudget),
    reconciler,
    rollout,
    outbox,
    recorder,
    traces,
    metrics,
    term: () => leading.term,
    notice,
    onReport: options.onReport,
  });
  const workers = new Workers({
    queue,
    // A look at an object that begins runs waits for nothing but the API server.
    concurrency: pool ? operator.concurrency : LOOKS_AT_ONCE,
    mostAtWork: operator.concurrency * AT_WORK_FOR_EACH_HANDLER,
    work: work.do,
    onFault: (key, frames) => notice(`${key}: ${frames}`),
  });
  const resync = new Resync({
    periodMs: resyncMs,
    relist: () => {
      orphans?.look();
      return watches.resync();
    },
    keys: () => watches.names().map(keyOf),
    add: (key) => emit({ kind: "resync turn", key }),
    pace: new Pace(() => queue.depth),
  });
  const leading: Leading = new Leading({
    client,
    lease: leaseApi(client, namespace, leaseNameOf(operator)),
    identity,
    leaseSeconds: options.leaseSeconds,
    program: standing && options.program,
    standing,
    rollout,
    keys: () => (watches.areListed ? watches.names().map(keyOf) : undefined),
    queue,
    workers,
    abandon: (reason) => pool?.abandon(reason),
    resync,
    requests,
    refresh: (isRestored) => {
      // A watch that went on from a version which the API server has passed again reports no change from before.
      if (isRestored) watches.resync().catch(() => {});
      return Promise.all([watches.refreshObjects(), dispatcher?.beginTerm()]);
    },
    outbox,
    orphans,
    emit,
    notice,
  });
  const trials = pool && new Trials({ operator, childResources, pool });
  return {
    watches,
    queue,
    contests,
    requests,
    wakeups,
    reconciler,
    standing,
    dispatcher,
    rollout,
    workers,
    leading,
    resync,
    trials,
    emit,
  };
}
