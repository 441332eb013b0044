import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { version } from "../../package.json";
import { withoutWaits } from "../unit/support/captured";
import { packedProject, UserProject } from "./packedPackage";

describe("the command of the npm package", function () {
  this.timeout(600_000);
  let project: UserProject;

  before(async () => {
    project = new UserProject(await packedProject(), {}, ["typescript", "@types/node"]);
    const { status, stderr } = argosy("init", "shop");
    assert.equal(status, 0, stderr);
  });
  after(() => project?.remove());

  const argosy = (...args: string[]) => {
    const ended = project.node(path.join(project.package, "dist/cli.js"), ...args);
    return { ...ended, stderr: withoutWaits(ended.stderr) };
  };

  it("prints its version", () => assert.equal(argosy("--version").stdout, `${version}\n`));

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

  it("prints its commands as they are typed without a clone: argosy is not on the PATH", () => {
    const { status, stdout } = argosy("new", "shop.example.com/Cache", "--project", "shop");
    assert.equal(status, 0);
    assert.match(stdout, /^ {2}npx @argosy-dev\/argosy test cache --watch --project shop {4}/m);
    assert.match(argosy("explain", "--help").stdout, /^Usage: argosy explain /);
  });

  it("loads the compiler and Pulumi for a program only, since each takes longer than most commands", () => {
    const spy = `process.on("exit", () => console.error(["/tsx/", "/@pulumi/pulumi/"].filter((name) =>
      Object.keys(require("node:module")._cache).some((file) => file.includes(name))).join(" ")));`;
    project.add({ "spy.cjs": spy });
    const loads = (...args: string[]) =>
      withoutWaits(
        project.node("--require", "./spy.cjs", path.join(project.package, "dist/cli.js"), ...args).stderr,
      );
    for (const args of [["--help"], ["errors"], ["test", "--project", "shop"]])
      assert.equal(loads(...args), "\n", args.join(" "));
    assert.equal(loads("render", "--project", "shop"), "/tsx/ /@pulumi/pulumi/\n");
  });

  it("makes a program that it renders", () => {
    const { status, stdout, stderr } = argosy("render", "--project", "shop");
    assert.deepEqual([status, stderr], [0, ""]);
    assert.match(stdout, /^kind: CustomResourceDefinition\nmetadata:\n {2}name: greetings\.example\.com$/m);
  });

  it("makes a program whose types are right, also with a strict compiler, which refuses what is wrong", () => {
    const config = JSON.parse(readFileSync(path.join(project.folder, "shop/tsconfig.json"), "utf8"));
    const strict = { exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true };
    project.add({
      "shop/wrong.ts": `import { Operators } from "@argosy-dev/argosy";
new Operators("ops", { handlers: "./handlers", replicas: "two" });
`,
      // As a source it is checked, as with skipLibCheck false, and the whole of the Kubernetes SDK is not.
      "shop/declarations.ts": readFileSync(path.join(project.package, "dist/index.d.ts"), "utf8"),
      "shop/tsconfig.json": JSON.stringify({
        compilerOptions: { ...config.compilerOptions, ...strict },
        include: [...config.include, "wrong.ts", "declarations.ts"],
      }),
    });
    const { status, stdout } = project.node("node_modules/typescript/bin/tsc", "--project", "shop");
    assert.notEqual(status, 0);
    const [error = "", ...others] = stdout.split("\n").filter((line) => /^\S/.test(line));
    assert.match(
      error,
      /^shop\/wrong\.ts\(\d+,\d+\): error TS2322: Type 'string' is not assignable to type 'Input<number>/,
    );
    assert.deepEqual(others, []);
  });
});
