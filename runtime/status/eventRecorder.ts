import { fingerprint } from "../fingerprint";
import type { KubernetesClient } from "../kubernetes/client";
import { isApiError } from "../kubernetes/errors";
import type { KubernetesObject, ObjectName } from "../kubernetes/objects";
import type { Resource } from "../kubernetes/resource";
import { microTimeOf } from "../kubernetes/time";
import { clean, withRun } from "./conditions";

/** Something to tell of an object, for `kubectl describe` and `kubectl events`. */
export interface ObjectEvent {
  readonly type: "Normal" | "Warning";
  /** One word in CamelCase. */
  readonly reason: string;
  readonly note: string;
  /** The name of the Workflow that tells more, where there is one. */
  readonly run?: string | undefined;
  /** What was done, in one word. @default "Reconcile" */
  readonly action?: string;
}

/** What an event says of the object that it is about. */
export type Regarded = Pick<KubernetesObject, "apiVersion" | "kind"> & {
  readonly metadata: ObjectName & { readonly uid: string };
};

/** What an {@link EventRecorder} works with. */
export interface EventRecorderOptions {
  readonly client: KubernetesClient;
  /** Who reports: "argosy/argosy.memcached". */
  readonly controller: string;
  /** Which process of it: the pod's name. */
  readonly instance: string;
  /** Resolves when an event may be written that has waited since then, on the monotonic clock. @default at once */
  readonly turn?: (since: number) => Promise<void>;
  /** Called for each event that could not be written, or had to be dropped. */
  readonly onDrop: (error: Error) => void;
}

const EVENTS: Resource = {
  apiVersion: "events.k8s.io/v1",
  kind: "Event",
  plural: "events",
  namespaced: true,
};
/** An equal event within this time counts up the first one. The API server keeps events for an hour by itself. */
const SAME_EVENT_MS = 30 * 60_000;
/** Events of one object that are written at once, and how often a further one is: a loop must not flood etcd. */
const BURST_PER_OBJECT = 10;
const REFILL_MS = 60_000;
/** What waits to be written; beyond it the newest is dropped. An event never delays a reconcile. */
const LONGEST_BACKLOG = 1_000;
/** The longest note that the API takes (events.k8s.io/v1). */
const LONGEST_NOTE = 1024;

interface Series {
  readonly name: string;
  readonly until: number;
  count: number;
}

/**
 * Writes Kubernetes Events beside the work: equal ones are counted in one object, the rate is bounded per object,
 * and what cannot be written is dropped.
 */
export class EventRecorder {
  private readonly series = new Map<string, Series>();
  private readonly tokens = new Map<string, { left: number; at: number }>();
  private backlog = 0;
  private tail: Promise<void> = Promise.resolve();

  constructor(private readonly options: EventRecorderOptions) {}

  /** Records an event about `object`. */
  record(object: Regarded, event: ObjectEvent): void {
    if (this.backlog >= LONGEST_BACKLOG)
      return this.options.onDrop(new Error("too many events wait to be written"));
    if (!this.takeToken(object.metadata.uid))
      return this.options.onDrop(new Error("too many events of one object"));
    this.backlog++;
    // What waits must not hold on to the object, which may have a megabyte.
    const { apiVersion, kind, metadata } = object;
    const { name, namespace, uid } = metadata;
    const regarded: Regarded = { apiVersion, kind, metadata: { name, namespace, uid } };
    const short = { ...event, note: event.note.slice(0, 4 * LONGEST_NOTE) };
    const since = performance.now();
    // One after another: events must not compete with the reconciles for the API server.
    this.tail = this.tail
      .then(() => this.options.turn?.(since))
      .then(() => this.write(regarded, short))
      .catch((error: Error) => this.options.onDrop(error))
      .finally(() => this.backlog--);
  }

  /** Resolves when all that was recorded has been written or dropped. */
  flush(): Promise<void> {
    return this.tail;
  }

  private async write(object: Regarded, event: ObjectEvent): Promise<void> {
    const namespace = object.metadata.namespace ?? "default";
    const note = clean(event.note, LONGEST_NOTE - withRun("", event.run).length);
    // Without the run: what happens again and again is one series, which names the first run of it.
    const key = fingerprint([object.metadata.uid, event.type, event.reason, event.note]);
    const now = microTimeOf(new Date());
    const known = this.series.get(key);
    if (known && known.until > Date.now()) {
      known.count++;
      const series = { count: known.count, lastObservedTime: now };
      try {
        await this.options.client.mergePatch(EVENTS, { namespace, name: known.name }, { series });
        return;
      } catch (error) {
        // The API server forgets events: then this one begins a new series.
        if (!isApiError(error, 404)) throw error;
      }
    }
    const name = `${object.metadata.name.slice(0, 200).replace(/[^a-z0-9]+$/, "")}.${fingerprint([key, now])
      .toLowerCase()
      .replace(/[^a-z0-9]/g, "")}`;
    await this.options.client.create(EVENTS, {
      apiVersion: EVENTS.apiVersion,
      kind: EVENTS.kind,
      metadata: { name, namespace },
      type: event.type,
      reason: event.reason,
      note: withRun(note, event.run),
      action: event.action ?? "Reconcile",
      eventTime: now,
      reportingController: this.options.controller,
      reportingInstance: this.options.instance,
      regarding: {
        apiVersion: object.apiVersion,
        kind: object.kind,
        name: object.metadata.name,
        uid: object.metadata.uid,
        ...(object.metadata.namespace && { namespace }),
      },
    });
    this.remember(key, { name, until: Date.now() + SAME_EVENT_MS, count: 1 });
  }

  private remember(key: string, series: Series): void {
    this.series.delete(key);
    this.series.set(key, series);
    // In the order of insertion, so the first are the first to be over.
    for (const [old, { until }] of this.series) {
      if (until > Date.now() && this.series.size <= LONGEST_BACKLOG) break;
      this.series.delete(old);
    }
  }

  private takeToken(uid: string): boolean {
    const now = Date.now();
    const bucket = this.tokens.get(uid) ?? { left: BURST_PER_OBJECT, at: now };
    const left = Math.min(BURST_PER_OBJECT, bucket.left + (now - bucket.at) / REFILL_MS);
    if (left < 1) return false;
    this.tokens.delete(uid);
    this.tokens.set(uid, { left: left - 1, at: now });
    for (const [old, { at }] of this.tokens) {
      if (now - at < BURST_PER_OBJECT * REFILL_MS) break;
      this.tokens.delete(old);
    }
    return true;
  }
}
