import { readdirSync, realpathSync, statSync } from "node:fs";
import path from "node:path";
import { isLeftOut } from "../../../definition/leftOut";
import type { Problems, Report } from "../../../definition/problems";
import { isRecord } from "../../../runtime/program";

/** A file of an operator that is deployed with it. */
export interface CarriedFile {
  /** Relative to the operator's folder, with "/": "lib/util.py", "../shared/util.py". */
  readonly path: string;
  /** Its path on this machine. */
  readonly file: string;
  readonly bytes: number;
}

/**
 * The form in which the files are deployed. An image takes all files. The keys of ConfigMaps allow few characters, and files
 * from ConfigMaps may run on any kind of machine.
 */
export type Destination = "configMaps" | "image";

/** A name that can be a part of a ConfigMap's key. */
const CARRIABLE = /^[-_a-zA-Z0-9]+(\.[-_a-zA-Z0-9]+)*$/;

/** Compiled code as packages have it. It runs only on one processor, with one C library and one version of its language. */
const COMPILED = /\.(so(\.\d+)*|pyd|dylib|dll|node)$/;
const COMPILED_REMEDY =
  "Install the package without compiled parts (pip install --platform any --only-binary :all: --target vendor), " +
  "or put it into an image: image, or files: { image: ... }.";

/**
 * The files of a folder and its subfolders that a handler may use, in an order that is the same on every machine. Symbolic links
 * are followed within the folder.
 *
 * @param problems - gets names that cannot be deployed, compiled code, and links that lead out of the folder
 * @param included the folder's path from the operator's own folder. @default it is the operator's own
 */
export function carriedFiles(
  folder: string,
  destination: Destination,
  problems: Problems,
  included?: string,
): CarriedFile[] {
  const isOwn = included === undefined;
  const root = realpathSync(folder);
  const carried: CarriedFile[] = [];

  function visit(directory: string, prefix: string, above: readonly string[]): void {
    // The order does not depend on the locale, because it is part of the manifest.
    for (const name of readdirSync(directory).sort()) {
      if (isLeftOut(name, isOwn && prefix === "")) continue;
      const file = path.join(directory, name);
      const report = problems.in(path.join(folder, prefix, name));
      if (destination === "configMaps" && !isCarriable(name, report)) continue;
      try {
        const target = realpathSync(file);
        const stats = statSync(target);
        if (!`${target}${path.sep}`.startsWith(root + path.sep)) {
          const of = isOwn ? "the operator's folder" : "the folder that is included";
          report("the symbolic link", `leads outside ${of}`, "Put the file itself there.");
        } else if (above.includes(target)) {
          report("the symbolic link", "leads to a folder that it is in", "Remove it.");
        } else if (stats.isDirectory()) {
          visit(file, `${prefix}${name}/`, [...above, target]);
        } else if (stats.isFile()) {
          carried.push({ path: path.posix.join(included ?? "", prefix + name), file, bytes: stats.size });
        } else {
          report("the entry", "is neither a file nor a folder", "Remove it.");
        }
      } catch (error) {
        reportUnreadable(error, report);
      }
    }
  }

  visit(folder, "", [root]);
  return carried;
}

function isCarriable(name: string, report: Report): boolean {
  if (COMPILED.test(name)) {
    report("the file", "is compiled code, which runs on one kind of machine alone", COMPILED_REMEDY);
    return false;
  }
  if (CARRIABLE.test(name)) return true;
  const remedy = 'Rename it: letters, digits, "-", "_", and single dots between them.';
  report("the name", "cannot be made a key of a ConfigMap", remedy);
  return false;
}

function reportUnreadable(error: unknown, report: Report): void {
  const code = isRecord(error) ? String(error.code) : String(error);
  if (code === "ENOENT") report("the symbolic link", "leads nowhere", "Remove it, or mend it.");
  else report("the entry", `cannot be read: ${code}`, "Make it readable for you.");
}
