import { execFile, execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { cacheDirectory } from "../../../cli/controlPlane/cache";
import { commandOnPath } from "../../../definition/commandOnPath";
import type { KubernetesObject } from "../../../runtime/base/objects";

const run = promisify(execFile);
const SOURCES = path.join(__dirname, "kstatus");

/** What Flux makes of an object: the library that it waits with (fluxcd/cli-utils, pkg/kstatus/status). */
export interface FluxStatus {
  readonly status: "InProgress" | "Failed" | "Current" | "Terminating" | "NotFound" | "Unknown";
  readonly message: string;
}

/**
 * Flux's own library as a program, which is built once and then kept in the cache of the control plane's programs. The first build
 * takes most of a minute. Its folder has the hash of its sources.
 * @returns the program's path, or why there is none: Go or the modules cannot be had here
 * @throws Error with Go's output if the program cannot be built
 */
export async function kstatusProgram(): Promise<{ readonly program: string } | { readonly missing: string }> {
  const sources = readdirSync(SOURCES).sort();
  const hash = createHash("sha256");
  for (const name of sources) hash.update(`${name}\n`).update(readFileSync(path.join(SOURCES, name)));
  const cache = cacheDirectory();
  const folder = path.join(
    cache,
    `kstatus-${hash.digest("hex").slice(0, 16)}-${process.platform}-${process.arch}`,
  );
  const program = path.join(folder, "kstatus");
  if (existsSync(program)) return { program };
  if (commandOnPath("go") === undefined) return { missing: "Go is not installed" };
  const options = {
    cwd: SOURCES,
    env: { ...process.env, GOWORK: "off", GOFLAGS: "-mod=readonly", GOGC: "400" },
  };
  try {
    // Fetches what the build needs, and nothing else.
    await run("go", ["list", "-deps", "."], { ...options, maxBuffer: 1e8 });
  } catch (error) {
    return { missing: (error as Error).message };
  }
  const built = mkdtempSync(path.join(cache, "kstatus-"));
  // It judges some objects: to compile it for speed would take as long again.
  const flags = ["-trimpath", "-buildvcs=false", "-gcflags=all=-N -l"];
  await run("go", ["build", ...flags, "-o", path.join(built, "kstatus"), "."], options);
  // Another process may have built it since the check.
  if (existsSync(program)) rmSync(built, { recursive: true });
  else renameSync(built, folder);
  return { program };
}

/** What Flux makes of each of these objects. */
export function fluxStatuses(program: string, objects: readonly KubernetesObject[]): FluxStatus[] {
  const input = JSON.stringify(objects);
  return JSON.parse(execFileSync(program, { input, encoding: "utf8", maxBuffer: 1e8 }));
}
