import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, symlinkSync } from "node:fs";
import path from "node:path";
import { writeFolder } from "./operatorFolder";
import { type Ended, renderHere } from "./support/renderHere";
import { titleOf } from "./support/titles";

const ROOT = path.resolve(__dirname, "../..");

const PROJECT = {
  "Pulumi.yaml": "name: shop\nruntime: nodejs\n",
  "Pulumi.dev.yaml": "config:\n  shop:size: 3\n",
};
const IMPORT = `import * as k8s from "@pulumi/kubernetes";\n`;

/** A ConfigMap that tells how the program was run. */
const configMap = (value: string) =>
  `new k8s.core.v1.ConfigMap("map", { metadata: { name: "map" }, data: { value: String(${value}) } });\n`;

describe("a program of a user's own is rendered", () => {
  const folders: string[] = [];

  /** A program outside this repository, with its packages installed. */
  function programOf(files: Record<string, string>): string {
    const folder = writeFolder({ ...PROJECT, ...files });
    folders.push(folder);
    mkdirSync(path.join(folder, "node_modules"));
    symlinkSync(path.join(ROOT, "node_modules/@pulumi"), path.join(folder, "node_modules/@pulumi"));
    return folder;
  }

  /** In a process of its own, as it is typed. */
  function renderAlone(folder: string, ...args: string[]): Ended {
    const [typescript, argosy] = ["cli/typescript.cjs", "cli/argosy.ts"].map((file) => path.join(ROOT, file));
    const command = ["--require", String(typescript), String(argosy), "render", ...args];
    return spawnSync(process.execPath, command, { cwd: folder, encoding: "utf8" });
  }

  function assertValue(value: string, { stdout, stderr, status }: Ended): void {
    assert.deepEqual([status, stderr], [0, ""]);
    assert.equal(
      stdout,
      `---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: map\ndata:\n  value: ${value}\n`,
    );
  }

  it("where its resources are made while its file is loaded", async () => {
    const typed = `const value: string = "top";\n`;
    assertValue("top", await renderHere(programOf({ "index.ts": IMPORT + typed + configMap("value") })));
  });

  it("apart from everything that it prints", async () => {
    const methods = ["log", "info", "debug", "dir", "table", "group"];
    const prints = methods.map((method) => `console.${method}("by ${method}");\n`).join("");
    const program = `${IMPORT}${prints}console.groupEnd();\nprocess.stdout.write("by itself\\n");\n${configMap("1")}`;
    const { stderr, ...ended } = await renderHere(programOf({ "index.ts": program }));
    assertValue('"1"', { ...ended, stderr: "" });
    for (const method of [...methods, "itself"]) assert.match(stderr, new RegExp(`by ${method}`));
  });

  it("where it exports a function, which has the stack's configuration", async () => {
    const pulumi = `import { Config } from "@pulumi/pulumi";\n`;
    const program = `export = async () => { ${configMap(`new Config().require("size")`)} };`;
    assertValue('"3"', await renderHere(programOf({ "index.ts": IMPORT + pulumi + program })));
  });

  it("in JavaScript", async () => {
    const require = `const k8s = require("@pulumi/kubernetes");\n`;
    assertValue("js", await renderHere(programOf({ "index.js": require + configMap(`"js"`) })));
  });

  it("as an ES module, which may await at its top", () => {
    const program = `const value: string = await Promise.resolve("module");\n`;
    const files = { "package.json": `{"type": "module"}`, "index.ts": IMPORT + program + configMap("value") };
    assertValue("module", renderAlone(programOf(files)));
  });

  for (const main of ["source/", "source/index.ts"]) {
    it(`from what Pulumi.yaml names, ${main}, in the folder of that, as Pulumi runs it`, async () => {
      const program = configMap(`require("node:fs").existsSync("index.ts")`);
      const files = {
        "Pulumi.yaml": `${PROJECT["Pulumi.yaml"]}main: ${main}\n`,
        "source/index.ts": IMPORT + program,
      };
      const folder = programOf(files);
      assertValue('"true"', await renderHere(folder));
      assertValue('"true"', await renderHere(path.join(folder, "source")));
      assertValue('"true"', await renderHere("/", "--project", folder));
    });
  }

  it("into a folder that is relative to where the command is typed", async () => {
    const folder = programOf({ "index.ts": IMPORT + configMap("1"), "inner/x": "" });
    const { status, stderr } = await renderHere(path.join(folder, "inner"), "--out", "rendered");
    assert.deepEqual([status, stderr], [0, "rendered: 1 objects, 1 written, 0 removed\n"]);
  });

  it("says what to do before an operator's CRD is no longer in the folder, and nothing of Argo's own", async () => {
    const files = ["mailboxes.mail.example.com", "sensors.argoproj.io"].map((crd) => [
      `rendered/customresourcedefinition.apiextensions.k8s.io_${crd}.yaml`,
      "# Rendered by Argosy (npm run render). Changes made here are lost.\n",
    ]);
    const folder = programOf({ "index.ts": IMPORT + configMap("1"), ...Object.fromEntries(files) });
    const { status, stderr } = await renderHere(folder, "--out", "rendered");
    const [counts, told = "", ...others] = stderr.trimEnd().split("\n");
    assert.deepEqual([status, counts, others], [0, "rendered: 1 objects, 1 written, 2 removed", []]);
    assert.match(
      told,
      /finalizers.* before you commit this: kubectl delete crd mailboxes\.mail\.example\.com$/,
    );
  });

  it("next to resources that only Pulumi makes, which it names", async () => {
    const release = `new k8s.helm.v3.Release("argo", { chart: "argo-cd" });\n`;
    const { stderr, ...ended } = await renderHere(
      programOf({ "index.ts": IMPORT + release + configMap("1") }),
    );
    assertValue('"1"', { ...ended, stderr: "" });
    assert.equal(stderr, "left out, because only pulumi up makes it: argo (kubernetes:helm.sh/v3:Release)\n");
  });

  for (const [files, expected] of [
    [
      { "index.ts": "const x = ;" },
      /^The program in .* failed:\nError: Transform failed with 1 error:\n.*index\.ts:1:10: ERROR: Unexpected ";"\n$/,
    ],
    [{ "index.ts": "null.x;" }, /^The program in .* failed:\nTypeError: .*\n +at .*index\.ts:1/],
    [
      { "package.json": "\uFEFF{}", "index.ts": "" },
      /^.*package\.json is not JSON: .*Correct it, without a byte order mark\.\n$/,
    ],
    [
      { "index.ts": 'import "left-pad";' },
      /^The program in .* needs the package left-pad, which is not installed\. Run npm install\.$/m,
    ],
    [{}, /has no program\. Write an index\.ts there, or name the file as main in Pulumi\.yaml\.$/m],
    [
      { "Pulumi.yaml": `${PROJECT["Pulumi.yaml"]}main: nowhere/index.ts\n`, "index.ts": "" },
      /nowhere\/index\.ts has no program\. /m,
    ],
    [
      { "Pulumi.yaml": "name: shop\nruntime:\n  name: python\n" },
      /^Pulumi\.yaml: runtime is "python"\. Only programs of the runtime nodejs can be run without Pulumi\./,
    ],
    [{ "index.ts": "", "Pulumi.dev.yaml": "config: [" }, /^Pulumi\.dev\.yaml cannot be read: /],
  ] as const) {
    it(`or refused: ${titleOf(expected)}`, async () => {
      const { status, stdout, stderr } = await renderHere(programOf({ ...files }));
      assert.deepEqual([status, stdout], [1, ""]);
      assert.match(stderr, expected);
      assert.doesNotMatch(stderr, /defect of Argosy/);
    });
  }
});
