import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import fc from "fast-check";
import { localHandler } from "../../cli/localHandler";
import { LOOPS_FOLDER } from "../../components/engineBundle";
import { type HandlerFiles, handlerFiles } from "../../components/manifests/operator/handlerFiles";
import { programOf } from "../../runtime/definition/handlerProgram";
import type { ReconcileFailure } from "../../runtime/failure";
import { askHandler } from "../../runtime/handler/askHandler";
import { type HandlerAnswer, questionAbout } from "../../runtime/handler/contract";
import { HandlerPool, type HandlerPoolOptions } from "../../runtime/handler/handlerPool";
import type { HandlerTransport } from "../../runtime/handler/handlerTransport";
import { PipeTransport } from "../../runtime/pod/pipeTransport";
import { addFiles } from "./operatorFolder";
import { failureOf } from "./support/failures";
import { HandlerContainer, shells } from "./support/handlerContainer";
import { question } from "./support/handlers";

describe("a function", function () {
  this.timeout(30_000);
  let folder: string;
  let pool: HandlerPool;
  let cleanUp: () => Promise<void>;
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), "argosy-function-"));
    cleanUp = async () => {};
  });
  afterEach(async () => {
    await pool.close();
    await cleanUp();
    rmSync(folder, { recursive: true });
  });

  function start(
    files: Readonly<Record<string, string>>,
    options: Partial<HandlerPoolOptions> = {},
    env: Readonly<Record<string, string>> = {},
  ): void {
    addFiles(folder, files);
    const [file = ""] = Object.keys(files);
    const transport = localHandler({ folder, handler: { image: "a:1", function: file } }, env);
    pool = new HandlerPool({ transport, timeoutMs: 20_000, ...options });
  }

  const ask = (word?: string, event: "reconcile" | "finalize" = "reconcile") =>
    askHandler<HandlerAnswer>(pool, { ...question(word), event }, () => undefined);
  const statusOf = async (word?: string) => {
    const { answer } = await ask(word);
    return "status" in answer ? answer.status : undefined;
  };
  /** Why it fails, in words; the process answers all the same. */
  async function failing(
    files: Readonly<Record<string, string>>,
    event?: "reconcile" | "finalize",
  ): Promise<ReconcileFailure> {
    start(files);
    const failure = await failureOf(() => ask("question", event));
    assert.equal(failure.reason, "HandlerError");
    return failure;
  }

  const echo = {
    python: {
      "main.py":
        'def reconcile(request):\n    return {"children": [], "status": {"name": request["object"]["metadata"]["name"]}}\n',
    },
    "JavaScript, as CommonJS": {
      "main.js":
        "exports.reconcile = ({ object }) => ({ children: [], status: { name: object.metadata.name } });\n",
    },
    "JavaScript, as an ES module": {
      "main.js":
        "export const reconcile = ({ object }) => ({ children: [], status: { name: object.metadata.name } });\n",
    },
    TypeScript: {
      "main.ts":
        "type Request = { object: { metadata: { name: string } } };\nexport function reconcile({ object }: Request) {\n  return { children: [], status: { name: object.metadata.name } };\n}\n",
    },
  };
  for (const [language, files] of Object.entries(echo)) {
    it(`in ${language} answers each request, in one living process`, async () => {
      let starts = 0;
      start(files, { onStart: () => starts++ });
      await fc.assert(
        fc.asyncProperty(fc.string({ unit: "binary" }), async (word) => {
          assert.deepStrictEqual(await statusOf(word), { name: word });
        }),
        { numRuns: 50 },
      );
      assert.equal(starts, 1);
    });
  }

  const asynchronous = {
    python: {
      "main.py":
        "import asyncio\nasync def reconcile(request):\n    await asyncio.sleep(0.01)\n    return {'children': [], 'status': {'a': 1}}\n",
    },
    JavaScript: {
      "main.js":
        "export async function reconcile() {\n  await new Promise((done) => setTimeout(done, 10));\n  return { children: [], status: { a: 1 } };\n}\n",
    },
  };
  for (const [language, files] of Object.entries(asynchronous)) {
    it(`in ${language} may be asynchronous`, async () => {
      start(files);
      for (let turn = 0; turn < 3; turn++) assert.deepStrictEqual(await statusOf(), { a: 1 });
    });
  }

  const printing = {
    python: {
      "main.py": `
import ctypes, os, subprocess, sys
def reconcile(request):
    print('{"id": "' + request["id"] + '", "children": [], "status": {"by": "print"}}')
    os.write(1, b"by descriptor\\n")
    ctypes.CDLL(None).puts(b"by a library")
    ctypes.CDLL(None).fflush(None)
    subprocess.run("echo by a child; echo by its descriptor >&3; cat", shell=True)
    os.system("echo by system; cat")
    sys.stderr.write("by standard error\\n")
    return {"children": [], "status": {"by": "return"}}
`,
    },
    JavaScript: {
      "main.js": `
const { spawnSync } = require("node:child_process");
const { writeSync } = require("node:fs");
exports.reconcile = (request) => {
  console.log(JSON.stringify({ id: request.id, children: [], status: { by: "print" } }));
  writeSync(1, "by descriptor\\n");
  spawnSync("sh", ["-c", "echo by a child; echo by its descriptor >&3"], { stdio: ["ignore", "inherit", "inherit"] });
  console.error("by standard error");
  return { children: [], status: { by: "return" } };
};
`,
    },
  };
  for (const [language, files] of Object.entries(printing)) {
    const expected = ["by print", "by descriptor", "by a child", "by standard error"];
    const assertLogged = (log: string) => {
      assert.match(log, /"status": ?\{"by": ?"print"\}/);
      for (const words of expected.slice(1)) assert.ok(log.includes(words), `${words} is not in ${log}`);
    };

    it(`in ${language} answers by what it returns, no matter who prints what`, async () => {
      let late = 0;
      start(files, { onLateAnswer: () => late++ });
      for (let turn = 0; turn < 3; turn++) {
        const { answer, log } = await ask();
        assert.deepStrictEqual(answer, { children: [], status: { by: "return" } });
        assertLogged(log);
      }
      assert.equal(late, 0);
    });

    for (const shell of shells()) {
      it(`in ${language} does so in a pod, by ${shell.name}`, async () => {
        const [file = ""] = Object.keys(files);
        const handler = { image: "a:1", function: file };
        addFiles(folder, files);
        const [carried] = handlerFiles({ folder, crd: {}, handler });
        assert.ok(carried);
        const container = new HandlerContainer(shell, programOf({ handler }, LOOPS_FOLDER));
        addFiles(container.folder, contentOf(carried));
        container.start();
        const transport = new PipeTransport({ folder: container.pipes });
        cleanUp = async () => {
          await transport.close();
          await container.remove();
        };
        pool = new HandlerPool({ transport, timeoutMs: 20_000 });
        for (let turn = 0; turn < 3; turn++) {
          const { answer, log } = await ask();
          assert.deepStrictEqual(answer, { children: [], status: { by: "return" } });
          assertLogged(log);
        }
      });
    }
  }

  const failures: [what: string, files: Record<string, string>, message: RegExp, log?: RegExp][] = [
    [
      "an exception in Python, with file and line of the author's own code",
      {
        "main.py": "import sizes\n\ndef reconcile(request):\n    return sizes.of(request)\n",
        "sizes.py": "import json\n\ndef of(request):\n    spec = {}\n    return spec['size']\n",
      },
      /^sizes\.py:5 in of: KeyError: 'size'$/,
      /Traceback[\s\S]*main\.py", line 4, in reconcile[\s\S]*KeyError: 'size'/,
    ],
    [
      "an exception in a library of Python, with the line of the author that called it",
      { "main.py": "import json\ndef reconcile(request):\n    return json.loads('{')\n" },
      /^main\.py:3 in reconcile: json\.decoder\.JSONDecodeError: Expecting property name/,
    ],
    [
      "an exception in JavaScript",
      { "main.js": "exports.reconcile = function reconcile({ object }) {\n  return object.spec.size;\n};\n" },
      /^main\.js:2 in reconcile: TypeError: Cannot read properties of undefined \(reading 'size'\)$/,
      /TypeError: Cannot read properties[\s\S]*main\.js:2:/,
    ],
    [
      "an exception in TypeScript, with the line of the source and not of the bundle",
      {
        "main.ts":
          "import { sizeOf } from './lib/sizes';\n\ninterface Much {\n  a: string;\n}\n\nexport function reconcile(request: { object: { spec?: { size: number } } }) {\n  return sizeOf(request.object as Much & typeof request.object);\n}\n",
        "lib/sizes.ts":
          "type Sized = { spec?: { size: number } };\n\n// Some words.\nexport function sizeOf(object: Sized): number {\n  return (object.spec as { size: number }).size;\n}\n",
      },
      /^lib\/sizes\.ts:5 in sizeOf: TypeError: Cannot read/,
      /main\.ts:8/,
    ],
    [
      "a rejected promise",
      {
        "main.js":
          "export async function reconcile() {\n  await null;\n  throw new RangeError('too many');\n}\n",
      },
      /^main\.js:3 in reconcile: RangeError: too many$/,
    ],
    [
      "what is thrown and is no error",
      { "main.js": "exports.reconcile = () => {\n  throw 'no';\n};\n" },
      /^main\.js: it threw a value of type string: no$/,
    ],
    [
      "None",
      { "main.py": "def reconcile(request):\n    pass\n" },
      /^main\.py: reconcile returned None, not a dict\. Return, for example, \{"children": \.\.\.\}$/,
    ],
    [
      "a list in Python",
      { "main.py": "def reconcile(request):\n    return []\n" },
      /reconcile returned a value of type list, not a dict/,
    ],
    [
      "undefined",
      { "main.js": "exports.reconcile = () => {};\n" },
      /^main\.js: reconcile returned undefined, not an object\. Return, for example, \{ children: \[\.\.\.\] \}$/,
    ],
    [
      "a list in JavaScript",
      { "main.js": "exports.reconcile = () => [];\n" },
      /returned a list, not an object/,
    ],
    [
      "a value that JSON does not have, in Python",
      {
        "main.py":
          "import datetime\ndef reconcile(request):\n    return {'children': [datetime.date.today()]}\n",
      },
      /^main\.py: the answer cannot be written as JSON: Object of type date is not JSON serializable$/,
    ],
    [
      "a number that JSON does not have, in Python",
      { "main.py": "def reconcile(request):\n    return {'children': [], 'status': {'a': float('nan')}}\n" },
      /^main\.py: the answer cannot be written as JSON: /,
    ],
    [
      "a circle, in JavaScript",
      {
        "main.js":
          "exports.reconcile = () => {\n  const a = { children: [] };\n  a.a = a;\n  return a;\n};\n",
      },
      /^main\.js: the answer cannot be written as JSON: Converting circular structure/,
    ],
    [
      "a file without reconcile, in Python",
      { "main.py": "def recncile(request):\n    pass\n" },
      /^main\.py has no function reconcile\(request\)\. Define it: def reconcile/,
    ],
    [
      "a file that exports no reconcile",
      { "main.js": "function reconcile() {}\nreconcile();\n" },
      /^main\.js exports no function reconcile\(request\)\. Write: export function reconcile/,
    ],
    [
      "a file that is not Python",
      { "main.py": "x = 1\ndef reconcile(request)\n    pass\n" },
      /^main\.py:2: SyntaxError: /,
    ],
    [
      "a module that is not there, in Python",
      { "main.py": "\nimport not_there\n\ndef reconcile(request):\n    pass\n" },
      /^main\.py:2: ModuleNotFoundError: No module named 'not_there'$/,
    ],
    [
      "an exception when the file is loaded, in TypeScript",
      {
        "main.ts":
          "const much: number = 1;\n\nthrow new Error('no ' + much);\nexport function reconcile() {}\n",
      },
      /^main\.ts:3: Error: no 1$/,
    ],
  ];
  for (const [what, files, message, log = /^/] of failures) {
    it(`fails by ${what}`, async () => {
      const failure = await failing(files);
      assert.match(failure.message, message);
      assert.match(failure.log, log);
      assert.equal(failure.permanent, false);
    });
  }

  it("that lacks finalize says so when it is asked for it", async () => {
    assert.match(
      (await failing({ "main.py": "def reconcile(request):\n    pass\n" }, "finalize")).message,
      /^main\.py has no function finalize\(request\)/,
    );
  });

  it("goes on after an exception, and loads its file again if that failed", async () => {
    let starts = 0;
    const sometimes =
      "def reconcile(request):\n    if request['object']['metadata']['name'] == 'bad':\n        raise ValueError('bad')\n    return {'children': []}\n";
    start({ "main.py": sometimes }, { onStart: () => starts++ });
    assert.equal((await failureOf(() => ask("bad"))).message, "main.py:3 in reconcile: ValueError: bad");
    assert.deepStrictEqual((await ask("good")).answer, { children: [] });
    assert.equal(starts, 1);
    addFiles(folder, { "main.py": "import not_there\n" });
    pool.renew();
    assert.match((await failureOf(() => ask())).message, /not_there/);
    addFiles(folder, { "not_there.py": "", "main.py": `import not_there\n${sometimes}` });
    assert.deepStrictEqual((await ask("good")).answer, { children: [] });
  });

  it("in JavaScript is bundled again when a file of it has changed", async () => {
    const files = (size: number) => ({
      "main.js":
        'import { size } from "./size.js";\nexport const reconcile = () => ({ children: [], status: { size } });\n',
      "size.js": `export const size = ${size};\n`,
    });
    start(files(1));
    assert.deepStrictEqual(await statusOf(), { size: 1 });
    addFiles(folder, files(1234));
    pool.renew();
    assert.deepStrictEqual(await statusOf(), { size: 1234 });
    addFiles(folder, { "size.js": "export const size = ;\n" });
    pool.renew();
    const failure = await failureOf(() => ask());
    assert.equal(failure.reason, "HandlerNotStarted");
    assert.match(failure.message, /size\.js:1:21: the function cannot be bundled: Unexpected ";"/);
  });

  it("carries its npm dependencies, its data and its own place", async () => {
    start({
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
      { folder, handler: { image: "a:1", function: "main.ts" } },
      {},
    );
    pool = new HandlerPool({ transport, timeoutMs: 20_000 });
    assert.deepStrictEqual(await statusOf(), { four: 4, data: { six: 6 }, own: "main.ts", same: true });
  });

  it("in JavaScript is bundled in a folder that is an ES module, with packages of all kinds", async () => {
    start({
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
    assert.deepStrictEqual(await statusOf(), status);
  });

  it("in JavaScript says which package is missing that was required by a name made up at run time", async () => {
    const failure = await failing({
      "main.js": 'import { load } from "dynamic";\nexport const reconcile = () => load("four");\n',
      "node_modules/dynamic/package.json": '{"name":"dynamic"}',
      "node_modules/dynamic/index.js": "exports.load = (name) => require(name);\n",
      // On this machine it is there. In a cluster it is not.
      "node_modules/four/index.js": "exports.four = 4;\n",
    });
    assert.match(
      failure.message,
      /^main\.js:2 in reconcile: Error: Cannot find module 'four'\. The bundle has what is imported by a constant name\. Import this one so, or write a program with an image of its own/,
    );
  });

  it("in JavaScript with a compiled part is refused in words", async () => {
    start({
      "main.js": 'import fast from "fast";\nexport const reconcile = () => fast;\n',
      "node_modules/fast/package.json": '{"name":"fast"}',
      "node_modules/fast/index.js": 'module.exports = require("./build/fast.node");\n',
      "node_modules/fast/build/fast.node": "",
    });
    const failure = await failureOf(() => ask());
    assert.match(
      failure.message,
      /node_modules\/fast\/index\.js:1:26: the function cannot be bundled: No loader is configured for "\.node" files.* It is compiled code, which cannot be bundled\. Use another package/,
    );
  });

  it("in Python finds the modules of vendor/ and of the folders that it includes, its own first", async () => {
    addFiles(folder, {
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
        folder: path.join(folder, "own"),
        include: ["../shared"],
        handler: { image: "a:1", function: "main.py" },
      },
      {},
    );
    pool = new HandlerPool({ transport, timeoutMs: 20_000 });
    assert.deepStrictEqual(await statusOf(), { six: 6, own: "own", four: 4, json: '"vendored"' });
    rmSync(path.join(folder, "own/vendor/util.py"));
    addFiles(folder, { "shared/util.py": "def check(request):\n    return request['spec']\n" });
    pool.renew();
    const failure = await failureOf(() => ask());
    assert.equal(failure.message, "../shared/util.py:2 in check: KeyError: 'spec'");
  });

  it("in JavaScript is put together again from the ConfigMaps that it took", async () => {
    const long = "x".repeat(1_500_000);
    start({
      "main.js": `const long = ${JSON.stringify(long)};\nexport const reconcile = () => ({ children: [], status: { length: long.length } });\n`,
    });
    const handler = { image: "a:1", function: "main.js" };
    const packs = handlerFiles({ folder, crd: {}, handler });
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
    cleanUp = async () => {
      await transport.close();
      await container.remove();
    };
    pool = new HandlerPool({ transport, timeoutMs: 20_000 });
    assert.deepStrictEqual(await statusOf(), { length: 1_500_000 });
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
    const other = mkdtempSync(path.join(tmpdir(), "argosy-another-"));
    try {
      start(files);
      addFiles(other, files);
      const handler = { image: "a:1", function: "main.ts" };
      const [here, there] = [folder, other].map((place) => handlerFiles({ folder: place, crd: {}, handler }));
      assert.deepStrictEqual(here, there);
      const paths = here?.[0]?.items.map((item) => item.path);
      assert.deepStrictEqual(paths, ["data.json", "lib/unused.js", "main.ts", "package.json"]);
    } finally {
      rmSync(other, { recursive: true });
    }
  });

  it("is given the whole request of the contract, and finalize where it is declared", async () => {
    start({
      "main.py":
        "def reconcile(request):\n    return {'children': [], 'status': {'request': request}}\n\ndef finalize(request):\n    return {'finalized': request['event'] == 'finalize'}\n",
    });
    const { request } = (await statusOf("a")) as { request: { id: string } };
    const { id, ...rest } = request;
    assert.ok(id.length > 30);
    const { object } = question("a");
    assert.deepStrictEqual(rest, questionAbout({ event: "reconcile", object, children: [], attempt: 1 }));
    assert.deepStrictEqual((await ask("a", "finalize")).answer, { finalized: true });
  });

  it("fails by an error that it returns, in its own words", async () => {
    const failure = await failing({
      "main.py":
        "def reconcile(request):\n    return {'error': {'message': 'no such plan', 'permanent': True}, 'id': 'mine'}\n",
    });
    assert.deepStrictEqual([failure.message, failure.permanent], ["no such plan", true]);
  });

  it("that exits is a crash", async () => {
    start({ "main.py": "import sys\ndef reconcile(request):\n    sys.exit(7)\n" });
    assert.equal((await failureOf(() => ask())).message, "the handler ended with exit code 7");
  });

  it("in JavaScript ends with its input, whatever it has left open", async () => {
    start({ "main.js": "setInterval(() => {}, 1000);\nexports.reconcile = () => ({ children: [] });\n" });
    const transport = localHandler({ folder, handler: { image: "a:1", function: "main.js" } }, {});
    let output = "";
    const exited = new Promise<object>((resolve) => {
      const process = transport.start({
        output: (chunk) => {
          output += chunk;
          // It is ended as soon as it has answered, and never killed.
          process.end();
        },
        log: () => {},
        exited: resolve,
      });
      process.write(`${JSON.stringify({ ...question(), id: "1" })}\n`);
    });
    assert.deepEqual(await exited, { code: 0, signal: null });
    assert.match(output, /"children":\[\]/);
  });
});

function contentOf({ data, items }: HandlerFiles): Record<string, string> {
  return Object.fromEntries(items.map((item) => [item.path, data[item.key] ?? ""]));
}
