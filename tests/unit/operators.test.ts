import assert from "node:assert/strict";
import { chmodSync, symlinkSync } from "node:fs";
import path from "node:path";
import type { LoadOptions } from "../../definition/loadOperator";
import { loadOperators } from "../../definition/loadOperators";
import type { JsonObject } from "../../runtime/base/objects";
import { addFiles, problemsIn, widgetCrd, writeFolder } from "./operatorFolder";
import { assertEach } from "./support/lists";
import { crdOf } from "./support/sampleOperators";

describe("loadOperators", () => {
  let root: string;
  const definition = (fields: JsonObject = {}) => ({
    crd: "crd.yaml",
    handler: { image: "a:1", command: ["sh"] },
    children: [],
    ...fields,
  });
  const problems = (options: LoadOptions = {}): string[] => {
    const found = problemsIn(() => loadOperators(root, options));
    return found.map((problem) => problem.replaceAll(/\S*\/argosy-test-[^/]*\//g, ""));
  };
  const names = () => loadOperators(root).map(({ name }) => name);

  beforeEach(() => {
    root = writeFolder({ "a/crd.yaml": widgetCrd(), "a/operator.yaml": definition(), "notes/readme.md": "" });
  });

  it("loads each folder that has a definition", () => {
    assertEach(loadOperators(root), ({ name, folder }) => [name, folder], [["a", path.join(root, "a")]]);
  });

  it("sees an edit", () => {
    addFiles(root, { "a/operator.yaml": definition({ concurrency: 2 }) });
    assert.equal(loadOperators(root)[0]?.concurrency, 2);
    addFiles(root, { "a/operator.yaml": definition({ concurrency: 3 }) });
    assert.equal(loadOperators(root)[0]?.concurrency, 3);
  });

  it("passes over files, hidden folders, node_modules, and folders of other things", () => {
    addFiles(root, {
      ".git/operator.yaml": "broken: [",
      ".cache/operator.ts": "",
      "node_modules/a-package/operator.yaml": "broken: [",
      "node_modules/operator.yaml": "broken: [",
      "lib/util.py": "",
      "operator.txt": "",
      "main.py": "",
    });
    assert.deepStrictEqual(names(), ["a"]);
  });

  it("follows a link to a folder, and says of one that leads nowhere", () => {
    addFiles(root, { ".elsewhere/b/crd.yaml": crdOf("b"), ".elsewhere/b/operator.yaml": definition() });
    symlinkSync(path.join(root, ".elsewhere/b"), path.join(root, "b"));
    assert.deepStrictEqual(names(), ["a", "b"]);
    for (const [name, target] of [
      ["c", "missing"],
      ["d", "d"],
    ] as const) {
      symlinkSync(path.join(root, target), path.join(root, name));
    }
    assert.deepStrictEqual(problems(), [
      "c: the symbolic link leads nowhere. Remove it, or mend it.",
      "d: the symbolic link leads nowhere. Remove it, or mend it.",
    ]);
  });

  it("says of a definition that it is a link that leads nowhere, and does not forget its operator", () => {
    addFiles(root, { "b/readme": "" });
    symlinkSync(path.join(root, "missing"), path.join(root, "b/operator.yaml"));
    assert.deepStrictEqual(problems(), [
      "b/operator.yaml: the symbolic link leads nowhere. Remove it, or mend it.",
    ]);
  });

  it("follows a link that is the folder of all operators itself", () => {
    addFiles(root, { ".elsewhere/b/crd.yaml": crdOf("b"), ".elsewhere/b/operator.yaml": definition() });
    symlinkSync(path.join(root, ".elsewhere"), path.join(root, "link"));
    const [operator] = loadOperators(path.join(root, "link"));
    assert.equal(operator?.folder, path.join(root, ".elsewhere/b"));
  });

  for (const sign of ["crd.yaml", "crd.yml", "main.py", "main.js", "main.ts"]) {
    it(`refuses a folder that has ${sign}, and no definition`, () => {
      addFiles(root, { [`b/${sign}`]: "" });
      assert.deepStrictEqual(problems(), [
        `b: the folder has ${sign}, but no operator.yaml. Write one with crd, handler and children, or move the folder elsewhere if it is no operator.`,
      ]);
    });
  }

  for (const name of ["operator.ts", "operator.js", "operator.mjs", "operator.cjs"]) {
    it(`refuses ${name}, alone and next to a definition`, () => {
      addFiles(root, { [`a/${name}`]: "export default {};\n", [`b/${name}`]: "export default {};\n" });
      assert.deepStrictEqual(problems(), [
        `b: the folder has ${name}, but no operator.yaml. Write one with crd, handler and children, or move the folder elsewhere if it is no operator.`,
        `a/${name}: the file is not a definition. Write its fields into operator.yaml, which is YAML, and remove it.`,
      ]);
    });
  }

  it("refuses operator.yml, and says what it is to be called", () => {
    addFiles(root, { "a/operator.yml": "" });
    assert.deepStrictEqual(problems(), [
      "a/operator.yml: the file is not read. Rename the file to operator.yaml.",
    ]);
  });

  it("refuses two of a name, and two of one CRD", () => {
    addFiles(root, { "b/crd.yaml": widgetCrd(), "b/operator.yaml": definition({ name: "a" }) });
    const [ofName = "", ofCrd = "", ...others] = problems();
    assert.match(
      ofName,
      /^b\/operator\.yaml:7:1: name "a" is also the name of a\/operator\.yaml\. Give each/,
    );
    assert.match(
      ofCrd,
      /^b\/operator\.yaml:1:1: crd defines widgets\.shop\.example\.com, as does a\/operator\.yaml\. Let/,
    );
    assert.deepStrictEqual(others, []);
  });

  it("refuses one folder by two names", () => {
    symlinkSync(path.join(root, "a"), path.join(root, "b"));
    assert.match(problems()[0] ?? "", /^b\/operator\.yaml:1:1: crd defines widgets\.shop\.example\.com/);
  });

  it("says once what is wrong for all of them", () => {
    addFiles(root, { "b/crd.yaml": crdOf("b"), "b/operator.yaml": definition() });
    assert.deepStrictEqual(problems({ installation: "a.b" }), [
      'the program: installation is "a.b", not a DNS label of at most 20 characters. Use at most 20 lower-case letters, digits and "-", for example "argosy".',
    ]);
  });

  it("reports all operators at once", () => {
    addFiles(root, { "a/operator.yaml": definition({ concurrency: 0 }), "b/operator.yaml": "crd: [" });
    const [first, second] = problems();
    assert.match(first ?? "", /^a\/operator\.yaml:7:1: concurrency is 0/);
    assert.match(second ?? "", /^b\/operator\.yaml:1:7: the file is not YAML: /);
  });

  it("bundles functions in JavaScript, and reports one that cannot be bundled", () => {
    const withFunction = definition({ handler: "main.ts", finalize: true });
    for (const [source, expected] of [
      ["export function reconcile() {}\nexport function finalize() {}\n", undefined],
      ["exports.reconcile = exports.finalize = () => {};\n", undefined],
      [
        'import "not-there";\nexport function reconcile() {}\n',
        /^a\/main\.ts:1:8: the function cannot be bundled: Could not resolve "not-there"\. Correct its name\./,
      ],
      ["export function reconcile( {}\n", /^a\/main\.ts:\d:\d+: the function cannot be bundled: Expected/],
      [
        "function reconcile() {}\nexport function finalize() {}\n",
        /^a\/operator\.yaml:2:1: handler "main\.ts" exports no function reconcile\(request\)\. Write there: export/,
      ],
      ["export function reconcile() {}\n", /exports no function finalize\(request\)/],
    ] as const) {
      addFiles(root, { "a/operator.yaml": withFunction, "a/main.ts": source });
      const found = problems();
      if (expected) assert.match(found[0] ?? "nothing was refused", expected);
      else assert.deepStrictEqual(found, []);
    }
  });

  it("refuses a folder that is missing, is a file, is an operator's own, or has no operator", () => {
    for (const [folder, message] of [
      ["none", /none: the folder is missing\. Give each operator a folder of its own with an operator\.yaml/],
      ["notes/readme.md", /readme\.md: it is not a folder\. Give each/],
      ["a", /a: the folder belongs to an operator\. Name the folder above/],
      ["notes", /notes: the folder has no operator in it\. Give each/],
    ] as const) {
      assert.throws(() => loadOperators(path.join(root, folder)), { name: "OperatorError", message });
    }
  });

  it("says of a folder that cannot be looked into, whose operator would be deleted if it were passed over", () => {
    addFiles(root, { "b/crd.yaml": crdOf("b"), "b/operator.yaml": definition() });
    chmodSync(root, 0o755);
    // Root may look into everything.
    const isRoot = process.geteuid?.() === 0;
    try {
      // In a folder of the second kind, files can be listed but not opened.
      for (const mode of [0, 0o444]) {
        chmodSync(path.join(root, "b"), mode);
        if (isRoot) process.seteuid?.("nobody");
        assert.deepStrictEqual(problems(), [
          "b: the folder cannot be read. Give yourself the right to read it, or move it elsewhere.",
        ]);
        if (isRoot) process.seteuid?.(0);
      }
    } finally {
      if (isRoot) process.seteuid?.(0);
      chmodSync(path.join(root, "b"), 0o755);
    }
  });
});
