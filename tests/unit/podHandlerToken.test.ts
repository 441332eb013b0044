import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { mock } from "node:test";
import {
  type KeepTokenOptions,
  keepHandlerToken,
  writeHandlerToken,
} from "../../runtime/programs/handlerToken";
import type { Pod } from "../../runtime/programs/pod";
import { prepareHandler } from "../../runtime/programs/prepareHandler";
import { eventually } from "../support/eventually";
import { writeFolder } from "./operatorFolder";
import { json, refuse, TestApiServer } from "./support/testApiServer";

describe("the handler's token", () => {
  let api: TestApiServer;
  let folder: string;
  let errors: Error[];
  let stopping: AbortController;
  let lifetimeMs: number;
  /** By how much the API server's clock is ahead of ours. */
  let aheadMs: number;
  beforeEach(async () => {
    api = await TestApiServer.start();
    [folder, errors, stopping, lifetimeMs] = [writeFolder({}), [], new AbortController(), 3_600_000];
    aheadMs = 0;
    api.answer = (_, response) => json(response, tokenRequest(), 201);
  });
  afterEach(async () => {
    stopping.abort();
    await api.stop();
  });

  /** The token tells which request it answers. */
  function tokenRequest() {
    const expirationTimestamp = new Date(Date.now() + aheadMs + lifetimeMs).toISOString();
    const spec = { expirationSeconds: lifetimeMs / 1000 };
    return { spec, status: { token: `token-${api.calls.length}`, expirationTimestamp } };
  }

  function options(): KeepTokenOptions {
    return {
      connection: api.connection(),
      namespace: "argosy",
      account: "shop-handler",
      folder,
      signal: stopping.signal,
      onError: (error) => errors.push(error),
    };
  }

  const read = (name: string) => readFileSync(path.join(folder, name), "utf8");

  it("is written with the other files that Kubernetes' clients look for, for the pod's group to read", async () => {
    const renewAt = await writeHandlerToken(options());
    assert.equal(api.calls[0]?.path, "/api/v1/namespaces/argosy/serviceaccounts/shop-handler/token");
    assert.deepEqual(api.calls[0]?.body, {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: { expirationSeconds: 3_600 },
    });
    assert.equal(read("token"), "token-1");
    assert.equal(read("namespace"), "argosy");
    assert.equal(read("ca.crt"), api.connection().certificateAuthority);
    assert.deepEqual(readdirSync(folder).sort(), ["ca.crt", "namespace", "token"]);
    for (const name of readdirSync(folder))
      assert.equal(statSync(path.join(folder, name)).mode & 0o777, 0o440);
    const share = (renewAt - Date.now()) / lifetimeMs;
    assert.ok(share > 0.79 && share <= 0.8, String(share));
  });

  for (const hours of [-2, -1, 1])
    it(`is replaced in time, and not before, if the API server's clock is ahead of ours by ${hours} h`, async () => {
      aheadMs = hours * 3_600_000;
      const renewAt = await writeHandlerToken(options());
      const share = (renewAt - Date.now()) / lifetimeMs;
      assert.ok(share > 0.79 && share <= 0.8, String(share));
    });

  it("is replaced before its time is over, until the pod ends", async () => {
    lifetimeMs = 100;
    await keepHandlerToken(options());
    assert.equal(read("token"), "token-1");
    await eventually(() => assert.notEqual(read("token"), "token-1"));
    stopping.abort();
    const { length } = api.calls;
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    assert.equal(api.calls.length, length);
  });

  for (const [what, forMs, byMs] of [
    ["soon after its time if this machine was asleep, where timers stand still", 3_600_000, 3_600_000],
    ["in time if this machine's clock is set back", 2_000, -3_600_000],
  ] as const)
    it(`is replaced ${what}`, async () => {
      lifetimeMs = forMs;
      await keepHandlerToken({ ...options(), lookMs: 20 });
      const { now } = Date;
      mock.method(Date, "now", () => now() + byMs);
      try {
        await eventually(() => assert.equal(read("token"), "token-2"));
      } finally {
        mock.restoreAll();
      }
    });

  it("is waited for where the API server does not give it yet", async () => {
    api.answer = (_, response) =>
      api.calls.length < 2
        ? refuse(response, 403, { message: "not yet" })
        : json(response, tokenRequest(), 201);
    await keepHandlerToken(options());
    assert.equal(read("token"), "token-2");
    assert.deepEqual(
      errors.map(({ message }) => message),
      ["not yet"],
    );
  });

  it("is waited for no longer when the pod ends", async () => {
    api.answer = (_, response) => refuse(response, 403);
    const kept = keepHandlerToken(options());
    await eventually(() => assert.ok(errors.length > 0, "tried"));
    stopping.abort();
    await assert.rejects(kept, { name: "AbortError" });
    assert.deepEqual(readdirSync(folder), []);
  });
});

describe("prepareHandler", () => {
  const stopping = new AbortController();
  const logged: string[] = [];
  const pod = {
    operator: { rules: [] },
    log: (_level: string, message: string) => void logged.push(message),
    stopping: stopping.signal,
  } as unknown as Pod;
  const never = { ready: (ms: number) => Promise.reject(new Error(`not there within ${ms / 1000} s`)) };

  it("says in the end how long it has waited in all, and where to look", async () => {
    await assert.rejects(
      prepareHandler(pod, never, 45),
      /container "handler" was not there within 45 s: the pod's events show/,
    );
    assert.deepStrictEqual(logged, []);
  });

  it("says once a minute that it waits", async () => {
    let waited = 0;
    const late = { ready: (ms: number) => (++waited > 2 ? Promise.resolve() : never.ready(ms)) };
    await prepareHandler(pod, late, 270);
    assert.deepStrictEqual(logged, ["not there within 60 s", "not there within 60 s"]);
  });

  it("says in the end why the handler has no token", async () => {
    const api = await TestApiServer.start((_, response) =>
      json(response, { message: "no such account" }, 404),
    );
    const withToken = {
      ...pod,
      operator: { name: "shop", rules: [{ apiGroups: [""], resources: ["nodes"], verbs: ["get"] }] },
      environment: { namespace: "argosy" },
      settings: { root: "/nowhere" },
      connection: api.connection(),
    } as unknown as Pod;
    try {
      const there = { ready: () => Promise.resolve() };
      await assert.rejects(prepareHandler(withToken, there, 0.5), /the handler's token.*no such account/);
    } finally {
      stopping.abort();
      await api.stop();
    }
  });

  it("reports the end of the pod, not of the handler", async () => {
    stopping.abort();
    await assert.rejects(prepareHandler(pod, never, 45), { name: "AbortError" });
  });
});
