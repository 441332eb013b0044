import assert from "node:assert/strict";
import type { Pod } from "../../runtime/programs/pod";
import { prepareHandler } from "../../runtime/programs/prepareHandler";
import { json, TestApiServer } from "./support/testApiServer";

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
