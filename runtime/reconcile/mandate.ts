import type { DueSchedule } from "../handler/contract";
import type { KubernetesClient } from "../kubernetes/client";
import type { TraceContext } from "../traces/context";
import type { Arrival } from "../work/arrivals";

/** On whose behalf one reconcile works. */
export interface Mandate {
  /** A client whose requests end with the term of leadership. */
  readonly client: KubernetesClient;
  /** Throws if the term has ended. */
  readonly assert: () => void;
  /** Schedules that somebody starts by hand, instead of at their own times. @default none */
  readonly due?: readonly DueSchedule[] | undefined;
  /** Called when the handler has given an answer that is not large. The rest of the reconcile waits only for the API server. */
  readonly onAnswer?: () => void;
  /** How the reconcile came about. @default nobody noted that */
  readonly arrival?: Arrival | undefined;
  /** The trace that the reconcile belongs to. @default none */
  readonly trace?: TraceContext | undefined;
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
