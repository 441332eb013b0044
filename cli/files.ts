import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { imageFiles } from "../components/manifests/operator/handlerFiles";
import { displayPath } from "../definition/problems";
import { CommandError, EXIT_CODES } from "./commandError";
import { writeNewFiles } from "./newFiles";
import { findHandlers, type HandlersOptions, loadChosen, loaderOf } from "./project";
import { print } from "./terminal";

/** @see files */
export interface FilesOptions extends HandlersOptions {
  /** The folder into which the files are written. */
  readonly out: string;
}

/**
 * `argosy files`: writes the files of an operator as its handler finds them in a cluster, to build an image from them.
 *
 * @throws UsageError for an operator that does not exist; CommandError if the folder is not empty; OperatorError if a file cannot
 *   be read
 */
export async function files(name: string, options: FilesOptions): Promise<number> {
  const [operator] = loadChosen(loaderOf(findHandlers(options)), [name]);
  const out = path.resolve(options.out);
  if (existsSync(out) && readdirSync(out).length > 0) {
    throw new CommandError(`${displayPath(out)} is not empty. Name an empty folder with --out.`);
  }
  const carried = operator ? imageFiles(operator) : [];
  const written = carried.map(({ path: file, content }) => [file, content] as const);
  // Every file may be executed, as in a ConfigMap's volume.
  writeNewFiles(out, written, { mode: 0o755 });
  print(`${displayPath(out)}: ${carried.length} files of ${name}`);
  return EXIT_CODES.fine;
}
