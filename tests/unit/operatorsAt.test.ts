import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import path from "node:path";
import { CommandError } from "../../cli/commandError";
import { operatorsAt } from "../../cli/render/operatorsAt";
import { compareCrdSets } from "../../components/crdVerdict/compareCrds";
import { rememberVariables } from "../environment";
import { addFiles, removeFolder, widgetCrd, widgetVersion, writeFolder } from "./operatorFolder";
import { errorOf } from "./support/failures";

const OPERATOR = { crd: "crd.yaml", handler: { image: "a:1", command: ["sh"] }, children: [] };

describe("operatorsAt", () => {
  let root: string;
  const git = (...args: string[]) =>
    execFileSync("git", ["-C", root, "-c", "user.name=a", "-c", "user.email=a@example.com", ...args], {
      encoding: "utf8",
    });
  const commit = (tag: string) => {
    git("add", "--all");
    git("commit", "--quiet", "--message", tag);
    git("tag", tag);
  };
  const ask = (ref: string) => operatorsAt(root, ref);
  const messageOf = async (ref: string) => (await errorOf(CommandError, () => ask(ref))).message;
  const leftOver = () => readdirSync(path.join(root, ".git", "temporary"));

  const putBack = rememberVariables("TMPDIR");

  beforeEach(() => {
    root = writeFolder({ "readme.md": "Operators.\n" });
    git("init", "--quiet");
    process.env.TMPDIR = path.join(root, ".git", "temporary");
    mkdirSync(process.env.TMPDIR);
    commit("none");
    addFiles(root, { "handlers/a/crd.yaml": widgetCrd(), "handlers/a/operator.yaml": OPERATOR });
    commit("first");
    const status = { status: { type: "object", properties: { phase: { type: "string" } } } };
    addFiles(root, { "handlers/a/crd.yaml": widgetCrd({ versions: [widgetVersion({}, status)] }) });
    commit("second");
    // What is not committed belongs to no ref.
    rmSync(path.join(root, "handlers"), { recursive: true });
  });
  afterEach(() => {
    putBack();
    removeFolder(root);
  });

  it("gives the CRDs as they would be installed", async () => {
    const [crd, ...others] = await ask("first");
    assert.deepStrictEqual(others, []);
    assert.equal(crd?.metadata.name, "widgets.shop.example.com");
    assert.match(JSON.stringify(crd), /"observedGeneration"/);
    const [comparison] = compareCrdSets(await ask("first"), await ask("second"));
    assert.deepStrictEqual(
      comparison?.changes.map(({ change }) => change),
      ["unknown-fields-pruned", "type-changed"],
    );
  });

  it("takes what git takes for a commit", async () => {
    const wanted = await ask("second");
    assert.deepStrictEqual(await ask("HEAD"), wanted);
    assert.deepStrictEqual(await ask(git("rev-parse", "HEAD").trim()), wanted);
    assert.deepStrictEqual(await ask("HEAD~1"), await ask("first"));
  });

  it("leaves the repository and the temporary folder as they were", async () => {
    const before = [git("status", "--porcelain"), git("worktree", "list"), leftOver()];
    await ask("first");
    assert.deepStrictEqual([git("status", "--porcelain"), git("worktree", "list"), leftOver()], before);
  });

  it("finds nothing where there were no operators yet", async () => {
    assert.deepStrictEqual(await ask("none"), []);
    addFiles(root, { "handlers/readme.md": "Soon.\n" });
    commit("soon");
    assert.deepStrictEqual(await ask("soon"), []);
  });

  it("lets functions use installed packages", async () => {
    addFiles(root, {
      ".gitignore": "node_modules\n",
      "node_modules/names/index.js": 'exports.greeting = "Hello";',
      "handlers/a/crd.yaml": widgetCrd(),
      "handlers/a/operator.yaml": { ...OPERATOR, handler: "main.js" },
      "handlers/a/main.js": 'import { greeting } from "names";\nexport const reconcile = () => greeting;\n',
    });
    commit("packages");
    assert.equal((await ask("packages")).length, 1);
  });

  it("works for a program in a folder of the repository", async () => {
    addFiles(root, {
      "programs/shop/handlers/a/crd.yaml": widgetCrd(),
      "programs/shop/handlers/a/operator.yaml": OPERATOR,
    });
    commit("moved");
    const shop = path.join(root, "programs/shop");
    assert.equal((await operatorsAt(shop, "moved")).length, 1);
    assert.deepStrictEqual(await operatorsAt(shop, "first"), []);
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

  it("says that git is missing", async () => {
    const { PATH } = process.env;
    process.env.PATH = path.join(root, "nothing");
    try {
      assert.match(await messageOf("first"), /^git is not installed/);
    } finally {
      process.env.PATH = PATH;
    }
  });

  it("names the files of the ref that cannot be loaded", async () => {
    addFiles(root, { "handlers/a/operator.yaml": "crd: 1\n" });
    commit("broken");
    const [first, ...problems] = (await messageOf("broken")).split("\n");
    assert.equal(first, "The operators at broken cannot be loaded. Compare with a later ref.");
    assert.match(problems[0] ?? "", /^broken:handlers\/a\/operator\.yaml:1:1: /);
    assert.deepStrictEqual(leftOver(), []);
  });

  it("says that the operators of the ref are of a time before operator.yaml", async () => {
    addFiles(root, { "handlers/a/operator.ts": "export default {};\n", "handlers/a/crd.yaml": widgetCrd() });
    commit("early");
    const [first, ...problems] = (await messageOf("early")).split("\n");
    assert.equal(first, "The operators at early cannot be loaded. Compare with a later ref.");
    assert.match(
      problems[0] ?? "",
      /^early:handlers\/a: the folder has operator\.ts, but no operator\.yaml\. /,
    );
  });

  it("knows a symlink to the program's folder", async () => {
    const link = path.join(root, "link");
    mkdirSync(path.join(root, "handlers"));
    symlinkSync(root, link);
    assert.equal((await operatorsAt(link, "first")).length, 1);
  });
});
