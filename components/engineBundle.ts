import { readFileSync } from "node:fs";
import path from "node:path";
import { buildSync } from "esbuild";
import { FUNCTION_LOOPS } from "../definition/handlerProgram";
import { assetPath, builtEngine } from "./assets";

/** The engine's files, as they are in its ConfigMap. */
export interface EngineFiles {
  /** For the runner. */
  readonly "engine.js": string;
  /** For the handler's container. */
  readonly "handler.sh": string;
  /** For functions in Python and in JavaScript, in the handler's container. */
  readonly "function.py": string;
  readonly "function.js": string;
}

const PROJECT_FOLDER = path.join(__dirname, "..");

/** The folder of the loops around functions. */
export const LOOPS_FOLDER = assetPath("functions");

let files: EngineFiles | undefined;

/**
 * The engine as one file, and its helpers in the handler's container. The package contains the engine that was built for its
 * release. From the sources, the engine is bundled when it is needed.
 */
export function engineFiles(): EngineFiles {
  const built = builtEngine();
  files ??= {
    "engine.js": built === undefined ? bundleEngine().code : readFileSync(built, "utf8"),
    "handler.sh": readFileSync(assetPath("handler.sh"), "utf8"),
    "function.py": readFileSync(path.join(LOOPS_FOLDER, FUNCTION_LOOPS.python), "utf8"),
    "function.js": readFileSync(path.join(LOOPS_FOLDER, FUNCTION_LOOPS.javascript), "utf8"),
  };
  return files;
}

/** @see bundleEngine */
export interface EngineBundle {
  readonly code: string;
  /** The files of which it was made, relative to the project's folder. */
  readonly inputs: readonly string[];
}

/**
 * Bundles the engine from its sources. The same sources and packages give the same bytes on every machine and in every folder:
 * the ConfigMap's name is their hash, and no `pulumi up` may change it without a reason.
 */
export function bundleEngine(): EngineBundle {
  const { outputFiles, metafile } = buildSync({
    entryPoints: [path.join(PROJECT_FOLDER, "runtime/programs/main.ts")],
    absWorkingDir: PROJECT_FOLDER,
    bundle: true,
    minify: true,
    platform: "node",
    format: "cjs",
    // The runner's image is newer. This is the oldest version that the project supports.
    target: "node20",
    legalComments: "none",
    preserveSymlinks: true,
    // Only a Summary of prom-client and its metrics of processes need these, and the engine has none. Any existing module can
    // replace them.
    alias: { tdigest: "node:util", "@opentelemetry/api": "node:util" },
    // No tsconfig.json is read, because a user may have changed it for programs of their own.
    tsconfigRaw: { compilerOptions: { strict: true } },
    logLevel: "silent",
    metafile: true,
    write: false,
  });
  const [output] = outputFiles;
  if (!output) throw new Error("esbuild made no bundle of the engine");
  return { code: output.text, inputs: Object.keys(metafile.inputs) };
}
