import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once, setMaxListeners } from "node:events";
import { ClientRequest, type ServerResponse } from "node:http";
import { connect as connectTo } from "node:net";
import type { ClusterConnection } from "../../runtime/kubernetes/connection";
import { ApiError, ApiUnreachableError } from "../../runtime/kubernetes/errors";
import type { ApiRequest } from "../../runtime/kubernetes/exchange";
import { HttpTransport, type RequestReport } from "../../runtime/kubernetes/transport";
import { eventually } from "../support/eventually";
import { makeIdentity } from "./support/certificate";
import { errorOf } from "./support/failures";
import { json, refuse, TestApiServer } from "./support/testApiServer";

const PODS: ApiRequest = { method: "GET", path: "/api/v1/pods" };

describe("HttpTransport", () => {
  let api: TestApiServer;
  let transport: HttpTransport;
  let reports: RequestReport[];

  beforeEach(async () => {
    api = await TestApiServer.start();
    reports = [];
    transport = connect();
  });
  afterEach(async () => {
    transport.close();
    await api.stop();
  });

  function connect(more: Partial<ClusterConnection> = {}): HttpTransport {
    return new HttpTransport(api.connection(more), (report) => reports.push(report));
  }

  /** Uses another connection for the rest of the test. */
  function reconnect(more: Partial<ClusterConnection>): void {
    transport.close();
    transport = connect(more);
  }

  it("sends method, path, headers and body, and decodes the answer", async () => {
    api.answer = (_, response) => json(response, { größe: "🚢" }, 201);
    const answer = await transport.send({
      method: "PATCH",
      path: "/api/v1/pods?limit=1",
      body: { name: "größer" },
      contentType: "application/merge-patch+json",
      accept: "application/json;as=Table",
    });
    assert.deepStrictEqual(answer, { code: 201, length: 14, body: { größe: "🚢" } });
    const [call] = api.calls;
    assert.deepStrictEqual(
      [call?.method, call?.path, call?.query.get("limit")],
      ["PATCH", "/api/v1/pods", "1"],
    );
    assert.deepStrictEqual(call?.body, { name: "größer" });
    assert.equal(call?.headers["content-type"], "application/merge-patch+json");
    assert.equal(call?.headers.accept, "application/json;as=Table");
    assert.equal(call?.headers.authorization, undefined);
  });

  it("keeps a path that the server's address has", async () => {
    const { server } = api.connection();
    reconnect({ server: `${server}/k8s/clusters/c-1/` });
    await transport.send(PODS);
    assert.equal(api.calls[0]?.path, "/k8s/clusters/c-1/api/v1/pods");
  });

  it("puts an answer together that is cut in the middle of a character", async () => {
    const body = Buffer.from(JSON.stringify({ name: "größe 🚢" }));
    api.answer = async (_, response) => {
      response.writeHead(200);
      for (const byte of body) {
        response.write(Buffer.from([byte]));
        await new Promise((resolve) => setImmediate(resolve));
      }
      response.end();
    };
    assert.deepStrictEqual((await transport.send(PODS)).body, { name: "größe 🚢" });
  });

  it("asks for the bearer token before every request", async () => {
    const tokens = ["first", "second"];
    reconnect({ token: () => tokens.shift() });
    for (let turn = 0; turn < 3; turn++) await transport.send(PODS);
    assert.deepStrictEqual(
      api.calls.map(({ headers }) => headers.authorization),
      ["Bearer first", "Bearer second", undefined],
    );
  });

  it("shows its client certificate", async () => {
    const me = makeIdentity("system:me");
    await api.stop();
    api = await TestApiServer.start(undefined, me.certificate);
    reconnect({ certificate: me.certificate, privateKey: me.key });
    await transport.send(PODS);
    assert.equal(api.calls[0]?.client, "system:me");
  });

  it("says at once whose certificates cannot be read", () => {
    const connection = api.connection({ certificate: "no certificate", privateKey: "no key" });
    const message = new RegExp(`^the certificates or the key for ${connection.server} cannot be read: .+`);
    assert.throws(() => new HttpTransport(connection), { message });
  });

  it("trusts no server but the one whose authority it was given", async () => {
    reconnect({ certificateAuthority: makeIdentity("api.test").certificate });
    const error = await errorOf(ApiUnreachableError, () => transport.send(PODS));
    assert.match((error.cause as NodeJS.ErrnoException).code ?? "", /CERT|SIGNATURE/);
    assert.equal(error.isSent, false);
    assert.equal(api.calls.length, 0);
    reconnect({ certificateAuthority: makeIdentity("other").certificate, skipVerification: true });
    await transport.send(PODS);
  });

  it("trusts an authority from the moment in which its connection has it: a cluster may get another one", async () => {
    let authority = makeIdentity("former").certificate;
    transport.close();
    const connection = Object.defineProperty(api.connection(), "certificateAuthority", {
      get: () => authority,
    });
    transport = new HttpTransport(connection);
    await errorOf(ApiUnreachableError, () => transport.send(PODS));
    authority = String(api.connection().certificateAuthority);
    await transport.send(PODS);
    await transport.send(PODS);
    assert.deepEqual(
      api.calls.map(({ connection }) => connection),
      [1, 1],
    );
  });

  it("counts as not reached while its own credentials cannot be read", async () => {
    const unreadable = () => {
      throw new Error("no token there");
    };
    reconnect({ token: unreadable });
    const error = await errorOf(ApiUnreachableError, () => transport.send(PODS));
    assert.equal(error.message, "GET /api/v1/pods: no token there");
    assert.equal(error.isSent, false);
    assert.equal(api.calls.length, 0);
  });

  it("checks the server's name, and that name instead which it was given", async () => {
    reconnect({ serverName: "api.test" });
    await transport.send(PODS);
    reconnect({ serverName: "another.test" });
    const error = await errorOf(ApiUnreachableError, () => transport.send(PODS));
    assert.equal((error.cause as NodeJS.ErrnoException).code, "ERR_TLS_CERT_ALTNAME_INVALID");
  });

  it("throws a typed error with the reason, the code and the details of the server's refusal", async () => {
    const details = { name: "web", causes: [{ field: "spec.replicas", reason: "FieldValueInvalid" }] };
    api.answer = (_, response) =>
      refuse(response, 422, { reason: "Invalid", message: "spec is bad", details });
    const error = await errorOf(ApiError, () => transport.send({ ...PODS, path: "/api/v1/pods?limit=1" }));
    assert.deepStrictEqual([error.code, error.reason, error.message], [422, "Invalid", "spec is bad"]);
    assert.deepStrictEqual(error.status.details, details);
    assert.equal(error.request, "GET /api/v1/pods");
  });

  for (const [body, message] of [
    ["upstream is away\n", "upstream is away"],
    ["", "HTTP 502"],
    ["null", "GET /api/v1/pods: HTTP 502"],
    ['"busy"', "GET /api/v1/pods: HTTP 502"],
    ["x".repeat(2_000), `${"x".repeat(500)}…`],
  ]) {
    it(`makes a typed error of a refusal that is no Status: ${JSON.stringify(body?.slice(0, 20))}`, async () => {
      api.answer = (_, response) => void response.writeHead(502).end(body);
      const error = await errorOf(ApiError, () => transport.send(PODS));
      assert.deepStrictEqual([error.code, error.reason, error.message], [502, "Unknown", message]);
    });
  }

  it("tells apart that no answer came", async () => {
    await api.stop();
    const error = await errorOf(ApiUnreachableError, () => transport.send(PODS));
    assert.equal((error.cause as NodeJS.ErrnoException).code, "ECONNREFUSED");
    assert.match(error.message, /^GET \/api\/v1\/pods: .*ECONNREFUSED/);
    assert.equal(error.isSent, false);
    api = await TestApiServer.start();
  });

  it("tells apart that an answer broke off", async () => {
    api.answer = (_, response) => {
      response.writeHead(200, { "content-length": "100" }).write("{");
      setImmediate(() => api.cut());
    };
    assert.ok((await errorOf(ApiUnreachableError, () => transport.send(PODS))).isSent);
  });

  it("takes an answer that is not JSON for none", async () => {
    api.answer = (_, response) => void response.writeHead(200).end("<html>Please log in</html>");
    const error = await errorOf(ApiUnreachableError, () => transport.send(PODS));
    assert.match(error.message, /^GET \/api\/v1\/pods: .*JSON/);
  });

  it("gives up a server that does not answer", async () => {
    api.answer = () => {};
    const error = await withShortTimeouts(() => errorOf(ApiUnreachableError, () => transport.send(PODS)));
    assert.match(error.message, /no answer within 65 s/);
    assert.equal(error.isSent, true);
  });

  it("gives up an answer that goes on coming, and does not end", async () => {
    api.answer = (_, response) => {
      const timer = setInterval(() => response.write(" "), 10);
      response.on("close", () => clearInterval(timer));
    };
    const error = await withShortTimers(() => errorOf(ApiUnreachableError, () => transport.send(PODS)));
    assert.match(error.message, /the answer has not ended within 65 s/);
    await eventually(() => assert.equal(api.openConnections, 0));
  });

  it("gives up a server that it does not reach: another one may be at that address", async () => {
    await api.stop();
    const server = await deafServer();
    try {
      const unreached = new HttpTransport({ server: `https://127.0.0.1:${server.port}` });
      const error = await withShortTimers(() => errorOf(ApiUnreachableError, () => unreached.send(PODS)));
      assert.match(error.message, /^GET \/api\/v1\/pods: no connection within 10 s$/);
      assert.equal(error.isSent, false);
      unreached.close();
    } finally {
      server.end();
      api = await TestApiServer.start();
    }
  });

  it("ends a request on its signal", async () => {
    api.answer = () => {};
    const stop = new AbortController();
    const ended = assert.rejects(transport.send({ ...PODS, signal: stop.signal }));
    await eventually(() => assert.ok(api.calls.length === 1, "the request has come"));
    stop.abort();
    await ended;
    await eventually(() => assert.ok(api.openConnections === 0, "the connection is closed"));
  });

  it("renews a lease on a connection of its own, whatever waits", async () => {
    const held: ServerResponse[] = [];
    api.answer = ({ path }, response) => {
      if (path === "/lease") json(response, {});
      else held.push(response);
    };
    const writes = Array.from({ length: 200 }, () => transport.send({ ...PODS, class: "work" }));
    await eventually(() => assert.ok(held.length === 64, "as many are on their way as may be"));
    for (let turn = 0; turn < 3; turn++) await transport.send({ ...PODS, path: "/lease", class: "lease" });
    const leases = api.calls.filter(({ path }) => path === "/lease").map(({ connection }) => connection);
    assert.deepStrictEqual(new Set(leases).size, 1);
    assert.equal(api.calls.length, 67);
    api.answer = (_, response) => json(response, {});
    for (const response of held) json(response, {});
    await Promise.all(writes);
  });

  it("refuses what waits when it is closed", async () => {
    api.answer = () => {};
    const ends = Array.from({ length: 100 }, () =>
      transport.send({ ...PODS, class: "work" }).then(
        () => "done",
        (error: Error) => error.message,
      ),
    );
    await eventually(() => assert.ok(api.calls.length === 64, "some are on their way"));
    transport.close();
    const closed = (await Promise.all(ends)).filter((end) => /connection .* was closed/.test(end));
    assert.equal(closed.length, 36);
    assert.equal(api.calls.length, 64);
  });

  it("fails what is on its way when it is closed, and sends it no second time on a new connection", async () => {
    await transport.send(PODS);
    api.answer = () => {};
    const ended = assert.rejects(transport.send(PODS));
    await eventually(() => assert.ok(api.calls.length === 2, "the request has come"));
    transport.close();
    await ended;
    assert.equal(api.calls.length, 2);
    await eventually(() => assert.ok(api.openConnections === 0, "every connection is closed"));
  });

  it("sends nothing again after it was closed, although the server had asked for that", async () => {
    api.answer = (_, response) => json(response, { kind: "Status" }, 429, { "retry-after": "1" });
    const ended = assert.rejects(transport.send(PODS), /connection .* was closed/);
    await eventually(() => assert.equal(reports.length, 1));
    transport.close();
    await ended;
    assert.deepEqual([reports.length, api.calls.length], [1, 1]);
  });

  it("opens no connection after it was closed, neither for a stream nor after a wait for the token", async () => {
    let give: ((token: string) => void) | undefined;
    const token = () =>
      new Promise<string>((resolve) => {
        give = resolve;
      });
    const waiting = new HttpTransport(api.connection({ token }));
    const ended = assert.rejects(waiting.send(PODS), /connection .* was closed/);
    await eventually(() => assert.ok(give, "it asks for no token"));
    for (const each of [waiting, transport]) each.close();
    give?.("token");
    await ended;
    await assert.rejects(transport.open(PODS), /connection .* was closed/);
    assert.deepEqual([api.calls.length, api.openConnections], [0, 0]);
  });

  describe("as a stream", () => {
    it("ends one that is silent", async () => {
      api.answer = (_, response) => void response.write("one\n");
      await withShortTimeouts(async () => {
        const stream = await transport.open(PODS);
        await assert.rejects(stream.toArray());
      });
      await eventually(() => assert.ok(api.openConnections === 0, "the connection is closed"));
    });

    it("leaves room for requests, however many are open", async () => {
      api.answer = ({ query }, response) => {
        if (query.has("watch")) response.write("\n");
        else json(response, {});
      };
      const stop = new AbortController();
      setMaxListeners(0, stop.signal);
      const watch: ApiRequest = { ...PODS, path: "/api/v1/pods?watch=true", signal: stop.signal };
      const streams = await Promise.all(Array.from({ length: 130 }, () => transport.open(watch)));
      await transport.send({ ...PODS, signal: AbortSignal.timeout(30_000) });
      for (const stream of streams) stream.on("error", () => {});
      stop.abort();
    }).timeout(60_000);
  });

  it("reports every request, with code 0 where no answer came", async () => {
    api.answer = (_, response) => json(response, {}, 201);
    await transport.send({ ...PODS, method: "POST" });
    api.answer = (_, response) => refuse(response, 404);
    await errorOf(ApiError, () => transport.send(PODS));
    api.answer = () => api.cut();
    await errorOf(ApiUnreachableError, () => transport.send({ ...PODS, method: "POST" }));
    assert.deepStrictEqual(
      reports.map(({ method, code }) => `${method} ${code}`),
      ["POST 201", "GET 404", "POST 0"],
    );
  });
});

