import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { isAtLeast } from "../../preflight/isAtLeast";
import { minimumGoVersion } from "./versions";

/** Whether this machine has a Go that can build the programs. */
export type GoInstallation =
  | { readonly usable: true; readonly version: string }
  | { readonly usable: false; readonly why: string };

/** Looks for a Go that is new enough. Never lets Go download another toolchain, because that could hang. */
export async function findGo(): Promise<GoInstallation> {
  const environment = { ...process.env, GOTOOLCHAIN: "local" };
  try {
    const { stdout } = await promisify(execFile)("go", ["env", "GOVERSION"], { env: environment });
    const version = stdout.trim().replace(/^go/, "");
    if (isAtLeast(version, minimumGoVersion)) return { usable: true, version };
    return { usable: false, why: `Go ${version} is too old, ${minimumGoVersion} is needed` };
  } catch {
    return { usable: false, why: "there is no go command" };
  }
}
