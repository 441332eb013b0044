import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { session } from "./hooks";

/** {@link argosyIn} the copy of the project that most tests share. */
export function argosy(...args: string[]): Promise<string> {
  return argosyIn(session().project.folder, ...args);
}

/**
 * Runs the installed command in a copy of the project and gives its standard output.
 * @throws Error where it does not end with 0
 */
export async function argosyIn(folder: string, ...args: string[]): Promise<string> {
  return (await promisify(execFile)("node_modules/.bin/argosy", args, { cwd: folder })).stdout;
}
