import type { Platform } from "../platform/options";
import type { WorkloadOptions } from "../workloads";
import type { GuardOptions } from "./guards";
import type { QuotaOptions } from "./quota";

/** The options of an operator's manifests beside its definition. */
export interface OperatorOptions extends WorkloadOptions, QuotaOptions {
  readonly platform: Platform;
  /** The version of Argosy that deploys the operator. Its definition bears it, for commands of other versions. */
  readonly argosyVersion: string;
  /** The guards of the operator. @default none */
  readonly guards?: GuardOptions;
  /** Runners of a resident operator: one leads, the others stand by. */
  readonly replicas: number;
  /** How long Workflows of runs that succeeded are kept, in seconds. */
  readonly runsKeptSeconds: number;
  /** How long Workflows of runs that failed are kept, in seconds. */
  readonly failedRunsKeptSeconds: number;
  /** The name of the Sensor that sends the hints. If there are several, the first one's. */
  readonly eventPathName: string;
  /** The collector of the runs' traces. @default there are no traces */
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
