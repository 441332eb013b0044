import { fingerprint, fingerprintForName } from "../json/fingerprint";
import type { KubernetesClient } from "../kubernetes/client";
import { isApiError } from "../kubernetes/errors";
import { EVENTS, eventAbout, LONGEST_NOTE, namespaceOfEvents, type Regarded } from "../kubernetes/events";
import { microTimeOf } from "../kubernetes/objects";
import { KeyedRateLimiter } from "../limits/rateLimiter";
import { Recent } from "../limits/recent";
import type { ObjectEvent } from "../reconcile/outcome";
import { withRun } from "../status/conditions";
import { clean } from "../text/clean";
import { cutBytes } from "../text/cut";

/** What an {@link EventWriter} needs of a client. */
export type EventClient = Pick<KubernetesClient, "create" | "mergePatch">;

/** How an {@link EventWriter} writes. */
export interface EventWriterOptions {
  /** Who reports: "argosy/argosy.memcached". */
  readonly controller: string;
  /** Which of its processes reports: the pod's name. */
  readonly instance: string;
  /** Called for each event that is dropped because there are too many about one object. */
  readonly onDrop: (reason: string) => void;
  /** A monotonic clock, in milliseconds. @default performance.now */
  readonly now?: () => number;
}

/** An equal event within this time increases the count of the first one. The API server keeps events for an hour. */
const SAME_EVENT_MS = 30 * 60_000;
/**
 * Ten Normal Events and ten Warnings about one object are written at once, and after that one of each a minute. A loop must not
 * flood etcd, and an object that changes all the time must not lose its Warnings.
 */
const RATE_LIMIT = { burst: 10, refillMs: 60_000 };
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

  constructor(private readonly options: EventWriterOptions) {
    const { now = () => performance.now() } = options;
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
    const note = cutBytes(clean(event.note), LONGEST_NOTE - Buffer.byteLength(withRun("", event.run)));
    // The key does not contain the run, so that the same Event again and again is one series. The series names its first run.
    const key = fingerprint([object.metadata.uid, event.type, event.reason, event.note]);
    const now = microTimeOf(new Date());
    const known = this.series.get(key);
    if (known) {
      const count = known.count + 1;
      const series = { count, lastObservedTime: now };
      try {
        await client.mergePatch(EVENTS, { namespace, name: known.name }, { series });
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
    const content = { name, type, reason, note: withRun(note, event.run), action, controller, instance };
    await client.create(EVENTS, eventAbout(object, content));
    this.series.set(key, { name, count: 1 });
  }
}

/**
 * The beginning of an Event's name, for people. An Event's name is a DNS subdomain, but objects of some kinds have other names:
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
