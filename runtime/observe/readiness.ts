import { isRecord } from "../base/json";
import { type Condition, conditionsIn, groupOf, type Manifest } from "../base/objects";

const COUNTS = [
  "observedGeneration",
  "replicas",
  "readyReplicas",
  "updatedReplicas",
  "desiredNumberScheduled",
  "numberReady",
  "updatedNumberScheduled",
] as const;

/** The parts of a status from which readiness is read. */
interface ObservedStatus extends Partial<Record<(typeof COUNTS)[number], number>> {
  phase?: string;
  conditions: Condition[];
}

/** The API groups of the kinds that have rules of their own here. A Service or a Job of another group is another kind. */
const OWN_GROUPS = ["", "apps", "batch"];

/**
 * Why a child is not ready yet, in a few words. Undefined if it is ready. Kubernetes' own kinds follow the rules of kstatus. Any
 * other kind is ready when its Ready condition says so. Without a Ready condition it is ready as soon as it exists.
 * @param child an existing child, or a manifest that is not applied yet. Undefined for such a manifest means that the child is
 *   ready as soon as it exists
 * @see https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/README.md
 */
export function whyNotReady(child: Manifest): string | undefined {
  if (child.metadata.deletionTimestamp) return "is being deleted";
  const status = statusOf(child);
  const { generation } = child.metadata;
  if (generation !== undefined && (status.observedGeneration ?? generation) < generation)
    return "is not observed yet";
  switch (OWN_GROUPS.includes(groupOf(child.apiVersion)) ? child.kind : undefined) {
    case "Deployment":
    case "StatefulSet":
    case "ReplicaSet":
      return replicas(child, status);
    case "DaemonSet":
      return daemons(status);
    case "Job":
      return job(status);
    case "PersistentVolumeClaim":
      return status.phase === "Bound" ? undefined : `is ${status.phase ?? "Pending"}`;
    case "Pod":
      return status.phase === "Succeeded"
        ? undefined
        : condition(status, "Ready", `is ${status.phase ?? "Pending"}`);
    case "Service":
      return service(child);
    default:
      return condition(status, "Ready", undefined, generation);
  }
}

/** The fields of a status that have the expected types. A kind may use these names for something else. */
function statusOf({ status }: Manifest): ObservedStatus {
  const given = isRecord(status) ? status : {};
  const counts = COUNTS.flatMap((count) => (typeof given[count] === "number" ? [[count, given[count]]] : []));
  const { phase } = given;
  return {
    ...Object.fromEntries(counts),
    ...(typeof phase === "string" && { phase }),
    conditions: conditionsIn(given),
  };
}

function replicas(child: Manifest, status: ObservedStatus): string | undefined {
  const given = isRecord(child["spec"]) ? child["spec"]["replicas"] : undefined;
  const wanted = typeof given === "number" ? given : 1;
  const failed = status.conditions.find(
    ({ type, reason }) => type === "Progressing" && reason === "ProgressDeadlineExceeded",
  );
  if (failed) return "makes no progress";
  const toUpdate = wanted - replicasHeldBack(child, wanted);
  const tooMany = (status.replicas ?? 0) - wanted;
  return (
    rollOut(status.updatedReplicas, toUpdate, status.readyReplicas) ??
    ready(status.readyReplicas, wanted, status.observedGeneration) ??
    (tooMany > 0 ? `has ${tooMany} replicas too many` : undefined)
  );
}

/**
 * The number of replicas that no controller updates. A ReplicaSet updates none. A StatefulSet leaves all of them to whoever deletes
 * their pods, or those below its partition to a later update.
 * @see https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/#update-strategies
 */
function replicasHeldBack({ kind, spec }: Manifest, wanted: number): number {
  const strategy = isRecord(spec) && isRecord(spec["updateStrategy"]) ? spec["updateStrategy"] : {};
  if (kind === "ReplicaSet" || (kind === "StatefulSet" && strategy["type"] === "OnDelete")) return wanted;
  const rolling = isRecord(strategy["rollingUpdate"]) ? strategy["rollingUpdate"] : {};
  const { partition } = rolling;
  return kind === "StatefulSet" && typeof partition === "number" ? Math.min(partition, wanted) : 0;
}

function daemons(status: ObservedStatus): string | undefined {
  const { desiredNumberScheduled: wanted = 0, updatedNumberScheduled: updated = 0 } = status;
  return (
    rollOut(updated, wanted, status.numberReady) ??
    ready(status.numberReady, wanted, status.observedGeneration)
  );
}

/**
 * Why not all replicas are updated, while old ones still work. A new workload is described only by how many are ready: its message,
 * and so its owner's status, is not written again for each step until then.
 */
function rollOut(updated = 0, wanted = 0, readyCount = 0): string | undefined {
  return updated < wanted && readyCount > updated
    ? `has ${updated} of ${wanted} replicas updated`
    : undefined;
}

function ready(count = 0, wanted = 0, observedGeneration?: number): string | undefined {
  if (count < wanted) return `has ${count} of ${wanted} replicas ready`;
  // Until its controller has seen the workload, the counts in its status mean nothing.
  return observedGeneration === undefined ? "is not observed yet" : undefined;
}

function job(status: ObservedStatus): string | undefined {
  // Kubernetes 1.31 and later add FailureTarget before Failed, and keep both.
  const is = (...types: string[]) =>
    status.conditions.some(({ type, status: value }) => value === "True" && types.includes(type));
  if (is("Failed", "FailureTarget")) return "has failed";
  return is("Complete", "SuccessCriteriaMet") ? undefined : "is running";
}

function service({ spec, status }: Manifest): string | undefined {
  const balancer = isRecord(status) && isRecord(status["loadBalancer"]) ? status["loadBalancer"] : {};
  const addresses = Array.isArray(balancer["ingress"]) ? balancer["ingress"] : [];
  const waiting = isRecord(spec) && spec["type"] === "LoadBalancer" && addresses.length === 0;
  return waiting ? "has no load balancer address" : undefined;
}

/** @param generation the child's own. A condition about an older one says nothing about the current child */
function condition(
  { conditions }: ObservedStatus,
  type: string,
  otherwise: string | undefined,
  generation = 0,
): string | undefined {
  const found = conditions.find((candidate) => candidate.type === type);
  if (!found) return otherwise;
  if ((found.observedGeneration ?? generation) < generation) return "is not observed yet";
  return found.status === "True" ? undefined : `is not ready${found.reason ? ` (${found.reason})` : ""}`;
}
