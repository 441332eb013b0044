import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import path from "node:path";
import { connectionFromKubeconfig } from "../../preflight/kubeconfig";
import type { Manifest } from "../../runtime/base/objects";
import { DebugAdapterClient } from "../support/debugAdapter";
import { debugpyFolder } from "../support/debugpy";
import { eventually } from "../support/eventually";
import { InspectorClient } from "../support/inspector";
import { temporaryFolder } from "../support/temporaryFolder";
import { CommandProcess, processesNaming } from "./cliProcess";
import { Api } from "./support/api";
import { announceKind } from "./support/cluster";
import { customResourceDefinition } from "./support/manifests";
import { askForCluster } from "./support/sharedCluster";
import { conditionOf, UNTOUCHED } from "./support/useOperator";

const GROUP = "debugged.example.com";

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

const definitionOf = (kind: string) =>
  customResourceDefinition(GROUP, kind, {
    spec: { type: "object", properties: { size: { type: "integer" } } },
  });

describe("argosy dev --debug", function () {
  this.timeout(180_000);
  for (const kind of ["Typed", "Snake"]) announceKind(definitionOf(kind));
  let folder: string;
  let api: Api;
  let kubeconfig: string;
  let namespace: string;
  let dev: CommandProcess | undefined;

  before(async () => {
    kubeconfig = await askForCluster();
    api = new Api(await connectionFromKubeconfig(kubeconfig, undefined));
  });
  beforeEach(async () => {
    folder = temporaryFolder();
    namespace = await api.newNamespace("debugged");
  });
  afterEach(() => dev?.kill());

  async function write(kind: string, handler: string, content: string, env = {}): Promise<string> {
    const own = path.join(folder, "handlers", kind.toLowerCase());
    await mkdir(own, { recursive: true });
    const definition = {
      crd: "crd.yaml",
      handler,
      children: ["v1/ConfigMap"],
      timeoutSeconds: 5,
      concurrency: 1,
      env,
    };
    writeFileSync(path.join(own, "operator.yaml"), JSON.stringify(definition));
    writeFileSync(path.join(own, "crd.yaml"), JSON.stringify(definitionOf(kind)));
    writeFileSync(path.join(own, handler), content);
    return path.join(own, handler);
  }

  /** Starts it for the object "watched". @returns the port of the debugger */
  async function start(kind: string): Promise<number> {
    writeFileSync(path.join(folder, "Pulumi.yaml"), "name: debugged\nruntime: nodejs\n");
    const target = ["--debug", `${kind.toLowerCase()}/watched`, "--namespace", namespace];
    const where = ["--kubeconfig", kubeconfig, "--project", folder];
    dev = new CommandProcess("npm", ["run", "dev", "--silent", "--", ...where, ...target], folder);
    return Number(await dev.printed(/(?<=waits for a debugger at 127\.0\.0\.1:)\d+/));
  }

  const object = (kind: string, name: string): Manifest => ({
    apiVersion: `${GROUP}/v1`,
    kind,
    metadata: { name, namespace },
    spec: { size: 3 },
  });

  async function ready(kind: string, name: string): Promise<void> {
    await eventually(async () => {
      const found = await api.get(object(kind, name));
      assert.equal(conditionOf(found, "Ready").status, "True");
    });
  }

  async function isUnhandled(kind: string, name: string): Promise<void> {
    assert.deepEqual((await api.get(object(kind, name)))["status"], UNTOUCHED);
  }

  /** The entry of launch.json, which must exist. */
  function launchEntry(name: string): Record<string, unknown> | undefined {
    const text = readFileSync(path.join(folder, ".vscode/launch.json"), "utf8");
    const { configurations } = JSON.parse(text) as { configurations: Record<string, unknown>[] };
    return configurations.find((each) => each.name === name);
  }

  it("stops in TypeScript with the live object, holds up no other one, and goes on", async () => {
    await write("Typed", "main.ts", TYPESCRIPT);
    const port = await start("Typed");
    await dev?.printed(/Run and Debug, "argosy: typed"/);
    assert.equal(launchEntry("argosy: typed")?.port, port);
    await api.apply(object("Typed", "watched"));
    // It is not handled before a debugger attaches, while another one is, although only one is handled at once.
    await api.apply(object("Typed", "other"));
    await ready("Typed", "other");
    await dev?.printed(/watched: the handler has a request\. It waits for a debugger/);
    const client = await InspectorClient.attach(port, (process) => process.beginWithBreak("main.ts", 6));
    const stop = await client.stopped();
    assert.deepEqual(await stop.evaluate("object.spec"), { size: 3 });
    assert.equal(await stop.evaluate("object.metadata.namespace"), namespace);
    await isUnhandled("Typed", "watched");
    await api.apply(object("Typed", "third"));
    await ready("Typed", "third");
    await isUnhandled("Typed", "watched");
    await stop.resume();
    client.close();
    await ready("Typed", "watched");
    assert.doesNotMatch(dev?.stdout ?? "", /HandlerTimedOut|HandlerCrashed/);
    dev?.interrupt();
    assert.equal(await dev?.ended(), 130, dev?.stderr);
    assert.deepEqual(await processesNaming(folder), []);
  });

  it("stops in Python with the live object, and goes on", async function () {
    const PYTHONPATH = await debugpyFolder().catch(() => undefined);
    // Without a registry of Python there is no debugger to try.
    if (PYTHONPATH === undefined) return this.skip();
    const file = await write("Snake", "main.py", PYTHON, { PYTHONPATH });
    const port = await start("Snake");
    await api.apply(object("Snake", "watched"));
    const client = await DebugAdapterClient.attach(port);
    await client.begin(file, 4);
    const { result, threadId } = await client.stopped('(name, request["object"]["spec"]["size"])');
    assert.equal(result, "('watched', 3)");
    await isUnhandled("Snake", "watched");
    await api.apply(object("Snake", "other"));
    await ready("Snake", "other");
    await client.resume(threadId);
    await ready("Snake", "watched");
    client.close();
    dev?.interrupt();
    assert.equal(await dev?.ended(), 130, dev?.stderr);
    await eventually(async () => assert.deepEqual(await processesNaming(folder), []));
  });

  it("says what to install where Python has no debugger", async () => {
    await write("Snake", "main.py", PYTHON);
    // A module of that name that cannot be imported stands for none: this machine may have the real one.
    writeFileSync(path.join(folder, "handlers/snake/debugpy.py"), "raise ImportError()");
    dev = new CommandProcess(
      "npm",
      [
        "run",
        "dev",
        "--silent",
        "--",
        "--handlers",
        path.join(folder, "handlers"),
        "--debug",
        "snake/watched",
      ],
      folder,
    );
    assert.equal(await dev.ended(), 1);
    assert.match(
      dev.stderr,
      /debugpy, the debugger for Python, is not installed for .*python3\. Install it: python3 -m pip/,
    );
  });
});
