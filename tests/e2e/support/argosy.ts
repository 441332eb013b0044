import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { session } from "./hooks";

/**
 * Runs the installed command in the copy of the project and gives its standard output.
 * @throws Error where it does not end with 0
 */
export async function argosy(...args: string[]): Promise<string> {
  const { folder } = session().project;
  return (await promisify(execFile)("node_modules/.bin/argosy", args, { cwd: folder })).stdout;
}
