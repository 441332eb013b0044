import path from "node:path";
import { bundleFunction } from "../../definition/bundleFunction";
import { definitionFile } from "../../definition/definitionFile";
import { languageOf } from "../../definition/handlerProgram";
import type { Operator } from "../../runtime/cli";
import { realPath } from "../common/realPath";

/**
 * Whether edits of these files affect an operator's handler. The files may be in its folder, in a folder that it includes, or be
 * imports of its function in JavaScript.
 * @param files absolute paths of files and folders, below the folder of all operators as that is without symbolic links
 */
export function areOfHandler(
  files: readonly string[],
  operator: Pick<Operator, "folder" | "include" | "handler">,
): boolean {
  const { folder, include = [] } = operator;
  const own = files.filter((file) => isWithin(file, folder));
  if (own.some((file) => file !== definitionFile(folder))) return true;
  const included = include.map((place) => realPath(path.resolve(folder, place)));
  const others = files.filter((file) => !own.includes(file)).map(realPath);
  if (others.some((file) => included.some((place) => isWithin(file, place)))) return true;
  const imported = others.length === 0 ? [] : importsOf(operator);
  return imported === "unknown" || others.some((file) => imported.some((each) => isWithin(each, file)));
}

/** The files in the bundle of a function in JavaScript or TypeScript. "unknown" if it cannot be bundled now. */
function importsOf({ folder, handler }: Pick<Operator, "folder" | "handler">): readonly string[] | "unknown" {
  if ("command" in handler || languageOf(handler.function) === "python") return [];
  try {
    return bundleFunction(folder, handler.function).inputs;
  } catch {
    // The edited file may be an import of the function.
    return "unknown";
  }
}

/** Whether a file is in a folder, or is that folder itself. */
function isWithin(file: string, folder: string): boolean {
  return file === folder || file.startsWith(folder + path.sep);
}
