import type { WriteScope } from "../children/childApplier";
import type { DueSchedule } from "../handler/contract";
import type { KubernetesClient } from "../kubernetes/client";
import type { KubernetesObject } from "../kubernetes/objects";
import type { Resource } from "../kubernetes/resource";
import type { Memory } from "../memory/memory";
import type { Progress } from "../memory/rememberedChildren";
import { type TraceContext, traceparentOf } from "../traces/context";
import type { KnownObjects } from "../watch/customResources";
import type { Arrival } from "../work/arrivals";
import { ObjectGoneError } from "./errors";
import type { ReconcileReport } from "./report";
import type { Timeline } from "./timeline";

/** On whose behalf one reconcile works. */
export interface Mandate {
  /** A client whose writes are fenced by the term of leadership. */
  readonly client: KubernetesClient;
  /** Throws if the term has ended. */
  readonly assert: () => void;
  /** Schedules that somebody starts by hand, instead of at their own times. @default none */
  readonly due?: readonly DueSchedule[] | undefined;
  /** Called when the handler has given an answer that is not large. The rest of the reconcile waits only for the API server. */
  readonly onAnswer?: () => void;
  /** How the run came about. @default nobody noted that */
  readonly arrival?: Arrival | undefined;
  /** The trace that the run belongs to. @default none */
  readonly trace?: TraceContext | undefined;
}

/** A report that is still being written. */
export type Draft = { -readonly [Key in keyof ReconcileReport]: ReconcileReport[Key] } & {
  changes: ReconcileReport["changes"][number][];
};

/** The options of a {@link Run}. */
export interface RunOptions {
  /** The custom resource's kind. */
  readonly resource: Resource;
  readonly objects: KnownObjects;
  /** Takes the values of Secrets out of a text. */
  readonly scrubber: { text(text: string): string };
}

/**
 * One reconcile of one object: its report, and the client for its requests.
 *
 * Guarantee (tests/unit/reconcile.test.ts, reconcileFinalizers.test.ts): no request of the run leaves if we no longer lead, or if the object is known to
 * be gone. An object that was being deleted when the run began is finalized all the same.
 */
export class Run implements WriteScope {
  readonly client: KubernetesClient;
  readonly namespace: string | undefined;
  readonly masked = (text: string) => this.options.scrubber.text(text);
  /** How far the run came with the children of the answer. */
  progress: Progress = { waiting: [], reached: new Map() };

  constructor(
    private readonly object: KubernetesObject,
    /** The memory of the object from before the run. Only the first look at a schedule changes it. */
    public memory: Memory,
    private readonly mandate: Mandate,
    private readonly options: RunOptions,
    readonly report: Draft,
    readonly timeline: Timeline,
  ) {
    const { name, namespace, uid, deletionTimestamp } = object.metadata;
    const isBeingDeleted = deletionTimestamp !== undefined;
    this.namespace = namespace;
    this.client = mandate.client.with({
      class: "work",
      share: uid,
      fence: () => {
        mandate.assert();
        if (!isBeingDeleted && options.objects.isGoing({ name, namespace }, uid)) throw new ObjectGoneError();
      },
    });
  }

  /** Schedules that somebody starts by hand. */
  get startedByHand(): readonly DueSchedule[] {
    return this.mandate.due ?? [];
  }

  /** The trace of the run, in the form that the handler gets. Undefined if there is none. */
  get traceparent(): string | undefined {
    return this.mandate.trace && traceparentOf(this.mandate.trace);
  }

  /** The handler has given an answer that is not large. */
  answered(): void {
    this.mandate.onAnswer?.();
  }

  /**
   * The same scope, for children that are ready as soon as they exist. In a burst their requests wait for those of other objects
   * whose children take long to become ready.
   */
  get unhurried(): WriteScope {
    const { client, namespace, masked } = this;
    return {
      client: client.with({ class: "instant" }),
      namespace,
      masked,
      confirmOwner: () => this.confirmOwner(),
    };
  }

  async confirmOwner(): Promise<void> {
    const { resource, objects } = this.options;
    const now = await this.client.get(resource, this.object.metadata);
    if (now?.metadata.uid !== this.object.metadata.uid || now.metadata.deletionTimestamp)
      throw new ObjectGoneError();
    objects.learn(now);
  }
}

/** The error of a term that has ended. Undefined if it has not. The next leader finds out what went wrong in the term. */
export function whyEnded(mandate: Mandate): unknown {
  try {
    mandate.assert();
    return undefined;
  } catch (error) {
    return error;
  }
}
