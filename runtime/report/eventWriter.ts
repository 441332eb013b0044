import { monotonicNow } from "../base/clock";
import { fingerprint, fingerprintForName } from "../base/json";
import { KeyedRateLimiter, Recent } from "../base/limits";
import { type Manifest, microTimeOf, type ObjectName } from "../base/objects";
import type { TypeMeta } from "../base/resource";
import { clean, cutBytes } from "../base/text";
import type { KubernetesClient } from "../kubernetes/client";
import { builtIn } from "../kubernetes/discovery";
import { isApiError } from "../kubernetes/errors";
import type { ObjectEvent } from "../reconcile/report";
import { withRun } from "../remember/composeStatus";

/** What an {@link EventWriter} needs of a client. */
export type EventClient = Pick<KubernetesClient, "create" | "mergePatch">;

/** An equal event within this time increases the count of the first one. The API server keeps events for an hour. */
const SAME_EVENT_MS = 30 * 60_000;
/**
 * Ten Normal Events and ten Warnings about one object are written at once, and after that one of each a minute. A loop must not
 * flood etcd, and an object that keeps changing must not lose its Warnings.
 */
export const RATE_LIMIT = { burst: 10, refillMs: 60_000 };
/**
 * How many series are remembered. If more objects fail in turn, each try of each of them makes an Event of its own, which the API
 * server keeps for an hour.
 */
const MOST_SERIES = 10_000;

interface Series {
  readonly name: string;
  count: number;
}

/** Writes Kubernetes Events. Equal ones about one object are counted in one Event. The rate of each type is bounded. */
export class EventWriter {
  private readonly series: Recent<Series>;
  private readonly limiter: KeyedRateLimiter;

  constructor(
    private readonly options: {
      /** Who reports: "argosy/argosy.memcached". */
      readonly controller: string;
      /** Which of its processes reports: the pod's name. */
      readonly instance: string;
      /** Called for each event that is dropped because there are too many about one object. */
      readonly onDrop: (reason: string) => void;
      /** A monotonic clock, in milliseconds. @default performance.now */
      readonly now?: () => number;
    },
  ) {
    const { now = monotonicNow } = options;
    this.limiter = new KeyedRateLimiter(RATE_LIMIT, now);
    this.series = new Recent({ keptMs: SAME_EVENT_MS, most: MOST_SERIES, now });
  }

  /**
   * Writes an event about `object`, or counts it.
   * @throws ApiError, ApiUnreachableError
   */
  async write(client: EventClient, object: Regarded, event: ObjectEvent): Promise<void> {
    const key = `${object.metadata.uid} ${event.type}`;
    if (this.limiter.tryAccept(key) > 0) return this.options.onDrop("too many events of one object");
    try {
      await this.send(client, object, event);
    } catch (error) {
      // The write is tried again. While the API server is away, the tries must not use up the rate of the Event itself.
      this.limiter.cancel(key);
      throw error;
    }
  }

  private async send(client: EventClient, object: Regarded, event: ObjectEvent): Promise<void> {
    const namespace = namespaceOfEvents(object);
    const { annotations } = event;
    const note = cutBytes(clean(event.note), LONGEST_NOTE - Buffer.byteLength(withRun("", event.run)));
    // The key does not contain the run, so that the same Event again and again is one series. The series names its first run.
    const key = fingerprint([object.metadata.uid, event.type, event.reason, event.note]);
    const now = microTimeOf(new Date());
    const known = this.series.get(key);
    if (known) {
      const count = known.count + 1;
      const series = { count, lastObservedTime: now };
      try {
        const patch = { series, ...(annotations && { metadata: { annotations } }) };
        await client.mergePatch(EVENTS, { namespace, name: known.name }, patch);
        // A write that failed is tried again, and is still one Event.
        known.count = count;
        return;
      } catch (error) {
        // The API server has forgotten the event: a new series begins.
        if (!isApiError(error, 404)) throw error;
      }
    }
    const name = `${readable(object.metadata.name)}${fingerprintForName([key, now])}`;
    const { controller, instance } = this.options;
    const { type, reason, action = "Reconcile" } = event;
    const said = { type, reason, note: withRun(note, event.run), action, annotations };
    await client.create(EVENTS, eventAbout(object, { name, controller, instance, ...said }));
    this.series.set(key, { name, count: 1 });
  }
}

/**
 * The beginning of an Event's name, for readers. An Event's name is a DNS subdomain, but objects of some kinds have other names:
 * "system:reader" is a ClusterRole.
 */
function readable(name: string): string {
  const parts = name.slice(0, 200).toLowerCase().split(".");
  const labels = parts.map((part) => part.replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, ""));
  return labels
    .filter((label) => label !== "")
    .map((label) => `${label}.`)
    .join("");
}

/** The kind of Kubernetes Events. */
export const EVENTS = builtIn("events.k8s.io/v1", "Event");
/** The longest note that the API takes, in bytes of UTF-8 (kubernetes, pkg/apis/core/validation/events.go: NoteLengthLimit). */
export const LONGEST_NOTE = 1024;
/** The namespace of Events about objects without a namespace (kubernetes, pkg/apis/core/validation/events.go). */
const NAMESPACE_OF_OTHERS = "default";

/** The object that an Event is about, as the Event names it. */
export type Regarded = TypeMeta & {
  readonly metadata: ObjectName & { readonly uid: string };
};

/** The content of an Event, whose note has at most {@link LONGEST_NOTE} bytes, and its reporter: see {@link EventWriter}. */
interface EventContent extends Pick<ObjectEvent, "type" | "reason" | "note" | "annotations"> {
  readonly name: string;
  readonly action: string;
  readonly controller: string;
  readonly instance: string;
}

/** The namespace of Events about an object. */
export function namespaceOfEvents({ metadata }: Pick<Regarded, "metadata">): string {
  return metadata.namespace ?? NAMESPACE_OF_OTHERS;
}

/** An Event about an object, that happens now. */
export function eventAbout(regarded: Regarded, content: EventContent): Manifest {
  const { apiVersion, kind, metadata } = regarded;
  const { name: own, annotations, controller, instance, ...said } = content;
  const { name, uid, namespace } = metadata;
  return {
    apiVersion: EVENTS.apiVersion,
    kind: EVENTS.kind,
    metadata: { name: own, namespace: namespaceOfEvents(regarded), ...(annotations && { annotations }) },
    ...said,
    eventTime: microTimeOf(new Date()),
    reportingController: controller,
    reportingInstance: instance,
    regarding: { apiVersion, kind, name, uid, ...(namespace && { namespace }) },
  };
}
