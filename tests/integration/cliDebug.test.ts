import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { freePorts } from "../../cli/controlPlane/ports";
import { DebugAdapterClient } from "../support/debugAdapter";
import { debugpyFolder } from "../support/debugpy";
import { eventually } from "../support/eventually";
import { InspectorClient } from "../support/inspector";
import { processesNaming } from "./cliProcess";
import { useDev } from "./support/useDev";
import { UNTOUCHED } from "./support/useOperator";

const TYPESCRIPT = `interface Request { object: { metadata: { name: string }; spec: { size: number } } }

export function reconcile({ object }: Request) {
  const { size } = object.spec;
  const name = object.metadata.name;
  return { children: [{ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { size: String(size) } }] };
}
`;

const PYTHON = `def reconcile(request):
    metadata = request["object"]["metadata"]
    name = metadata["name"]
    return {"children": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}]}
`;

describe("argosy dev --debug", function () {
  this.timeout(180_000);
  const bench = useDev("debugged.example.com", ["Typed", "Snake"]);
  const object = (kind: string, name: string) => bench.object(kind, name, { size: 3 });

  const write = (kind: string, handler: string, content: string, env = {}) =>
    bench.write(kind, handler, content, {
      children: ["v1/ConfigMap"],
      timeoutSeconds: 5,
      concurrency: 1,
      env,
    });

  /** Starts it for the object "watched". @returns the port of the debugger, which is not the usual one: others may use that */
  async function start(kind: string): Promise<number> {
    const [free] = await freePorts(1);
    const port = ["--debug-port", String(free)];
    const target = ["--debug", `${kind.toLowerCase()}/watched`, "--namespace", bench.namespace, ...port];
    return Number(await bench.start(target).printed(/(?<=waits for a debugger at 127\.0\.0\.1:)\d+/));
  }

  async function isUnhandled(kind: string, name: string): Promise<void> {
    assert.deepEqual((await bench.api.get(object(kind, name)))["status"], UNTOUCHED);
  }

  it("stops in TypeScript with the live object, holds up no other one, and goes on", async () => {
    write("Typed", "main.ts", TYPESCRIPT);
    const port = await start("Typed");
    await bench.dev?.printed(/Run and Debug, "argosy: typed"/);
    const launch = JSON.parse(readFileSync(path.join(bench.folder, ".vscode/launch.json"), "utf8"));
    assert.deepEqual(
      launch.configurations.map((each: { name: string; port: number }) => [each.name, each.port]),
      [["argosy: typed", port]],
    );
    await bench.api.apply(object("Typed", "watched"));
    // It is not handled before a debugger attaches, while another one is, although only one is handled at once.
    await bench.api.apply(object("Typed", "other"));
    await bench.ready("Typed", "other");
    await bench.dev?.printed(/watched: the handler has a request\. It waits for a debugger/);
    const client = await InspectorClient.attach(port, (process) => process.beginWithBreak("main.ts", 6));
    const stop = await client.stopped();
    assert.deepEqual(await stop.evaluate("object.spec"), { size: 3 });
    assert.equal(await stop.evaluate("object.metadata.namespace"), bench.namespace);
    await isUnhandled("Typed", "watched");
    await bench.api.apply(object("Typed", "third"));
    await bench.ready("Typed", "third");
    await isUnhandled("Typed", "watched");
    await stop.resume();
    client.close();
    await bench.ready("Typed", "watched");
    assert.doesNotMatch(bench.dev?.stdout ?? "", /HandlerTimedOut|HandlerCrashed/);
    bench.dev?.interrupt();
    assert.equal(await bench.dev?.ended(), 130, bench.dev?.stderr);
    assert.deepEqual(await processesNaming(bench.folder), []);
  });

  it("stops in Python with the live object, and goes on", async function () {
    const PYTHONPATH = await debugpyFolder().catch(() => undefined);
    // Without a registry of Python there is no debugger to try.
    if (PYTHONPATH === undefined) return this.skip();
    const file = write("Snake", "main.py", PYTHON, { PYTHONPATH });
    const port = await start("Snake");
    await bench.api.apply(object("Snake", "watched"));
    const client = await DebugAdapterClient.attach(port);
    await client.begin(file, 4);
    const { result, threadId } = await client.stopped('(name, request["object"]["spec"]["size"])');
    assert.equal(result, "('watched', 3)");
    await isUnhandled("Snake", "watched");
    await bench.api.apply(object("Snake", "other"));
    await bench.ready("Snake", "other");
    await client.resume(threadId);
    await bench.ready("Snake", "watched");
    client.close();
    bench.dev?.interrupt();
    assert.equal(await bench.dev?.ended(), 130, bench.dev?.stderr);
    await eventually(async () => assert.deepEqual(await processesNaming(bench.folder), []));
  });

  it("says what to install where Python has no debugger", async () => {
    write("Snake", "main.py", PYTHON);
    // A module of that name that cannot be imported stands for none: this machine may have the real one.
    writeFileSync(path.join(bench.folder, "handlers/snake/debugpy.py"), "raise ImportError()");
    const dev = bench.start(["--debug", "snake/watched"]);
    assert.equal(await dev.ended(), 1);
    assert.match(
      dev.stderr,
      /debugpy, the debugger for Python, is not installed for .*python3\. Install it: python3 -m pip/,
    );
  });
});
