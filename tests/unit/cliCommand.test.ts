import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { closeSync, existsSync, openSync, readdirSync } from "node:fs";
import path from "node:path";
import { Command } from "commander";
import { commands } from "../../cli/argosy";
import { runCommand } from "../../cli/common/command";
import { CommandError, UsageError } from "../../cli/common/commandError";
import { findProject } from "../../cli/common/project";
import { version } from "../../package.json";
import { writeFolder } from "./operatorFolder";
import { captured } from "./support/captured";
import { runArgosy } from "./support/runArgosy";

const ROOT = path.resolve(__dirname, "../..");

describe("cli: how a command ends", () => {
  const ending = (run: () => Promise<number>, args: string[] = [], environment: NodeJS.ProcessEnv = {}) => {
    const command = new Command("argosy sail").option("--speed <knots>").option("-g, --grep <pattern>");
    return captured(() => runCommand({ command, run }, args, environment));
  };
  const failing = (error: unknown) => ending(() => Promise.reject(error));
  const never = () => assert.fail("it ran");

  it("with the exit code that the command gives", async () => {
    assert.deepEqual(await ending(async () => 3), { result: 3, stdout: "", stderr: "" });
  });

  it("with 2, and what is wrong, for arguments that it does not understand", async () => {
    const { result, stderr } = await ending(never, ["--sped", "3"]);
    assert.equal(result, 2);
    assert.match(stderr, /unknown option '--sped'\n\(Did you mean --speed\?\)/);
  });

  it("with 2, and what may be given, for an argument that is missing or too many", async () => {
    const command = new Command("argosy sail").argument("<ship>").requiredOption("--speed <knots>");
    const usage = "Usage: argosy sail [options] <ship>\nargosy sail --help explains each of them.\n";
    for (const [args, complaint] of [
      [["--speed", "3"], "error: missing required argument 'ship'\n"],
      [["a", "b", "--speed", "3"], "error: too many arguments. Expected 1 argument but got 2.\n"],
      [["a"], "error: required option '--speed <knots>' not specified\n"],
    ] as const) {
      const { result, stderr } = await captured(() => runCommand({ command, run: never }, args, {}));
      assert.deepEqual([result, stderr], [2, complaint + usage]);
    }
  });

  it("with 0 for help", async () => {
    const { result, stdout } = await ending(never, ["--help"]);
    assert.deepEqual([result, stdout.startsWith("Usage: argosy sail")], [0, true]);
  });

  it("without a stack for what the user can put right", async () => {
    assert.deepEqual(await failing(new CommandError("no wind")), {
      result: 1,
      stdout: "",
      stderr: "no wind\n",
    });
    assert.deepEqual(await failing(new UsageError("no ship")), {
      result: 2,
      stdout: "",
      stderr: "no ship\n",
    });
  });

  it("without a stack for an error of another copy of this package", async () => {
    const error = Object.assign(new Error("operator.yaml: crd is missing."), { name: "OperatorError" });
    assert.deepEqual(await failing(error), { result: 1, stdout: "", stderr: `${error.message}\n` });
  });

  it("with 1, and why, where the output cannot be written", function () {
    if (!existsSync("/dev/full")) this.skip();
    const full = openSync("/dev/full", "w");
    const { status, stderr } = spawnSync(process.execPath, ["tools/bootstrap.mjs", "argosy", "errors"], {
      cwd: ROOT,
      env: { ...process.env, NODE_OPTIONS: "--conditions=@argosy-dev/source" },
      stdio: ["ignore", full, "pipe"],
      encoding: "utf8",
    });
    closeSync(full);
    const expected =
      "The output cannot be written: no space is left on its file system. Direct it elsewhere.\n";
    assert.deepEqual([status, stderr], [1, expected]);
  });

  it("with the place and the reason, where the system refuses a file", async () => {
    const error = Object.assign(new Error("EROFS"), { code: "EROFS", path: "/cache/lock" });
    const { stderr } = await failing(error);
    assert.equal(stderr, "/cache/lock cannot be used: its file system is read-only.\n");
  });

  it("with what to set, if the system knows no home folder of the user", async () => {
    // As Node throws it for a user without an entry in /etc/passwd, if HOME is not set.
    const error = Object.assign(new Error("uv_os_homedir returned ENOENT"), {
      code: "ERR_SYSTEM_ERROR",
      syscall: "uv_os_homedir",
    });
    const { result, stderr } = await failing(error);
    assert.deepEqual([result, stderr], [1, "This user has no home folder. Set the variable HOME.\n"]);
  });

  it("with a stack for a defect, and says that it is one", async () => {
    const { result, stderr } = await failing(new TypeError("x is undefined"));
    assert.equal(result, 1);
    assert.match(stderr, /^TypeError: x is undefined\n +at [\s\S]*This is a defect of Argosy/);
  });

  for (const [option, environment] of [
    ["--speed <knots>", { npm_config_speed: "true" }],
    ["--grep <pattern>", { npm_config_grep: "true" }],
    ["--grep <pattern>", { npm_config_global: "true" }],
  ] as const) {
    it(`with 2 where npm took ${Object.keys(environment)}, and says where "--" belongs`, async () => {
      const run = { ...environment, npm_command: "run", npm_lifecycle_event: "sail" };
      const { result, stderr } = await ending(never, ["3"], run);
      assert.equal(result, 2);
      assert.match(stderr, /npm mistook --\w+ for an option of its own/);
      assert.ok(stderr.endsWith(`npm run sail -- ${option}\n`), stderr);
    });
  }

  it("is not troubled by options of npx, which takes none of the command's", async () => {
    const npx = { npm_config_global: "true", npm_command: "exec", npm_lifecycle_event: "npx" };
    assert.equal((await ending(async () => 0, [], npx)).result, 0);
  });
});

