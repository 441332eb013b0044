import type { WriteScope } from "../children/childApplier";
import type { DueSchedule } from "../handler/contract";
import type { KubernetesClient } from "../kubernetes/client";
import type { KubernetesObject } from "../kubernetes/objects";
import type { Resource } from "../kubernetes/resource";
import { type TraceContext, traceparentOf } from "../traces/context";
import type { KnownObjects } from "../watch/customResources";
import type { Arrival } from "../work/arrivals";
import { ObjectGoneError } from "./errors";
import type { ReconcileReport } from "./report";
import type { Timeline } from "./timeline";

/** On whose behalf one reconcile works. */
export interface ReconcileContext {
  /** A client whose requests end with the term of leadership. */
  readonly client: KubernetesClient;
  /** Throws if the term has ended. */
  readonly fence: () => void;
  /** Schedules that somebody starts by hand, instead of at their own times. @default none */
  readonly startedByHand?: readonly DueSchedule[] | undefined;
  /** Called when the handler has given an answer that is not large. The rest of the reconcile waits only for the API server. */
  readonly onAnswer?: () => void;
  /** How the reconcile came about. @default nobody noted that */
  readonly arrival?: Arrival | undefined;
  /** The trace that the reconcile belongs to. @default none */
  readonly trace?: TraceContext | undefined;
}

/** The error of a term that has ended. Undefined if it has not. The next leader finds out what went wrong in the term. */
export function whyEnded({ fence }: Pick<ReconcileContext, "fence">): unknown {
  try {
    fence();
    return undefined;
  } catch (error) {
    return error;
  }
}

/** The options of a {@link Reconciliation}. */
export interface ReconciliationOptions extends Pick<ReconcileReport, "id" | "attempt"> {
  /** The custom resource's kind. */
  readonly resource: Resource;
  readonly objects: KnownObjects;
  /** Takes the values of Secrets out of a text. */
  readonly scrubber: { text(text: string): string };
  readonly timeline: Timeline;
}

/**
 * One reconcile of one object, as its steps see it: the client for its requests, and the timeline in which the steps are noted. What
 * the steps find out, they return.
 *
 * Guarantee (tests/unit/reconcile.test.ts, reconcileFinalizers.test.ts): if we no longer lead, or if the object is known to be gone,
 * none of its requests is sent, and the handler is not asked. An object that was being deleted when it began is finalized all the
 * same.
 */
export class Reconciliation implements WriteScope {
  readonly client: KubernetesClient;
  readonly namespace: string | undefined;
  readonly timeline: Timeline;
  private confirming: Promise<void> | undefined;
  readonly masked = (text: string) => this.options.scrubber.text(text);
  /** Writes that begin together share one read: many children may have vanished at the same time. */
  readonly confirmOwner = (): Promise<void> => {
    this.confirming ??= this.readOwner().finally(() => {
      this.confirming = undefined;
    });
    return this.confirming;
  };

  constructor(
    private readonly object: KubernetesObject,
    private readonly context: ReconcileContext,
    private readonly options: ReconciliationOptions,
  ) {
    const { namespace, uid } = object.metadata;
    this.namespace = namespace;
    this.timeline = options.timeline;
    this.client = context.client.with({ class: "work", flow: uid, fence: () => this.assertMayGoOn() });
  }

  /**
   * Asks whether it may go on. Each of its requests asks this when it leaves, and so does the question to the handler.
   * @throws NotLeadingError if we no longer lead; ObjectGoneError if the object is known to be gone
   */
  assertMayGoOn(): void {
    this.context.fence();
    const { uid, deletionTimestamp } = this.object.metadata;
    if (deletionTimestamp === undefined && this.options.objects.isGoing(this.object.metadata, uid))
      throw new ObjectGoneError();
  }

  /** The id of its report. */
  get id(): string {
    return this.options.id;
  }

  /** The number of this attempt: 1, and one more for each failure since the last success. */
  get attempt(): number {
    return this.options.attempt;
  }

  /** Schedules that somebody starts by hand. */
  get startedByHand(): readonly DueSchedule[] {
    return this.context.startedByHand ?? [];
  }

  /** The trace that it belongs to, in the form that the handler gets. Undefined if there is none. */
  get traceparent(): string | undefined {
    return this.context.trace && traceparentOf(this.context.trace);
  }

  /** The handler has given an answer that is not large. */
  answered(): void {
    this.context.onAnswer?.();
  }

  /**
   * The client for children that are ready as soon as they exist. Their requests wait while children are written that take time to
   * become ready, of this object or of others.
   */
  get unhurried(): KubernetesClient {
    return this.client.with({ class: "unhurried" });
  }

  private async readOwner(): Promise<void> {
    const { resource, objects } = this.options;
    const now = await this.client.get(resource, this.object.metadata);
    if (now?.metadata.uid !== this.object.metadata.uid || now.metadata.deletionTimestamp)
      throw new ObjectGoneError();
    objects.learn(now);
  }
}
