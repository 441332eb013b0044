import assert from "node:assert/strict";
import { main } from "../../cli/argosy";
import { captured } from "./support/captured";
import { codeBlocksOf } from "./support/codeBlocks";

describe("the pages of commands", () => {
  const lines = ["docs/commands.md", "docs/previews.md", "docs/tasks/gitops.md"]
    .flatMap(codeBlocksOf)
    .filter(({ language }) => language === "sh")
    .flatMap(({ code }) => code.trim().split("\n"));

  it("shows commands", () => assert.ok(lines.length > 15));

  for (const line of lines) {
    it(`shows one that there is, with its options: ${line}`, async () => {
      const [program, command = "", ...words] = line.split(" ");
      assert.equal(program, "argosy");
      const { result, stdout } = await captured(() => main([command, "--help"]));
      assert.equal(result, 0);
      assert.match(stdout, new RegExp(`^Usage: argosy ${command} `));
      const options = words.filter((word) => word.startsWith("-"));
      assert.deepEqual(
        options.filter((option) => !stdout.includes(`${option} `)),
        [],
      );
    });
  }
});
