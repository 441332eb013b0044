import assert from "node:assert/strict";
import path from "node:path";
import { ChildProcessTransport } from "../../cli/handler/childProcessTransport";
import { handlerEnvironment } from "../../cli/handler/handlerEnvironment";
import { installOperator } from "../../cli/local/installOperator";
import { ObservedTransport } from "../../cli/local/observedTransport";
import { connectionAs } from "../../cli/local/serviceAccountToken";
import { displayPath } from "../../definition/problems";
import type { Manifest } from "../../runtime/base/objects";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import { ApiError, isApiError } from "../../runtime/kubernetes/errors";
import { loadDefinition, widgetCrd, widgetDefinition, writeFolder } from "./operatorFolder";
import { json, refuse, useApiServer } from "./support/testApiServer";

describe("cli: a handler's environment", () => {
  let folder: string;
  before(() => {
    folder = writeFolder({ "crd.yaml": widgetCrd(), "main.py": "" });
  });

  const definition = {
    ...widgetDefinition,
    name: "widget",
    env: { REGION: "north" },
    secretEnv: { TOKEN: { secret: "shop", key: "token" } },
  };

  it("has the definition's variables, and for a Secret's the author's own of that name", () => {
    const operator = loadDefinition(folder, definition);
    assert.deepEqual(handlerEnvironment(operator, { TOKEN: "t", OTHER: "o" }), {
      REGION: "north",
      TOKEN: "t",
    });
  });

  it("is refused where one is not set, by the variable's name", () => {
    const operator = loadDefinition(folder, definition);
    assert.throws(() => handlerEnvironment(operator, {}), {
      name: "OperatorError",
      message: /secretEnv\.TOKEN comes from key token of Secret shop.*Export TOKEN/,
    });
  });
});

describe("cli: what a handler writes between requests", () => {
  it("is printed, and what it writes during a request is left to the report", async () => {
    const stray: string[] = [];
    const command = [
      "sh",
      "-c",
      'read line; echo during >&2; sleep 0.1; echo "{}"; read end; echo after >&2',
    ];
    const transport = new ObservedTransport(
      new ChildProcessTransport({ command, folder: "/", env: {} }),
      (text) => stray.push(text),
    );
    const logged: string[] = [];
    await new Promise<void>((resolve) => {
      const handler = transport.start({
        // It writes the second line when its input ends, so not before the answer has been seen.
        output: () => handler.end(),
        log: (chunk) => void logged.push(chunk.toString()),
        exited: () => resolve(),
      });
      handler.write("{}\n");
    });
    assert.deepEqual(logged, ["during\n", "after\n"]);
    assert.deepEqual(stray, ["after\n"]);
  });
});

const account = { namespace: "argosy", name: "memcached-runner" };

describe("cli: the token of a service account", () => {
  let lifetimeMs: number;
  const api = useApiServer((_call, response) => {
    const spec = { expirationSeconds: lifetimeMs / 1000 };
    json(response, { spec, status: { token: `token ${api.calls.length}` } }, 201);
  });
  beforeEach(() => {
    lifetimeMs = 3_600_000;
  });

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

describe("the installation of an operator", () => {
  const root = writeFolder({ "widget/crd.yaml": widgetCrd(), "widget/main.py": "" });
  const folder = path.join(root, "widget");
  const CRD = "CustomResourceDefinition widgets.shop.example.com";

  /** Why it fails in a cluster that refuses the CRD with an error, if any, and has the CRD like this. */
  async function complaint(refusal: ApiError | undefined, crd: object = {}): Promise<string> {
    const client = {
      apply: async (_: unknown, { kind }: Manifest) => {
        if (refusal && kind === "CustomResourceDefinition") throw refusal;
      },
      get: async () => crd,
    } as unknown as KubernetesClient;
    const operator = loadDefinition(folder, widgetDefinition);
    return installOperator({ client, operator, namespace: "argosy" }).then(
      () => assert.fail("it is installed"),
      ({ message }: Error) => message,
    );
  }

  for (const [code, what] of [
    [409, "the object has been modified"],
    [422, "is invalid"],
    [500, "has an unknown field"],
  ] as const) {
    it(`names the folder of a CRD that the API server refuses with ${code}`, async () => {
      assert.equal(
        await complaint(new ApiError(code, { message: what }, "PATCH")),
        `${displayPath(folder)}: the API server refused the CRD widgets.shop.example.com: ${what}`,
      );
    });
  }

  it("says of a CRD that a stack deployed how an edit of it is applied, and not how to take it over", async () => {
    const message = 'Apply failed with 1 conflict: conflict with "them"';
    const details = { causes: [{ reason: "FieldManagerConflict" }] };
    const conflict = new ApiError(409, { message, details }, "PATCH");
    const crdWith = (annotations: object) => ({ metadata: { annotations } });
    assert.equal(
      await complaint(conflict, crdWith({ "argosy.dev/program": "acme/shop/prod" })),
      `${CRD} belongs to the Pulumi stack acme/shop/prod, and this working tree changes it. ` +
        "Apply the change with pulumi up, or try it on the embedded control plane, with argosy dev without --context. " +
        message,
    );
    assert.match(
      await complaint(conflict, crdWith({})),
      /was created by others\. Use another cluster\. .*patchForce/,
    );
  });

  it("names the folder of a CRD of which another one has a name, and what to do", async () => {
    const message = '"WidgetList" is already in use';
    const taken = { status: { conditions: [{ type: "NamesAccepted", status: "False", message }] } };
    const said = await complaint(undefined, taken);
    assert.ok(said.startsWith(`${displayPath(folder)}: the cluster does not accept the names`), said);
    assert.match(said, /"WidgetList" is already in use\. Another CRD of the same group has this name: give/);
  });
});
