import assert from "node:assert/strict";
import { existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { Counter, Registry } from "prom-client";
import { announceDevProcess, askDevProcess, devProcesses } from "../../cli/cluster/devProcesses";
import { CommandError, UsageError } from "../../cli/common/commandError";
import { DevRecord } from "../../cli/dev/devRecord";
import { type LocalServer, startLocalServer } from "../../cli/dev/localServer";
import type { Running } from "../../cli/dev/workshop";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import { NotLeadingError } from "../../runtime/leadership/term";
import { rememberVariables } from "../environment";
import { removeFolder, writeFolder } from "./operatorFolder";

const SERVER = "https://127.0.0.1:6443";

/** An operator of caches that runs, and does not lead. */
function operatorThatRuns(name: string, schedules = {}): Running {
  const registry = new Registry();
  registry.setDefaultLabels({ operator: name });
  new Counter({ name: "runs_total", help: "Runs", registers: [registry] }).inc(2);
  const customResource = { group: "cache.example.com", version: "v1", kind: "Cache", plural: "caches" };
  const reconcileNow = () => Promise.reject(new NotLeadingError());
  return {
    operator: { name, installation: "argosy", customResource, schedules, on: [] },
    controller: { metrics: { registry }, reconcileNow },
  } as unknown as Running;
}

describe("the server of argosy dev", () => {
  let cache: string;
  let putBack: () => void;
  let server: LocalServer;
  const running = [operatorThatRuns("one"), operatorThatRuns("two", { nightly: {} })];

  before(async () => {
    cache = writeFolder({});
    putBack = rememberVariables("ARGOSY_CACHE");
    process.env["ARGOSY_CACHE"] = cache;
    server = await startLocalServer({
      port: 0,
      running: () => running,
      record: new DevRecord(),
      client: { server: SERVER } as KubernetesClient,
      onEvent: () => {},
    });
  });
  after(() => {
    server.close();
    assert.deepEqual(devProcesses(SERVER), []);
    putBack();
    removeFolder(cache);
  });

  it("gives the metrics of all engines as one text, without the token", async () => {
    const text = await (await fetch(`${server.url}/metrics`)).text();
    assert.equal(text.match(/# HELP runs_total/g)?.length, 1);
    assert.match(text, /^runs_total\{operator="one"\} 2$/m);
    assert.match(text, /^runs_total\{operator="two"\} 2$/m);
  });

  it("gives and does nothing else without the token", async () => {
    for (const where of ["/runs", "/lines", "/replay", "/events/one/order", "/"]) {
      for (const authorization of [undefined, "Bearer ", `Basic ${server.token}`, server.token]) {
        const headers = authorization === undefined ? {} : { authorization };
        const answer = await fetch(`${server.url}${where}`, { method: "POST", headers, body: "{}" });
        assert.equal(answer.status, 401, where);
      }
    }
  });

  it("is found by the commands that look at the same API server, by a file that only its user can read", () => {
    const folder = path.join(cache, "dev");
    const [file = ""] = readdirSync(folder);
    assert.equal(statSync(path.join(folder, file)).mode & 0o077, 0);
    assert.deepEqual(
      devProcesses(SERVER).map(({ url, token }) => ({ url, token })),
      [{ url: server.url, token: server.token }],
    );
    assert.deepEqual(devProcesses("https://127.0.0.1:6444"), []);
  });

  it("names what it does not have: an operator, an event, a schedule, a path", async () => {
    const [found] = devProcesses(SERVER);
    assert.ok(found);
    const cases: [string, object, string][] = [
      ["/events/three/order", {}, "argosy dev runs no operator three."],
      ["/events/one/order", {}, "one has no event order. Known events: none."],
      ["/other", {}, "argosy dev does not know this path."],
    ];
    for (const [where, body, message] of cases)
      await assert.rejects(askDevProcess(found, where, body), new CommandError(message));
    const object = { group: "cache.example.com", kind: "Cache", name: "a" };
    await assert.rejects(
      askDevProcess(found, "/replay", { ...object, due: "hourly" }),
      new UsageError("one has no schedules."),
    );
    await assert.rejects(
      askDevProcess(found, "/replay", { ...object, due: "nightly" }),
      new CommandError("two: not the leader any more"),
    );
    assert.deepEqual(await askDevProcess(found, "/replay", { ...object, kind: "Other", due: "nightly" }), {});
  });

  it("does not count when its process is gone, even if another process has its port", async () => {
    const [found] = devProcesses(SERVER);
    assert.ok(found);
    assert.equal(await askDevProcess({ ...found, token: "another" }, "/runs"), undefined);
    assert.equal(await askDevProcess({ ...found, url: "http://127.0.0.1:9" }, "/runs"), undefined);
    const killed = path.join(cache, "dev", "1.process.json");
    // The number is that of this process, which started at another time.
    writeFileSync(killed, JSON.stringify({ ...found, url: "x", pid: process.pid, started: "never" }));
    writeFileSync(path.join(cache, "dev", "2.process.json"), "{");
    assert.equal(devProcesses(SERVER).length, 1);
    announceDevProcess(found);
    assert.ok(!existsSync(killed));
  });
});
