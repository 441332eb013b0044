import type { Manifest } from "../../../runtime/kubernetes/objects";
import type { Objects } from "../../objects";
import { parseMetrics } from "../metrics";

const PREFIX = "argosy-bench.";
/** Before those of Kubernetes that take every service account (`service-accounts`, 9000), after those of its own parts. */
const PRECEDENCE = 5000;

/** Requests to the API server by service account, "namespace/name". */
export type ApiCalls = Readonly<Record<string, number>>;

/**
 * A FlowSchema for each service account among the manifests: the API server counts the requests of each. They share what
 * service accounts have to share anyway, and are treated no better or worse for it.
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

/** The requests that each account has made so far, a watch as one. Of the API server that answers, where there are several. */
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

/** What was called between two counts, for each of so many changes; accounts without any left out. */
export function callsPerChange(before: ApiCalls, after: ApiCalls, changes: number): ApiCalls {
  return Object.fromEntries(
    Object.entries(after)
      .map(([account, calls]) => [account, (calls - (before[account] ?? 0)) / changes] as const)
      .filter(([, calls]) => calls > 0),
  );
}
