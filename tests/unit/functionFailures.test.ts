import assert from "node:assert/strict";
import { failureOf } from "./support/failures";
import { FunctionBench } from "./support/functionBench";

describe("a function", function () {
  this.timeout(30_000);
  let bench: FunctionBench;
  beforeEach(() => {
    bench = new FunctionBench();
  });
  afterEach(() => bench.close());

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
      "what is thrown and has fields",
      { "main.js": "exports.reconcile = () => {\n  throw { code: 5 };\n};\n" },
      /^main\.js: it threw a value of type object: \{ code: 5 \}$/,
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
});
