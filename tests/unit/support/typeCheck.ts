import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { PROJECT } from "./projectCopy";

/** TypeScript's native compiler. Our tools and ts-node need the programming interface of the older one, which needs five times the CPU. */
const COMPILER = path.join(PROJECT, "node_modules/typescript-native/bin/tsc");

/** Within the project, so that the files find its packages. */
const CACHE = path.join(PROJECT, "node_modules/.cache");

/** Compiles this repository, with further files. */
export class TypeCheck {
  /** What is wrong, one text each, which begins with its place. */
  private readonly found: readonly string[];
  private readonly folder: string;

  /**
   * Compiles it as tsconfig.json says.
   *
   * @param files the texts of files that are not on the disk, by their names. All are written into one folder
   */
  constructor(files: ReadonlyMap<string, string>) {
    mkdirSync(CACHE, { recursive: true });
    this.folder = mkdtempSync(path.join(CACHE, "types-"));
    try {
      for (const [name, text] of files) writeFileSync(path.join(this.folder, name), text);
      const config = { extends: path.join(PROJECT, "tsconfig.json"), files: [...files.keys()] };
      writeFileSync(path.join(this.folder, "tsconfig.json"), JSON.stringify(config));
      const args = [COMPILER, "--project", this.folder, "--pretty", "false"];
      const { stdout, stderr, status } = spawnSync(process.execPath, args, {
        cwd: PROJECT,
        encoding: "utf8",
      });
      this.found = stdout.split(/\n(?=\S)/).filter((text) => text !== "");
      if (status !== 0 && this.found.length === 0) throw new Error(`tsc ended with ${status}: ${stderr}`);
    } finally {
      rmSync(this.folder, { recursive: true });
    }
  }

  /** What is wrong in the files on the disk, with its places. */
  ofRepository(): string {
    return this.found.filter((text) => !text.startsWith(this.place(""))).join("\n");
  }

  /** What is wrong in one of the further files. */
  ofFile(name: string): string[] {
    return this.found.filter((text) => text.startsWith(`${this.place(name)}(`));
  }

  private place(name: string): string {
    return `${path.relative(PROJECT, this.folder)}${path.sep}${name}`;
  }
}
