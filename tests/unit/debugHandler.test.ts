import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import path from "node:path";
import { freePorts } from "../../cli/controlPlane/ports";
import { debuggedCommand, NODE_ATTACHED } from "../../cli/debug/debuggedCommand";
import { DebuggedHandler } from "../../cli/debug/debuggedHandler";
import { debugPort, debugTarget } from "../../cli/debug/debugging";
import { DebugTransport } from "../../cli/debug/debugTransport";
import { localHandler } from "../../cli/handler/localHandler";
import type { KubernetesObject } from "../../runtime/base/objects";
import { questionAbout } from "../../runtime/handler/contract";
import { HandlerPool } from "../../runtime/handler/handlerPool";
import type { HandlerProcessListener, HandlerTransport } from "../../runtime/handler/handlerTransport";
import type { Operator } from "../../runtime/operator/definition";
import { eventually } from "../support/eventually";
import { InspectorClient } from "../support/inspector";
import { temporaryFolder } from "../support/temporaryFolder";

const SOURCE = `interface Named { metadata: { name: string } }

export function reconcile({ object }: { object: Named }) {
  const name = object.metadata.name;
  return { children: [], status: { name, pid: process.pid, say: "first" } };
}
`;

function question(name: string) {
  const metadata = { name, namespace: "shop", uid: name, resourceVersion: "1" };
  const object: KubernetesObject = { apiVersion: "shop.example.com/v1", kind: "Cache", metadata, spec: {} };
  return questionAbout({ event: "reconcile", object, children: [], attempt: 1 });
}

describe("a debugged handler", function () {
  this.timeout(60_000);
  let folder: string;
  let port: number;
  let debugged: DebuggedHandler;
  let pool: HandlerPool;
  let notices: string[];
  let clients: InspectorClient[];

  beforeEach(async () => {
    folder = temporaryFolder();
    writeFileSync(path.join(folder, "main.ts"), SOURCE);
    [port = 0] = await freePorts(1);
    [notices, clients] = [[], []];
    const operator = { handler: { image: "a:1", function: "main.ts" }, folder, include: [] };
    const started = (command: readonly string[]) => debuggedCommand(command, port)?.command ?? [];
    debugged = new DebuggedHandler({
      transport: localHandler(operator, {}, started),
      onLog: (text) => notices.push(text),
      onNotice: (notice) => notices.push(notice),
      onWait: () => {},
      attached: NODE_ATTACHED,
      againMs: 20,
    });
    debugged.start();
    const transport = new DebugTransport({
      others: localHandler(operator, {}),
      debugged,
      isDebugged: (line) => line.includes('"watched"'),
      atOnce: 1,
    });
    pool = new HandlerPool({
      transport,
      timeoutMs: ({ object }) => (object.metadata.name === "watched" ? Number.POSITIVE_INFINITY : 50_000),
    });
  });
  afterEach(async () => {
    for (const client of clients) client.close();
    debugged.close();
    await pool.close();
  });

  async function attach(line?: number): Promise<InspectorClient> {
    const client = await InspectorClient.attach(port, (process) =>
      line === undefined ? process.begin() : process.beginWithBreak("main.ts", line),
    );
    clients.push(client);
    return client;
  }

  async function statusOf(name: string): Promise<Record<string, unknown>> {
    const { answer } = await pool.ask(question(name));
    return (answer as { status: Record<string, unknown> }).status;
  }

  it("is one process for all requests about the object and none of another, and goes on without a debugger that went", async () => {
    const client = await attach();
    const [first, second] = [await statusOf("watched"), await statusOf("watched")];
    assert.deepEqual(notices, ["a debugger is attached"]);
    assert.notEqual((await statusOf("other")).pid, first.pid);
    client.close();
    assert.deepEqual([first.pid, second.pid], [second.pid, (await statusOf("watched")).pid]);
  });

  it("takes an edit in with another process at the same port, once an answer that is held has come", async () => {
    const asked = statusOf("watched");
    const client = await attach(5);
    const stop = await client.stopped();
    writeFileSync(path.join(folder, "main.ts"), SOURCE.replace('"first"', '"second"'));
    debugged.renew();
    pool.renew();
    await stop.resume();
    assert.equal((await asked).say, "first");
    // The process still listens for a moment, and who attached to that would wait for good.
    await client.ended();
    const again = statusOf("watched");
    await attach();
    assert.equal((await again).say, "second");
    assert.match(notices.join("\n"), /the edit is applied after the answer that the debugger holds/);
  });

  it("that is ended in the debugger fails its request alone, and is started again", async () => {
    const asked = statusOf("watched");
    const client = await attach(5);
    const stop = await client.stopped();
    void stop.evaluate("process.exit(7)").catch(() => {});
    await assert.rejects(asked, /the handler ended with exit code 7/);
    assert.equal((await statusOf("other")).name, "other");
    const again = statusOf("watched");
    await attach();
    assert.equal((await again).name, "watched");
  });

  it("asks nothing of a process that is being ended for an edit", async () => {
    const started: { written: string[]; listener: HandlerProcessListener }[] = [];
    const transport: HandlerTransport = {
      start: (listener) => {
        const written: string[] = [];
        started.push({ written, listener });
        return { write: (text) => void written.push(text), end: () => {}, kill: () => {} };
      },
    };
    const edited = new DebuggedHandler({ transport, onLog: () => {}, onNotice: () => {}, onWait: () => {} });
    const exits: unknown[] = [];
    const listener = { output: () => {}, log: () => {}, exited: (exit: unknown) => void exits.push(exit) };
    const line = `${JSON.stringify(question("watched"))}\n`;
    edited.start();
    edited.renew();
    edited.ask(line, listener);
    started[0]?.listener.exited({ code: null, signal: "SIGKILL" });
    await eventually(() => assert.deepEqual(started[1]?.written, [line]));
    assert.deepEqual(started[0]?.written, []);
    assert.deepEqual(exits, []);
    edited.close();
    started[1]?.listener.exited({ code: null, signal: "SIGKILL" });
  });

  it("says why it does not start, and refuses then", async () => {
    const broken = new DebuggedHandler({
      transport: localHandler(
        { handler: { image: "a:1", function: "main.ts" }, folder, include: [] },
        {},
        () => ["node", "-e", 'console.error("no inspector"); process.exit(9)'],
      ),
      onLog: () => {},
      onNotice: (notice) => notices.push(notice),
      onWait: () => {},
      againMs: 1,
    });
    broken.start();
    await eventually(() => assert.deepEqual(notices, ["the debugged handler does not start: no inspector"]));
    broken.close();
  });

  it("does not go on without a debugger if another program has taken the port", async () => {
    const server = createServer();
    const taken = await new Promise<number>((resolve) => {
      server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
    });
    const without = new DebuggedHandler({
      transport: localHandler(
        { handler: { image: "a:1", function: "main.ts" }, folder, include: [] },
        {},
        (command) => debuggedCommand(command, taken)?.command ?? [],
      ),
      onLog: () => {},
      onNotice: (notice) => notices.push(notice),
      onWait: () => {},
      attached: NODE_ATTACHED,
      againMs: 1,
    });
    const exit = new Promise((exited) => {
      without.ask(`${JSON.stringify(question("watched"))}\n`, { output: () => {}, log: () => {}, exited });
    });
    assert.deepEqual(await exit, { code: 1, signal: null });
    const why = `Starting inspector on 127.0.0.1:${taken} failed: address already in use`;
    assert.deepEqual(notices, [`the debugged handler does not start: ${why}`]);
    without.close();
    server.close();
  });
});

