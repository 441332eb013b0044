import assert from "node:assert/strict";
import fc from "fast-check";
import { localHandler } from "../../cli/handler/localHandler";
import { LOOPS_FOLDER } from "../../components/engineBundle";
import { handlerFiles } from "../../components/manifests/operator/handlerFiles";
import { programOf } from "../../definition/handlerProgram";
import { PipeTransport } from "../../runtime/handler/container/pipeTransport";
import { questionAbout } from "../../runtime/handler/contract";
import { addFiles } from "./operatorFolder";
import { anyCharacter } from "./support/anyCharacter";
import { failureOf } from "./support/failures";
import { contentOf, FunctionBench } from "./support/functionBench";
import { HandlerContainer, shells } from "./support/handlerContainer";
import { question } from "./support/handlers";

describe("a function", function () {
  this.timeout(30_000);
  let bench: FunctionBench;
  beforeEach(() => {
    bench = new FunctionBench();
  });
  afterEach(() => bench.close());

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
      bench.start(files);
      for (let turn = 0; turn < 3; turn++) assert.deepStrictEqual(await bench.statusOf(), { a: 1 });
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
        const [file = ""] = Object.keys(files);
        const handler = { image: "a:1", function: file };
        addFiles(bench.folder, files);
        const [carried] = handlerFiles({ folder: bench.folder, crd: {}, handler });
        assert.ok(carried);
        const container = new HandlerContainer(shell, programOf({ handler }, LOOPS_FOLDER));
        addFiles(container.folder, contentOf(carried));
        container.start();
        const transport = new PipeTransport({ folder: container.pipes });
        bench.cleanUp = async () => {
          await transport.close();
          await container.remove();
        };
        bench.use(transport);
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
});
