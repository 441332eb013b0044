import { until } from "../../cli/common/until";
import type { KubernetesObject } from "../../runtime/base/objects";
import type { Cluster } from "./cluster";

const SETTLE_POLL_MS = 1_000;

/**
 * Waits until the operator and the control plane have done all of their work for `count` Memcacheds: each Memcached has a ready
 * Deployment and a Service, and a status that says so.
 *
 * @throws DeadlineError with what is still missing, after `timeoutMs`
 */
export async function untilSettled(cluster: Cluster, count: number, timeoutMs: number, signal: AbortSignal) {
  let missing: string | undefined;
  const isSettled = async () => {
    missing = await findMissing(cluster, count);
    return missing === undefined;
  };
  const what = () => missing ?? "";
  await until(isSettled, { what, deadlineMs: timeoutMs, pollMs: SETTLE_POLL_MS, signal });
}

/** The children of the only Memcached: their owners, the labels that belong to the work, and their content. */
export async function describeChildren(cluster: Cluster): Promise<string> {
  const describe = ({ metadata, spec }: KubernetesObject): unknown => {
    const owners = metadata.ownerReferences?.map(({ uid: _, ...owner }) => owner);
    // Labels with which an operator marks its own children are not compared.
    const labels = Object.entries(metadata.labels ?? {}).filter(([name]) => name.startsWith("app."));
    return { owners, labels: Object.fromEntries(labels), spec };
  };
  const children = [...(await cluster.list("deployments")), ...(await cluster.list("services"))];
  return JSON.stringify(children.map(describe), undefined, 2);
}

/** The first line in which two operators' children differ, for a message. */
export function firstDifference(left: string, right: string): string {
  const rightLines = right.split("\n");
  const index = left.split("\n").findIndex((line, at) => line !== rightLines[at]);
  return `"${left.split("\n")[index]?.trim() ?? ""}", "${rightLines[index]?.trim() ?? ""}"`;
}

async function findMissing(cluster: Cluster, count: number): Promise<string | undefined> {
  const deployments = await cluster.list("deployments");
  const isReady = (object: KubernetesObject) => (statusOf(object).readyReplicas ?? 0) === cluster.size;
  // Deployments of size 0 are ready from the start, but only count if the controller has observed them.
  const ready = deployments.filter((each) => isReady(each) && statusOf(each).observedGeneration).length;
  if (ready < count) return `${ready} of ${count} Deployments are ready`;
  const services = await cluster.list("services");
  if (services.length < count) return `${services.length} of ${count} Services exist`;
  const told = (await cluster.list("memcacheds")).filter((memcached) => {
    const { observedGeneration } = statusOf(memcached);
    return isReady(memcached) && observedGeneration === memcached.metadata.generation;
  }).length;
  if (told < count) return `${told} of ${count} Memcacheds have the right status`;
  return undefined;
}

function statusOf(object: KubernetesObject): Record<string, unknown> {
  return (object.status as Record<string, unknown> | undefined) ?? {};
}
