// Files that are read at run time: where they are in the sources and in the package.
import path from "node:path";

/** The build sets this to true (tools/build.ts), so that the code knows whether it is compiled. */
declare const ARGOSY_IS_COMPILED: true | undefined;

/** The folder of the sources. Compiled code has none. */
const SOURCES = path.join(__dirname, "..");

/**
 * Files and folders that Argosy reads at run time, by their paths in the sources. The package has all of them next to the
 * compiled code.
 */
export const ASSETS = {
  /** The handler's side of a pod. */
  "handler.sh": "runtime/handler/container/handler.sh",
  /** The loops around functions. */
  functions: "runtime/handler/functions",
  "guard.sh": "cli/controlPlane/guard.sh",
  "watchdog.sh": "cli/controlPlane/watchdog.sh",
  /** The operator that `start` plays with. */
  "examples/memcached": "examples/memcached",
  /** The program that `init` makes. */
  "templates/typescript": "templates/typescript",
} as const;

/** The names of files in the package that npm would leave out under their own names. */
export const PACKED_NAMES = { ".gitignore": "gitignore" } as const;

/** The absolute path of an asset. */
export function assetPath(asset: keyof typeof ASSETS): string {
  return isCompiled() ? path.join(__dirname, asset) : path.join(SOURCES, ASSETS[asset]);
}

/**
 * The engine that was built with this code. Undefined if this code is the sources: the engine is then bundled when it is needed.
 */
export function builtEngine(): string | undefined {
  return isCompiled() ? path.join(__dirname, "engine.js") : undefined;
}

/** Whether this code is that of the package, and not the sources. */
export function isCompiled(): boolean {
  return typeof ARGOSY_IS_COMPILED !== "undefined";
}
