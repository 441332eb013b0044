import path from "node:path";

/** The build defines it as true (tools/build.ts): so the code knows whether it is compiled. */
declare const ARGOSY_IS_COMPILED: true | undefined;

/** The folder of the sources. What is compiled has none. */
const SOURCES = path.join(__dirname, "..");

/**
 * Files and folders that Argosy reads while it runs, and where each lies in the sources. In the package all of them lie
 * beside the compiled code.
 */
export const ASSETS = {
  /** The handler's side of a pod. */
  "handler.sh": "runtime/pod/handler.sh",
  /** The loops around functions. */
  functions: "runtime/functions",
  "guard.sh": "cli/controlPlane/guard.sh",
  "watchdog.sh": "cli/controlPlane/watchdog.sh",
  /** The operator that `start` plays with. */
  "examples/memcached": "examples/memcached",
  /** The program that `init` makes. */
  "templates/typescript": "templates/typescript",
} as const;

/** Names that files of an asset have in the package, where npm leaves out files of their own names. */
export const PACKED_NAMES = { ".gitignore": "gitignore" } as const;

/** The absolute path of an asset. */
export function assetPath(asset: keyof typeof ASSETS): string {
  return isCompiled() ? path.join(__dirname, asset) : path.join(SOURCES, ASSETS[asset]);
}

/** The engine that was built with this code. Undefined where this code is the sources: there it is bundled when needed. */
export function builtEngine(): string | undefined {
  return isCompiled() ? path.join(__dirname, "engine.js") : undefined;
}

function isCompiled(): boolean {
  return typeof ARGOSY_IS_COMPILED !== "undefined";
}
