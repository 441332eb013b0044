import type { z } from "zod";
import { integer, listOf, pattern } from "../../../definition/checks";
import { DESTINATION } from "../../../definition/fields/egress";
import { about } from "../about";
import type { Platform } from "../platform/options";
import type { WorkloadOptions } from "../workloads";
import type { GuardOptions } from "./guards";
import type { QuotaOptions } from "./quota";

/** The longest time in seconds that fits into 32 bits, as Argo stores it. */
export const LONGEST_SECONDS = 2 ** 31 - 1;

const kept = integer(0, LONGEST_SECONDS, "Give seconds, for example 3600.");

/** A destination of `egress`, as an argument. */
export const DESTINATION_ARGUMENT = DESTINATION.describe(
  "Where pods may connect to: a range of addresses, or pods of a namespace.",
).meta(about({ type: "Destination" }));

/** Arguments of `Operators` that only the manifests of each operator read. */
export const OPERATOR_OPTIONS = {
  runsKeptSeconds: kept
    .default(3600)
    .describe("How long the Workflow of a successful run is kept, in seconds.")
    .meta(about({ key: "runsKeptSeconds" })),
  failedRunsKeptSeconds: kept
    .default(86_400)
    .describe(
      "How long the Workflow of a failed run is kept, in seconds. Of the failed runs of an object with pods of their own, only the " +
        "newest three are kept.",
    )
    .meta(about({ key: "failedRunsKeptSeconds" })),
  runtimeClassName: pattern(
    /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
    "a DNS subdomain",
    "kubectl get runtimeclass shows them.",
  )
    .optional()
    .describe(
      "The RuntimeClass of the pods that handlers run in, such as `gvisor`: of the runners of resident operators, which contain the " +
        "engine too, and of the pods of runs. It must exist in the cluster.",
    )
    .meta(about({ key: "runtimeClassName" })),
  apiServer: listOf(
    DESTINATION_ARGUMENT,
    "kubectl -n default get endpointslices -l kubernetes.io/service-name=kubernetes shows its addresses and ports.",
  )
    .default([])
    .describe(
      "The addresses and ports of the API server, which operators with `egress` still reach: those of the EndpointSlices of the " +
        "Service kubernetes, since a NetworkPolicy does not see the address of a Service. Required if an operator has `egress`.",
    )
    .meta(about({ key: "apiServer" })),
};

/** The options of an operator's manifests that are not in its definition. */
export interface OperatorOptions
  extends WorkloadOptions,
    QuotaOptions,
    Readonly<z.output<z.ZodObject<typeof OPERATOR_OPTIONS>>> {
  readonly platform: Platform;
  /** The version of Argosy that deploys the operator. Its definition bears it, for commands of other versions. */
  readonly argosyVersion: string;
  /** The guards of the operator. @default none */
  readonly guards?: GuardOptions;
  /** The number of runners of operators that have no number of their own, or its placeholder. One leads, the others stand by. */
  readonly replicas: number | string;
  /** The name of the Sensor that sends the hints. If there are several, the first one's. */
  readonly eventPathName: string;
  /** The collector of the runs' traces. @default there are no traces */
  readonly traces?: TracesOptions;
}

/** A collector of traces. The argument `traces` says what each field means. */
export interface TracesOptions {
  readonly endpoint: string;
  readonly headers?: { readonly secret: string; readonly key: string };
  readonly oneIn?: number;
}
