import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { type EngineFiles, engineFiles } from "../../components/engineBundle";
import { POD_LAYOUT, TERMINATION_LOG } from "../../runtime/programs/layout";
import { temporaryFolder } from "../support/temporaryFolder";

const PROJECT_FOLDER = path.join(__dirname, "..", "..");
/** Little more than half of what a ConfigMap holds. Every runner holds the engine in its memory. */
const MOST_BYTES = 544 * 1024;

describe("the engine's bundle", () => {
  let files: EngineFiles;
  let scratch: string;
  before(() => {
    files = engineFiles();
    scratch = temporaryFolder();
  });

  it("is small", () => {
    const bytes = Buffer.byteLength(files["engine.js"]);
    assert.ok(bytes < MOST_BYTES, `${bytes} bytes`);
  });

  it("has neither Pulumi, YAML, zod nor anything else that it does not need in it, and no path of this machine", () => {
    for (const [what, text] of [
      ["Pulumi", /pulumi\.(com|Resource|Output)|@pulumi/],
      ["yaml", /YAMLParseError|YAMLSemanticError|tag:yaml\.org/],
      ["zod", /ZodError|unrecognized_keys|safeParse/],
      ["what only a Summary of prom-client needs", /TDigest\.prototype|RBTree/],
      ["what only prom-client's metrics of processes need", /ProxyTracer/],
      ["a path", /node_modules|\/runtime\/pod|sourceMappingURL/],
    ] as const) {
      assert.doesNotMatch(files["engine.js"], text, what);
    }
    assert.ok(!files["engine.js"].includes(PROJECT_FOLDER));
  });

  it("is made once in a process", () => assert.equal(engineFiles(), files));

  it("is the same, byte for byte, from another folder with another tsconfig.json", function () {
    this.timeout(60_000);
    for (const folder of ["components", "definition", "runtime"]) {
      cpSync(path.join(PROJECT_FOLDER, folder), path.join(scratch, "copy", folder), { recursive: true });
    }
    cpSync(path.join(PROJECT_FOLDER, "package.json"), path.join(scratch, "copy", "package.json"));
    symlinkSync(path.join(PROJECT_FOLDER, "node_modules"), path.join(scratch, "copy", "node_modules"));
    const tsconfig = {
      compilerOptions: { target: "ES2015", module: "commonjs", useDefineForClassFields: false },
    };
    writeFileSync(path.join(scratch, "copy", "tsconfig.json"), JSON.stringify(tsconfig));
    const script = `process.stdout.write(JSON.stringify(require("./components/engineBundle").engineFiles()))`;
    const { stdout, stderr } = run(
      ["--require", "tsx/cjs", "--eval", script],
      path.join(scratch, "copy"),
      // For tsx, which only runs the script.
      { TSX_TSCONFIG_PATH: path.join(PROJECT_FOLDER, "tsconfig.json") },
    );
    assert.ok(stdout, stderr);
    assert.ok(stdout === JSON.stringify(files), "the bytes differ");
  });

  it("says how it is used, and exits with 2, where it is not told what to do", () => {
    for (const args of [[], ["toString"], ["reside"]]) {
      const { status, stderr, stdout } = run([bundle(), ...args]);
      assert.equal(status, 2);
      assert.match(stderr, /^usage: engine\.js resident\b/);
      assert.equal(stdout, "");
    }
  });

  it("tells what is wrong with its pod in a line of JSON, and exits with 2", () => {
    const settings = { ARGOSY_TEST_POD: JSON.stringify({ root: scratch }) };
    const word = lastWord();
    const { status, stdout } = run([bundle(), "resident"], scratch, settings);
    assert.equal(status, 2, stdout);
    const line = JSON.parse(stdout) as Record<string, string>;
    assert.equal(line["level"], "error");
    assert.match(line["message"] ?? "", /^environment: ARGOSY_NAMESPACE, .* must be set for "resident"/);
    assert.equal(word(), line["message"]);
  });

  it("leaves as its last word why it ended, and exits with 1", () => {
    const word = lastWord();
    const account = path.join(scratch, POD_LAYOUT.serviceAccount);
    mkdirSync(account, { recursive: true });
    for (const file of ["token", "ca.crt", "namespace"]) writeFileSync(path.join(account, file), "some");
    const environment = {
      // No machine has this address (RFC 5737), so the server cannot begin.
      ARGOSY_TEST_POD: JSON.stringify({ root: scratch, host: "192.0.2.1" }),
      KUBERNETES_SERVICE_HOST: "192.0.2.1",
      KUBERNETES_SERVICE_PORT: "443",
      ARGOSY_NAMESPACE: "shop",
      ARGOSY_POD: "keeper",
      ARGOSY_EVENT_PATH: "argosy",
    };
    const { status, stdout } = run([bundle(), "keep"], scratch, environment);
    assert.equal(status, 1, stdout);
    assert.match(word(), /^listen EADDRNOTAVAIL/);
  });

  /** As the kubelet makes the file. @returns reads it */
  function lastWord(): () => string {
    const file = path.join(scratch, TERMINATION_LOG);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, "");
    return () => readFileSync(file, "utf8");
  }

  function bundle(): string {
    const file = path.join(scratch, "engine.js");
    writeFileSync(file, files["engine.js"]);
    return file;
  }
});

function run(args: readonly string[], cwd = PROJECT_FOLDER, env: NodeJS.ProcessEnv = {}) {
  return spawnSync(process.execPath, args, {
    cwd,
    env: { ...process.env, ...env },
    encoding: "utf8",
    maxBuffer: 8 * 1024 * 1024,
  });
}
