// What users install.
import { chmodSync, cpSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { buildSync } from "esbuild";
import { ASSETS, PACKED_NAMES } from "../components/assets";
import { bundleEngine } from "../components/engineBundle";
import { dependencies, peerDependencies } from "../package.json";
import { declarationsOf } from "./build/declarations";
import { licencesOf } from "./build/licences";
import { PACKAGE_FOLDER } from "./packageFolder";

/** The files that are compiled, and their sources: a library for programs, and the command. */
const LIBRARY = { file: "index.js", entry: "components/index.ts" } as const;
const COMMAND = { file: "cli.js", entry: "cli/argosy.ts" } as const;

/**
 * Builds the content of `dist` in the npm package. The same sources and packages give the same bytes on every machine and in
 * every folder.
 *
 * @param folder - is emptied first
 */
export function build(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const write = (name: string, text: string) => writeFileSync(path.join(folder, name), text);

  const bundles = compiled();
  write(LIBRARY.file, bundles[LIBRARY.file].code);
  write(LIBRARY.file.replace(/\.js$/, ".d.ts"), declarationsOf(LIBRARY.entry, PACKAGE_FOLDER));
  write(COMMAND.file, `#!/usr/bin/env node\n${bundles[COMMAND.file].code}`);
  chmodSync(path.join(folder, COMMAND.file), 0o755);
  write("engine.js", bundles["engine.js"].code);
  for (const [asset, source] of Object.entries(ASSETS)) {
    cpSync(path.join(PACKAGE_FOLDER, source), path.join(folder, asset), {
      recursive: true,
      filter: isSource,
    });
    for (const [name, packed] of Object.entries(PACKED_NAMES)) {
      const file = path.join(folder, asset, name);
      if (existsSync(file)) renameSync(file, path.join(folder, asset, packed));
    }
  }
  const inputs = Object.values(bundles).flatMap((bundle) => bundle.inputs);
  write("THIRD-PARTY-LICENSES", licencesOf(inputs, PACKAGE_FOLDER));
}

/** Python leaves compiled files next to a handler that has run. */
function isSource(file: string): boolean {
  return path.basename(file) !== "__pycache__";
}

/** A compiled file. */
export interface Bundle {
  readonly code: string;
  /** The files in the bundle, relative to the project's folder. */
  readonly inputs: readonly string[];
}

/** Everything in the package that is compiled, by its name in `dist`. */
export function compiled() {
  return {
    [LIBRARY.file]: compile(LIBRARY.entry),
    [COMMAND.file]: compile(COMMAND.entry),
    "engine.js": bundleEngine(),
  } satisfies Record<string, Bundle>;
}

/** Compiles our own code to one CommonJS file. The file includes every package that a user's npm does not install. */
function compile(entry: string): Bundle {
  const { outputFiles, metafile } = buildSync({
    entryPoints: [entry],
    absWorkingDir: PACKAGE_FOLDER,
    bundle: true,
    external: Object.keys({ ...dependencies, ...peerDependencies }),
    platform: "node",
    format: "cjs",
    target: "node20",
    // Otherwise, if packages are linked, the code would contain the places that the links point to.
    preserveSymlinks: true,
    define: { ARGOSY_IS_COMPILED: "true" },
    legalComments: "none",
    tsconfigRaw: { compilerOptions: { strict: true } },
    logLevel: "warning",
    metafile: true,
    write: false,
  });
  const [output] = outputFiles;
  if (!output) throw new Error(`esbuild made no bundle of ${entry}`);
  return { code: output.text, inputs: Object.keys(metafile.inputs) };
}

if (require.main === module) {
  const [folder] = process.argv.slice(2);
  if (folder === undefined || existsSync(path.join(folder, "package.json"))) {
    process.stderr.write("usage: tsx tools/build.ts FOLDER    (the folder is emptied first)\n");
    process.exitCode = 2;
  } else build(path.resolve(folder));
}