describe("what argosy dev --debug is told", () => {
  const operator = (kind: string, namespaced = true) =>
    ({
      name: kind.toLowerCase(),
      folder: `/handlers/${kind}`,
      customResource: { kind, plural: `${kind.toLowerCase()}s`, group: "shop.example.com", namespaced },
    }) as unknown as Operator;
  const operators = [operator("Cache"), operator("Zone", false)];

  it("names an object of a kind that the working tree's operators look after", () => {
    for (const word of ["cache", "Cache", "caches", "caches.shop.example.com"]) {
      const { name, namespace, kind } = debugTarget(`${word}/sessions`, operators, "shop");
      assert.deepEqual([kind, namespace, name], ["Cache", "shop", "sessions"]);
    }
    assert.equal(debugTarget("zone/eu", operators, "shop").namespace, undefined);
    assert.throws(() => debugTarget("cach/a", operators, "shop"), /handles cach\. Did you mean cache\?/);
    assert.throws(
      () => debugTarget("cache", operators, "shop"),
      /does not name an object\. Write KIND\/NAME/,
    );
  });

  it("has a debugger for Python and Node, whatever their own options are", () => {
    const listen = ["--listen", "127.0.0.1:5678", "--wait-for-client", "--configure-subProcess", "false"];
    const python = ["-Xfrozen_modules=off", "-m", "debugpy", ...listen];
    assert.deepEqual(debuggedCommand(["python3", "-u", "-X", "dev", "main.py", "-v"], 5678), {
      debugger: "debugpy",
      command: ["python3", "-u", "-X", "dev", ...python, "main.py", "-v"],
    });
    assert.deepEqual(debuggedCommand(["/usr/bin/python3.13", "-m", "app"], 5678)?.command, [
      ...["/usr/bin/python3.13", ...python, "-m", "app"],
    ]);
    assert.deepEqual(debuggedCommand(["node", "main.js"], 9229)?.command, [
      ...["node", "--inspect-wait=127.0.0.1:9229", "main.js"],
    ]);
    assert.equal(debuggedCommand(["./handler"], 1), undefined);
  });

  it("takes no port that another program has", async () => {
    const server = createServer();
    const [taken = 0] = await freePorts(1);
    await new Promise<void>((resolve) => server.listen(taken, "127.0.0.1", resolve));
    await assert.rejects(
      debugPort(taken, "node"),
      /^UsageError: Another program uses port \d+\. Choose another one with --debug-port\.$/,
    );
    server.close();
  });
});
