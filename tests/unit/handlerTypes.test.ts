import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { typesOf } from "../../cli/types/typesOf";
import { loadOperators } from "../../definition/loadOperators";
import { ALL, typeWriter, WATCHING } from "./support/handlerSamples";
import { BLOCKS } from "./support/pages";
import { PROJECT } from "./support/projectCopy";

/** Prints what handlers in Python ask of requests and answer that the types do not have. They come as JSON from standard input. */
const CHECKER = `
import ast, json, sys

def complaints(place, code, texts):
    modules = []
    for text in texts:
        names = {}
        exec(text, names)
        modules.append(names)
    asked, answered = set(), []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            of, key = node.value, node.slice.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get" and node.args:
            of, key = node.func.value, getattr(node.args[0], "value", None)
        else:
            of, key = None, None
        if isinstance(of, ast.Name) and of.id == "request":
            asked.add(key)
        if isinstance(node, ast.FunctionDef) and node.name in ("reconcile", "finalize"):
            kind = "Reconciled" if node.name == "reconcile" else "Finalized"
            answered += [
                (kind, {key.value for key in each.value.keys if key})
                for each in ast.walk(node)
                if isinstance(each, ast.Return) and isinstance(each.value, ast.Dict)
            ]
    def fits(names):
        takes = lambda kind, keys: names[kind].__required_keys__ <= keys <= set(names[kind].__annotations__)
        return asked <= set(names["Request"].__annotations__) and all(
            takes(kind, keys) or takes("Failure", keys) for kind, keys in answered
        )
    return [] if any(map(fits, modules)) else [f"{place}: {sorted(asked)} {answered}"]

handlers = json.load(sys.stdin)
print(json.dumps([each for handler in handlers for each in complaints(**handler)]))
`;

describe("the types that argosy types writes", () => {
  it("in Python accept every handler of the documentation and of the examples", () => {
    const typesFor = typeWriter();
    const texts = [ALL, WATCHING].map((each) => typesFor(each, "main.py"));
    const written = BLOCKS.filter(
      ({ language, code }) => language === "python" && /^def (reconcile|finalize)\(request\)/m.test(code),
    ).map(({ place, code }) => ({ place, code, texts }));
    const examples = loadOperators(path.join(PROJECT, "examples")).flatMap((operator) => {
      const file = path.join(operator.folder, "main.py");
      if (!existsSync(file)) return [];
      return [
        { place: operator.name, code: readFileSync(file, "utf8"), texts: [typesOf(operator, "python").text] },
      ];
    });
    assert.ok(written.length > 10 && examples.length > 5, `${written.length} and ${examples.length}`);
    const input = JSON.stringify([...written, ...examples]);
    assert.deepEqual(JSON.parse(execFileSync("python3", ["-c", CHECKER], { input, encoding: "utf8" })), []);
  });
});
