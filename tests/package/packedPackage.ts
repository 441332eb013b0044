import { execFile, execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { withLock } from "../../cli/controlPlane/lock";
import type { JsonObject } from "../../runtime/base/objects";
import { addFiles, removeFolder, writeFolder } from "../unit/operatorFolder";
import { copyProject, PROJECT, projectFiles } from "../unit/support/projectCopy";

const MODULES = path.join(PROJECT, "node_modules");
const TARBALLS = path.join(MODULES, ".cache/argosy-packed");
const DAY_MS = 86_400_000;

/**
 * Packs the project with npm, in a copy of it in which its handlers have run. It is packed once for all tests and runs that have the
 * same files and packages, since that takes the better part of a minute.
 * @returns the path of the tarball
 */
export async function packedProject(): Promise<string> {
  const tarball = path.join(TARBALLS, `${hashOfProject()}.tgz`);
  const pack = async () => {
    if (existsSync(tarball)) return;
    const copy = copyProject();
    addFiles(copy, { "examples/memcached/__pycache__/main.cpython-313.pyc": "" });
    // Not at one go: the lock of a process that stands still is taken from it.
    const { stdout } = await promisify(execFile)("npm", ["pack", "--silent"], { cwd: copy });
    const [name = ""] = stdout.trim().split("\n").slice(-1);
    copyFileSync(path.join(copy, name), `${tarball}.new`);
    renameSync(`${tarball}.new`, tarball);
    removeFolder(copy);
    removeFormer();
  };
  await withLock(path.join(TARBALLS, "lock"), () => {}, pack);
  return tarball;
}

/** Of everything that the tarball is made of. Tests and pages never go into it. */
function hashOfProject(): string {
  const hash = createHash("sha256").update(process.version);
  const files = projectFiles().filter((file) => !/^(tests|docs)\//.test(file));
  for (const file of [...files.sort(), "node_modules/.package-lock.json"]) {
    const content = readFileSync(path.join(PROJECT, file));
    hash.update(`\0${file}\0${content.length}\0`).update(content);
  }
  return hash.digest("hex");
}

/** Not those of today: another run may be at work with one. */
function removeFormer(): void {
  for (const file of readdirSync(TARBALLS).map((name) => path.join(TARBALLS, name))) {
    if (file.endsWith(".tgz") && Date.now() - statSync(file).mtimeMs > DAY_MS) rmSync(file);
  }
}

/** The files of a tarball, as a user's npm unpacks them. */
export function filesOf(tarball: string): string[] {
  const list = execFileSync("tar", ["-tf", tarball], { encoding: "utf8" });
  return list
    .trim()
    .split("\n")
    .map((file) => file.replace(/^package\//, ""))
    .sort();
}

interface Manifest {
  readonly name: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
}

/** A folder outside of this repository, with the packed package and what that asks for, and nothing else. */
export class UserProject {
  readonly folder: string;
  /** The folder of the unpacked package. */
  readonly package: string;

  /** @param tools - further packages that the user has installed: "typescript" */
  constructor(
    tarball: string,
    files: Readonly<Record<string, string | JsonObject>>,
    tools: readonly string[] = [],
  ) {
    this.folder = writeFolder(files);
    const unpacked = path.join(this.folder, "node_modules/.unpacked");
    mkdirSync(unpacked, { recursive: true });
    execFileSync("tar", ["-xf", tarball, "-C", unpacked]);
    const manifest = JSON.parse(
      readFileSync(path.join(unpacked, "package/package.json"), "utf8"),
    ) as Manifest;
    this.package = path.join(this.folder, "node_modules", manifest.name);
    mkdirSync(path.dirname(this.package), { recursive: true });
    execFileSync("mv", [path.join(unpacked, "package"), this.package]);
    for (const name of [
      ...Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies }),
      ...tools,
    ]) {
      const place = path.join(this.folder, "node_modules", name);
      mkdirSync(path.dirname(place), { recursive: true });
      symlinkSync(path.join(MODULES, name), place);
    }
  }

  /** Runs Node in the folder. The environment has nothing that is for this repository. */
  node(...args: string[]): { stdout: string; stderr: string; status: number | null } {
    const { NODE_OPTIONS: _, ...env } = process.env;
    const options = { cwd: this.folder, env, encoding: "utf8", maxBuffer: 2 ** 26 } as const;
    return spawnSync(process.execPath, args, options);
  }

  /** Adds or replaces files. */
  add(files: Readonly<Record<string, string | JsonObject>>): void {
    addFiles(this.folder, files);
  }

  remove(): void {
    removeFolder(this.folder);
  }
}
