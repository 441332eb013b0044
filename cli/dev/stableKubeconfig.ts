import { createHash } from "node:crypto";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { takeLock } from "../controlPlane/lock";

/** The path, without an extension, of files that belong to a folder of operators and stay from one start to the next. */
export function placeOf(operators: string, cache: string): string {
  const hash = createHash("sha256").update(operators).digest("hex").slice(0, 8);
  return path.join(cache, "dev", `${path.basename(path.dirname(operators)) || "root"}-${hash}`);
}

/** A kubeconfig at a path that stays the same from one start to the next. */
export interface StableKubeconfig {
  readonly path: string;
  /** Removes the copy, if there is one and it is still that of this process. */
  remove(): Promise<void>;
}

/**
 * Copies the kubeconfig of a control plane, whose folder is a new one at each start, to a path that belongs to the folder of the
 * operators. A terminal that has set KUBECONFIG once goes on working. While another `argosy dev` of the folder runs, the path is
 * that one's, and the terminals that have set it must not change to another cluster: then there is no copy.
 *
 * @param cache the folder that outlives the control plane
 */
export async function stableKubeconfig(
  kubeconfig: string,
  operators: string,
  cache: string,
): Promise<StableKubeconfig> {
  const file = `${placeOf(operators, cache)}.kubeconfig`;
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
  const lock = await takeLock(`${file}.lock`);
  if ("owner" in lock) return { path: kubeconfig, remove: async () => {} };
  const content = await readFile(kubeconfig, "utf8");
  // The file contains a key, hence the mode. A process that reads it during the change finds either the old or the new file.
  const draft = `${file}.${process.pid}`;
  await writeFile(draft, content, { mode: 0o600 });
  await rename(draft, file);
  return {
    path: file,
    remove: async () => {
      if (await lock.isHeld()) await rm(file, { force: true });
      await lock.release();
    },
  };
}
