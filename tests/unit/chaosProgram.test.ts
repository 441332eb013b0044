import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { loadOperators } from "../../definition/loadOperators";
import { Program } from "../../tools/chaos/inCluster/program";

const PROJECT = path.resolve(__dirname, "../..");

describe("the program of a chaos run", () => {
  let program: Program;
  const handlers = () => path.join(program.folder, "handlers");

  beforeEach(() => {
    const options = { stack: "chaos", executions: ["resident", "pod"], image: "node:22" } as const;
    program = new Program(PROJECT, { ...options, ledger: "http://ledger:8080/" });
  });
  afterEach(() => program.remove());

  it("has an operator of each form that the loader accepts, and no other", () => {
    const operators = loadOperators(handlers());
    assert.deepEqual(
      operators.map(({ name, execution, finalize, env }) => ({
        name,
        execution,
        finalize,
        ledger: env.LEDGER,
      })),
      [
        { name: "chaos-pod", execution: "pod", finalize: true, ledger: "http://ledger:8080/" },
        { name: "chaos-resident", execution: "resident", finalize: true, ledger: "http://ledger:8080/" },
      ],
    );
  });

  it("renews the handler of one form alone", () => {
    program.renewHandler("pod", 2);
    const versionOf = (name: string) => readFileSync(path.join(handlers(), name, "version"), "utf8");
    assert.deepEqual([versionOf("chaos-pod"), versionOf("chaos-resident")], ["2", "1"]);
  });

  it("upgrades to another version of its engine each time", () => {
    const engine = () => readFileSync(path.join(program.folder, "runtime/pod/main.ts"), "utf8");
    const seen = [engine()];
    for (let time = 0; time < 2; time++) {
      program.upgrade();
      seen.push(engine());
    }
    assert.equal(new Set(seen).size, 3);
  });

  it("leaves nothing behind", () => {
    program.remove();
    assert.ok(!existsSync(program.folder) && !existsSync(program.state));
  });
});

describe("the program of a chaos run that begins with an older commit", () => {
  const FILES = ["package.json", "tsconfig.json", "Pulumi.yaml", "Pulumi.dev.yaml"];
  const options = { stack: "chaos", executions: ["resident"], image: "node:22", ledger: "" } as const;
  let project: string;
  let program: Program | undefined;

  beforeEach(() => {
    project = mkdtempSync(path.join(tmpdir(), "argosy-older-"));
    const git = (...args: string[]) => execFileSync("git", args, { cwd: project, stdio: "pipe" });
    for (const name of FILES) cpSync(path.join(PROJECT, name), path.join(project, name));
    for (const name of ["components", "definition", "runtime"]) {
      cpSync(path.join(PROJECT, name), path.join(project, name), { recursive: true });
    }
    writeFileSync(path.join(project, "index.ts"), "// older\n");
    writeFileSync(path.join(project, "components", "removed.ts"), "");
    git("init", "--quiet");
    git("add", ".");
    git("-c", "user.name=n", "-c", "user.email=n@example.com", "commit", "--quiet", "--message", "older");
    writeFileSync(path.join(project, "index.ts"), "// present\n");
    rmSync(path.join(project, "components", "removed.ts"));
  });
  afterEach(() => {
    program?.remove();
    rmSync(project, { recursive: true });
  });

  it("is that commit until it is upgraded, and then the folder as it is", () => {
    const begun = new Program(project, { ...options, from: "HEAD" });
    program = begun;
    const seen = () => [
      readFileSync(path.join(begun.folder, "index.ts"), "utf8"),
      existsSync(path.join(begun.folder, "components", "removed.ts")),
      readFileSync(path.join(begun.folder, "Pulumi.chaos.yaml"), "utf8").includes("runnerReplicas"),
      existsSync(path.join(begun.folder, "handlers", "chaos-resident", "operator.yaml")),
    ];
    assert.deepEqual(seen(), ["// older\n", true, true, true]);
    begun.upgrade();
    assert.deepEqual(seen(), ["// present\n", false, true, true]);
  });

  it("is refused where there is no such commit, by the option's name, and leaves nothing behind", () => {
    const folders = () => readdirSync(tmpdir()).filter((name) => name.startsWith("argosy-chaos-"));
    const before = folders();
    assert.throws(() => new Program(project, { ...options, from: "nowhere" }), {
      name: "Error",
      message: /option '--from <commit>'.*nowhere.*Name a commit/s,
    });
    assert.deepEqual(folders(), before);
  });
});
