import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import path from "node:path";
import fc from "fast-check";
import { localHandler } from "../../cli/handler/localHandler";
import { LOOPS_FOLDER } from "../../components/engineBundle";
import { handlerFiles } from "../../components/manifests/operator/handlerFiles";
import { programOf } from "../../definition/handlerProgram";
import { PipeTransport } from "../../runtime/handler/container/pipeTransport";
import { questionAbout } from "../../runtime/handler/contract";
import type { HandlerTransport } from "../../runtime/handler/handlerTransport";
import { temporaryFolder } from "../support/temporaryFolder";
import { addFiles } from "./operatorFolder";
import { anyCharacter } from "./support/anyCharacter";
import { failureOf } from "./support/failures";
import { contentOf, FunctionBench } from "./support/functionBench";
import { HandlerContainer, shells } from "./support/handlerContainer";
import { question } from "./support/handlers";
import { assertEach } from "./support/lists";

describe("a function", function () {
  this.timeout(30_000);
  let bench: FunctionBench;
  beforeEach(() => {
    bench = new FunctionBench();
  });
  afterEach(() => bench.close());

  /** Starts the function of the bench's folder as a pod has it. @returns the ConfigMaps of its files */
  function startInPod(file: string, shell = shells()[0]) {
    assert.ok(shell);
    const handler = { image: "a:1", function: file };
    const packs = handlerFiles({ folder: bench.folder, crd: {}, handler });
    const container = new HandlerContainer(shell, programOf({ handler }, LOOPS_FOLDER));
    for (const pack of packs) addFiles(container.folder, contentOf(pack));
    container.start();
    const transport = new PipeTransport({ folder: container.pipes });
    bench.cleanUp = async () => {
      await transport.close();
      await container.remove();
    };
    bench.use(transport);
    return packs;
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
      bench.start(files, { onStart: () => starts++ });
      await fc.assert(
        fc.asyncProperty(fc.string({ unit: anyCharacter }), async (word) => {
          assert.deepStrictEqual(await bench.statusOf(word), { name: word });
        }),
        { numRuns: 50 },
      );
      assert.equal(starts, 1);
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
    subprocess.run("echo by a child; echo by its descriptor >&3; cat; cat <&4", shell=True)
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
  spawnSync("sh", ["-c", "echo by a child; echo by its descriptor >&3; cat; cat <&4"], { stdio: "inherit" });
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
      bench.start(files, { onLateAnswer: () => late++ });
      for (let turn = 0; turn < 3; turn++) {
        const { answer, log } = await bench.ask();
        assert.deepStrictEqual(answer, { children: [], status: { by: "return" } });
        assertLogged(log);
      }
      assert.equal(late, 0);
    });

    for (const shell of shells()) {
      it(`in ${language} does so in a pod, by ${shell.name}`, async () => {
        addFiles(bench.folder, files);
        startInPod(Object.keys(files)[0] ?? "", shell);
        for (let turn = 0; turn < 3; turn++) {
          const { answer, log } = await bench.ask();
          assert.deepStrictEqual(answer, { children: [], status: { by: "return" } });
          assertLogged(log);
        }
      });
    }
  }

  it("that lacks finalize says so when it is asked for it", async () => {
    assert.match(
      (await bench.failing({ "main.py": "def reconcile(request):\n    pass\n" }, "finalize")).message,
      /^main\.py has no function finalize\(request\)/,
    );
  });

  it("goes on after an exception, and loads its file again if that failed", async () => {
    let starts = 0;
    const sometimes =
      "def reconcile(request):\n    if request['object']['metadata']['name'] == 'bad':\n        raise ValueError('bad')\n    return {'children': []}\n";
    bench.start({ "main.py": sometimes }, { onStart: () => starts++ });
    assert.equal(
      (await failureOf(() => bench.ask("bad"))).message,
      "main.py:3 in reconcile: ValueError: bad",
    );
    assert.deepStrictEqual((await bench.ask("good")).answer, { children: [] });
    assert.equal(starts, 1);
    addFiles(bench.folder, { "main.py": "import not_there\n" });
    bench.pool.renew();
    assert.match((await failureOf(() => bench.ask())).message, /not_there/);
    addFiles(bench.folder, { "not_there.py": "", "main.py": `import not_there\n${sometimes}` });
    assert.deepStrictEqual((await bench.ask("good")).answer, { children: [] });
  });

  it("is given the whole request of the contract, and finalize where it is declared", async () => {
    bench.start({
      "main.py":
        "def reconcile(request):\n    return {'children': [], 'status': {'request': request}}\n\ndef finalize(request):\n    return {'finalized': request['event'] == 'finalize'}\n",
    });
    const { request } = (await bench.statusOf("a")) as { request: { id: string } };
    const { id, ...rest } = request;
    assert.ok(id.length > 30);
    const { object } = question("a");
    assert.deepStrictEqual(rest, questionAbout({ event: "reconcile", object, children: [], attempt: 1 }));
    assert.deepStrictEqual((await bench.ask("a", "finalize")).answer, { finalized: true });
  });

  it("fails by an error that it returns, in its own words", async () => {
    const failure = await bench.failing({
      "main.py":
        "def reconcile(request):\n    return {'error': {'message': 'no such plan', 'permanent': True}, 'id': 'mine'}\n",
    });
    assert.deepStrictEqual([failure.message, failure.permanent], ["no such plan", true]);
  });

  const emptied = {
    python: { "main.py": "def reconcile(request):\n    request.clear()\n    return {'children': []}\n" },
    JavaScript: {
      "main.js":
        "exports.reconcile = (request) => {\n  for (const key of Object.keys(request)) delete request[key];\n  return { children: [] };\n};\n",
    },
  };
  for (const [language, files] of Object.entries(emptied)) {
    it(`in ${language} may change its request`, async () => {
      bench.start(files);
      assert.deepStrictEqual((await bench.ask()).answer, { children: [] });
    });
  }

  it("in Python may print half of a character", async () => {
    bench.start({
      "main.py": "def reconcile(request):\n    print('half \\ud800')\n    return {'children': []}\n",
    });
    assert.match((await bench.ask()).log, /half \\ud800/);
  });

  for (const method of ["fork", "spawn", "forkserver"]) {
    it(`in Python may use processes of its own that begin by ${method}`, async () => {
      bench.start(
        {
          "main.py": `
import multiprocessing

def square(number):
    return number * number

def reconcile(request):
    with multiprocessing.get_context("${method}").Pool(1) as pool:
        return {"children": [], "status": {"squares": pool.map(square, [2, 3])}}
`,
        },
        { timeoutMs: 8_000 },
      );
      assert.deepStrictEqual(await bench.statusOf(), { squares: [4, 9] });
    });
  }

  it("that exits is a crash", async () => {
    bench.start({ "main.py": "import sys\ndef reconcile(request):\n    sys.exit(7)\n" });
    assert.equal((await failureOf(() => bench.ask())).message, "the handler ended with exit code 7");
  });

  it("in JavaScript ends with its input, whatever it has left open", async () => {
    bench.start({
      "main.js": "setInterval(() => {}, 1000);\nexports.reconcile = () => ({ children: [] });\n",
    });
    const transport = localHandler(
      { folder: bench.folder, handler: { image: "a:1", function: "main.js" } },
      {},
    );
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
      "an exception in a folder for temporary files, which is gone, in Python",
      {
        "main.py":
          "import os, tempfile\ndef reconcile(request):\n    with tempfile.TemporaryDirectory() as folder:\n        os.chdir(folder)\n        exec('raise ValueError(1)')\n",
      },
      /^main\.py:5 in reconcile: ValueError: 1$/,
      /Traceback[\s\S]*ValueError: 1/,
    ],
    [
      "an exception in a folder for temporary files, which is gone, in JavaScript",
      {
        "main.js":
          "import fs from 'node:fs';\nexport function reconcile() {\n  const folder = fs.mkdtempSync('/tmp/argosy-gone-');\n  process.chdir(folder);\n  fs.rmdirSync(folder);\n  throw new RangeError('too many');\n}\n",
      },
      /^main\.js:6 in reconcile: RangeError: too many$/,
      /RangeError: too many/,
    ],
    [
      "an exception of its file after another working folder was chosen there, in Python",
      { "main.py": "import os\nos.chdir('/')\nraise ValueError(1)\n" },
      /^main\.py:3: ValueError: 1$/,
    ],
    [
      "what is thrown and is no error",
      { "main.js": "exports.reconcile = () => {\n  throw 'no';\n};\n" },
      /^main\.js: it threw a value of type string: no$/,
    ],
    [
      "what is thrown and is no text",
      { "main.js": "exports.reconcile = () => {\n  throw Object.create(null);\n};\n" },
      /^main\.js: it threw a value of type object: \[Object: null prototype\] \{\}$/,
    ],
    [
      "what is thrown and throws when it is written as text",
      {
        "main.js":
          'exports.reconcile = () => {\n  throw { [Symbol.for("nodejs.util.inspect.custom")]: () => undefined.x };\n};\n',
      },
      /^main\.js: it threw a value of type object, which cannot be written as text$/,
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
      /^main\.py: the answer cannot be written as JSON: children\.0: Object of type date is not JSON serializable$/,
    ],
    [
      "a number that JSON does not have, in Python",
      { "main.py": "def reconcile(request):\n    return {'children': [], 'status': {'a': float('nan')}}\n" },
      /^main\.py: the answer cannot be written as JSON: status\.a: /,
    ],
    [
      "a value that contains itself, in Python",
      {
        "main.py":
          "def reconcile(request):\n    ring = {}\n    ring['ring'] = ring\n    return {'children': [ring]}\n",
      },
      /^main\.py: the answer cannot be written as JSON: Circular reference detected$/,
    ],
    [
      "a number that JSON does not have, in JavaScript, and not as null",
      {
        "main.js":
          "exports.reconcile = () => ({\n  children: [],\n  status: { sizes: [1, Number('many')] },\n});\n",
      },
      /^main\.js: the answer cannot be written as JSON: status\.sizes\.1 is NaN$/,
    ],
    [
      "an entry that its list lacks, in JavaScript, and not as null",
      {
        "main.js":
          "exports.reconcile = ({ object }) => ({\n  children: [{ args: ['--size', object.size], none: undefined }],\n});\n",
      },
      /^main\.js: the answer cannot be written as JSON: children\.0\.args\.1 is undefined$/,
    ],
    [
      "a map, in JavaScript, and not as an empty object",
      { "main.js": "exports.reconcile = () => ({ children: [{ data: new Map([['a', 'b']]) }] });\n" },
      /^main\.js: the answer cannot be written as JSON: children\.0\.data is a Map$/,
    ],
    [
      "a task that was cancelled, in Python",
      {
        "main.py":
          "import asyncio\nasync def reconcile(request):\n    task = asyncio.ensure_future(asyncio.sleep(1))\n    task.cancel()\n    await task\n",
      },
      /^main\.py:5 in reconcile: asyncio\.exceptions\.CancelledError$/,
      /Traceback/,
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
      /^ *File ".*main\.py", line 2\n/,
    ],
    [
      "a missing module, in Python",
      { "main.py": "\nimport not_there\n\ndef reconcile(request):\n    pass\n" },
      /^main\.py:2: ModuleNotFoundError: No module named 'not_there'\. Install it into vendor\/ in the operator's folder, or correct its name$/,
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
      const failure = await bench.failing(files);
      assert.match(failure.message, message);
      assert.match(failure.log, log);
      assert.equal(failure.permanent, false);
    });
  }

  for (const file of ["main.ts", "main.js"]) {
    it(`names the line of ${file} for the life of its process, however often memory is collected`, async () => {
      const source = `import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc");

let asked = 0;

export async function reconcile() {
  if (++asked < 20) collect();
  await new Promise((done) => setTimeout(done));
  throw new RangeError("too many");
}
`;
      bench.start({ [file]: source });
      const messages = new Set<string>();
      for (let turn = 0; turn < 1_000; turn++) {
        messages.add((await failureOf(() => bench.ask())).message);
      }
      assert.deepEqual([...messages], [`${file}:12 in reconcile: RangeError: too many`]);
    });
  }

  describe("the files of a function", () => {
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
      assert.deepStrictEqual(await bench.statusOf(), {
        four: 4,
        data: { six: 6 },
        own: "main.ts",
        same: true,
      });
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
      const packs = startInPod("main.js");
      assertEach(packs, ({ items }) => items.map((item) => item.path), [["main.js"], ["main.js.part2"]]);
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
});
