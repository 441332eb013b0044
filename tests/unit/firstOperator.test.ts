import assert from "node:assert/strict";
import { addFiles, writeFolder } from "./operatorFolder";
import { type CodeBlock, codeBlocksOf } from "./support/codeBlocks";
import { assertEach } from "./support/lists";
import { runArgosy } from "./support/runArgosy";

const blocks = codeBlocksOf("docs/first-operator.md");

/** The arguments of each command `npx argosy` of the page, up to the first that needs a cluster. */
const commands = blocks
  .filter(({ language }) => language === "shell")
  .flatMap(({ code }) => [...code.matchAll(/^npx argosy (.*)$/gm)].map(([, words = ""]) => words.split(" ")));

describe("docs/first-operator.md", function () {
  this.timeout(60_000);
  let root: string;
  before(() => {
    root = writeFolder({ "Pulumi.yaml": "name: shop\nruntime: nodejs\n" });
  });

  const texts = blocks.filter(({ language }) => language === "text");
  const run = async (args: readonly string[] = []) => {
    const { stdout, stderr } = await runArgosy(...args, "--project", root);
    assert.equal(stderr, "");
    return stdout;
  };
  const first = (isOne: (block: CodeBlock) => boolean) => {
    const block = blocks.find(isOne);
    assert.ok(block);
    return block.code;
  };

  it("shows what its commands print: a new operator, its test, a test that fails, and one that is updated", async () => {
    assertEach(commands, ([name]) => name, ["new", "test", "test", "test", "dev", "explain"]);
    const [made, holds, fails, updated] = texts.map(({ code }) => code);
    // The page is in the program's folder, and this test is not.
    const printed = (await run(commands[0])).replace(/^(written {2}).*?(handlers\/)/gm, "$1$2");
    assert.equal(printed.slice(0, made?.length), made);
    assert.equal(await run(commands[1]), holds);

    addFiles(root, {
      "handlers/cache/main.py": first(({ role }) => role === "tutorial"),
      "handlers/cache/operator.yaml": first(({ role }) => role === "operator"),
    });
    assert.equal(await run(commands[2]), fails);
    assert.equal(await run(commands[3]), updated);
    assert.equal(await run(commands[2]), holds);
  });

  it("begins as the README does", () => {
    const beginnings = ["README.md", "docs/first-operator.md"].map(
      (page) => codeBlocksOf(page).find(({ language }) => language === "shell")?.code ?? "",
    );
    const [readme = "", tutorial = ""] = beginnings;
    assert.ok(tutorial !== "" && readme.startsWith(tutorial), readme);
    for (const line of readme.slice(tutorial.length).trim().split("\n"))
      assert.ok(
        blocks.some(({ code }) => code.trim() === line),
        line,
      );
  });

  it("names the line of the mistake that it has its reader make", () => {
    const handler = first(({ role }) => role === "tutorial").split("\n");
    const line = handler.findIndex((text) => text.includes('["size"]')) + 1;
    const named = texts.flatMap(({ code }) => code.match(/main\.py:\d+/g) ?? []);
    assert.deepEqual(named, [`main.py:${line}`, `main.py:${line}`]);
  });
});
