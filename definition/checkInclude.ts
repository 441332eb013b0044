import { existsSync, realpathSync, statSync } from "node:fs";
import path from "node:path";
import { definitionFile, signOfOperator } from "./definitionFile";
import type { Report } from "./problems";

/**
 * Checks that the folders that an operator includes exist in the folder of the operators, that no symbolic link leads elsewhere,
 * and that none of the folders is an operator itself.
 */
export function checkInclude(folder: string, include: readonly string[] = [], report: Report): void {
  if (include.length > 0 && !/^[-\w]+(\.[-\w]+)*$/.test(path.basename(folder))) {
    const remedy = 'Rename it: letters, digits, "-", "_", and single dots between them.';
    report("include", "needs a folder whose name can be part of a key of a ConfigMap", remedy);
  }
  if (
    include.length > 0 &&
    realpathSync(folder) !== path.join(realpathSync(path.dirname(folder)), path.basename(folder))
  ) {
    report(
      "include",
      "cannot be found, because the operator's folder is a symbolic link",
      "Put the operator's folder itself there instead of the link.",
    );
  }
  const handlers = realpathSync(path.dirname(folder));
  const seen = new Set<string>();
  for (const [index, place] of include.entries()) {
    const complain = (complaint: string, remedy: string) =>
      report(`include[${index}]`, `"${place}" ${complaint}`, remedy);
    const file = path.resolve(folder, place);
    if (!existsSync(file)) {
      complain("is missing", "Create the folder, or correct its name.");
      continue;
    }
    const target = realpathSync(file);
    if (!statSync(target).isDirectory()) {
      complain("is not a folder", "Name the folder that the file is in.");
      continue;
    }
    if (!target.startsWith(handlers + path.sep)) {
      complain("leads outside the folder of the operators", "Put the folder itself next to the operator's.");
    } else if (isOperator(target, handlers)) {
      complain("is in an operator's folder", "Put what operators share into a folder of its own.");
    } else if ([...seen].some((other) => overlap(other, target))) {
      complain("is included already", "Name each folder once.");
    }
    seen.add(target);
  }
}

/** Whether a folder, or one that it lies in, is an operator's. */
function isOperator(folder: string, handlers: string): boolean {
  for (let place = folder; place !== handlers; place = path.dirname(place)) {
    if (existsSync(definitionFile(place)) || signOfOperator(place) !== undefined) return true;
  }
  return false;
}

function overlap(one: string, other: string): boolean {
  const [outer = "", inner = ""] = [one, other].map((folder) => folder + path.sep).sort();
  return inner.startsWith(outer);
}
