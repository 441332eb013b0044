import assert from "node:assert/strict";
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import path from "node:path";
import fc from "fast-check";
import { contentHash } from "../../components/manifests/configMaps";
import { dataKeyOf, handlerFiles, imageFiles } from "../../components/manifests/operator/handlerFiles";
import { displayPath } from "../../definition/problems";
import { addFiles, problemsIn, removeFolder, widgetCrd, writeFolder } from "./operatorFolder";
import { assertEach } from "./support/lists";

const MEBIBYTE = 1024 * 1024;

describe("handlerFiles", () => {
  let root: string;
  let folder: string;
  const crd = widgetCrd();

  beforeEach(() => {
    root = writeFolder({ "widget/crd.yaml": crd, "widget/main.py": "print()\n" });
    folder = path.join(root, "widget");
  });

  const source = () => ({ folder, crd, handler: { image: "a:1", command: ["sh"] } });
  const readAll = () => handlerFiles(source());
  const read = () => {
    const [only, ...others] = readAll();
    assert.ok(only);
    assert.deepStrictEqual(others, []);
    return only;
  };
  const paths = () => read().items.map((item) => item.path);

  /** What is wrong with the folder, each problem without the folder before it. */
  function problems(): string[] {
    return problemsIn(readAll).map((problem) => problem.replace(`${displayPath(folder)}/`, ""));
  }

  it("carries everything but what Argosy itself reads, hidden files, and what tools leave behind", () => {
    addFiles(folder, {
      "operator.yaml": "",
      "fixtures/created.yaml": "",
      ".env": "",
      ".git/config": "",
      "__pycache__/main.pyc": "",
      "lib/__pycache__/util.pyc": "",
      "node_modules/a/index.js": "",
      "main.py~": "",
      "#main.py#": "",
      "lib/util.py": "",
      "lib/operator.yaml": "",
      "lib/fixtures/one.json": "",
      "templates/deployment.yaml": "kind: Deployment\n",
      "other.crd.yaml": "kind: CustomResourceDefinition\n",
    });
    assert.deepStrictEqual(paths(), [
      "lib/fixtures/one.json",
      "lib/operator.yaml",
      "lib/util.py",
      "main.py",
      "other.crd.yaml",
      "templates/deployment.yaml",
    ]);
  });

  it("leaves the CRD out by what it says, whatever its file is called", () => {
    addFiles(folder, { "deploy/definition.yml": crd });
    assert.deepStrictEqual(paths(), ["main.py"]);
  });

  it("does not read a template that looks like YAML as YAML", () => {
    addFiles(folder, { "crd.tmpl.yaml": "kind: CustomResourceDefinition\nname: *unknown\n" });
    assert.deepStrictEqual(paths(), ["crd.tmpl.yaml", "main.py"]);
  });

  it("makes a key of each path, and maps it back", () => {
    addFiles(folder, { "lib/deep/util.test.py": "x = 1\n" });
    const { data, items } = read();
    assert.deepStrictEqual(data, { "lib..deep..util.test.py": "x = 1\n", "main.py": "print()\n" });
    assert.deepStrictEqual(items, [
      { key: "lib..deep..util.test.py", path: "lib/deep/util.test.py" },
      { key: "main.py", path: "main.py" },
    ]);
  });

  it("keeps every byte of a text, a byte order mark and a name like __proto__ included", () => {
    addFiles(folder, { "bom.txt": "\uFEFFä\r\n", __proto__x: "", ["__proto__"]: "own" });
    const { data } = read();
    assert.equal(data["bom.txt"], "\uFEFFä\r\n");
    assert.equal(Object.getOwnPropertyDescriptor(data, "__proto__")?.value, "own");
  });

  it("keeps every byte of what is no text, in base64", () => {
    const files = {
      "a.bin": Buffer.from([0x61, 0xc3, 0xa4, 0xff, 0x62]),
      "b.bin": Buffer.from([0x61, 0x00]),
      "c.bin": Buffer.from([0x61, 0xe2, 0x82]),
    };
    for (const [name, content] of Object.entries(files)) writeFileSync(path.join(folder, name), content);
    const { data, binaryData } = read();
    assert.deepStrictEqual(Object.keys(data), ["main.py"]);
    const carried = Object.entries(binaryData).map(([name, text]) => [name, Buffer.from(text, "base64")]);
    assert.deepStrictEqual(Object.fromEntries(carried), files);
  });

  for (const name of ["speed.cpython-313-x86_64-linux-gnu.so", "libssl.so.3", "addon.node", "x.pyd"]) {
    it(`refuses compiled code: ${name}`, () => {
      addFiles(folder, { [`vendor/fast/${name}`]: "" });
      assert.match(
        problems().join("\n"),
        /^vendor\/fast\/\S+: the file is compiled code, which runs on one kind of machine alone\. Install .*image: \.\.\. \}\.$/,
      );
      // An image has them.
      assert.ok(imageFiles(source()).some((file) => file.path === `vendor/fast/${name}`));
    });
  }

  it("puts up to exactly a mebibyte of values into one, whatever their keys", () => {
    addFiles(folder, { "large.txt": "x".repeat(MEBIBYTE - "print()\n".length) });
    assertEach(readAll(), ({ items }) => items.map((item) => item.path), [["large.txt", "main.py"]]);
    addFiles(folder, { "small.txt": "y" });
    assertEach(readAll(), ({ items }) => items.map((item) => item.path), [
      ["large.txt", "main.py"],
      ["small.txt"],
    ]);
  });

  it("loses no file, keeps the order, and overfills no ConfigMap, however large the files are", () => {
    const size = fc.integer({ min: 0, max: MEBIBYTE });
    fc.assert(
      fc.property(fc.array(size, { minLength: 1, maxLength: 4 }), (sizes) => {
        const place = path.join(root, "other");
        removeFolder(place);
        sizes.forEach((bytes, index) => {
          addFiles(place, { [`f${index}`]: "x".repeat(bytes) });
        });
        const packs = handlerFiles({ ...source(), folder: place });
        const names = packs.flatMap(({ items }) => items.map((item) => item.path));
        assert.deepStrictEqual(
          names,
          sizes.map((_, index) => `f${index}`),
        );
        for (const { data } of packs) assert.ok(Object.values(data).join("").length <= MEBIBYTE);
      }),
      { numRuns: 20 },
    );
  });

  it("names one file that is too large by itself", () => {
    writeFileSync(path.join(folder, "model.bin"), Buffer.alloc(MEBIBYTE + 1, 0xff));
    const [problem = "", ...others] = problems();
    assert.deepStrictEqual(others, []);
    assert.match(
      problem,
      /: model\.bin has 1048577 bytes, more than the 1048576 of a ConfigMap\. Remove .*files: \{ image: \.\.\. \}\.$/,
    );
  });

  it("names the largest files if all are too large together for ConfigMaps, without reading them", () => {
    for (const name of ["a", "b", "c"]) {
      writeFileSync(path.join(folder, name), Buffer.alloc(0));
      truncateSync(path.join(folder, name), 3 * MEBIBYTE);
    }
    assert.match(
      problems().join("\n"),
      /^[^\n]*: the handler's files have 9437192 bytes, more than the 8388608 of 8 ConfigMaps; the largest: a \(3145728\), b \(3145728\), c \(3145728\)\. Remove[^\n]*$/,
    );
  });

  for (const name of ["größe.py", "two words.py", "a..b", "end.", "x+y"]) {
    it(`refuses the name ${name}`, () => {
      addFiles(folder, { [`lib/${name}`]: "" });
      assert.deepStrictEqual(problems(), [
        `lib/${name}: the name cannot be made a key of a ConfigMap. Rename it: letters, digits, "-", "_", and single dots between them.`,
      ]);
    });
  }

  it("refuses a path that makes too long a key", () => {
    addFiles(folder, { [`${"a".repeat(130)}/${"b".repeat(130)}`]: "" });
    assert.match(problems()[0] ?? "", /: the path has more than 253 characters\. Shorten/);
  });

  it("follows links within the folder", () => {
    addFiles(folder, { "lib/util.py": "x = 1\n" });
    symlinkSync("lib", path.join(folder, "alias"));
    symlinkSync("main.py", path.join(folder, "again.py"));
    assert.deepStrictEqual(paths(), ["again.py", "alias/util.py", "lib/util.py", "main.py"]);
    assert.equal(read().data["alias..util.py"], "x = 1\n");
  });

  it("refuses links that lead out of it, in a circle, or nowhere, all at once", () => {
    addFiles(root, { "widget-secret/key.txt": "" });
    mkdirSync(path.join(folder, "lib"));
    symlinkSync("../widget-secret/key.txt", path.join(folder, "a.txt"));
    symlinkSync("..", path.join(folder, "lib", "up"));
    symlinkSync("missing", path.join(folder, "none"));
    assert.deepStrictEqual(problems(), [
      "a.txt: the symbolic link leads outside the operator's folder. Put the file itself there.",
      "lib/up: the symbolic link leads to a folder that it is in. Remove it.",
      "none: the symbolic link leads nowhere. Remove it, or mend it.",
    ]);
  });

  it("are none if the program is in its image", () => {
    removeFolder(path.join(folder, "main.py"));
    assert.deepStrictEqual(readAll(), []);
    assert.deepStrictEqual(imageFiles(source()), []);
  });
});