/** Lets every time limit of a request that is sent by `action` come a hundred times sooner: after more than half a second. */
async function withShortTimeouts<T>(action: () => Promise<T>): Promise<T> {
  const { setTimeout: original } = ClientRequest.prototype;
  ClientRequest.prototype.setTimeout = function (ms, callback) {
    return original.call(this, ms / 100, callback);
  };
  try {
    return await action();
  } finally {
    ClientRequest.prototype.setTimeout = original;
  }
}

/** The same for time limits that are timers. */
async function withShortTimers<T>(action: () => Promise<T>): Promise<T> {
  const { setTimeout: original } = globalThis;
  const short = (callback: () => void, ms = 0) => original(callback, ms / 100);
  globalThis.setTimeout = short as typeof original;
  try {
    return await action();
  } finally {
    globalThis.setTimeout = original;
  }
}

/** A server that stands still, with a full backlog: no client gets a connection any more. */
async function deafServer(): Promise<{ readonly port: number; end(): void }> {
  const program = `const server = require("node:net").createServer().listen({ host: "127.0.0.1", port: 0, backlog: 1 },
    () => console.log(server.address().port))`;
  const server = spawn(process.execPath, ["-e", program], { stdio: ["ignore", "pipe", "inherit"] });
  const [port] = await once(server.stdout, "data");
  server.kill("SIGSTOP");
  const callers = Array.from({ length: 8 }, () => connectTo(Number(port), "127.0.0.1").on("error", () => {}));
  await once(callers[0] as (typeof callers)[number], "connect");
  return {
    port: Number(port),
    end: () => {
      for (const caller of callers) caller.destroy();
      server.kill("SIGKILL");
    },
  };
}
