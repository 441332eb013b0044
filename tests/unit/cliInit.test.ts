import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import ts from "typescript";
import { parse } from "yaml";
import { name as packageName, version } from "../../package.json";
import { WITH_A_CLONE } from "../../tools/reference/released";
import { addFiles, removeFolder, writeFolder } from "./operatorFolder";
import { filesIn } from "./support/filesIn";
import { PROJECT } from "./support/projectCopy";
import { runArgosy } from "./support/runArgosy";

describe("argosy init", () => {
  let folder: string;
  beforeEach(() => {
    folder = writeFolder({ "full/index.ts": "mine", "full/note.txt": "mine", "Fancy Shop/.git/config": "" });
  });

  const init = (...args: string[]) => runArgosy("init", ...args);
  const within = (...names: string[]) => path.join(folder, ...names);
  const read = (...names: string[]) => readFileSync(within(...names), "utf8");

  it("makes a program with an operator, its fixtures and a workflow, and says what to do next", async () => {
    const { result, stdout, stderr } = await init(within("shop"));
    assert.deepEqual([result, stderr], [0, ""]);
    const files = filesIn(within("shop"));
    assert.deepEqual(
      files.filter((file) => !file.startsWith("handlers/")),
      [
        ".github/workflows/operators.yml",
        ".gitignore",
        "AGENTS.md",
        "Pulumi.dev.yaml",
        "Pulumi.yaml",
        "index.ts",
        "package.json",
        "tsconfig.json",
      ],
    );
    for (const file of ["crd.yaml", "main.py", "fixtures/created.yaml"]) {
      assert.ok(files.includes(`handlers/greeting/${file}`), file);
    }
    assert.ok(files.every((file) => !file.includes("__pycache__")));
    assert.match(stdout, /^written {2}index\.ts$/m);
    assert.match(stdout, /npm install .*\n.*npm test/);
  });

  it("says in a clone how the program carries the package that no registry has, as the pages do", async () => {
    const { stdout } = await init(within("shop"));
    const said = stdout.replaceAll(within("shop"), "../shop");
    const [, ...commands] = WITH_A_CLONE.split("npm run argosy -- init ../shop\n");
    for (const line of commands.join().trim().split("\n")) assert.ok(said.includes(`\n  ${line}`), line);
  });

  it("makes a program that npm ci installs elsewhere, with the tarball in its folder", async function () {
    this.timeout(60_000);
    await init(within("shop"));
    // The package without the packages that it needs: nothing is fetched.
    const { dependencies, devDependencies: _, ...program } = JSON.parse(read("shop", "package.json"));
    addFiles(folder, {
      "packed/package/package.json": JSON.stringify({ name: packageName, version }),
      "shop/package.json": JSON.stringify({
        ...program,
        dependencies: { [packageName]: dependencies[packageName] },
      }),
    });
    const tarball = /\S+\.tgz/.exec(WITH_A_CLONE)?.[0];
    assert.ok(tarball);
    execFileSync("tar", ["-czf", within("shop", tarball), "-C", within("packed"), "package"]);
    const npm = (cwd: string, ...args: string[]) =>
      execFileSync("npm", [...args, "--offline"], { cwd, stdio: "pipe" });
    npm(within("shop"), "install", tarball);
    cpSync(within("shop"), within("elsewhere"), {
      recursive: true,
      filter: (file) => !file.includes("node_modules"),
    });
    removeFolder(within("shop"));
    npm(within("elsewhere"), "ci");
    assert.ok(existsSync(within("elsewhere/node_modules", packageName, "package.json")));
  });

  it("has a tsc that checks the handlers in TypeScript, each against the types of its operator", async function () {
    this.timeout(60_000);
    await init(within("shop"));
    addFiles(folder, {
      "web.yaml":
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: { name: web }\nspec: { replicas: 2, paused: false }\n",
    });
    const make = async (...args: string[]) => {
      const place = ["--language", "typescript", "--project", within("shop")];
      return (await runArgosy("new", ...args, ...place)).stdout;
    };
    const made = await make("example.com/Cache", "size:int", "plan:string:enum=a,b:default=a");
    assert.match(made, /^written {2}.*cache\/cache-types\.d\.ts$/m);
    assert.match(await make("example.com/Web", "--from", within("web.yaml")), /web\/web-types/);
    assert.match(await make("v1/Service", "--watch"), /service\/service-types/);
    symlinkSync(path.join(PROJECT, "node_modules"), within("shop", "node_modules"));
    const complaints = () => {
      const { config } = ts.readConfigFile(within("shop", "tsconfig.json"), ts.sys.readFile);
      const { options, fileNames } = ts.parseJsonConfigFileContent(config, ts.sys, within("shop"));
      const program = ts.createProgram(fileNames, options);
      return fileNames
        .filter((file) => file.includes("/handlers/"))
        .flatMap((file) => ts.getPreEmitDiagnostics(program, program.getSourceFile(file)))
        .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"));
    };
    assert.deepEqual(complaints(), []);
    const handler = within("shop", "handlers/cache/main.ts");
    writeFileSync(handler, readFileSync(handler, "utf8").replace("object.spec", "object.spek"));
    assert.match(complaints().join(), /Property 'spek' does not exist on type 'Cache'/);
  });

  it("has a program of at most ten lines, which asks for this very version of the package", async () => {
    await init(within("shop"));
    assert.ok(read("shop", "index.ts").trimEnd().split("\n").length <= 10);
    const { name, dependencies } = JSON.parse(read("shop", "package.json"));
    assert.equal(name, "shop");
    assert.equal(dependencies[packageName], version);
    assert.match(read("shop", "index.ts"), new RegExp(`from "${packageName}"`));
    // What only a template has is not in it.
    assert.deepEqual(parse(read("shop", "Pulumi.yaml")), {
      name: "shop",
      description: "Kubernetes operators from plain handler files.",
      runtime: { name: "nodejs", options: { packagemanager: "npm" } },
    });
    for (const file of filesIn(within("shop"))) assert.doesNotMatch(read("shop", file), /\$\{[A-Z]/, file);
  });

  it("has a workflow that tests before it deploys, and gives forks no secrets", async () => {
    await init(within("shop"));
    const { jobs, permissions } = parse(read("shop", ".github/workflows/operators.yml"));
    assert.deepEqual(permissions, { contents: "read" });
    assert.equal(jobs.deploy.needs, "check");
    assert.match(jobs.deploy.if, /head\.repo\.full_name == github\.repository/);
    const scripts = Object.keys(JSON.parse(read("shop", "package.json")).scripts);
    const runs = jobs.check.steps.flatMap(({ run }: { run?: string }) => run ?? []).join("\n");
    assert.doesNotMatch(runs, /secrets\./);
    for (const [, script = ""] of runs.matchAll(/npm (?:run --silent )?(\w+)/g)) {
      assert.ok(script === "ci" || scripts.includes(script), script);
    }
  });

  for (const [name, project, ...args] of [
    ["2026", "2026"],
    ["true", "true"],
    ["1e3", "1e3"],
    ["Fancy Shop", "fancy-shop"],
    ["other", "cache", "--name", "cache"],
  ] as const)
    it(`names the project ${project}, as npm and Pulumi can take it, in ${[name, ...args].join(" ")}`, async () => {
      await init(within(name), ...args);
      assert.equal(parse(read(name, "Pulumi.yaml")).name, project);
    });

  it("says where GitHub reads the workflow if the folder is a part of a repository", async () => {
    const advice = /GitHub reads workflows only from the top of the repository\. Move (\S+)\/\.github there/;
    const { stdout } = await init(within("Fancy Shop/infra/operators"));
    assert.equal(advice.exec(stdout)?.[1], "infra/operators");
    assert.match(stdout, /working-directory: infra\/operators/);
    for (const top of ["Fancy Shop", "alone"]) {
      const { result, stdout: said } = await init(within(top), "--force");
      assert.deepEqual([result, advice.test(said)], [0, false]);
    }
  });

  it("refuses a folder that is not empty, and changes nothing there", async () => {
    const { result, stderr } = await init(within("full"));
    assert.equal(result, 1);
    assert.match(
      stderr,
      /full is not empty: it contains index\.ts, note\.txt\. Name an empty folder\. With --force/,
    );
    assert.deepEqual(filesIn(within("full")), ["index.ts", "note.txt"]);
  });

  it("adds with --force what is missing, and keeps what exists", async () => {
    mkdirSync(within("full/handlers/cache"), { recursive: true });
    const { result, stdout } = await init(within("full"), "--force");
    assert.equal(result, 0);
    assert.equal(read("full", "index.ts"), "mine");
    assert.deepEqual(filesIn(within("full/handlers")), []);
    assert.match(stdout, /^kept {5}index\.ts$/m);
    assert.match(stdout, /^kept {5}handlers\/$/m);
    assert.match(stdout, /^written {2}Pulumi\.yaml$/m);
  });

  for (const [what, args, expected] of [
    ["a file in the folder's place", ["full/index.ts"], /index\.ts is a file\. Name a folder\./],
    ["a name that npm does not take", ["shop", "--name", "My Shop"], /--name My Shop: it must begin with/],
    ["two folders", ["shop", "other"], /too many arguments/],
  ] as const) {
    it(`refuses ${what}`, async () => {
      const { result, stderr } = await init(...args.map((arg, index) => (index === 0 ? within(arg) : arg)));
      assert.equal(result, 2);
      assert.match(stderr, expected);
      assert.ok(!existsSync(within("shop")));
    });
  }
});
