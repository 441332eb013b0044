import { isRecord } from "../base/json";
import { type Condition, conditionsIn, groupOf, type Manifest } from "../base/objects";
import { groupKind } from "../base/resource";
import { cut } from "../base/text";
import type { ChildKind, ReadyRule } from "../operator/definition";

const COUNTS = [
  "observedGeneration",
  "replicas",
  "readyReplicas",
  "updatedReplicas",
  "desiredNumberScheduled",
  "numberReady",
  "updatedNumberScheduled",
] as const;

/** The longest value of a field in a message, in characters. */
const LONGEST_VALUE = 100;

/** The parts of a status from which readiness is read. */
interface ObservedStatus extends Partial<Record<(typeof COUNTS)[number], number>> {
  phase?: string;
  conditions: Condition[];
}

/**
 * The conditions by which a kind without a rule of its own is ready: every one of these that it has must be True. Measured on the 971
 * objects of the tests of Argo CD 3's health checks: of 280 healthy ones, this list refuses a paused DeploymentConfig of OpenShift and
 * no other; of 348 others that have conditions, it refuses 192.
 */
const READY_CONDITIONS = [
  "Ready",
  "Available",
  "Programmed",
  "Accepted",
  "Established",
  "Healthy",
  "Synced",
  "Succeeded",
  "Complete",
  "Completed",
];
/** The conditions of such a kind of which none may be True. The first two are kstatus', and NotReady is Strimzi's. */
const UNREADY_CONDITIONS = ["Stalled", "Reconciling", "Failed", "NotReady"];

/** Why a child is not ready yet, in a few words. Undefined if it is ready. */
export type WhyNotReady = (child: Manifest) => string | undefined;

/** {@link whyNotReady} for the children of an operator, by what its definition says of their kinds. */
export function readinessOf(kinds: readonly ChildKind[]): WhyNotReady {
  const rules = new Map(kinds.map((each) => [groupKind(each), each.ready]));
  return (child) => whyNotReady(child, rules.get(groupKind(child)));
}

/**
 * Why a child is not ready yet, in a few words. Undefined if it is ready. Without a rule, Kubernetes' own kinds follow the rules of
 * kstatus. Any other kind is ready by its {@link READY_CONDITIONS} and {@link UNREADY_CONDITIONS}. Without any of these it is ready as
 * soon as it exists.
 *
 * A child that is being deleted is not ready, and neither is one whose status is about an older generation, whatever the rule.
 * @param child an existing child, or a manifest that is not applied yet. Undefined for such a manifest means that the child is
 *   ready as soon as it exists
 * @param rule of its kind, by the operator's definition. @default none
 * @see https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/README.md
 */
export function whyNotReady(child: Manifest, rule?: ReadyRule): string | undefined {
  if (child.metadata.deletionTimestamp) return whyStillThere(child);
  const status = statusOf(child);
  const { generation } = child.metadata;
  if (generation !== undefined && (status.observedGeneration ?? generation) < generation)
    return "is not observed yet";
  if (rule) return byRule(child, status, rule);
  // A Service or a Job of another group is another kind.
  const group = groupOf(child.apiVersion);
  switch (group ? `${group}/${child.kind}` : child.kind) {
    case "apps/Deployment":
    case "apps/StatefulSet":
    case "apps/ReplicaSet":
      return replicas(child, status);
    case "apps/DaemonSet":
      return daemons(status);
    case "batch/Job":
      return job(status);
    case "PersistentVolumeClaim":
      return status.phase === "Bound" ? undefined : `is ${status.phase ?? "Pending"}`;
    case "Pod":
      return status.phase === "Succeeded"
        ? undefined
        : condition(status, "Ready", `is ${status.phase ?? "Pending"}`);
    case "Service":
      return service(child);
    case "apiextensions.k8s.io/CustomResourceDefinition":
      return condition(status, "Established", "is not established yet");
    case "apiregistration.k8s.io/APIService":
      return condition(status, "Available", "is not available yet");
    default:
      return shared(status, generation);
  }
}

/** What holds a child that is being deleted, if anything but its own grace period does. */
function whyStillThere({ metadata: { finalizers = [] } }: Manifest): string {
  const others = finalizers.filter((each) => each !== "foregroundDeletion");
  if (others.length > 0) return `is being deleted and is held by the finalizer ${others.join(", ")}`;
  return finalizers.length > 0 ? "is being deleted after what it owns" : "is being deleted";
}

/** By what the operator's definition says of the kind. */
function byRule(child: Manifest, status: ObservedStatus, rule: ReadyRule): string | undefined {
  if ("condition" in rule) {
    const { condition: type } = rule;
    return condition(status, type, `has no condition ${type} yet`, child.metadata.generation);
  }
  const { field, in: values } = rule;
  const value = field.split(".").reduce<unknown>((from, name) => {
    return isRecord(from) && Object.hasOwn(from, name) ? from[name] : undefined;
  }, child);
  if (!["string", "number", "boolean"].includes(typeof value)) return `has no ${field} yet`;
  if (values.some((each) => String(each) === String(value))) return undefined;
  return `has ${field} ${cut(String(value), LONGEST_VALUE)}, not ${values.join(" or ")}`;
}

/** By the conditions that many kinds share. */
function shared(status: ObservedStatus, generation: number | undefined): string | undefined {
  for (const type of READY_CONDITIONS) {
    const why = condition(status, type, undefined, generation);
    if (why) return why;
  }
  const unready = UNREADY_CONDITIONS.flatMap((type) =>
    status.conditions.filter((each) => each.type === type && each.status === "True"),
  )[0];
  return unready && `is ${WORDS[unready.type] ?? unready.type}${because(unready)}`;
}

/** The fields of a status that have the expected types. A kind may use these names for something else. */
function statusOf({ status }: Manifest): ObservedStatus {
  const given = isRecord(status) ? status : {};
  const { phase } = given;
  const observed: ObservedStatus = {
    ...(typeof phase === "string" && { phase }),
    conditions: conditionsIn(given),
  };
  for (const count of COUNTS) if (typeof given[count] === "number") observed[count] = given[count];
  return observed;
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
 * The number of replicas that no controller updates. A ReplicaSet updates none. A StatefulSet leaves all of them until a client
 * deletes their pods, or those below its partition to a later update.
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
  return found.status === "True" ? undefined : `is not ${WORDS[type] ?? type}${because(found)}`;
}

/** Conditions in words. */
const WORDS: Readonly<Record<string, string>> = { Ready: "ready", NotReady: "not ready" };

function because({ reason }: Condition): string {
  return reason ? ` (${reason})` : "";
}
