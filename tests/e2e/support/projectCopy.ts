import assert from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parse, stringify } from "yaml";
import { installProgram, takeProgram } from "../../../tools/installProgram";

/** The folder of this program. */
export const PROJECT = path.resolve(__dirname, "../../..");

/** Two runners, so that one can take over; and runs that go while the e2e looks on. */
const SETTINGS = { runnerReplicas: 2, runsKeptSeconds: 60 };

/** What memcached's handler does not do by itself: be slow, crash, hang. The same numbers as those of `report`. */
const MISBEHAVIOUR = `
    if size == 47:
        import pathlib, time
        pathlib.Path("/tmp/began").touch()
        while not pathlib.Path("/tmp/go").exists():
            time.sleep(0.2)
        size = 4
    if size == 48:
        raise SystemExit("the cellar is flooded")
    if size == 49:
        import time
        time.sleep(600)
`;

const LETTER = "kind: Letter, plural: letters, singular: letter";

/** How a copy differs from the stack "dev" with {@link SETTINGS}. */
export interface CopyOptions {
  readonly base?: "dev" | "prod";
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Folders in examples/ that are its handlers, in the place of memcached and `report`. */
  readonly examples?: readonly string[];
}

let present: string | undefined;

/** The program as it is now, installed once in a process from its packed package: see {@link installProgram}. */
export function presentProgram(): string {
  if (present === undefined) {
    const folder = mkdtempSync(path.join(tmpdir(), "argosy-e2e-program-"));
    process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
    installProgram(PROJECT, folder);
    present = folder;
  }
  return present;
}

/** A copy of the installed program in a temporary folder, with handlers and a stack of its own. */
export class ProjectCopy {
  /** The temporary folder: the project is in `project`, the state of its stacks in `state`. */
  private readonly root = mkdtempSync(path.join(tmpdir(), "argosy-e2e-"));
  readonly folder = path.join(this.root, "project");
  readonly state = path.join(this.root, "state");

  /**
   * @param stack the stack's name
   * @param base the stack whose settings it has, and {@link SETTINGS}
   * @param settings further ones
   * @param examples its handlers
   */
  constructor(stack: string, { base = "dev", settings = {}, examples }: CopyOptions = {}) {
    mkdirSync(this.state);
    mkdirSync(this.folder);
    this.takeProgram(presentProgram());
    const handlers = path.join(this.folder, "handlers");
    for (const folder of examples ?? ["memcached"]) {
      const copy = path.join(handlers, path.basename(folder));
      cpSync(path.join(PROJECT, "examples", folder), copy, { recursive: true });
    }
    if (!examples) cpSync(path.join(PROJECT, "tests/e2e/handlers"), handlers, { recursive: true });
    const { config } = parse(readFileSync(path.join(PROJECT, `Pulumi.${base}.yaml`), "utf8"));
    const { "kubernetes:context": _ofSomebodyElse, ...own } = config;
    const all = stringify({ config: { ...own, ...SETTINGS, ...settings } });
    writeFileSync(path.join(this.folder, `Pulumi.${stack}.yaml`), all);
  }

  /** Takes another program with its package, as `git pull` and `npm ci` do. The handlers stay. */
  takeProgram(installed: string): void {
    takeProgram(installed, this.folder);
  }

  /** Has memcached do wrong what `report` does: see {@link MISBEHAVIOUR}. */
  teachMisbehaviour(): void {
    const size = `size = request["object"]["spec"]["size"]\n`;
    this.edit("handlers/memcached/main.py", size, `${size}${MISBEHAVIOUR.slice(1)}`);
    this.edit("handlers/memcached/operator.yaml", "crd: crd.yaml", "crd: crd.yaml\ntimeoutSeconds: 180");
  }

  /** Adds an operator like `report`, resident, whose kind is another. */
  addLetters(): void {
    const folder = "handlers/letter";
    cpSync(path.join(this.folder, "handlers/report"), path.join(this.folder, folder), { recursive: true });
    this.edit(`${folder}/crd.yaml`, "name: reports.", "name: letters.");
    this.edit(`${folder}/crd.yaml`, "kind: Report, plural: reports, singular: report", LETTER);
    this.edit(`${folder}/operator.yaml`, "execution: pod", "execution: resident");
  }

  /** Takes an operator's folder away. Gives what puts it back. */
  takeAway(operator: string): () => void {
    const folder = path.join(this.folder, "handlers", operator);
    const kept = path.join(this.root, operator);
    renameSync(folder, kept);
    return () => renameSync(kept, folder);
  }

  /** Replaces a text in one of the copy's files. */
  edit(file: string, text: string, replacement: string): void {
    const content = this.read(file);
    assert.ok(content.includes(text), `${file} has no ${text}`);
    this.write(
      file,
      content.replace(text, () => replacement),
    );
  }

  read(file: string): string {
    return readFileSync(path.join(this.folder, file), "utf8");
  }

  write(file: string, content: string): void {
    writeFileSync(path.join(this.folder, file), content);
  }

  remove(): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}
