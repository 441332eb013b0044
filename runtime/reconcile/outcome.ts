import type { Verdict } from "../status/conditions";
import type { WorkResult } from "../work/backoff";
import type { ReconcileReport } from "./report";

/** Something to report about an object, for `kubectl describe` and `kubectl events`. */
export interface ObjectEvent {
  readonly type: "Normal" | "Warning";
  /** One word in CamelCase. */
  readonly reason: string;
  readonly note: string;
  /** The name of the Workflow that says more, if there is one. */
  readonly run?: string | undefined;
  /** The action, in one word. @default "Reconcile" */
  readonly action?: string;
  /** Whether the record of the run says the same, so that the Event is left out if there is one. @default false */
  readonly isInRecord?: boolean;
}

/** The result of one reconcile, and the reports about it. */
export interface Outcome {
  readonly report: ReconcileReport;
  /** What the object's conditions should say. Undefined: nothing new. */
  readonly verdict?: Verdict;
  /** Kubernetes Events about the object, besides those that follow from the verdict and the changes. */
  readonly events: readonly ObjectEvent[];
  /** When the object is due again. */
  readonly again: WorkResult;
  /**
   * When a schedule of the object is due, in milliseconds since 1970, whatever the result of this reconcile. Undefined: no
   * schedule is due, or the handler is not to be asked about the object.
   */
  readonly nextLook?: number;
}
