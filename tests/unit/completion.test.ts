import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { commands } from "../../cli/argosy";
import { LANGUAGES } from "../../cli/new/languages";
import { runArgosy } from "./support/runArgosy";

const scriptFor = async (shell: string) => (await runArgosy("completion", shell)).stdout;

describe("argosy completion", () => {
  it("is what a real bash completes: commands, options and values, and paths for everything else", async () => {
    const names = commands().map(({ name }) => name);
    const expected: (readonly [words: readonly string[], completed: readonly string[]])[] = [
      [[""], [...names, "help", "--help", "--version"]],
      [["re"], names.filter((name) => name.startsWith("re"))],
      [
        ["test", "--s"],
        ["--server", "--stack"],
      ],
      [["new", "--language", "p"], Object.keys(LANGUAGES).filter((word) => word.startsWith("p"))],
      [["try", "-f", ""], []],
      [["test", ""], []],
      ...commands().map(({ name, command }) => {
        const flags = command.options.flatMap(({ long }) => long ?? []);
        return [
          [name, "--"],
          [...flags, "--help"],
        ] as const;
      }),
    ];
    // In one process: each line of its output is what bash has for the last word of a line.
    const lines = expected.map(
      ([words]) =>
        `COMP_WORDS=(argosy ${words.map((word) => `"${word}"`).join(" ")}); COMP_CWORD=${words.length}; _argosy; echo "\${COMPREPLY[*]}"`,
    );
    const input = [await scriptFor("bash"), ...lines].join("\n");
    const { stdout, stderr } = spawnSync("bash", ["--norc"], { encoding: "utf8", input });
    assert.equal(stderr, "");
    const completed = stdout.split("\n").map((line) => line.split(" ").filter((word) => word !== ""));
    for (const [index, [words, each]] of expected.entries())
      assert.deepEqual(completed[index], each, words.join(" "));
  });

  it("has every command and option for the other shells", async () => {
    const [zsh, fish] = [await scriptFor("zsh"), await scriptFor("fish")];
    // A colon would end a description of zsh.
    assert.ok(zsh.includes("(default\\: the kind in lower case)"));
    for (const { name, command } of commands()) {
      const [line = ""] = zsh.split("\n").filter((each) => each.startsWith(`    ${name}) _arguments `));
      const lines = fish.split("\n").filter((each) => each.includes(`__fish_seen_subcommand_from ${name}'`));
      for (const { long = "" } of command.options) {
        assert.ok(line.includes(`'${long}[`), `zsh: ${name} ${long}`);
        assert.ok(
          lines.some((each) => each.includes(` -l ${long.slice(2)} `)),
          `fish: ${name} ${long}`,
        );
      }
    }
  });

  it("refuses another shell", async () => {
    const { result, stderr } = await runArgosy("completion", "tcsh");
    assert.equal(result, 2);
    assert.match(stderr, /no completion for tcsh\. Write one of bash, zsh, fish\./);
  });
});
