import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import path from "node:path";
import { CommandError } from "../../cli/common/commandError";
import { manifestsAt } from "../../cli/render/manifestsAt";
import type { Manifest } from "../../runtime/base/objects";
import { rememberVariables } from "../environment";
import { addFiles, widgetCrd, widgetVersion, writeFolder } from "./operatorFolder";
import { captured } from "./support/captured";
import { errorOf } from "./support/failures";
import { assertEach } from "./support/lists";
import { runArgosy } from "./support/runArgosy";

const ROOT = path.resolve(__dirname, "../..");
const OPERATOR = { crd: "crd.yaml", handler: { image: "a:1", command: ["sh"] }, children: [] };
const IN_JAVASCRIPT = { ...OPERATOR, handler: "main.js" };
const WITH_STATUS = widgetCrd({
  versions: [widgetVersion({}, { status: { type: "object", properties: { phase: { type: "string" } } } })],
});
/** A program, with its operators in this folder. */
const program = (operators: string) => ({
  "Pulumi.yaml": "name: shop\nruntime: nodejs\n",
  "Pulumi.dev.yaml": "config: {}\n",
  "index.ts": `import { Operators } from "${path.join(ROOT, "components/index.ts")}";\nnew Operators("ops", { handlers: "./${operators}" });\n`,
});

/** An operator whose handler is a shell script, in this folder. */
const operatorIn = (folder: string, crd = widgetCrd()) => ({
  [`${folder}/crd.yaml`]: crd,
  [`${folder}/operator.yaml`]: OPERATOR,
  [`${folder}/main.sh`]: "cat",
});

/** A new repository, in which a test may commit. */
function repository() {
  const root = writeFolder({ "readme.md": "Operators.\n", ".gitignore": "node_modules\n" });
  const { git, commit } = repositoryIn(root);
  git("init", "--quiet");
  commit("none");
  return { root, git, commit };
}

function repositoryIn(root: string) {
  const git = (...args: string[]) =>
    execFileSync("git", ["-C", root, "-c", "user.name=a", "-c", "user.email=a@example.com", ...args], {
      encoding: "utf8",
    });
  const commit = (tag: string) => {
    git("add", "--all");
    git("commit", "--quiet", "--message", tag);
    git("tag", tag);
  };
  return { git, commit };
}

function addLink(target: string, link: string): void {
  mkdirSync(path.dirname(link), { recursive: true });
  symlinkSync(target, link);
}

