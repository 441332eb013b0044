import type { Platform } from "../platform/options";
import type { WorkloadOptions } from "../workloads";
import type { GuardOptions } from "./guards";
import type { QuotaOptions } from "./quota";

/** What the manifests of an operator depend on beside its definition. */
export interface OperatorOptions extends WorkloadOptions, QuotaOptions {
  readonly platform: Platform;
  /** What keeps others from writing what is the operator's. @default nothing */
  readonly guards?: GuardOptions;
  /** Runners of a resident operator: one leads, the others stand by. */
  readonly replicas: number;
  /** How long Workflows of runs that succeeded are kept, in seconds. */
  readonly runsKeptSeconds: number;
  /** How long Workflows of runs that failed are kept, in seconds. */
  readonly failedRunsKeptSeconds: number;
  /** The name of the Sensor that sends the hints; where there are several, the first one's. */
  readonly eventPathName: string;
  /** Where the traces of runs go. @default there are none */
  readonly traces?: TracesOptions;
}

/** A collector of traces. */
export interface TracesOptions {
  /** Its address, without a password: "http://collector.monitoring:4318". */
  readonly endpoint: string;
  /** A Secret in the operators' namespace, and the key of it that has headers for the collector. @default no headers */
  readonly headers?: { readonly secret: string; readonly key: string };
  /** With 20, one run in 20 is traced. @default 1 */
  readonly oneIn?: number;
}