describe("the command argosy", () => {
  const argosy = (...args: string[]) => runArgosy(...args);

  it("names its commands and its exit codes", async () => {
    const { result, stdout } = await argosy("--help");
    assert.equal(result, 0);
    for (const name of ["init", "start", "dev", "test", "render", "verdict"]) {
      assert.match(stdout, new RegExp(`^ {2}${name} `, "m"));
    }
    assert.match(stdout, /Exit codes: 0 .*, 1 .*, 2 .*, 3 /);
  });

  it("is given help, and tells its version", async () => {
    assert.match((await argosy("help", "render")).stdout, /^Usage: argosy render/);
    assert.deepEqual(await argosy("--version"), { result: 0, stdout: `${version}\n`, stderr: "" });
  });

  it("wants a command", async () => {
    const { result, stdout, stderr } = await argosy();
    assert.deepEqual([result, stdout], [2, ""]);
    assert.match(stderr, /^Usage: argosy <command>/);
  });

  it("asks what was meant, where there is no such command", async () => {
    const { result, stderr } = await argosy("rendr", "--stack", "dev");
    assert.equal(result, 2);
    assert.match(stderr, /unknown command 'rendr'\n\(Did you mean render\?\)/);
  });

  it("lists every command", () => {
    const files = readdirSync(path.join(ROOT, "cli/commands")).map((file) => file.replace(/\.ts$/, ""));
    assert.deepEqual(
      commands()
        .map(({ name }) => name)
        .sort(),
      files.sort(),
    );
  });

  it("prints the list without loading what the commands work with", () => {
    const program = `
      require("tsx/cjs");
      const { main } = require("./cli/argosy.ts");
      const loaded = () => Object.keys(require.cache).filter((file) => /@pulumi|client-node|runtime(?!.base.text)/.test(file));
      main(["--help"]).then(() => console.error(loaded().length));`;
    const { stderr } = spawnSync(process.execPath, ["-e", program], { cwd: ROOT, encoding: "utf8" });
    assert.equal(stderr, "0\n");
  });

  it("loads no command with Pulumi or TypeScript, which would take longer than most of its work", () => {
    const program = `
      require("tsx/cjs");
      require("./cli/argosy.ts").commands();
      const loaded = (name) => Object.keys(require.cache).some((file) => file.includes("/node_modules/" + name + "/"));
      console.error(["@pulumi/pulumi", "typescript", "zod"].filter(loaded).join());`;
    const options = ["--conditions=@argosy-dev/source", "-e", program];
    const { stderr } = spawnSync(process.execPath, options, { cwd: ROOT, encoding: "utf8" });
    assert.equal(stderr, "zod\n");
  });
});

describe("cli: the user's program", () => {
  let folder: string;
  before(() => {
    folder = writeFolder({ "shop/Pulumi.yaml": "name: shop", "shop/handlers/a/main.py": "", "empty/x": "" });
  });

  it("is the nearest folder above with a Pulumi.yaml", () => {
    const shop = path.join(folder, "shop");
    assert.equal(findProject(undefined, path.join(shop, "handlers", "a")), shop);
    assert.equal(findProject(undefined, shop), shop);
  });

  it("is the one that is named, by its folder or by its Pulumi.yaml", () => {
    const shop = path.join(folder, "shop");
    assert.equal(findProject("shop", folder), shop);
    assert.equal(findProject("shop/Pulumi.yaml", folder), shop);
  });

  for (const [what, named, from, expected] of [
    [
      "there is none",
      undefined,
      "empty",
      /no Pulumi\.yaml in .*empty or above.* --project, .*argosy -- init/,
    ],
    ["the folder that is named has none", "empty", "", /--project empty: .*empty has no Pulumi\.yaml/],
    ["the named folder does not exist", "none", "", /--project none: there is no such folder/],
  ] as const) {
    it(`is asked for where ${what}`, () => {
      const error = (thrown: unknown) =>
        thrown instanceof UsageError && thrown.exitCode === 2 && expected.test(thrown.message);
      assert.throws(() => findProject(named, path.join(folder, from)), error);
    });
  }
});
