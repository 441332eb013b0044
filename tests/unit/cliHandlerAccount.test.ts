import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { addressOf, type HandlerAccount, openHandlerAccount } from "../../cli/handler/handlerAccount";
import { connectionFromKubeconfig } from "../../preflight/kubeconfig";
import type { Operator } from "../../runtime/operator/definition";
import { eventually } from "../support/eventually";
import { json, refuse, useApiServer } from "./support/testApiServer";

const RULES = [{ apiGroups: ["apps"], resources: ["deployments"], verbs: ["get"] }];

describe("cli: the account of a handler with rules", () => {
  let account: HandlerAccount | undefined;
  let lifetimeMs: number;
  let renewed: number;
  let notices: string[];
  const api = useApiServer((_call, response) => {
    const spec = { expirationSeconds: lifetimeMs / 1000 };
    json(response, { spec, status: { token: `token-${api.calls.length}` } }, 201);
  });
  beforeEach(() => {
    [lifetimeMs, renewed, notices, account] = [3_600_000, 0, [], undefined];
  });
  afterEach(() => account?.close());

  const opened = async (rules = RULES, runner = api.connection(), signal?: AbortSignal) => {
    account = await openHandlerAccount({
      operator: { name: "cache", rules } as unknown as Operator,
      ...{ runner, namespace: "argosy", ...(signal && { signal }) },
      onRenewed: () => {
        renewed += 1;
      },
      onNotice: (notice) => notices.push(notice),
    });
    return account;
  };
  const open = async (runner?: ReturnType<typeof api.connection>) =>
    (await opened(RULES, runner)) ?? assert.fail("there is none");

  it("is the handler's own, in files that no other user may read, next to a kubeconfig", async () => {
    const { folder, env } = await open();
    assert.equal(api.calls[0]?.path, "/api/v1/namespaces/argosy/serviceaccounts/cache-handler/token");
    assert.deepEqual(readdirSync(folder).sort(), ["ca.crt", "kubeconfig", "namespace", "token"]);
    assert.equal(statSync(folder).mode & 0o777, 0o700);
    for (const name of readdirSync(folder))
      assert.equal(statSync(path.join(folder, name)).mode & 0o777, 0o600, name);
    const { hostname, port } = new URL(api.connection().server);
    assert.deepEqual(env, {
      ARGOSY_SERVICE_ACCOUNT: folder,
      KUBECONFIG: path.join(folder, "kubeconfig"),
      KUBERNETES_SERVICE_HOST: hostname,
      KUBERNETES_SERVICE_PORT: port,
    });
  });

  it("carries over how the server is to be trusted", async () => {
    const lax = api.connection({ skipVerification: true, serverName: "api.example.com" });
    const found = await connectionFromKubeconfig((await open(lax)).env.KUBECONFIG);
    assert.deepEqual([found.skipVerification, found.serverName], [true, "api.example.com"]);
  });

  it("is renewed in all its files before it ends, and says so", async () => {
    lifetimeMs = 100;
    const { folder, env } = await open();
    assert.equal(renewed, 0);
    await eventually(() => assert.ok(renewed > 0));
    lifetimeMs = 3_600_000;
    await eventually(async () => {
      const token = readFileSync(path.join(folder, "token"), "utf8");
      assert.notEqual(token, "token-1");
      assert.equal(await (await connectionFromKubeconfig(env.KUBECONFIG)).token?.(), token);
    });
  });

  it("says why a token is not given, and asks again", async () => {
    const { answer } = api;
    api.answer = (call, response) =>
      api.calls.length < 2 ? refuse(response, 403, { message: "not yet" }) : answer(call, response);
    await open();
    assert.deepEqual(notices, ["the handler's token: not yet"]);
  });

  it("is gone when it is closed, and when the wait for it is given up", async () => {
    const { folder } = await open();
    await account?.close();
    assert.ok(!existsSync(folder));
    const abort = new AbortController();
    api.answer = (_call, response) => {
      refuse(response, 403);
      abort.abort(new Error("Ctrl-C"));
    };
    await assert.rejects(opened(RULES, undefined, abort.signal), /Ctrl-C/);
  });

  it("is none without rules, and nothing is asked for", async () => {
    assert.equal(await opened([]), undefined);
    assert.equal(api.calls.length, 0);
  });
});

describe("cli: the address of an API server as a pod has it", () => {
  it("is host and port, as far as these can say it", () => {
    const of = (server: string) => Object.values(addressOf(server));
    assert.deepEqual(of("https://127.0.0.1:6443"), ["127.0.0.1", "6443"]);
    assert.deepEqual(of("https://api.example.com"), ["api.example.com", "443"]);
    assert.deepEqual(of("https://[fd00::1]:6443/"), ["fd00::1", "6443"]);
    assert.deepEqual(of("https://rancher.example.com/k8s/clusters/c-1"), []);
    assert.deepEqual(of("http://127.0.0.1:8001"), []);
  });
});