describe("manifestsAt", () => {
  /** A repository with commits. Each test has a copy of it, because git takes longer to make it. */
  let original: string;
  let root: string;
  let git: (...args: string[]) => string;
  let commit: (tag: string) => void;
  /** A manifest that is named as the operators of the program are. */
  const render = async (folder: string): Promise<Manifest[]> => [
    { apiVersion: "v1", kind: "A", metadata: { name: readFileSync(path.join(folder, "name"), "utf8") } },
  ];
  const ask = async (ref: string, folder = root) => {
    const { result, stderr } = await captured(() => manifestsAt(folder, ref, render));
    return [...result.map(({ metadata }) => metadata.name), ...(stderr && [stderr])];
  };
  const messageOf = async (ref: string) => (await errorOf(CommandError, () => ask(ref))).message;
  const leftOver = () => readdirSync(path.join(root, ".git", "temporary"));

  const putBack = rememberVariables("TMPDIR");

  before(() => {
    const { root: folder, commit } = repository();
    original = folder;
    addFiles(original, { ...program("handlers"), name: "one" });
    commit("first");
    addFiles(original, { name: "two" });
    commit("second");
    // What is not committed belongs to no ref.
    rmSync(path.join(original, "name"));
  });
  beforeEach(() => {
    root = writeFolder({});
    cpSync(original, root, { recursive: true });
    ({ git, commit } = repositoryIn(root));
    process.env.TMPDIR = path.join(root, ".git", "temporary");
    mkdirSync(process.env.TMPDIR);
  });
  afterEach(putBack);

  it("takes what git takes for a commit", async () => {
    assert.deepEqual(await ask("first"), ["one"]);
    assert.deepEqual(await ask("HEAD"), ["two"]);
    assert.deepEqual(await ask("HEAD~1"), ["one"]);
    assert.deepEqual(await ask(git("rev-parse", "HEAD").trim()), ["two"]);
  });

  it("leaves the repository and the temporary folder as they were", async () => {
    const before = [git("status", "--porcelain"), git("worktree", "list"), leftOver()];
    await ask("first");
    assert.deepEqual([git("status", "--porcelain"), git("worktree", "list"), leftOver()], before);
  });

  it("says that there was no program yet", async () => {
    const place = path.relative(process.cwd(), root);
    assert.deepEqual(await ask("none"), [`none has no program in ${place}, so everything is new.\n`]);
  });

  it("works for a program in a folder of the repository, and with the files above it", async () => {
    addFiles(root, { ...program("handlers"), "programs/shop/Pulumi.yaml": "name: shop\n", other: "three" });
    symlinkSync("../../other", path.join(root, "programs/shop/name"));
    commit("moved");
    const shop = path.join(root, "programs/shop");
    assert.deepEqual(await ask("moved", shop), ["three"]);
    assert.match((await ask("first", shop))[0] ?? "", /^first has no program/);
  });

  it("knows a symlink to the program's folder", async () => {
    const link = path.join(root, "link");
    symlinkSync(root, link);
    assert.deepEqual(await ask("first", link), ["one"]);
  });

  it("says which ref is not known", async () => {
    for (const ref of ["v9", "--all", ""]) {
      assert.match(await messageOf(ref), new RegExp(`^git knows no ref "${ref}" here\\. Give a branch`));
    }
  });

  it("says that there is no repository", async () => {
    rmSync(path.join(root, ".git"), { recursive: true });
    assert.match(await messageOf("first"), /is not in a git repository, so there is no ref "first"/);
  });

  it("gives git's own words if git refuses", async () => {
    process.env.GIT_TEST_ASSUME_DIFFERENT_OWNER = "1";
    try {
      const message = await messageOf("first");
      assert.match(message, /^git rev-parse failed:\n {2}fatal: detected dubious ownership/);
      assert.match(message, /safe\.directory/);
    } finally {
      delete process.env.GIT_TEST_ASSUME_DIFFERENT_OWNER;
    }
    const tree = git("rev-parse", "first^{tree}").trim();
    rmSync(path.join(root, ".git/objects", tree.slice(0, 2), tree.slice(2)));
    assert.match(await messageOf("first"), /^git read-tree failed:\n {2}.*fatal: /s);
  });

  it("has also the files that .gitattributes leaves out of a release", async () => {
    addFiles(root, { ".gitattributes": "* export-ignore\n", name: "three" });
    commit("unreleased");
    assert.deepEqual(await ask("unreleased"), ["three"]);
  });

  it("takes a package of the repository from the ref if git has the files by which it is loaded, and otherwise says so", async () => {
    const packages = {
      committed: { main: "lib/index.js", exports: { ".": "./lib/index.js", "./gone": "./gone/index.js" } },
      plain: {},
      built: { main: "dist" },
      beside: { main: "./index.js" },
      "@acme/modules": { exports: { ".": { types: "./index.d.ts", import: "./dist/index.js" } } },
      "@acme/parts": { exports: { "./package.json": "./package.json", "./*": ["./dist/*.js"] } },
      submodule: {},
    };
    const allowed = ["-c", "protocol.file.allow=always"];
    git(...allowed, "submodule", "--quiet", "add", root, "packages/submodule");
    for (const [name, content] of Object.entries(packages)) {
      addLink(path.join(root, "packages", name), path.join(root, "node_modules", name));
      addFiles(root, { [`packages/${name}/package.json`]: JSON.stringify({ name, ...content }) });
    }
    addFiles(root, {
      ".gitignore": "node_modules\ndist\n/packages/beside/*.js\n",
      "packages/committed/lib/index.js": "",
      "packages/beside/index.js": "",
      ...Object.fromEntries(
        ["built", "@acme/modules", "@acme/parts"].map((name) => [`packages/${name}/dist/index.js`, ""]),
      ),
    });
    commit("packages");
    addFiles(root, { "packages/young/package.json": "{}" });
    addLink(path.join(root, "packages/young"), path.join(root, "node_modules/young"));
    const ofRef = async (folder: string): Promise<Manifest[]> =>
      ["young", ...Object.keys(packages)]
        .filter((name) => realpathSync(path.join(folder, "node_modules", name)).startsWith(folder))
        .map((name) => ({ apiVersion: "v1", kind: "A", metadata: { name } }));
    const { result, stderr } = await captured(() => manifestsAt(root, "packages", ofRef));
    assertEach(result, ({ metadata }) => metadata.name, ["committed", "plain"]);
    assert.equal(
      stderr,
      "packages lacks files of @acme/modules, @acme/parts, beside, built, submodule, which git ignores or keeps in a submodule. " +
        "Today's files are used instead, so their changes are not compared.\n",
    );
  });

  it("says that git is missing", async () => {
    const { PATH } = process.env;
    process.env.PATH = path.join(root, "nothing");
    try {
      assert.match(await messageOf("first"), /^git is not installed/);
    } finally {
      process.env.PATH = PATH;
    }
  });
});

