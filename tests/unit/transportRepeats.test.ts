import assert from "node:assert/strict";
import { ApiError, ApiUnreachableError, retryAfterMs } from "../../runtime/kubernetes/errors";
import type { ApiRequest } from "../../runtime/kubernetes/exchange";
import { HttpTransport, type RequestReport } from "../../runtime/kubernetes/transport";
import { eventually } from "../support/eventually";
import { errorOf } from "./support/failures";
import { json, refuse, TestApiServer } from "./support/testApiServer";

const PODS: ApiRequest = { method: "GET", path: "/api/v1/pods" };

describe("a request of HttpTransport that is refused, or breaks", () => {
  let api: TestApiServer;
  let transport: HttpTransport;
  let reports: RequestReport[];

  beforeEach(async () => {
    api = await TestApiServer.start();
    reports = [];
    transport = new HttpTransport(api.connection(), (report) => reports.push(report));
  });
  afterEach(async () => {
    transport.close();
    await api.stop();
  });

  for (const code of [429, 503]) {
    it(`repeats a request that is answered with ${code} and Retry-After`, async () => {
      api.answer = (_, response) => {
        if (api.calls.length < 3) json(response, { kind: "Status" }, code, { "retry-after": "0" });
        else json(response, { there: true });
      };
      assert.deepStrictEqual((await transport.send({ ...PODS, method: "POST" })).body, { there: true });
      assert.equal(api.calls.length, 3);
    });
  }

  it("says how the server refused a request that ends while it waits to be repeated", async () => {
    api.answer = (_, response) =>
      refuse(response, 429, { message: "too many requests", details: { retryAfterSeconds: 3 } });
    const stop = new AbortController();
    const refused = errorOf(ApiError, () => transport.send({ ...PODS, signal: stop.signal }));
    await eventually(() => assert.equal(reports.length, 1));
    setImmediate(() => stop.abort(new Error("in time")));
    assert.deepEqual([(await refused).message, api.calls.length], ["too many requests", 1]);
  });

  describe("refused for want of a right", () => {
    const message = 'pods is forbidden: User "runner" cannot list resource "pods" in API group ""';
    const away = async () => {
      const { answer } = api;
      api.answer = (_, response) => void response.destroy();
      await assert.rejects(transport.send(PODS), ApiUnreachableError);
      api.answer = answer;
    };
    /** Refuses the next requests, and answers those after them. */
    const refuseFirst = (count: number, text = message) => {
      let left = count;
      api.answer = (_, response) =>
        left-- > 0
          ? refuse(response, 403, { reason: "Forbidden", message: text })
          : json(response, { ok: true });
    };

    it("asks again if the server was away a moment ago: it may not know its roles yet", async () => {
      await away();
      refuseFirst(1);
      assert.deepEqual((await transport.send(PODS)).body, { ok: true });
    });

    it("takes it for a refusal if the server was not away, or a policy refuses", async () => {
      refuseFirst(1);
      await assert.rejects(transport.send(PODS), { code: 403, message });
      await away();
      refuseFirst(1, "the policy forbids it");
      await assert.rejects(transport.send(PODS), { code: 403, message: "the policy forbids it" });
    });

    it("takes it for a refusal if a fence held back the request before: nothing shows that the server was away", async () => {
      let asked = 0;
      const fence = () => {
        if (++asked === 2) throw new Error("not leading");
      };
      await assert.rejects(transport.send({ ...PODS, fence }), { message: "not leading" });
      await eventually(() => assert.ok(api.openConnections === 0, "the connection is closed"));
      refuseFirst(1);
      await assert.rejects(transport.send(PODS), { code: 403, message });
    });
  });

  it("waits as long as Retry-After says", async () => {
    api.answer = (_, response) => {
      if (api.calls.length === 1) json(response, { kind: "Status" }, 429, { "retry-after": "1" });
      else json(response, {});
    };
    const before = performance.now();
    await transport.send(PODS);
    assert.ok(performance.now() - before >= 990);
  });

  it("does not repeat for ever, and not without Retry-After", async () => {
    api.answer = (_, response) => json(response, { kind: "Status" }, 429, { "retry-after": "0" });
    assert.equal((await errorOf(ApiError, () => transport.send(PODS))).code, 429);
    assert.equal(api.calls.length, 5);
    api.answer = (_, response) => refuse(response, 503);
    assert.equal((await errorOf(ApiError, () => transport.send(PODS))).code, 503);
    assert.equal(api.calls.length, 6);
  });

  it("does not hold a caller up who is to wait long, and says how long", async () => {
    api.answer = (_, response) => json(response, { kind: "Status" }, 429, { "retry-after": "30" });
    const error = await errorOf(ApiError, () => transport.send(PODS));
    assert.equal(retryAfterMs(error), 30_000);
    assert.equal(api.calls.length, 1);
  });

  describe("with a fence", () => {
    it("sends nothing that the fence refuses, and throws what it throws", async () => {
      const fence = () => {
        throw new Error("not leading");
      };
      await assert.rejects(transport.send({ ...PODS, fence }), { message: "not leading" });
      assert.deepStrictEqual([api.calls.length, api.openConnections, reports.length], [0, 0, 0]);
    });

    it("asks it again when the connection is open, which may take long", async () => {
      let asked = 0;
      const fence = () => {
        if (++asked === 2) throw new Error("not leading");
      };
      await assert.rejects(transport.send({ ...PODS, fence }), { message: "not leading" });
      await eventually(() => assert.ok(api.openConnections === 0, "the connection is closed"));
      assert.deepStrictEqual([api.calls.length, reports.length], [0, 0]);
    });

    it("asks it again for each repetition", async () => {
      let ended = false;
      const fence = () => {
        if (ended) throw new Error("not leading");
      };
      api.answer = (_, response) => {
        ended = true;
        json(response, { kind: "Status" }, 503, { "retry-after": "0" });
      };
      await assert.rejects(transport.send({ ...PODS, fence }), { message: "not leading" });
      assert.equal(api.calls.length, 1);
    });

    it("asks it again where a kept-alive connection had been closed", async () => {
      let ended = false;
      const fence = () => {
        if (ended) throw new Error("not leading");
      };
      await transport.send({ ...PODS, fence });
      api.answer = () => {
        ended = true;
        api.cut();
      };
      await assert.rejects(transport.send({ ...PODS, fence }), { message: "not leading" });
      assert.equal(api.calls.length, 2);
    });
  });

  describe("on a kept-alive connection that the server has closed while it was idle", () => {
    beforeEach(() => {
      api.answer = (call, response) => {
        if (call.connection === 1 && api.calls.length === 2) api.cut();
        else json(response, {});
      };
    });

    const repeated = [["GET"], ["PUT"], ["PATCH"], ["DELETE"], ["POST", "?dryRun=All"]] as const;
    for (const [method, query = ""] of repeated) {
      it(`sends a ${method}${query} again`, async () => {
        await transport.send(PODS);
        await transport.send({ ...PODS, method, path: PODS.path + query });
        assert.deepStrictEqual(
          api.calls.map(({ connection }) => connection),
          [1, 1, 2],
        );
      });
    }

    for (const length of [1, 8_000_000]) {
      it(`sends a body of ${length} again, whether it notices when it writes or when it reads`, async () => {
        api.answer = (_, response) => json(response, {});
        await transport.send(PODS);
        let isCut = false;
        const fence = () => {
          if (!isCut) api.cut();
          isCut = true;
        };
        await transport.send({ ...PODS, method: "PATCH", body: "x".repeat(length), fence });
        assert.equal(api.calls.at(-1)?.connection, 2);
      });
    }

    for (const code of [409, 422]) {
      it(`does not believe a ${code} to the repeated request: the request may have been done before, and conflict with itself`, async () => {
        const { answer } = api;
        api.answer = (call, response) => {
          if (call.method === "PUT" && call.connection === 2) refuse(response, code);
          else answer(call, response);
        };
        await transport.send(PODS);
        const error = await errorOf(ApiUnreachableError, () => transport.send({ ...PODS, method: "PUT" }));
        assert.ok(error.isSent);
        assert.equal(api.calls.length, 3);
        await assert.rejects(transport.send({ ...PODS, method: "PUT" }), { code });
      });
    }

    it("does not create twice", async () => {
      await transport.send(PODS);
      await errorOf(ApiUnreachableError, () => transport.send({ ...PODS, method: "POST", body: {} }));
      assert.equal(api.calls.length, 2);
    });
  });

  it("does not repeat a request that broke on a new connection", async () => {
    api.answer = () => api.cut();
    await errorOf(ApiUnreachableError, () => transport.send(PODS));
    assert.equal(api.calls.length, 1);
  });
});
