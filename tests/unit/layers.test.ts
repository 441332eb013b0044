import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import ts from "typescript";

const ROOT = path.resolve(__dirname, "../..");
const FOLDERS = ["runtime", "components", "handlers", "examples", "cli", "bench", "chaos", "tests"];

/** A file's import of something: of a file by its path from the project's root, of a package by its name. */
interface Import {
  readonly from: string;
  readonly of: string;
}

const files = [
  "index.ts",
  ...FOLDERS.flatMap((folder) =>
    readdirSync(path.join(ROOT, folder), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts") && !file.includes("node_modules"))
      .map((file) => path.join(folder, file)),
  ),
];
const imports = files.flatMap(importsOf);

/** Imports of every form: of values and of types, by `require` and later on. */
function importsOf(from: string): Import[] {
  const text = readFileSync(path.join(ROOT, from), "utf8");
  return ts.preProcessFile(text, true, true).importedFiles.map(({ fileName }) => ({
    from,
    of: fileName.startsWith(".") ? path.join(path.dirname(from), fileName) : fileName,
  }));
}

function within(file: string, ...folders: string[]): boolean {
  return folders.some((folder) => file === folder || file.startsWith(`${folder}/`));
}

/** "runtime/queue.ts -> components/platform", of what a rule forbids. */
function found(isForbidden: (each: Import) => boolean): string[] {
  return imports.filter(isForbidden).map(({ from, of }) => `${from} -> ${of}`);
}

describe("arrows point one way:", () => {
  it("there are some", () => {
    assert.ok(imports.length > 500);
    assert.ok(found(({ from, of }) => within(from, "components") && within(of, "runtime")).length > 30);
    assert.ok(found(({ from, of }) => from === "index.ts" && of === "@pulumi/pulumi").length === 1);
  });

  it("the engine imports nothing above it", () => {
    const above = ["components", "handlers", "examples", "cli", "bench", "chaos", "tests", "index"];
    assert.deepEqual(
      found(({ from, of }) => within(from, "runtime") && within(of, ...above)),
      [],
    );
  });

  it("the engine knows no Pulumi and no kubeconfig, and stays small", () => {
    const packages = ["@pulumi", "@kubernetes/client-node", "esbuild", "commander", "tsx"];
    assert.deepEqual(
      found(({ from, of }) => within(from, "runtime") && within(of, ...packages)),
      [],
    );
  });

  it("one file of the engine reads YAML", () => {
    assert.deepEqual(
      found(({ from, of }) => within(from, "runtime") && of === "yaml"),
      ["runtime/definition/readYaml.ts -> yaml"],
    );
  });

  it("what runs in a cluster reads no YAML: that is an author's form", () => {
    const reached = reachableFrom("runtime/pod/main.ts");
    assert.ok(reached.size > 30);
    const yaml = found(({ from, of }) => reached.has(from) && of === "yaml");
    assert.deepEqual(yaml, []);
  });

  it("the builders of manifests are plain functions, without Pulumi", () => {
    const builders = ["components/manifests", "components/crdVerdict"];
    assert.deepEqual(
      found(({ from, of }) => within(from, ...builders) && within(of, "@pulumi")),
      [],
    );
  });

  it("a program knows of the engine what is in one file, and all of that is of use to it", () => {
    assert.deepEqual(
      found(
        ({ from, of }) => within(from, "components") && within(of, "runtime") && of !== "runtime/program",
      ),
      [],
    );
    const exported = namesIn("runtime/program.ts");
    assert.ok(exported.length > 30);
    const users = imports.filter(({ from, of }) => within(from, "components") && of === "runtime/program");
    const used = new Set(users.flatMap(({ from }) => namesIn(from)));
    assert.deepEqual(
      exported.filter((name) => !used.has(name)),
      [],
    );
  });

  it("a chaos run knows the engine, and nothing above it", () => {
    const above = ["components", "handlers", "examples", "cli", "bench", "tests", "index"];
    assert.deepEqual(
      found(({ from, of }) => within(from, "chaos") && within(of, ...above)),
      [],
    );
  });

  it("nobody imports the commands but they themselves and what tries them", () => {
    const users = ["cli", "tests", "bench"];
    assert.deepEqual(
      found(({ from, of }) => !within(from, ...users) && within(of, "cli")),
      [],
    );
  });

  it("nothing but tests imports tests", () => {
    assert.deepEqual(
      found(({ from, of }) => !within(from, "tests") && within(of, "tests")),
      [],
    );
  });

  it("one file uses kubernetesx, whose project is archived", () => {
    assert.deepEqual(
      found(({ from, of }) => within(of, "@pulumi/kubernetesx") && !within(from, "tests")),
      ["components/runnerDeployment.ts -> @pulumi/kubernetesx"],
    );
  });
});

/** The names that a file imports or exports in braces. */
function namesIn(file: string): string[] {
  const text = readFileSync(path.join(ROOT, file), "utf8");
  return [...text.matchAll(/^(?:import|export) (?:type )?\{([^}]*)\} from/gm)].flatMap(([, list = ""]) =>
    list
      .split(",")
      .map((name) => name.trim().replace(/^type /, ""))
      .filter((name) => name !== ""),
  );
}

/** A file and all files of the project that it needs. */
function reachableFrom(start: string): ReadonlySet<string> {
  const reached = new Set<string>();
  const queue = [start];
  for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
    if (reached.has(file) || !files.includes(file)) continue;
    reached.add(file);
    queue.push(...importsOf(file).map(({ of }) => `${of}.ts`));
  }
  return reached;
}
