import { cpSync, mkdtempSync, realpathSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

const ROOT = path.resolve(__dirname, "../../..");
const PARTS = [
  "index.ts",
  "package.json",
  "package-lock.json",
  "tsconfig.json",
  "cli",
  "tools",
  "components",
  "runtime",
  "handlers",
];
const STACKS = ["Pulumi.yaml", "Pulumi.dev.yaml", "Pulumi.prod.yaml"];

/** Copies this project into a new temporary folder, with the packages that are installed here. */
export function copyProject(): string {
  const copy = realpathSync(mkdtempSync(path.join(tmpdir(), "argosy-project-")));
  for (const part of [...PARTS, ...STACKS]) {
    cpSync(path.join(ROOT, part), path.join(copy, part), { recursive: true });
  }
  symlinkSync(path.join(ROOT, "node_modules"), path.join(copy, "node_modules"));
  return copy;
}
