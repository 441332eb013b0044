import type { Manifest } from "../../../runtime/base/objects";
import type { Objects } from "../../objects";
import { parseMetrics } from "../metrics";

const PREFIX = "argosy-bench.";
/** Before Kubernetes' FlowSchema for all service accounts (`service-accounts`, 9000), and after those of its own parts. */
const PRECEDENCE = 5000;

/** Requests to the API server by service account, "namespace/name". */
export type ApiCalls = Readonly<Record<string, number>>;

/**
 * A FlowSchema for each service account among the manifests: the API server counts the requests of each. The accounts share the
 * same limits as without these FlowSchemas, and are treated neither better nor worse.
 */
export function buildFlowSchemas(manifests: readonly Manifest[]): Manifest[] {
  return manifests
    .filter(({ kind }) => kind === "ServiceAccount")
    .map(({ metadata: { name, namespace = "" } }) => ({
      apiVersion: "flowcontrol.apiserver.k8s.io/v1",
      kind: "FlowSchema",
      metadata: { name: `${PREFIX}${namespace}.${name}` },
      spec: {
        matchingPrecedence: PRECEDENCE,
        priorityLevelConfiguration: { name: "workload-low" },
        distinguisherMethod: { type: "ByUser" },
        rules: [
          {
            subjects: [{ kind: "ServiceAccount", serviceAccount: { name, namespace } }],
            resourceRules: [
              { verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"], clusterScope: true },
            ],
            nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
          },
        ],
      },
    }));
}

/**
 * The requests that each account has made so far. A watch counts as one. If there are several API servers, only the one that
 * answers is counted.
 */
export async function countApiCalls(objects: Objects): Promise<ApiCalls> {
  return apiCallsOf(await objects.text("/metrics"));
}

/** The counts in the API server's metrics. */
export function apiCallsOf(metrics: string): ApiCalls {
  const calls: Record<string, number> = {};
  for (const { labels, value } of parseMetrics(metrics, "apiserver_flowcontrol_dispatched_requests_total")) {
    const schema = labels["flow_schema"] ?? "";
    if (!schema.startsWith(PREFIX)) continue;
    const account = schema.slice(PREFIX.length).replace(".", "/");
    calls[account] = (calls[account] ?? 0) + value;
  }
  return calls;
}

/** The calls between two counts, divided by the number of changes. Accounts without calls are left out. */
export function callsPerChange(before: ApiCalls, after: ApiCalls, changes: number): ApiCalls {
  return Object.fromEntries(
    Object.entries(after)
      .map(([account, calls]) => [account, (calls - (before[account] ?? 0)) / changes] as const)
      .filter(([, calls]) => calls > 0),
  );
}
