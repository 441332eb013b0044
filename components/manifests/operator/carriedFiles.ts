import { readdirSync, realpathSync, statSync } from "node:fs";
import path from "node:path";
import type { Problems, Report } from "../../../definition/problems";
import { isRecord } from "../../../runtime/program";

/** A file of an operator's that goes along into the cluster. */
export interface CarriedFile {
  /** Relative to the operator's folder, with "/": "lib/util.py", "../shared/util.py". */
  readonly path: string;
  /** Where it is on this machine. */
  readonly file: string;
  readonly bytes: number;
}

/** What the files go into. An image takes all of them; ConfigMaps have few characters for names, and no machine of their own. */
export type Destination = "configMaps" | "image";

/** Left out wherever they are: hidden files, what tools leave behind, editors' backups. */
const LEFT_OUT = /^(\..*|__pycache__|node_modules|.*~|#.*#|.*\.(swp|bak))$/;
/** Left out at the top of an operator's folder: what Argosy itself reads. */
const OWN = ["operator.yaml", "fixtures"];

/** A name of which a key of a ConfigMap can be made. */
const CARRIABLE = /^[-_a-zA-Z0-9]+(\.[-_a-zA-Z0-9]+)*$/;

/** Compiled code as packages have it: it runs on one processor, one C library and one version of its language alone. */
const COMPILED = /\.(so(\.\d+)*|pyd|dylib|dll|node)$/;
const COMPILED_REMEDY =
  "Install the package without compiled parts (pip install --platform any --only-binary :all: --target vendor), " +
  "or put it into an image: image, or files: { image: ... }.";

/**
 * The files of a folder and its subfolders that a handler may use, in an order that is the same on every machine.
 * Symbolic links are followed within the folder.
 *
 * @param problems - is told of names that cannot be carried, of compiled code, and of links that lead out of the folder
 * @param included where the folder is from the operator's own. @default it is the operator's own
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
    // Not by locale: the order is part of the manifest.
    for (const name of readdirSync(directory).sort()) {
      if (LEFT_OUT.test(name) || (isOwn && prefix === "" && OWN.includes(name))) continue;
      const file = path.join(directory, name);
      const report = problems.in(path.join(folder, prefix, name));
      if (destination === "configMaps" && !isCarriable(name, report)) continue;
      try {
        const target = realpathSync(file);
        const stats = statSync(target);
        if (!`${target}${path.sep}`.startsWith(root + path.sep)) {
          const of = isOwn ? "the operator's folder" : "the folder that is included";
          report("the symbolic link", `leads out of ${of}`, "Put the file itself there.");
        } else if (above.includes(target)) {
          report("the symbolic link", "leads to a folder that it is in", "Remove it.");
        } else if (stats.isDirectory()) {
          visit(file, `${prefix}${name}/`, [...above, target]);
        } else if (stats.isFile()) {
          carried.push({ path: path.posix.join(included ?? "", prefix + name), file, bytes: stats.size });
        } else {
          report("it", "is neither a file nor a folder", "Remove it.");
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
  else report("it", `cannot be read: ${code}`, "Give what can be read.");
}
