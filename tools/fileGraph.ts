import { readFileSync } from "node:fs";
import path from "node:path";
import ts from "typescript";
import { PACKAGE_FOLDER } from "./packageFolder";

/**
 * What a source file of this repository imports, in every form: values and types, by `require` and later on. A file is named by its
 * path from the package's folder, without its ending if the import has none, and a package by its name.
 */
export function importsOf(
  file: string,
  text = readFileSync(path.join(PACKAGE_FOLDER, file), "utf8"),
): string[] {
  return ts
    .preProcessFile(text, true, true)
    .importedFiles.map(({ fileName }) =>
      fileName.startsWith(".") ? path.join(path.dirname(file), fileName) : fileName,
    );
}

/** The file that an import means. Undefined for a package. */
export function importedFile(imported: string, files: { has(file: string): boolean }): string | undefined {
  return [imported, `${imported}.ts`, path.join(imported, "index.ts")].find((file) => files.has(file));
}
