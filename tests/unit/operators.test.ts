import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import path from "node:path";
import { PACKAGE_FOLDER } from "../../cli/project";
import { loadOperators } from "../../components/loadOperators";
import { OperatorError } from "../../runtime/definition/operatorError";
import { addFiles, removeFolder, widgetCrd, writeFolder } from "./operatorFolder";

const BROKEN = 'export default {\n  crd: "crd.yaml"\n  children: [],\n};\n';

describe("loadOperators", () => {
  let root: string;
  const definition = (fields = "") =>
    `module.exports = { crd: "crd.yaml", handler: { image: "a:1", command: ["sh"] }, children: [], ${fields} };\n`;
  const problems = (): string[] => {
    try {
      loadOperators(root);
    } catch (error) {
      assert.ok(error instanceof OperatorError, String(error));
      return error.problems.map((problem) => problem.slice(problem.indexOf(path.basename(root))));
    }
    return [];
  };

  beforeEach(() => {
    root = writeFolder({ "a/crd.yaml": widgetCrd(), "a/operator.js": definition(), "notes/readme.md": "" });
  });
  afterEach(() => removeFolder(root));

  it("loads each folder that has a definition", () => {
    assert.deepStrictEqual(
      loadOperators(root).map(({ name, folder }) => [name, folder]),
      [["a", path.join(root, "a")]],
    );
  });

  it("sees an edit, also of a file that the definition requires", () => {
    addFiles(root, {
      "a/operator.js": definition("...require('./more')"),
      "a/more.js": "exports.concurrency = 2;",
    });
    assert.equal(loadOperators(root)[0]?.concurrency, 2);
    addFiles(root, { "a/more.js": "exports.concurrency = 3;" });
    assert.equal(loadOperators(root)[0]?.concurrency, 3);
  });

  it("refuses two of a name", () => {
    addFiles(root, { "b/crd.yaml": widgetCrd(), "b/operator.js": definition('name: "a"') });
    assert.equal(problems().length, 2);
    assert.match(problems()[0] ?? "", /b\/operator.js: name "a" is also that of .*a\/operator.js\. /);
  });

  it("tells of all operators at once", () => {
    addFiles(root, { "a/operator.js": definition("concurrency: 0"), "b/operator.js": "syntax error" });
    const [first, second] = problems();
    assert.match(first ?? "", /a\/operator.js: concurrency is 0/);
    assert.match(second ?? "", /b\/operator.js: line 1 cannot be loaded: SyntaxError/);
  });

  it("bundles functions in JavaScript, and tells where one cannot be", () => {
    const withFunction = definition('handler: "main.ts", finalize: true');
    for (const [source, expected] of [
      ["export function reconcile() {}\nexport function finalize() {}\n", undefined],
      ["exports.reconcile = exports.finalize = () => {};\n", undefined],
      [
        'import "not-there";\nexport function reconcile() {}\n',
        /a\/main\.ts: line 1, column 8 cannot be bundled: Could not resolve "not-there"\. Correct its name\./,
      ],
      ["export function reconcile( {}\n", /a\/main\.ts: line \d, column \d+ cannot be bundled: Expected/],
      [
        "function reconcile() {}\nexport function finalize() {}\n",
        /a\/operator\.js: handler "main\.ts" exports no function reconcile\(request\)\. Write there: export/,
      ],
      ["export function reconcile() {}\n", /exports no function finalize\(request\)/],
    ] as const) {
      addFiles(root, { "a/operator.js": withFunction, "a/main.ts": source });
      const found = problems();
      if (expected) assert.match(found[0] ?? "nothing was refused", expected);
      else assert.deepStrictEqual(found, []);
    }
  });

  it("names file, line and column of a syntax error in TypeScript, in the commands", () => {
    addFiles(root, { "c/operator.ts": BROKEN });
    assert.match(
      problems()[0] ?? "",
      /c\/operator.ts: line 3, column 3 does not compile: Expected "}" but found "children"\. Correct/,
    );
  });

  it("names them in `pulumi up`, where ts-node compiles", () => {
    addFiles(root, { "c/operator.ts": BROKEN });
    const load = `require("./components/loadOperators").loadOperators(${JSON.stringify(root)})`;
    const args = ["--require", "ts-node/register/transpile-only", "--eval", load];
    const { stderr } = spawnSync(process.execPath, args, { cwd: PACKAGE_FOLDER, encoding: "utf8" });
    assert.match(stderr, /c\/operator.ts: line 3, column 3 does not compile: ',' expected\. Correct/);
  });

  it("names the line that throws, in the file that it is in", () => {
    addFiles(root, { "a/operator.js": "require('./more');", "a/more.js": "\nthrow new Error('no disk');" });
    assert.match(problems()[0] ?? "", /a\/more.js: line 2 cannot be loaded: Error: no disk\. Correct/);
  });

  for (const source of ["export const operator = {};", "export {};", "const a = 1;"]) {
    it(`misses the default export of ${source}`, () => {
      addFiles(root, { "c/operator.ts": source });
      assert.match(
        problems()[0] ?? "",
        /c\/operator.ts: the default export is missing or not an object\. Write/,
      );
    });
  }

  it("refuses a folder that is missing or has no operator", () => {
    assert.throws(() => loadOperators(path.join(root, "none")), {
      message: /none: the folder is missing\. Give each/,
    });
    assert.throws(() => loadOperators(path.join(root, "notes")), {
      message: /notes: no operator is in this folder\. /,
    });
  });
});
