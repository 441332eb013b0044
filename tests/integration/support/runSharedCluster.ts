import path from "node:path";
import Mocha from "mocha";
import { renewGarbageCollector } from "../../../cli/cluster/garbageCollector";
import { FIELD_MANAGER } from "../../../cli/local/installOperator";
import type { Manifest } from "../../../runtime/base/objects";
import { KubernetesClient } from "../../../runtime/kubernetes/client";
import { awaitKind } from "../../../runtime/kubernetes/discovery";
import { PACKAGE_FOLDER } from "../../../tools/packageFolder";
import { testFilesIn } from "../../../tools/testArguments";
import {
  announcedKinds,
  closeSharedConnection,
  loadAnnouncing,
  type OwnCluster,
  startTestCluster,
  type TestCluster,
} from "./cluster";

/** Longer than a machine needs on which everything else runs as well. */
const SERVED_WITHIN_MS = 180_000;

let started: Promise<OwnCluster> | undefined;

/** Starts the one control plane of a mocha run, with the kinds of all files. @returns its kubeconfig */
export async function startSharedCluster(): Promise<string> {
  started = startTestCluster();
  const [cluster] = await Promise.all([started, announceKindsOfAll()]);
  const manifests = announcedKinds();
  await Promise.all(manifests.map((manifest) => cluster.api.apply(manifest, FIELD_MANAGER)));
  await served(cluster, manifests);
  await renewGarbageCollector(cluster);
  return cluster.controlPlane.kubeconfig;
}

/** Stops it, even if its start has failed. */
export async function stopSharedCluster(): Promise<void> {
  await closeSharedConnection();
  await (await started?.catch(() => undefined))?.close();
}

/**
 * Loads every file of integration tests without running it: each announces its kinds when it is loaded. When files run side by
 * side, no other process loads all of them.
 */
async function announceKindsOfAll(): Promise<void> {
  for (const file of testFilesIn("tests/integration")) {
    const mocha = new Mocha();
    mocha.files = [path.join(PACKAGE_FOLDER, file)];
    await loadAnnouncing(file, () => mocha.loadFilesAsync());
  }
}

/** Waits until the cluster serves what these CRDs define: on a busy machine it takes seconds. Else a first list finds nothing. */
async function served({ connection }: TestCluster, definitions: readonly Manifest[]): Promise<void> {
  const client = new KubernetesClient(connection);
  const waiting = { signal: AbortSignal.timeout(SERVED_WITHIN_MS), onWait: () => {} };
  try {
    for (const { spec } of definitions) {
      const { group, names, versions } = spec as {
        group: string;
        names: { kind: string };
        versions: readonly { name: string }[];
      };
      for (const { name } of versions) await awaitKind(client, `${group}/${name}`, names.kind, waiting);
    }
  } finally {
    client.close();
  }
}
