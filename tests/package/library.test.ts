import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import { engineFiles } from "../../components/engineBundle";
import { PACKAGE_NAME } from "../../components/package";
import type { compiled } from "../../tools/build";
import { widgetCrd } from "../unit/operatorFolder";
import { blocksFor } from "../unit/support/pages";
import { copyProject } from "../unit/support/projectCopy";
import { filesOf, packedProject, UserProject } from "./packedPackage";

const ROOT = path.resolve(__dirname, "../..");

/** A user's operator. */
const WIDGET = {
  "handlers/widget/crd.yaml": widgetCrd(),
  "handlers/widget/main.ts": "export const reconcile = () => ({ children: [] });\n",
  "handlers/widget/operator.yaml":
    "crd: crd.yaml\nhandler: main.ts\nchildren: [v1/Service]\nnamespaces: [team]\n",
};
const ARGS = `{ handlers: "./handlers", replicas: 2 }`;

/** One program in each language that Node runs, with an object of its own in addition to the operators. */
const PROGRAMS = {
  "typescript.ts": `import { Operators, type OperatorsArgs } from "${PACKAGE_NAME}";
import * as k8s from "@pulumi/kubernetes";

const args: OperatorsArgs = ${ARGS};
const { crdNames }: Operators = new Operators("ops", args);
export const names: readonly string[] = crdNames;
export const team = new k8s.core.v1.Namespace("team", { metadata: { name: "team" } }).metadata.name;
`,
  "javascript.js": `const { Operators } = require("${PACKAGE_NAME}");
const k8s = require("@pulumi/kubernetes");
new Operators("ops", ${ARGS});
new k8s.core.v1.Namespace("team", { metadata: { name: "team" } });
`,
  "module.mjs": `import { Operators } from "${PACKAGE_NAME}";
import * as k8s from "@pulumi/kubernetes";
new Operators("ops", ${ARGS});
new k8s.core.v1.Namespace("team", { metadata: { name: "team" } });
`,
};

/** Runs a program under Pulumi's mocks, and prints what it registered. */
const PLAY = `const pulumi = require("@pulumi/pulumi");
const file = require("node:path").resolve(process.argv[2]);
const resources = [];
const newResource = ({ type, name, inputs }) => {
  resources.push({ type, name, inputs });
  return { id: name, state: inputs };
};
(async () => {
  await pulumi.runtime.setMocks({ newResource, call: ({ inputs }) => inputs }, "shop", "dev");
  await pulumi.runtime.runInPulumiStack(async () => void (file.endsWith(".mjs") ? await import(file) : require(file)));
  await pulumi.runtime.disconnect();
  console.log(JSON.stringify(resources));
})();
`;

const TSCONFIG = { compilerOptions: { target: "ES2022", module: "nodenext" } };

interface Resource {
  readonly type: string;
  readonly name: string;
  readonly inputs: { readonly data?: Record<string, string> };
}

