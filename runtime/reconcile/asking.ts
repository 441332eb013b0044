import type { Operator } from "../definition/definition";
import { statusChecker } from "../definition/statusSchema";
import { askHandler } from "../handler/askHandler";
import {
  type DueSchedule,
  type HandlerAnswer,
  type HandlerEvent,
  questionAbout,
  type ReconcileAnswer,
} from "../handler/contract";
import type { HandlerPool } from "../handler/handlerPool";
import type { JsonObject, KubernetesObject } from "../kubernetes/objects";
import type { Memory } from "../memory/memory";
import type { GatheredUse } from "../uses/used";
import type { Completeness } from "./completeness";
import type { ObservedChildren } from "./observedChildren";
import type { ObjectEvent } from "./outcome";
import { QuestionSecrets } from "./questionSecrets";
import type { Reconciliation } from "./reconciliation";
import type { Scrubber } from "./scrubber";

/** What {@link Asking} works with. */
export interface AskingOptions {
  readonly operator: Operator;
  readonly pool: Pick<HandlerPool, "ask">;
  /** The objects that an object uses: see `gatherUsed`. */
  readonly used: (object: KubernetesObject, event: HandlerEvent) => Promise<GatheredUse>;
  /** Why a handler cannot be asked about an object now. */
  readonly whyNot: Completeness["whyNot"];
  readonly observed: Pick<ObservedChildren, "observe">;
  /** Learns every Secret that the handler is given or answers. */
  readonly scrubber: Scrubber;
  /** Whether the objects are custom resources of our own. */
  readonly isOurs: boolean;
}

/**
 * After an answer of at most this size, a reconcile gives up its place. The size is in characters and includes the Secrets that are
 * masked in its reports. A larger answer keeps the place until the reconcile ends, because the number of places limits that memory.
 */
const SMALL_ANSWER = 64 * 1024;

/** What a handler is asked about. */
export interface Subject {
  readonly event: HandlerEvent;
  readonly object: KubernetesObject;
  /** The state that the handler gets back. */
  readonly state: JsonObject | undefined;
  /** The schedules that are due. @default none */
  readonly due?: readonly DueSchedule[];
}

/** Everything that a handler is asked, before it is. */
export interface PreparedQuestion<Answer extends HandlerAnswer> {
  /** What must be reported about the objects that it is given, whatever it answers. */
  readonly warnings: readonly ObjectEvent[];
  /** @throws ReconcileFailure if the handler fails or answers wrongly */
  readonly ask: () => Promise<Reply<Answer>>;
}

/** What a handler has answered. */
export interface Reply<Answer extends HandlerAnswer> {
  readonly answer: Exclude<Answer, { error: unknown }>;
  /** The end of the handler's standard error. */
  readonly log: string;
  /** How long it took to answer, including the wait for a free process. */
  readonly handlerMs: number;
}

/** Asks the handler about an object, with its children and all objects that it uses. Writes nothing. */
export class Asking {
  private readonly checkStatus: (status: unknown) => string | undefined;

  constructor(private readonly options: AskingOptions) {
    this.checkStatus = statusChecker(options.operator.customResource.statusSchema);
  }

  /** Throws if the handler cannot be asked now, because it would be given only a part of the object's children. */
  assertPossible(event: HandlerEvent, object: KubernetesObject, memory: Memory, isElsewhere: boolean): void {
    const problem = this.options.whyNot(event, object, memory, isElsewhere);
    if (problem) throw problem;
  }

  /**
   * Gathers what the handler is asked.
   * @throws StillListingError, ApiError, ApiUnreachableError if an object that it is given cannot be read; ReconcileFailure if it
   *   may not be given what its object uses
   */
  async prepare<Answer extends HandlerAnswer>(
    { event, object, state, due = [] }: Subject,
    reconciliation: Reconciliation,
  ): Promise<PreparedQuestion<Answer>> {
    const { id, attempt, traceparent: trace, timeline } = reconciliation;
    const { children, warnings: ofChildren } = await this.options.observed.observe(object, event);
    const { used, warnings: ofUsed, secrets } = await this.options.used(object, event);
    const { scrubber, pool } = this.options;
    const known = new QuestionSecrets({ scrubber, run: id, given: [object, ...children], used: secrets });
    const question = questionAbout({ event, object, children, used, due, attempt, state, trace });
    const asked: Pick<HandlerPool, "ask"> = {
      // The question may have waited for so long that the object is gone, or that another process asks its own handler by now.
      ask: (each) => pool.ask(each, () => reconciliation.assertMayGoOn()),
    };
    const ask = async () => {
      const askedAt = performance.now();
      const { answer, length, log } = await timeline.step("handler", () =>
        askHandler<Answer>(known.learning(asked), question, this.checkStatus, this.options.isOurs),
      );
      const handlerMs = performance.now() - askedAt;
      if (length + known.size <= SMALL_ANSWER) reconciliation.answered();
      return { answer: this.withoutSecrets(answer), log, handlerMs };
    };
    const warnings = [...ofChildren, ...ofUsed].map((each) => ({ type: "Warning" as const, ...each }));
    return { warnings, ask };
  }

  /**
   * The reports in an answer, without the values of Secrets. Its children and its status are intended, and stay as they are.
   */
  private withoutSecrets<Answer extends object>(answer: Answer): Answer {
    const { scrubber } = this.options;
    const { conditions, events } = answer as Partial<ReconcileAnswer>;
    return {
      ...answer,
      ...(conditions && { conditions: conditions.map((each) => scrubber.said(each)) }),
      ...(events && { events: events.map((each) => scrubber.said(each)) }),
    };
  }
}
