import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import path from "node:path";
import { localHandler } from "../../cli/handler/localHandler";
import { LOOPS_FOLDER } from "../../components/engineBundle";
import { handlerFiles } from "../../components/manifests/operator/handlerFiles";
import { programOf } from "../../definition/handlerProgram";
import { PipeTransport } from "../../runtime/handler/container/pipeTransport";
import type { HandlerTransport } from "../../runtime/handler/handlerTransport";
import { temporaryFolder } from "../support/temporaryFolder";
import { addFiles } from "./operatorFolder";
import { failureOf } from "./support/failures";
import { contentOf, FunctionBench } from "./support/functionBench";
import { HandlerContainer, shells } from "./support/handlerContainer";

describe("the files of a function", function () {
  this.timeout(30_000);
  let bench: FunctionBench;
  beforeEach(() => {
    bench = new FunctionBench();
  });
  afterEach(() => bench.close());

  it("in JavaScript is bundled again when a file of it has changed", async () => {
    const files = (size: number) => ({
      "main.js":
        'import { size } from "./size.js";\nexport const reconcile = () => ({ children: [], status: { size } });\n',
      "size.js": `export const size = ${size};\n`,
    });
    bench.start(files(1));
    assert.deepStrictEqual(await bench.statusOf(), { size: 1 });
    addFiles(bench.folder, files(1234));
    bench.pool.renew();
    assert.deepStrictEqual(await bench.statusOf(), { size: 1234 });
    addFiles(bench.folder, { "size.js": "export const size = ;\n" });
    bench.pool.renew();
    const failure = await failureOf(() => bench.ask());
    assert.equal(failure.reason, "HandlerNotStarted");
    assert.match(failure.message, /size\.js:1:21: the function cannot be bundled: Unexpected ";"/);
  });

  it("carries its npm dependencies, its data and its own place", async () => {
    bench.start({
      "main.ts": `
import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { four } from "four";
import data from "./data.json";
const own = path.basename(fileURLToPath(import.meta.url));
const text = readFileSync("data.json", "utf8");
export const reconcile = () => ({ children: [], status: { four: four(), data, own, same: text.includes("6") } });
`,
      "data.json": '{"six":6}',
      "node_modules/four/package.json": '{"name":"four","version":"1.0.0","main":"index.js"}',
      "node_modules/four/index.js": 'exports.four = () => require("node:os").EOL.length * 4;',
    });
    const transport: HandlerTransport = localHandler(
      { folder: bench.folder, handler: { image: "a:1", function: "main.ts" } },
      {},
    );
    bench.use(transport);
    assert.deepStrictEqual(await bench.statusOf(), { four: 4, data: { six: 6 }, own: "main.ts", same: true });
  });

  it("in JavaScript is bundled in a folder that is an ES module, with packages of all kinds", async () => {
    bench.start({
      "main.js": `
import data from "./data.json" with { type: "json" };
import { modern } from "modern/part";
import old from "old";
export const reconcile = async () => ({ children: [], status: { data, modern, old, late: (await import("./late.js")).late } });
`,
      "late.js": "export const late = true;\n",
      "data.json": '{"six":6}',
      "package.json": '{"name":"own","type":"module"}',
      "node_modules/modern/package.json":
        '{"name":"modern","type":"module","exports":{"./part":{"import":"./part.mjs","require":"./no.cjs"}}}',
      "node_modules/modern/part.mjs": "export const modern = 'module';\n",
      "node_modules/old/package.json": '{"name":"old","main":"./lib"}',
      "node_modules/old/lib/index.js":
        "let optional;\ntry { optional = require('not-there'); } catch { optional = 'none'; }\nmodule.exports = optional;\n",
    });
    const status = { data: { six: 6 }, modern: "module", old: "none", late: true };
    assert.deepStrictEqual(await bench.statusOf(), status);
  });

  it("in JavaScript says which package is missing that was required by a name made up at run time", async () => {
    const failure = await bench.failing({
      "main.js": 'import { load } from "dynamic";\nexport const reconcile = () => load("four");\n',
      "node_modules/dynamic/package.json": '{"name":"dynamic"}',
      "node_modules/dynamic/index.js": "exports.load = (name) => require(name);\n",
      // It exists on this machine. In a cluster it does not.
      "node_modules/four/index.js": "exports.four = 4;\n",
    });
    assert.match(
      failure.message,
      /^main\.js:2 in reconcile: Error: Cannot find module 'four'\. The bundle has what is imported by a constant name\. Import this one so, or write a program with an image of its own/,
    );
  });

  it("in JavaScript with a compiled part is refused in words", async () => {
    bench.start({
      "main.js": 'import fast from "fast";\nexport const reconcile = () => fast;\n',
      "node_modules/fast/package.json": '{"name":"fast"}',
      "node_modules/fast/index.js": 'module.exports = require("./build/fast.node");\n',
      "node_modules/fast/build/fast.node": "",
    });
    const failure = await failureOf(() => bench.ask());
    assert.match(
      failure.message,
      /node_modules\/fast\/index\.js:1:26: the function cannot be bundled: No loader is configured for "\.node" files.* It is compiled code, which cannot be bundled\. Use another package/,
    );
  });

  it("in Python finds the modules of vendor/ and of the folders that it includes, its own first", async () => {
    addFiles(bench.folder, {
      "own/main.py":
        "import json\nimport six, util, own\nfrom deep.part import four\n\ndef reconcile(request):\n    return {'children': [], 'status': {'six': six.six, 'own': own.own, 'four': four, 'json': json.dumps(util.check(request))}}\n",
      "own/own.py": "own = 'own'\n",
      "own/vendor/six.py": "six = 6\n",
      "own/vendor/own.py": "own = 'vendored'\n",
      "own/vendor/util.py": "def check(request):\n    return 'vendored'\n",
      "own/vendor/deep/part.py": "four = 4\n",
      "shared/util.py": "def check(request):\n    return 'shared'\n",
    });
    const transport = localHandler(
      {
        folder: path.join(bench.folder, "own"),
        include: ["../shared"],
        handler: { image: "a:1", function: "main.py" },
      },
      {},
    );
    bench.use(transport);
    assert.deepStrictEqual(await bench.statusOf(), { six: 6, own: "own", four: 4, json: '"vendored"' });
    rmSync(path.join(bench.folder, "own/vendor/util.py"));
    addFiles(bench.folder, { "shared/util.py": "def check(request):\n    return request['spec']\n" });
    bench.pool.renew();
    const failure = await failureOf(() => bench.ask());
    assert.equal(failure.message, "../shared/util.py:2 in check: KeyError: 'spec'");
  });

  it("in JavaScript is put together again from the ConfigMaps that it took", async () => {
    const long = "x".repeat(1_500_000);
    bench.start({
      "main.js": `const long = ${JSON.stringify(long)};\nexport const reconcile = () => ({ children: [], status: { length: long.length } });\n`,
    });
    const handler = { image: "a:1", function: "main.js" };
    const packs = handlerFiles({ folder: bench.folder, crd: {}, handler });
    assert.deepStrictEqual(
      packs.map(({ items }) => items.map((item) => item.path)),
      [["main.js"], ["main.js.part2"]],
    );
    const [shell] = shells();
    assert.ok(shell);
    const container = new HandlerContainer(shell, programOf({ handler }, LOOPS_FOLDER));
    for (const pack of packs) addFiles(container.folder, contentOf(pack));
    container.start();
    const transport = new PipeTransport({ folder: container.pipes });
    bench.cleanUp = async () => {
      await transport.close();
      await container.remove();
    };
    bench.use(transport);
    assert.deepStrictEqual(await bench.statusOf(), { length: 1_500_000 });
  });

  it("has the same bundle in every folder, and leaves the sources of it behind", () => {
    const files = {
      "main.ts":
        'import { a } from "./lib/a";\nimport data from "./data.json";\nexport const reconcile = () => ({ a, data });\n',
      "lib/a.ts": "export const a = 1;\n",
      "lib/unused.js": "",
      "lib/a.d.ts": "",
      "data.json": "{}",
      "package.json": "{}",
      "package-lock.json": "{}",
    };
    const other = temporaryFolder();
    try {
      bench.start(files);
      addFiles(other, files);
      const handler = { image: "a:1", function: "main.ts" };
      const [here, there] = [bench.folder, other].map((place) =>
        handlerFiles({ folder: place, crd: {}, handler }),
      );
      assert.deepStrictEqual(here, there);
      const paths = here?.[0]?.items.map((item) => item.path);
      assert.deepStrictEqual(paths, ["data.json", "lib/unused.js", "main.ts", "package.json"]);
    } finally {
      rmSync(other, { recursive: true });
    }
  });
});
