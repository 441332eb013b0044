import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { cacheDirectory } from "../../cli/controlPlane/cache";

/** Pure Python of this version runs on every interpreter. */
const VERSION = "1.8.22";

/**
 * A folder with debugpy in it, for PYTHONPATH. It is installed once, and kept next to the control plane's programs.
 * @throws if pip cannot install it
 */
export async function debugpyFolder(): Promise<string> {
  const folder = path.join(cacheDirectory(), `debugpy-${VERSION}`);
  if (existsSync(folder)) return folder;
  const draft = `${folder}.${process.pid}`;
  const where = ["--target", draft, "--no-compile", "--disable-pip-version-check", "--quiet"];
  await promisify(execFile)("python3", ["-m", "pip", "install", ...where, `debugpy==${VERSION}`]);
  // Another process may have been quicker.
  await rename(draft, folder).catch(() => rm(draft, { recursive: true, force: true }));
  return folder;
}
