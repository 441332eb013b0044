import type { Platform } from "../platform/options";
import type { WorkloadOptions } from "../workloads";

/** What the manifests of an operator depend on beside its definition. */
export interface OperatorOptions extends WorkloadOptions {
  readonly platform: Platform;
  /** Runners of a resident operator: one leads, the others stand by. */
  readonly replicas: number;
  /** How long Workflows of runs that succeeded are kept, in seconds. */
  readonly runsKeptSeconds: number;
  /** How long Workflows of runs that failed are kept, in seconds. */
  readonly failedRunsKeptSeconds: number;
  /** The name of the Sensor that sends the hints; where there are several, the first one's. */
  readonly eventPathName: string;
}
