import { readFileSync } from "node:fs";
import path from "node:path";
import { buildSync } from "esbuild";
import { FUNCTION_LOOPS } from "../runtime/program";

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
const POD_FOLDER = path.join(PROJECT_FOLDER, "runtime", "pod");

/** The folder of the loops around functions. */
export const LOOPS_FOLDER = path.join(PROJECT_FOLDER, "runtime", "functions");

let files: EngineFiles | undefined;

/**
 * The engine as one file, made from the sources of this very version, and its helper in the handler's container. The
 * same sources and packages give the same bytes on every machine and in every folder: the ConfigMap's name is their
 * hash, and no `pulumi up` may change it without a reason.
 */
export function engineFiles(): EngineFiles {
  files ??= {
    "engine.js": bundleEngine(),
    "handler.sh": readFileSync(path.join(POD_FOLDER, "handler.sh"), "utf8"),
    "function.py": readFileSync(path.join(LOOPS_FOLDER, FUNCTION_LOOPS.python), "utf8"),
    "function.js": readFileSync(path.join(LOOPS_FOLDER, FUNCTION_LOOPS.javascript), "utf8"),
  };
  return files;
}

function bundleEngine(): string {
  const { outputFiles } = buildSync({
    entryPoints: [path.join(POD_FOLDER, "main.ts")],
    absWorkingDir: PROJECT_FOLDER,
    bundle: true,
    minify: true,
    platform: "node",
    format: "cjs",
    // The runner's image is newer; this is what the project supports.
    target: "node20",
    legalComments: "none",
    // No tsconfig.json is looked for: one that a user has changed for his own programs must not change ours.
    tsconfigRaw: { compilerOptions: { strict: true } },
    logLevel: "silent",
    write: false,
  });
  const [output] = outputFiles;
  if (!output) throw new Error("esbuild made no bundle of the engine");
  return output.text;
}
