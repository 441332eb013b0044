import assert from "node:assert/strict";
import path from "node:path";
import { version } from "../../package.json";
import { packedProject, UserProject } from "./support/packedPackage";

/** Generous for a busy machine: alone it takes a tenth. With a compiler, or Pulumi, it would take seconds there. */
const HELP_MS = 1_500;

describe("the command of the npm package", function () {
  this.timeout(600_000);
  let project: UserProject;

  before(async () => {
    project = new UserProject(await packedProject(), {}, ["typescript", "@types/node"]);
    const { status, stderr } = argosy("init", "shop");
    assert.equal(status, 0, stderr);
  });
  after(() => project?.remove());

  const argosy = (...args: string[]) => project.node(path.join(project.package, "dist/cli.js"), ...args);

  it("prints its help at once, and its version", () => {
    const times = [1, 2, 3].map(() => {
      const startedAt = performance.now();
      assert.equal(argosy("--help").status, 0);
      return performance.now() - startedAt;
    });
    assert.ok(Math.min(...times) < HELP_MS, `${times}`);
    assert.equal(argosy("--version").stdout, `${version}\n`);
  });

  it("says what it does not understand, with exit code 2 and without a stack", () => {
    const { status, stderr } = argosy("rendr");
    assert.deepEqual([status, stderr], [2, "error: unknown command 'rendr'\n(Did you mean render?)\n"]);
    assert.match(argosy("render").stderr, /^There is no Pulumi\.yaml in /);
  });

  it("runs the fixtures of the program that it has made", () => {
    const { status, stdout, stderr } = argosy("test", "--project", "shop");
    assert.deepEqual([status, stderr], [0, ""]);
    assert.match(stdout, /^✔ greeting fixtures\/created\.yaml$[\s\S]*^\d passed, 0 failed$/m);
  });

  it("runs those of its stack, which the program tells with a copy of the package of its own", () => {
    const { status, stdout, stderr } = argosy("test", "--project", "shop", "--stack", "dev");
    assert.deepEqual([status, stderr], [0, ""]);
    assert.match(stdout, /^\d passed, 0 failed$/m);
  });

  it("loads the compiler and Pulumi for a program only, since each takes longer than most commands", () => {
    const spy = `process.on("exit", () => console.error(["/tsx/", "/@pulumi/pulumi/"].filter((name) =>
      Object.keys(require("node:module")._cache).some((file) => file.includes(name))).join(" ")));`;
    project.add({ "spy.cjs": spy });
    const loads = (...args: string[]) =>
      project.node("--require", "./spy.cjs", path.join(project.package, "dist/cli.js"), ...args).stderr;
    for (const args of [["--help"], ["errors"], ["test", "--project", "shop"]])
      assert.equal(loads(...args), "\n", args.join(" "));
    assert.equal(loads("render", "--project", "shop"), "/tsx/ /@pulumi/pulumi/\n");
  });

  it("makes a program whose types are right, and which it renders", () => {
    const types = project.node("node_modules/typescript/bin/tsc", "--project", "shop");
    assert.deepEqual([types.status, types.stdout], [0, ""]);
    const { status, stdout, stderr } = argosy("render", "--project", "shop");
    assert.deepEqual([status, stderr], [0, ""]);
    assert.match(stdout, /^kind: CustomResourceDefinition\nmetadata:\n {2}name: greetings\.example\.com$/m);
  });
});
