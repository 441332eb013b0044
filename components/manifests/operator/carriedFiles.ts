import { readdirSync, realpathSync, statSync } from "node:fs";
import path from "node:path";
import type { Problems } from "../../../definition/problems";
import { isRecord } from "../../../runtime/program";

/** A file of an operator's folder that goes along into the cluster. */
export interface CarriedFile {
  /** Relative to the folder, with "/". */
  readonly path: string;
  /** Where it is on this machine. */
  readonly file: string;
  readonly bytes: number;
}

/** Left out wherever they are: hidden files, what tools leave behind, editors' backups. */
const LEFT_OUT = /^(\..*|__pycache__|node_modules|.*~|#.*#|.*\.(swp|bak))$/;
/** Left out at the top of the folder: what Argosy itself reads. */
const OWN = ["operator.yaml", "fixtures"];

/** A name of which a key of a ConfigMap can be made: see `keyOf` in handlerFiles.ts. */
const CARRIABLE = /^[-_a-zA-Z0-9]+(\.[-_a-zA-Z0-9]+)*$/;

/**
 * The files of a folder and its subfolders that a handler may use, in an order that is the same on every machine.
 * Symbolic links are followed within the folder.
 *
 * @param problems - is told of names that cannot be carried, and of links that lead out of the folder
 */
export function carriedFiles(folder: string, problems: Problems): CarriedFile[] {
  const root = realpathSync(folder);
  const carried: CarriedFile[] = [];

  function visit(directory: string, prefix: string, above: readonly string[]): void {
    // Not by locale: the order is part of the manifest.
    for (const name of readdirSync(directory).sort()) {
      if (LEFT_OUT.test(name) || (prefix === "" && OWN.includes(name))) continue;
      const file = path.join(directory, name);
      const report = problems.in(path.join(folder, prefix, name));
      if (!CARRIABLE.test(name)) {
        const remedy = 'Rename it: letters, digits, "-", "_", and single dots between them.';
        report("the name", "cannot be made a key of a ConfigMap", remedy);
        continue;
      }
      try {
        const target = realpathSync(file);
        const stats = statSync(target);
        if (!`${target}${path.sep}`.startsWith(root + path.sep)) {
          report("the symbolic link", "leads out of the operator's folder", "Put the file itself there.");
        } else if (above.includes(target)) {
          report("the symbolic link", "leads to a folder that it is in", "Remove it.");
        } else if (stats.isDirectory()) {
          visit(file, `${prefix}${name}/`, [...above, target]);
        } else if (stats.isFile()) {
          carried.push({ path: prefix + name, file, bytes: stats.size });
        } else {
          report("it", "is neither a file nor a folder", "Remove it.");
        }
      } catch (error) {
        const code = isRecord(error) ? String(error.code) : String(error);
        if (code === "ENOENT") report("the symbolic link", "leads nowhere", "Remove it, or mend it.");
        else report("it", `cannot be read: ${code}`, "Give what can be read.");
      }
    }
  }

  visit(folder, "", [root]);
  return carried;
}
