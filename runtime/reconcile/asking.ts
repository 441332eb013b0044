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
import { isSecretKind } from "../kubernetes/kinds";
import type { KubernetesObject } from "../kubernetes/objects";
import type { Scrubber } from "../outbox/scrubber";
import type { GatheredUse } from "../uses/used";
import type { ObjectChildren } from "./objectChildren";
import type { Outcome } from "./outcome";
import type { Run } from "./run";

/** What {@link Asking} works with. */
export interface AskingOptions {
  readonly operator: Operator;
  readonly pool: Pick<HandlerPool, "ask">;
  /** The objects that an object uses: see `gatherUsed`. @default none */
  readonly used?: (object: KubernetesObject, event: HandlerEvent) => Promise<GatheredUse>;
  readonly observed: Pick<ObjectChildren, "observe">;
  /** Learns every Secret that the handler is given. */
  readonly scrubber: Scrubber;
  /** Whether the objects are custom resources of our own. */
  readonly isOurs: boolean;
}

/**
 * The size of a large answer, in characters, together with the Secrets that the handler was given. A run with a large answer
 * keeps its place until it ends, because answer and Secrets are in memory until then, and the number of places limits that
 * memory.
 */
const SMALL_ANSWER = 64 * 1024;
const NOTHING_USED: GatheredUse = { used: {}, warnings: [], secrets: [] };

/** Asks the handler about an object, with its children and all objects that it uses. Writes nothing. */
export class Asking {
  private readonly checkStatus: (status: unknown) => string | undefined;

  constructor(private readonly options: AskingOptions) {
    this.checkStatus = statusChecker(options.operator.customResource.statusSchema);
  }

  /**
   * Asks the handler, and notes in the outcome which objects it used and how long it took.
   * @param due the schedules that are due
   * @throws ReconcileFailure if the handler fails or answers wrongly; UsedStillListingError, ApiError, ApiUnreachableError if an
   *   object that it is given cannot be read
   */
  async ask<Answer extends HandlerAnswer>(
    event: HandlerEvent,
    object: KubernetesObject,
    run: Run,
    outcome: Outcome,
    due: readonly DueSchedule[] = [],
  ): Promise<Exclude<Answer, { error: unknown }>> {
    const { report } = run;
    report.event = event;
    const children = await this.options.observed.observe(object, event);
    const { used, warnings, secrets } = (await this.options.used?.(object, event)) ?? NOTHING_USED;
    // A watched Secret is given to the handler like a used one.
    const learnt = this.options.scrubber.learn(
      isSecretKind(object) ? [...secrets, object] : secrets,
      outcome,
    );
    outcome.events.push(...warnings.map((warning) => ({ type: "Warning" as const, ...warning })));
    const { attempt } = report;
    const { memory, traceparent: trace } = run;
    const { state } = memory;
    const question = questionAbout({ event, object, children, used, due, attempt, state, trace });
    if (due.length > 0) report.due = due.map(({ name }) => name);
    const askedAt = performance.now();
    const { answer, length, log } = await run.timeline.step("handler", () =>
      askHandler<Answer>(this.options.pool, question, this.checkStatus, this.options.isOurs),
    );
    report.handlerMs = performance.now() - askedAt;
    if (length + learnt <= SMALL_ANSWER) run.answered();
    report.log = log;
    return this.withoutSecrets(answer);
  }

  /**
   * The reports in an answer, without the values of used Secrets. Its children and its status are intended, and stay as they are.
   */
  private withoutSecrets<Answer extends object>(answer: Answer): Answer {
    const { conditions, events } = answer as Partial<ReconcileAnswer>;
    return {
      ...answer,
      ...(conditions && { conditions: this.options.scrubber.inside(conditions) }),
      ...(events && { events: this.options.scrubber.inside(events) }),
    };
  }
}
