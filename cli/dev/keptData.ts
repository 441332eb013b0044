import { existsSync, readFileSync, rmSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { isAtLeast } from "../../preflight/isAtLeast";
import { isRecord } from "../../runtime/base/json";
import { CommandError } from "../common/commandError";
import { takeLock } from "../controlPlane/lock";
import { etcdVersion, kubernetesVersion } from "../controlPlane/versions";
import { placeOf } from "./stableKubeconfig";

/** The data that a control plane keeps from one start to the next. */
export interface KeptData {
  /** The folder of etcd's data. */
  readonly etcd: string;
  /** Whether an earlier start has left objects there. */
  readonly isThere: boolean;
  /** Releases the data for the next `argosy dev --keep` of the folder. */
  release(): Promise<void>;
}

/** The versions of the programs that last wrote the data. */
interface Versions {
  readonly kubernetes: string;
  readonly etcd: string;
}

const CURRENT: Versions = { kubernetes: kubernetesVersion, etcd: etcdVersion };

/**
 * Opens the data that `argosy dev --keep` keeps for the operators of a folder. No other process can have the data until they are
 * released, or until this process has ended for any reason.
 *
 * @param operators the folder of the operators
 * @param cache the folder that outlives the control plane
 * @param fresh discards the kept data
 * @param versions the versions of the programs that are to read the data
 * @throws CommandError if another process has the data, or if newer programs wrote them
 */
export async function openKeptData(
  operators: string,
  cache: string,
  fresh: boolean,
  versions = CURRENT,
): Promise<KeptData> {
  const folder = `${placeOf(operators, cache)}.kept`;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const lock = await takeLock(path.join(folder, "lock"));
  if ("owner" in lock) {
    const who = lock.owner === undefined ? "another process" : `process ${lock.owner}`;
    throw new CommandError(
      `argosy dev --keep is already running for these operators, in ${who}. Stop it first, or start this one without --keep.`,
    );
  }
  try {
    const etcd = path.join(folder, "etcd");
    const written = path.join(folder, "versions.json");
    if (fresh) rmSync(etcd, { recursive: true, force: true });
    const isThere = existsSync(path.join(etcd, "member"));
    if (isThere) checkVersions(versionsIn(written), versions);
    await mkdir(etcd, { recursive: true, mode: 0o700 });
    await writeFile(written, `${JSON.stringify(versions)}\n`);
    return { etcd, isThere, release: lock.release };
  } catch (error) {
    await lock.release();
    throw error;
  }
}

function versionsIn(file: string): Partial<Versions> {
  try {
    const found: unknown = JSON.parse(readFileSync(file, "utf8"));
    return isRecord(found) ? found : {};
  } catch {
    return {};
  }
}

/** A newer API server can read an older one's data, but an older one cannot read a newer one's. The same holds for etcd. */
function checkVersions(kept: Partial<Versions>, now: Versions): void {
  for (const name of ["kubernetes", "etcd"] as const) {
    const [before, version] = [kept[name], now[name]];
    if (typeof before === "string" && isAtLeast(version.slice(1), before.slice(1))) continue;
    const of = typeof before === "string" ? `of ${name} ${before}` : "of an unknown version";
    throw new CommandError(
      `The kept objects are ${of}, and this is ${name} ${version}, which may not be able to read them. ` +
        "Delete them with argosy dev --keep --fresh.",
    );
  }
}
