import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { assertEach } from "./support/lists";
import { codeIn } from "./support/markdown";
import { PAGES } from "./support/pages";
import { PROJECT } from "./support/projectCopy";
import { runArgosy } from "./support/runArgosy";

describe("the commands that pages name", () => {
  /** At the beginning of a line, of inline code or of a further command in the line. */
  const COMMAND =
    /(?<=^ *|[`(]|&& |run: )(?:npx |npm run (?:--silent )?)?argosy (?:-- )?([a-z]+)((?: [^\n`|&;#]*)?)/gm;
  const read = (page: string) => readFileSync(path.join(PROJECT, page), "utf8");
  const named = PAGES.flatMap((page) =>
    [...codeIn(read(page)).matchAll(COMMAND)].map(([text, command = "", rest = ""]) => ({
      place: `${page}: ${text}`,
      command,
      options: rest.match(/(?<= )--?[a-z][a-z-]*/g) ?? [],
    })),
  );

  it("exist, with the options that they are given", async () => {
    assert.ok(named.length > 200);
    const helps = new Map<string, string>();
    for (const { command } of named) {
      if (!helps.has(command))
        helps.set(command, (await runArgosy(command, "--help")).stdout.replaceAll(",", " "));
    }
    const unknown = named.filter(({ command, options }) => {
      const help = helps.get(command) ?? "";
      return (
        !help.startsWith(`Usage: argosy ${command} `) || options.some((each) => !help.includes(` ${each} `))
      );
    });
    assertEach(unknown, ({ place }) => place, []);
  });

  for (const page of ["AGENTS.md", "templates/typescript/AGENTS.md"]) {
    it(`are among the first things in ${page}, which is short and leads to pages that exist`, () => {
      const text = read(page);
      assert.ok(text.split("\n").length <= 61);
      assert.match(codeIn(text), /\bnpm test\b/);
      assert.match(text, /^## Never$/m);
      const addresses = [
        ...text.matchAll(/github\.com\/argosy-dev\/argosy\/(?:blob|tree)\/main\/([^)\s#]+)/g),
      ];
      for (const [, file = ""] of addresses) assert.ok(existsSync(path.join(PROJECT, file)), file);
    });
  }
});
