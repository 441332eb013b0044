import { existsSync } from "node:fs";
import path from "node:path";
import { type BuildFailure, buildSync, type Message } from "esbuild";
import { foldersAbove } from "./foldersAbove";
import { OperatorError, Problems, type Report } from "./problems";

/** A function in JavaScript or TypeScript as one file. */
export interface FunctionBundle {
  /** CommonJS, with all imports except Node's own modules, and a source map in its last line. */
  readonly code: string;
  /** The absolute paths of the files in the bundle. */
  readonly inputs: readonly string[];
}

/** The name that replaces `import.meta.url` of an ES module in CommonJS. */
const IMPORT_META_URL = "argosyImportMetaUrl";

/**
 * Bundles a function with its npm dependencies. The same sources and packages give the same bytes on every machine and in every
 * folder.
 *
 * @param folder - the operator's
 * @param file - relative to the folder: "main.ts"
 * @throws OperatorError naming file and line of what cannot be bundled
 */
export function bundleFunction(folder: string, file: string): FunctionBundle {
  try {
    const { outputFiles, metafile } = buildSync({
      entryPoints: [path.join(folder, file)],
      // Names of sources are relative to this file: the loop runs the bundle under the author's file's name.
      outfile: path.join(folder, file),
      allowOverwrite: true,
      absWorkingDir: folder,
      bundle: true,
      platform: "node",
      format: "cjs",
      // The oldest version that the project supports. The image is newer.
      target: "node20",
      sourcemap: "inline",
      sourcesContent: false,
      legalComments: "none",
      banner: {
        js: `const ${IMPORT_META_URL} = require("node:url").pathToFileURL(__filename).href;`,
      },
      define: {
        "import.meta.url": IMPORT_META_URL,
        "import.meta.dirname": "__dirname",
        "import.meta.filename": "__filename",
      },
      metafile: true,
      logLevel: "silent",
      write: false,
    });
    const [output] = outputFiles;
    if (!output) throw new Error("esbuild made no bundle");
    const inputs = Object.keys(metafile.inputs).map((input) => path.resolve(folder, input));
    return { code: output.text, inputs };
  } catch (error) {
    throw toOperatorError(folder, file, error);
  }
}

/**
 * Checks that a function can be bundled, and that its file seems to define the required functions.
 * @param functions the functions that the file must export: "reconcile"
 */
export function checkFunction(
  folder: string,
  file: string,
  functions: readonly string[],
  problems: Problems,
  report: Report,
): void {
  try {
    const { code } = bundleFunction(folder, file);
    for (const name of functions) {
      // Only a run shows whether a function is exported. But the bundle of an ES module does not contain functions that are not
      // exported.
      if (new RegExp(`\\b${name}\\b`).test(code)) continue;
      const remedy = `Write there: export function ${name}(request) { ... }`;
      report("handler", `"${file}" exports no function ${name}(request)`, remedy);
    }
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    problems.add(error);
  }
}

function toOperatorError(folder: string, file: string, error: unknown): OperatorError {
  const problems = new Problems();
  for (const { text, location } of messagesOf(error)) {
    const position = location ? { line: location.line, column: location.column + 1 } : undefined;
    const report = problems.in(path.resolve(folder, location?.file ?? file), () => position);
    report("the function", `cannot be bundled: ${text.replace(/\.$/, "")}`, remedyFor(text, folder));
  }
  return problems.toError();
}

function remedyFor(text: string, folder: string): string {
  if (/No loader is configured for "\.node"/.test(text)) {
    return "It is compiled code, which cannot be bundled. Use another package, or write a program with an image of its own: handler: { image, command }.";
  }
  if (!text.startsWith("Could not resolve")) return "Correct it there.";
  // Packages are searched there.
  return foldersAbove(folder).some((place) => existsSync(path.join(place, "package.json")))
    ? "Install it with npm, or correct its name."
    : "Correct its name.";
}

function messagesOf(error: unknown): Pick<Message, "text" | "location">[] {
  const errors = (error as Partial<BuildFailure>).errors ?? [];
  return errors.length > 0 ? errors : [{ text: String(error), location: null }];
}