describe("argosy verdict", function () {
  this.timeout(120_000);
  let root: string;
  let commit: (tag: string) => void;
  const argosy = (ref: string, project = root, ...args: string[]) =>
    runArgosy("verdict", ref, "--project", project, ...args);

  beforeEach(() => {
    ({ root, commit } = repository());
    symlinkSync(path.join(ROOT, "node_modules"), path.join(root, "node_modules"));
  });

  it("compares operators that are in any folder, and may have been in another one", async () => {
    addFiles(root, { ...program("operators"), ...operatorIn("operators/a") });
    commit("first");
    rmSync(path.join(root, "operators"), { recursive: true });
    addFiles(root, { ...program("controllers"), ...operatorIn("controllers/a", WITH_STATUS) });
    const { result, stdout, stderr } = await argosy("first", root, "--json");
    assert.deepEqual([result, stderr], [3, ""]);
    const { crds } = JSON.parse(stdout);
    const [comparison, ...others] = crds;
    assert.deepEqual(others, []);
    assertEach(comparison.changes, ({ change }: { change: string }) => change, [
      "unknown-fields-pruned",
      "type-changed",
    ]);
  });

  it("finds the packages of functions, also those of a workspace's root", async () => {
    addFiles(root, {
      "programs/shop/node_modules/own/index.js": 'exports.greeting = "Hello";',
      "programs/node_modules/names/index.js": 'exports.greeting = "Hello";',
    });
    const shop = "programs/shop";
    const files = {
      ...program("handlers"),
      "handlers/a/crd.yaml": widgetCrd(),
      "handlers/a/operator.yaml": IN_JAVASCRIPT,
      "handlers/a/main.js":
        'import { greeting } from "names";\nimport "own";\nexport const reconcile = () => greeting;\n',
    };
    addFiles(
      root,
      Object.fromEntries(Object.entries(files).map(([name, text]) => [`${shop}/${name}`, text])),
    );
    commit("packages");
    const { result, stderr } = await argosy("packages", path.join(root, shop));
    assert.deepEqual([result, stderr], [0, ""]);
  });

  it("takes the packages of a workspace from the ref, with their own packages", async () => {
    // As npm installs packages/operators in a workspace.
    rmSync(path.join(root, "node_modules"));
    for (const each of readdirSync(path.join(ROOT, "node_modules")))
      addLink(path.join(ROOT, "node_modules", each), path.join(root, "node_modules", each));
    addLink("../../packages/operators", path.join(root, "node_modules/@acme/operators"));
    const handlers =
      'require("path").join(require.resolve("@acme/operators/package.json"), "..", "handlers")';
    const files = {
      ...program("handlers"),
      "packages/operators/package.json": '{ "name": "@acme/operators" }',
      "packages/operators/node_modules/greetings/index.js": 'exports.greeting = "Hello";',
      "packages/operators/handlers/a/crd.yaml": widgetCrd(),
      "packages/operators/handlers/a/operator.yaml": IN_JAVASCRIPT,
      "packages/operators/handlers/a/main.js":
        'import { greeting } from "greetings";\nexport const reconcile = () => greeting;\n',
    };
    addFiles(root, {
      ...files,
      "index.ts": files["index.ts"].replace('"./handlers"', handlers),
    });
    commit("workspace");
    addFiles(root, { "packages/operators/handlers/a/crd.yaml": WITH_STATUS });
    const { result, stdout, stderr } = await argosy("workspace");
    assert.equal(stderr, "");
    assert.match(stdout, /status/);
    assert.equal(result, 3);
  });

  it("names the files of the ref that have a mistake, and the packages that are missing", async () => {
    const operator = operatorIn("handlers/a");
    addFiles(root, { ...program("handlers"), ...operator, "handlers/a/operator.yaml": "crd: 1\n" });
    commit("broken");
    addFiles(root, { ...operator, "index.ts": 'import "left-pad";\n' });
    commit("package");
    addFiles(root, { ...program("handlers"), ...operator });
    const firstLine = (ref: string) =>
      `The program at ${ref} fails. Compare with a later ref, or install the packages that it needs.\n`;
    const broken = await argosy("broken");
    assert.equal(broken.result, 1);
    assert.ok(broken.stderr.includes(firstLine("broken")), broken.stderr);
    assert.match(broken.stderr, /handlers\/a\/operator\.yaml:1:1: /);
    const { stderr } = await argosy("package");
    assert.ok(stderr.includes(firstLine("package")), stderr);
    assert.match(
      stderr,
      /^The program in package needs the package left-pad, which is not installed\. Run npm install\.$/m,
    );
  });
});
