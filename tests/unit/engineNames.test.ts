import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import ts from "typescript";
import { assertNone } from "./support/lists";

const RUNTIME = path.resolve(__dirname, "../../runtime");
/** Fewer are better: lower these when there are fewer. */
const MOST = { options: 31, picks: 59 };

const sources = readdirSync(RUNTIME, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts"))
  .map((file) => readFileSync(path.join(RUNTIME, file), "utf8"));

/** The classes of each method's name. */
function classesByMethod(): Map<string, string[]> {
  const classes = new Map<string, string[]>();
  const visit = (node: ts.Node): void => {
    if (ts.isClassDeclaration(node) && node.name)
      for (const { name } of node.members.filter(ts.isMethodDeclaration))
        classes.set(name.getText(), [...(classes.get(name.getText()) ?? []), node.name.text]);
    ts.forEachChild(node, visit);
  };
  for (const text of sources) visit(ts.createSourceFile("", text, ts.ScriptTarget.Latest, true));
  return classes;
}

describe("the engine's names", () => {
  it("can be searched for: no ten classes have a method of one name", () => {
    assertNone([...classesByMethod()], ([, classes]) => classes.length >= 10);
  });

  it("say what a class uses in its constructor, and not in the options of others", () => {
    const all = sources.join("\n");
    const options = new Set(all.match(/interface \w+Options\b/g)).size;
    assert.ok(options <= MOST.options, `${options} interfaces of options`);
    assert.ok((all.match(/Pick</g) ?? []).length <= MOST.picks, "too many picks");
  });
});