describe("the npm package", function () {
  this.timeout(600_000);
  let tarball: string;
  let project: UserProject;

  before(async () => {
    tarball = await packedProject();
    const files = {
      ...WIDGET,
      ...PROGRAMS,
      "play.cjs": PLAY,
      "package.json": "{}",
      "tsconfig.json": JSON.stringify(TSCONFIG),
    };
    project = new UserProject(tarball, files, ["typescript", "ts-node", "@types/node"]);
  });
  after(() => project?.remove());

  it("holds what a user needs, and nothing else", () => {
    assert.deepEqual(filesOf(tarball), [
      "LICENSE",
      "README.md",
      "dist/THIRD-PARTY-LICENSES",
      "dist/cli.js",
      "dist/engine.js",
      "dist/examples/memcached/crd.yaml",
      "dist/examples/memcached/fixtures/created.yaml",
      "dist/examples/memcached/fixtures/partly-ready.yaml",
      "dist/examples/memcached/fixtures/too-large.yaml",
      "dist/examples/memcached/main.py",
      "dist/examples/memcached/operator.yaml",
      "dist/functions/function.js",
      "dist/functions/function.py",
      "dist/guard.sh",
      "dist/handler.sh",
      "dist/index.d.ts",
      "dist/index.js",
      "dist/templates/typescript/.github/workflows/operators.yml",
      "dist/templates/typescript/AGENTS.md",
      "dist/templates/typescript/Pulumi.dev.yaml",
      "dist/templates/typescript/Pulumi.yaml",
      "dist/templates/typescript/gitignore",
      "dist/templates/typescript/handlers/greeting/crd.yaml",
      "dist/templates/typescript/handlers/greeting/fixtures/created.yaml",
      "dist/templates/typescript/handlers/greeting/main.py",
      "dist/templates/typescript/handlers/greeting/operator.yaml",
      "dist/templates/typescript/index.ts",
      "dist/templates/typescript/package.json",
      "dist/templates/typescript/tsconfig.json",
      "dist/watchdog.sh",
      "operator.schema.json",
      "output.schema.json",
      "package.json",
    ]);
  });

  it("has the licence of everything that is compiled into it, and no path of the machine", () => {
    const text = (name: string) => readFileSync(path.join(project.package, "dist", name), "utf8");
    const licences = text("THIRD-PARTY-LICENSES");
    for (const name of ["@pulumi/kubernetesx", "prom-client", "fast-uri"]) {
      assert.match(licences, new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\(.+\\)$`, "m"));
    }
    for (const file of filesOf(tarball)) {
      const content = readFileSync(path.join(project.package, file), "utf8");
      // It is packed in a copy of the project, which is in a folder of this name.
      for (const place of [ROOT, "argosy-test-"]) assert.ok(!content.includes(place), file);
    }
  });

  it("has declarations that name no package but those that npm installs with it", () => {
    const written = readFileSync(path.join(project.package, "dist/index.d.ts"), "utf8");
    // Examples import the package itself.
    const declarations = written.replace(/\/\*[\s\S]*?\*\//g, "");
    const imported = [...declarations.matchAll(/(?:from|import\()\s*["']([^"']+)["']/g)].map(
      ([, name]) => name,
    );
    const manifest = JSON.parse(readFileSync(path.join(project.package, "package.json"), "utf8"));
    const installed = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies });
    assert.ok(imported.includes("@pulumi/pulumi"));
    assert.deepEqual(
      imported.filter((name = "") => !installed.includes(name)),
      [],
    );
    assert.doesNotMatch(declarations, /kubernetesx|\bkx\b/);
  });

  function play(file: string, ...options: string[]): { resources: readonly Resource[]; stderr: string } {
    const { stdout, stderr, status } = project.node(...options, "play.cjs", file);
    assert.equal(status, 0, stderr);
    return { resources: JSON.parse(stdout), stderr };
  }

  it("is tested with Pulumi's mocks as docs/testing.md shows, by a test that can fail", () => {
    const [block, ...more] = blocksFor("ts").filter(({ code }) => code.includes("setMocks"));
    assert.ok(block && more.length === 0);
    const test = (code: string) => {
      project.add({ "program.test.ts": code.replace("cache-runner", "widget-runner") });
      // tests/unit/types.test.ts checks the types of what pages show.
      return project.node("--require", "ts-node/register/transpile-only", "program.test.ts");
    };
    const passed = test(block.code);
    assert.equal(passed.status, 0, passed.stdout + passed.stderr);
    const failed = test(block.code.replace("replicas: 2", "replicas: 3"));
    assert.equal(failed.status, 1);
    assert.match(failed.stdout, /3 !== 2/);
  });

  let played: ReturnType<typeof play> | undefined;
  /** The program in JavaScript on the package as npm installs it, played once for all tests. */
  function playedOnce(): ReturnType<typeof play> {
    played ??= play("javascript.js");
    return played;
  }

  it("is used by programs in TypeScript, JavaScript and ES modules, all to the same end", () => {
    const { resources, stderr } = playedOnce();
    assert.equal(stderr, "");
    const types = new Set(resources.map(({ type }) => type));
    for (const type of [
      "argosy:index:Operators",
      "kubernetes:apps/v1:Deployment",
      "kubernetes:core/v1:Namespace",
    ]) {
      assert.ok(types.has(type), type);
    }
    assert.deepEqual(play("module.mjs").resources, resources);
    assert.deepEqual(
      play("typescript.ts", "--require", "ts-node/register/transpile-only").resources,
      resources,
    );
  });

  it("brings the very engine that the sources make", () => {
    const [engine] = playedOnce().resources.filter(({ inputs }) => inputs.data?.["engine.js"]);
    assert.deepEqual(engine?.inputs.data, { ...engineFiles() });
  });

  it("has the command, as a program", () => {
    const { bin } = JSON.parse(readFileSync(path.join(project.package, "package.json"), "utf8"));
    const file = path.join(project.package, bin.argosy);
    assert.match(readFileSync(file, "utf8"), /^#!\/usr\/bin\/env node\n/);
    assert.ok(statSync(file).mode & 0o100);
  });

  /** Gives the package a copy of the Kubernetes SDK, which is the program's under another version. */
  function giveSdk(place: string, version: string): void {
    const main = `module.exports = require(${JSON.stringify(require.resolve("@pulumi/kubernetes"))});`;
    project.add({
      [`${place}/package.json`]: JSON.stringify({ name: "@pulumi/kubernetes", version, main: "index.js" }),
      [`${place}/index.js`]: main,
    });
  }

  it("warns once where the program has another copy of @pulumi/kubernetes, with both folders and what to do", () => {
    const second = `node_modules/${PACKAGE_NAME}/node_modules/@pulumi/kubernetes`;
    giveSdk(second, "4.99.0");
    const { stderr } = play("javascript.js");
    rmSync(path.join(project.folder, second), { recursive: true });
    const [warning = "", ...others] = stderr.trim().split("\n");
    assert.deepEqual(others, []);
    assert.match(warning, /^warning: .*There are two copies of @pulumi\/kubernetes\. /);
    const programs = path.dirname(require.resolve("@pulumi/kubernetes/package.json"));
    for (const part of [`4.99.0 in ${path.join(project.folder, second)}`, ` in ${programs}`, "npm dedupe"]) {
      assert.ok(warning.includes(part), warning);
    }
  });

  describe("where the one copy of @pulumi/kubernetes", () => {
    const place = "node_modules/@pulumi/kubernetes";
    before(() => rmSync(path.join(project.folder, place)));

    it("is of a newer version than it is made for, warns", () => {
      giveSdk(place, "5.0.0");
      assert.match(
        play("javascript.js").stderr,
        /^warning: .* was not made for @pulumi\/kubernetes 5\.0\.0, which is in .*\^4\.34\.0/,
      );
    });
  });

  it("has the same bytes when it is compiled in another folder", () => {
    const script = `process.stdout.write(JSON.stringify(require("./tools/build").compiled()))`;
    const options = { cwd: copyProject(), encoding: "utf8", maxBuffer: 2 ** 26 } as const;
    const { stdout, stderr } = spawnSync(
      process.execPath,
      ["--require", "tsx/cjs", "--eval", script],
      options,
    );
    assert.ok(stdout, stderr);
    for (const [file, { code }] of Object.entries(JSON.parse(stdout) as ReturnType<typeof compiled>)) {
      const packed = readFileSync(path.join(project.package, "dist", file), "utf8");
      assert.ok(packed.replace(/^#!.*\n/, "") === code, file);
    }
  });
});