describe("dataKeyOf", () => {
  const name = fc.stringMatching(/^[-_a-zA-Z0-9]{1,3}(\.[-_a-zA-Z0-9]{1,3}){0,2}$/);
  const file = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join("/"));

  it("gives each path a key of its own, which the API server accepts", () => {
    fc.assert(
      fc.property(file, file, (one, other) => {
        assert.equal(dataKeyOf(one) === dataKeyOf(other), one === other);
        assert.match(dataKeyOf(one), /^(?!\.)[-._a-zA-Z0-9]+$/);
        assert.equal(dataKeyOf(one).split("..").join("/"), one);
      }),
    );
  });
});

describe("contentHash", () => {
  const files = fc.dictionary(fc.string(), fc.string(), { minKeys: 1, noNullPrototype: true });

  it("has ten digits, which the order of the files does not change", () => {
    fc.assert(
      fc.property(files, (given) => {
        const reversed = Object.fromEntries(Object.entries(given).reverse());
        assert.match(contentHash(given), /^[0-9a-f]{10}$/);
        assert.equal(contentHash(reversed), contentHash(given));
      }),
    );
  });

  it("differs if a name or a content differs", () => {
    fc.assert(
      fc.property(files, fc.string(), fc.string(), (given, name, content) => {
        fc.pre(given[name] !== content);
        assert.notEqual(
          contentHash(Object.fromEntries([...Object.entries(given), [name, content]])),
          contentHash(given),
        );
      }),
    );
    assert.notEqual(contentHash({ a: "b", c: "" }), contentHash({ a: "", c: "b" }));
  });
});
