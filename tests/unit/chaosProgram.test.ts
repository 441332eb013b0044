import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { PACKAGE_NAME } from "../../components/package";
import { loadOperators } from "../../definition/loadOperators";
import { Program } from "../../tools/chaos/inCluster/program";
import { addFiles } from "./operatorFolder";
import { assertEach } from "./support/lists";

/** Stands in for a version of the program that npm has installed. */
function fakeVersion(folder: string, name: string): string {
  const version = path.join(folder, name);
  addFiles(version, {
    "index.js": `// ${name}\n`,
    "package.json": "{}",
    "package-lock.json": "{}",
    ".gitignore": "node_modules\n",
    "Pulumi.yaml": "name: argosy\n",
    "Pulumi.dev.yaml": "config:\n  argosy:data: keep\n",
    "Pulumi.prod.yaml": "config: {}\n",
    [`node_modules/${PACKAGE_NAME}/dist/engine.js`]: `// the engine of ${name}\n`,
  });
  return version;
}

const OPTIONS = {
  stack: "chaos",
  executions: ["resident", "pod"],
  image: "node:22",
  initlessPods: false,
  ledger: "http://ledger:8080/",
} as const;
const engineOf = ({ folder }: Program) =>
  readFileSync(path.join(folder, "node_modules", PACKAGE_NAME, "dist/engine.js"), "utf8");

describe("the program of a chaos run", () => {
  let program: Program;
  const handlers = () => path.join(program.folder, "handlers");

  beforeEach(() => {
    const install = (folder: string) => ({ present: fakeVersion(folder, "present") });
    program = new Program({ ...OPTIONS, install });
  });
  afterEach(() => program.remove());

  it("has an operator of each form that the loader accepts, and no other", () => {
    const operators = loadOperators(handlers());
    assertEach(
      operators,
      ({ name, execution, finalize, env }) => ({
        name,
        execution,
        finalize,
        ledger: env.LEDGER,
      }),
      [
        { name: "chaos-pod", execution: "pod", finalize: true, ledger: "http://ledger:8080/" },
        { name: "chaos-resident", execution: "resident", finalize: true, ledger: "http://ledger:8080/" },
      ],
    );
  });

  it("has no resync of the resident form within a run: what only that would mend is lost", () => {
    const [resident] = loadOperators(handlers()).filter(({ name }) => name === "chaos-resident");
    assert.equal(resident?.resyncSeconds, 86_400);
  });

  it("renews the handler of one form alone", () => {
    program.renewHandler("pod", 2);
    const versionOf = (name: string) => readFileSync(path.join(handlers(), name, "version"), "utf8");
    assert.deepEqual([versionOf("chaos-pod"), versionOf("chaos-resident")], ["2", "1"]);
  });

  it("upgrades to another engine each time", () => {
    const seen = [engineOf(program)];
    for (let time = 0; time < 2; time++) {
      program.upgrade();
      seen.push(engineOf(program));
    }
    assert.equal(new Set(seen).size, 3);
  });
});

describe("the program of a chaos run that begins with an older commit", () => {
  it("is that version until it is upgraded, and then the present one", () => {
    const install = (folder: string) => ({
      present: fakeVersion(folder, "present"),
      older: fakeVersion(folder, "older"),
    });
    const program = new Program({ ...OPTIONS, install });
    const seen = () => [
      readFileSync(path.join(program.folder, "index.js"), "utf8"),
      engineOf(program),
      readFileSync(path.join(program.folder, "Pulumi.chaos.yaml"), "utf8").includes("runnerReplicas"),
      existsSync(path.join(program.folder, "handlers", "chaos-resident")),
    ];
    try {
      assert.deepEqual(seen(), ["// older\n", "// the engine of older\n", true, true]);
      program.upgrade();
      assert.deepEqual(seen(), ["// present\n", "// the engine of present\n", true, true]);
    } finally {
      program.remove();
    }
  });
});
