import assert from "node:assert/strict";
import { connectionAs } from "../../cli/local/serviceAccountToken";
import { isApiError } from "../../runtime/kubernetes/errors";
import { json, refuse, TestApiServer } from "./support/testApiServer";

const account = { namespace: "argosy", name: "memcached-runner" };

describe("cli: the token of a service account", () => {
  let api: TestApiServer;
  let lifetimeMs: number;

  beforeEach(async () => {
    lifetimeMs = 3_600_000;
    api = await TestApiServer.start((_call, response) => {
      const spec = { expirationSeconds: lifetimeMs / 1000 };
      json(response, { spec, status: { token: `token ${api.calls.length}` } }, 201);
    });
  });
  afterEach(() => api.stop());

  it("is asked for by who may, when it is needed first, and once for all that need it at once", async () => {
    const connection = connectionAs(account, api.connection({ token: () => "admin" }));
    assert.equal(api.calls.length, 0);
    const tokens = await Promise.all([connection.token?.(), connection.token?.()]);
    assert.deepEqual(tokens, ["token 1", "token 1"]);
    assert.equal(api.calls.length, 1);
    const [call] = api.calls;
    assert.equal(call?.path, "/api/v1/namespaces/argosy/serviceaccounts/memcached-runner/token");
    assert.equal(call?.headers.authorization, "Bearer admin");
  });

  it("is asked for again before it expires", async () => {
    const connection = connectionAs(account, api.connection());
    lifetimeMs = 0;
    assert.equal(await connection.token?.(), "token 2");
    lifetimeMs = 3_600_000;
    const renewed = await connection.token?.();
    assert.equal(await connection.token?.(), renewed);
  });

  it("is asked for again where it was refused", async () => {
    const connection = connectionAs(account, api.connection());
    const { answer } = api;
    api.answer = (_call, response) => refuse(response, 403);
    await assert.rejects(
      async () => connection.token?.(),
      (error) => isApiError(error, 403),
    );
    api.answer = answer;
    assert.equal(await connection.token?.(), "token 2");
  });

  it("says what to do where the cluster does not recognize who asks for it", async () => {
    api.answer = (_call, response) => refuse(response, 401, { message: "Unauthorized" });
    const admin = api.connection();
    await assert.rejects(async () => connectionAs(account, admin).token?.(), {
      code: 401,
      message: `the cluster at ${admin.server} does not recognize the user of the kubeconfig: Unauthorized. Log in to the cluster again, or name another context with --context or --kubeconfig.`,
    });
  });

  it("takes the place of the administrator's own credentials", () => {
    const admin = api.connection({ certificate: "certificate", privateKey: "key", namespace: "shop" });
    const connection = connectionAs(account, admin);
    assert.deepEqual(
      [connection.certificate, connection.privateKey, connection.namespace, connection.server],
      [undefined, undefined, "shop", admin.server],
    );
  });
});
