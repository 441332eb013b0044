import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync } from "node:fs";
import path from "node:path";
import type { JsonObject } from "../../../runtime/kubernetes/objects";
import { addFiles, removeFolder, writeFolder } from "../operatorFolder";
import { copyProject } from "./projectCopy";

const MODULES = path.resolve(__dirname, "../../../node_modules");

/** Packs the project with npm, in a copy of it in which its handlers have run. */
export function packProject(): { tarball: string; remove(): void } {
  const copy = copyProject();
  addFiles(copy, { "examples/memcached/__pycache__/main.cpython-313.pyc": "" });
  const options = { cwd: copy, encoding: "utf8" } as const;
  const [name = ""] = execFileSync("npm", ["pack", "--silent"], options).trim().split("\n").slice(-1);
  return { tarball: path.join(copy, name), remove: () => removeFolder(copy) };
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

  /** @param tools - packages that the user has beside: "typescript" */
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
