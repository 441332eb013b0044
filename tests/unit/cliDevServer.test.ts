import assert from "node:assert/strict";
import { existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { Counter, Registry } from "prom-client";
import { announceDevProcess, askDevProcess, devProcesses } from "../../cli/cluster/devProcesses";
import { CommandError, UsageError } from "../../cli/common/commandError";
import { DevRecord } from "../../cli/dev/devRecord";
import { type LocalServer, startLocalServer } from "../../cli/dev/localServer";
import { eventCommands } from "../../cli/dev/outsideEvents";
import type { Running } from "../../cli/dev/workshop";
import { runOf } from "../../cli/inspect/runs";
import { loadOperator } from "../../definition/loadOperator";
import { ReconcileFailure } from "../../runtime/base/failure";
import type { KubernetesObject, Manifest } from "../../runtime/base/objects";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import { NotLeadingError } from "../../runtime/leadership/term";
import type { Operator } from "../../runtime/operator/definition";
import type { ReconcileReport } from "../../runtime/reconcile/report";
import { rememberVariables } from "../environment";
import { writeFolder } from "./operatorFolder";
import { assertEach } from "./support/lists";
import { reconcileReport } from "./support/objects";

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

let cache: string;
let server: LocalServer;

/** Has the server run during the tests of a describe, with a cache of its own. */
function useServer(running: readonly object[], client: object = {}, told: string[] = []): void {
  const putBack = rememberVariables("ARGOSY_CACHE");
  before(async () => {
    cache = writeFolder({});
    process.env["ARGOSY_CACHE"] = cache;
    server = await startLocalServer({
      port: 0,
      running: () => running as Running[],
      record: new DevRecord(),
      client: { server: SERVER, now: Date.now, ...client } as unknown as KubernetesClient,
      onEvent: (line) => told.push(line),
    });
  });
  after(() => {
    server.close();
    assert.deepEqual(devProcesses(SERVER), []);
    putBack();
  });
}

describe("the server of argosy dev", () => {
  useServer([operatorThatRuns("one"), operatorThatRuns("two", { nightly: {} })]);

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
    assertEach(devProcesses(SERVER), ({ url, token }) => ({ url, token }), [
      { url: server.url, token: server.token },
    ]);
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

const EXAMPLES = path.join(__dirname, "..", "..", "examples");
const comments = loadOperator(path.join(EXAMPLES, "deploy-notifier", "command"));
const releases = loadOperator(path.join(EXAMPLES, "06-outside-event"));
/** An operator of releases that come by a queue, of whose messages each is the whole event. */
const queued: Operator = {
  ...releases,
  name: "queued",
  on: [{ ...(releases.on?.[0] as NonNullable<Operator["on"]>[number]), type: "kafka" }],
};

describe("events that argosy dev takes", () => {
  let created: Manifest[];
  const told: string[] = [];
  /** An operator of comments that also looks at the header with GitHub's event. */
  const marked: Operator = {
    ...comments,
    name: "marked",
    on: (comments.on ?? []).map((event) => ({ ...event, when: { "body.X-GitHub-Event": "issue_comment" } })),
  };

  const operators = [comments, releases, queued, marked].map((operator) => ({ operator }));
  const client = {
    get: async () => ({ metadata: { name: "crd", uid: "u" } }),
    create: async (_: unknown, manifest: Manifest) => {
      created.push(manifest);
      return manifest;
    },
  };
  useServer(operators, client, told);
  beforeEach(() => {
    created = [];
  });

  async function post(where: string, body: unknown, headers: Record<string, string> = {}) {
    const answer = await fetch(`${server.url}/events/${where}`, {
      method: "POST",
      body: typeof body === "string" ? body : JSON.stringify(body),
      headers: { authorization: `Bearer ${server.token}`, ...headers },
    });
    return { status: answer.status, text: await answer.text() };
  }

  it("can be sent by the commands, which have the body and the headers of a fixture", () => {
    const [github, webhook] = eventCommands([comments, releases], server.url, server.token);
    assert.match(
      github ?? "",
      /^curl -H 'Authorization: Bearer \w{32}' --data '\{"action":"created",.*\}' http:\S+\/events\/command\/deploy$/,
    );
    assert.match(
      webhook ?? "",
      /-H 'Content-Type: application\/json' --data '\{"event":"published".*\}' \S+\/events\/outside-event\/release$/,
    );
  });

  it("have what GitHub's source adds to the body, and no token of argosy dev", async () => {
    const comment = { id: 7, body: "/deploy", user: { login: "ada" }, created_at: "2026-11-22T10:00:00Z" };
    const body = { repository: { full_name: "a/b" }, issue: { number: 4 }, comment };
    assert.equal((await post("marked/deploy", body)).status, 200);
    assert.equal((await post("marked/deploy", body, { "x-github-event": "issue_comment" })).status, 201);
    assert.equal(created.length, 1);
    assert.ok(!JSON.stringify(created).includes(server.token));
  });

  it("are the whole body for a source that is neither a webhook nor GitHub", async () => {
    const event = { body: { event: "published", repository: "a/b", version: "1" } };
    const { status, text } = await post("queued/release", event);
    assert.equal(status, 201, text);
    assert.deepEqual(created[0]?.["spec"], { repository: "a/b", version: "1", by: "webhook" });
    assert.match(told.at(-1) ?? "", /^queued: event release created: Release releases\/release-/);
  });

  it("are refused if they are no JSON, are too large, or lack a field", async () => {
    const refused = async (body: unknown) => {
      const { status, text } = await post("outside-event/release", body);
      assert.equal(status, 422, text);
      return text;
    };
    assert.match(await refused("not JSON"), /the event is no JSON/);
    assert.match(await refused(`"${"x".repeat(2 ** 20)}"`), /the event has more than 1048576 bytes/);
    assert.match(await refused({ event: "published", repository: "a/b" }), /body\.version is missing/);
    assert.ok(created.every(({ kind }) => kind === "Event"));
  });
});

const customResource = { group: "cache.example.com", version: "v1", kind: "Cache", plural: "caches" };
const operator = { name: "cache", installation: "argosy", customResource } as Operator;

let ids = 0;
const report = (more: Partial<ReconcileReport> = {}) =>
  reconcileReport({
    ...{ id: `id-${++ids}`, operator: "cache", kind: "Cache", namespace: "shop", name: "sessions", uid: "u" },
    changes: [{ verb: "created", apiVersion: "v1", kind: "ConfigMap", name: "made", namespace: "shop" }],
    ...more,
  });
const failure = (message: string, log = "") =>
  report({ result: "failed", changes: [], log, failure: new ReconcileFailure("HandlerError", message) });

describe("the record of argosy dev", () => {
  it("has the runs that a cluster would record, with the kind of their objects", () => {
    const record = new DevRecord();
    const engine = record.of(operator, "argosy");
    engine.report(report());
    engine.report(report({ changes: [] }));
    const [run, ...others] = record.runs();
    assert.deepEqual(others, []);
    const { object, phase, message } = runOf(run as KubernetesObject, () => undefined);
    assert.deepEqual(object, {
      apiVersion: "cache.example.com/v1",
      kind: "Cache",
      namespace: "shop",
      name: "sessions",
    });
    assert.deepEqual([phase, message], ["Succeeded", "created ConfigMap made"]);
  });

  it("has the same failure once, as of its last time", () => {
    const record = new DevRecord();
    const engine = record.of(operator, "argosy");
    const last = failure("no room for 8", "the last words");
    for (const each of [failure("no room for 7"), report(), last]) engine.report(each);
    assertEach(record.runs(), (run) => runOf(run as KubernetesObject, () => undefined).message, [
      "created ConfigMap made",
      "HandlerError: no room for 8",
    ]);
    assert.equal(record.runOf(last), record.runs()[1]);
  });

  it("has the lines of the engine and of the handler, and gives those after a number", () => {
    const record = new DevRecord();
    const engine = record.of(operator, "argosy");
    engine.report(report({ log: "one\n\ntwo\n" }));
    engine.handlerLog("three\n");
    engine.notice("leading");
    const lines = record
      .linesAfter(0)
      .map(({ container, text }) => [
        container,
        text.startsWith("{") ? (JSON.parse(text) as { message: string }).message : text,
      ]);
    assert.deepEqual(lines, [
      ["handler", "one"],
      ["handler", "two"],
      ["runner", "created ConfigMap made"],
      ["handler", "three"],
      ["runner", "leading"],
    ]);
    assertEach(record.linesAfter(3), ({ number }) => number, [4, 5]);
  });

  it("stays small, whatever handlers write, and keeps what is newest", () => {
    const record = new DevRecord();
    const engine = record.of(operator, "argosy");
    for (let count = 0; count < 700; count++)
      engine.report(failure(`${"x".repeat(count)} no room`, "é".repeat(8_000)));
    for (let count = 0; count < 6_000; count++) engine.handlerLog(`line ${count}`);
    engine.handlerLog("y".repeat(2 ** 21));
    engine.handlerLog("the last one");
    const [runs, lines] = [record.runs(), record.linesAfter(0)];
    assert.ok(Buffer.byteLength(JSON.stringify(runs)) <= 4.1 * 2 ** 20);
    assert.ok(Buffer.byteLength(JSON.stringify(lines)) <= 1.1 * 2 ** 20);
    assert.ok(runs.length > 100 && runs.length <= 500, String(runs.length));
    assert.ok(lines.length <= 5_000, String(lines.length));
    assert.equal(lines.at(-1)?.text, "the last one");
  });
});
