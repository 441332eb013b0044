import { mkdir } from "node:fs/promises";
import { Objects } from "../../objects";
import { BenchmarkError } from "../benchmark";
import { NAMESPACE } from "../cluster";
import { buildNamespace, CONTROLLER_NAMESPACE, OPERATOR_NAMESPACE } from "./form";
import type { FormOptions } from "./withForm";

const MEMCACHEDS = "memcacheds.cache.example.com";
const DEFINITION = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" } as const;

/**
 * Runs a function with the objects of a cluster that has nothing that the benchmark would remove.
 * @throws BenchmarkError if the cluster has Argo, Memcacheds or one of the benchmark's namespaces
 */
export async function inEmptyCluster<T>(
  { connection, cache }: Pick<FormOptions, "connection" | "cache">,
  step: (objects: Objects) => Promise<T>,
): Promise<T> {
  const objects = new Objects(connection, "argosy-bench");
  try {
    await refuseInstallation(objects, connection.server);
    await mkdir(cache, { recursive: true });
    return await step(objects);
  } finally {
    objects.close();
  }
}

async function refuseInstallation(objects: Objects, server: string): Promise<void> {
  const definitions = await objects.list(DEFINITION);
  const taken = definitions
    .map(({ metadata }) => metadata.name)
    .filter((name) => name === MEMCACHEDS || name.endsWith(".argoproj.io"))
    .map((name) => `CustomResourceDefinition ${name}`);
  for (const name of [NAMESPACE, OPERATOR_NAMESPACE, CONTROLLER_NAMESPACE]) {
    if (await objects.find(buildNamespace(name))) taken.push(`Namespace ${name}`);
  }
  if (taken.length === 0) return;
  throw new BenchmarkError(
    `the cluster at ${server} already has ${taken.join(", ")}. The benchmark installs and removes these: ` +
      "use a cluster without Argo and without Memcacheds (KUBECONFIG, --context).",
  );
}
