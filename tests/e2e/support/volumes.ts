import { chmodSync, mkdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Manifest } from "../../../runtime/base/objects";
import { session } from "./hooks";
import { waitFor } from "./progress";

const FOLDER = path.join(tmpdir(), "argosy-e2e-volumes");

/**
 * Makes volumes of 128Mi for a cluster without a storage class, whose only node is this machine. Elsewhere they stay unused. Those
 * that an earlier test left go first.
 */
export async function createVolumes(count: number): Promise<void> {
  await deleteVolumes(count);
  for (const name of names(count)) {
    const folder = path.join(FOLDER, name);
    mkdirSync(folder, { recursive: true });
    // Kubernetes gives no pod rights to a folder of the node.
    chmodSync(folder, 0o777);
    const volume: Manifest = {
      ...reference(name),
      spec: {
        capacity: { storage: "128Mi" },
        accessModes: ["ReadWriteOnce"],
        hostPath: { path: folder },
      },
    };
    await session().api.create(volume);
  }
}

/** Deletes them, and what is on them. */
export async function deleteVolumes(count: number): Promise<void> {
  for (const name of names(count)) {
    await session().api.delete(reference(name));
    rmSync(path.join(FOLDER, name), { recursive: true, force: true });
  }
  for (const name of names(count))
    await waitFor(`the volume ${name} to go`, () => session().api.assertGone(reference(name)), 60_000);
}

function names(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${session().team}-${index + 1}`);
}

function reference(name: string) {
  return { apiVersion: "v1", kind: "PersistentVolume", metadata: { name } };
}
