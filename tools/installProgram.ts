import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { buildSync } from "esbuild";
import { parse, stringify } from "yaml";
import { PACKAGE_NAME } from "../components/package";

/** The files of an installed program. Its handlers and its other stacks are next to them. */
const PROGRAM_FILES = [
  "index.js",
  "package.json",
  "package-lock.json",
  "Pulumi.yaml",
  "Pulumi.dev.yaml",
  "Pulumi.prod.yaml",
  ".gitignore",
] as const;
const MODULES = "node_modules";
/** Far more than the size of the sources. */
const MOST_BYTES = 2 ** 28;

/**
 * Creates this repository's program as users have it: in its own folder, with the package that npm has installed from its
 * tarball.
 *
 * @param sources - the folder of the repository
 * @param folder - is created
 * @param given - a tarball of the package, by its absolute path. By default the sources are packed
 */
export function installProgram(sources: string, folder: string, given?: string): void {
  mkdirSync(folder, { recursive: true });
  const tarball = given ?? packPackage(sources, folder);
  writeProgram(sources, folder);
  const { name, devDependencies, peerDependencies } = readJson(path.join(sources, "package.json"));
  const versions = Object.keys(peerDependencies).map((peer) => [peer, devDependencies[peer]]);
  const dependencies = { [name]: `file:${tarball}`, ...Object.fromEntries(versions) };
  writeFileSync(path.join(folder, "package.json"), JSON.stringify({ private: true, dependencies }));
  writeFileSync(path.join(folder, ".gitignore"), `${MODULES}\n*.tgz\n`);
  npm("install", "--prefix", folder, "--prefer-offline", "--no-audit", "--no-fund");
}

/**
 * The same for a commit of the repository, built with the packages that are installed now.
 * @throws Error if git does not know the commit, or if it was not a package yet. The message ends with the reason
 */
export function installProgramAt(commit: string, repository: string, folder: string): void {
  const sources = mkdtempSync(path.join(tmpdir(), "argosy-sources-"));
  try {
    const args = ["archive", "--format=tar", `${commit}^{commit}`];
    const archive = execFileSync("git", args, { cwd: repository, stdio: "pipe", maxBuffer: MOST_BYTES });
    execFileSync("tar", ["-x", "-C", sources], { input: archive, stdio: "pipe" });
    const { name } = readJson(path.join(sources, "package.json"));
    if (name !== PACKAGE_NAME) throw new Error(`in ${commit} this was not yet the package ${PACKAGE_NAME}`);
    symlinkSync(path.join(repository, MODULES), path.join(sources, MODULES));
    installProgram(sources, folder);
  } finally {
    rmSync(sources, { recursive: true, force: true });
  }
}

/** Replaces the program in a folder by an installed program. The folder's handlers and stacks stay. */
export function takeProgram(installed: string, folder: string): void {
  for (const name of PROGRAM_FILES) cpSync(path.join(installed, name), path.join(folder, name));
  rmSync(path.join(folder, MODULES), { force: true });
  symlinkSync(path.join(installed, MODULES), path.join(folder, MODULES));
}

/** The engine of an installed program's package. */
export function engineOf(installed: string): string {
  return path.join(installed, MODULES, PACKAGE_NAME, "dist", "engine.js");
}

/** Packs the package. Returns the tarball's absolute path. */
function packPackage(sources: string, folder: string): string {
  const printed = npm("pack", sources, "--pack-destination", folder);
  return path.join(folder, printed.trim().split("\n").at(-1) ?? "");
}

/** Bundles the program's own files into one file. npm installs the packages that it imports. */
function writeProgram(sources: string, folder: string): void {
  buildSync({
    entryPoints: [path.join(sources, "index.ts")],
    outfile: path.join(folder, "index.js"),
    bundle: true,
    external: [PACKAGE_NAME, "@pulumi/*"],
    platform: "node",
    format: "cjs",
    target: "node20",
    logLevel: "warning",
  });
  const project = parse(readFileSync(path.join(sources, "Pulumi.yaml"), "utf8"));
  const changed = stringify({ ...project, runtime: "nodejs", main: "index.js" });
  writeFileSync(path.join(folder, "Pulumi.yaml"), changed);
  for (const name of ["Pulumi.dev.yaml", "Pulumi.prod.yaml"]) {
    cpSync(path.join(sources, name), path.join(folder, name));
  }
}

function npm(...args: string[]): string {
  return execFileSync("npm", [...args, "--loglevel=error"], { encoding: "utf8", stdio: "pipe" });
}

interface PackageManifest {
  readonly name: string;
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

function readJson(file: string): PackageManifest {
  return JSON.parse(readFileSync(file, "utf8")) as PackageManifest;
}
