import assert from "node:assert/strict";
import type { Json, KubernetesObject } from "../../../runtime/base/objects";
import { eventually } from "../../support/eventually";
import type { Api } from "../support/api";
import { ApiProxy } from "../support/apiProxy";
import { configMap, inNamespace, namespace } from "../support/manifests";
import { type OperatorScene, type Play, withOperators } from "../support/operatorEach";
import type { TestController, TestOperator, TestOperatorOptions } from "../support/testOperator";
import { answering, becomesReady } from "../support/useOperator";

/** How long Kubernetes may take to delete a namespace. */
const DELETION = { timeoutMs: 60_000 };
/** How long the work in progress may take when a test has ended. */
const GRACE_MS = 1_000;

/** Has one child, and has not finalized as long as there is one. */
const WAITS = `
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, event, object, children } = JSON.parse(line);
  const { name } = object.metadata;
  const child = { apiVersion: "v1", kind: "ConfigMap", metadata: { name } };
  const answer = event === "finalize"
    ? { finalized: children.length === 0, requeueAfterSeconds: 1 }
    : { children: [child] };
  process.stdout.write(JSON.stringify({ id, ...answer }) + "\\n");
});
`;
const FINALIZES = operatorOf("unseen-finalizes", { finalize: true, handler: WAITS });
const ELSEWHERE = operatorOf("unseen-elsewhere");

const WATCHED = { "example.com/by": "unseen-watching" };

/** An operator of two namespaces that soon lists again what it knows. */
function operatorOf(name: string, more: Pick<TestOperatorOptions, "finalize" | "handler"> = {}) {
  const namespaces: [string, string] = [`${name}-goes`, `${name}-stays`];
  return { name, namespaces, resyncSeconds: 10, ...more };
}

const WATCHING = {
  ...operatorOf("unseen-watching"),
  watch: { apiVersion: "v1", kind: "ConfigMap", labels: WATCHED },
};

/** As the API server answers when the RoleBinding has gone with the namespace. */
const FORBIDDEN = {
  code: 403,
  body: JSON.stringify({
    kind: "Status",
    status: "Failure",
    reason: "Forbidden",
    message: 'configmaps is forbidden: User "runner" cannot list resource "configmaps" in API group ""',
    code: 403,
  }),
};

/** An operator whose engine reaches the API server through a proxy, and its two namespaces. */
interface Scene {
  readonly operator: TestOperator;
  readonly api: Api;
  readonly goes: string;
  readonly stays: string;
  /** From now on the engine sees no ConfigMap in the namespace that goes. */
  hide(engine: TestController): Promise<void>;
  /** Starts an engine behind the proxy, and makes an object. Resolves when it is ready. */
  running(spec: object, where: string): Promise<{ engine: TestController; object: KubernetesObject }>;
}

/** A test with such an operator. */
function scene(
  options: TestOperatorOptions & { namespaces: [string, string] },
  play: Play<Scene>,
): OperatorScene {
  const [goes, stays] = options.namespaces;
  return {
    options,
    play: async (operator) => {
      const { api, connection } = operator.cluster;
      const proxy = await ApiProxy.start(connection);
      try {
        await play({
          operator,
          api,
          goes,
          stays,
          hide: async ({ notices }) => {
            proxy.before = ({ method, path }) =>
              method === "GET" && path.startsWith(`/api/v1/namespaces/${goes}/configmaps?`)
                ? FORBIDDEN
                : undefined;
            const before = notices.length;
            await eventually(() =>
              assert.ok(notices.slice(before).some((notice) => /ConfigMap: .*forbidden/.test(notice))),
            );
          },
          running: async (spec, where) => {
            const engine = await operator.start({ connection: proxy.through(operator.connection) });
            const object = await api.apply(operator.object("object", spec, where));
            return { engine, object: await becomesReady(api, object) };
          },
        });
      } finally {
        // Before the proxy: an engine that cannot give its lease back waits.
        await operator.dispose(GRACE_MS);
        await proxy.stop();
      }
    },
  };
}

describe("when a namespace is deleted, and no watch sees the children in it go", function () {
  this.timeout(120_000);

  // Kubernetes takes seconds to delete a namespace, and a watch to be refused.
  withOperators({
    "an object in it whose handler waits for them goes, and the namespace with it": scene(
      FINALIZES,
      async ({ api, goes, hide, running }) => {
        const { engine, object } = await running({}, goes);
        await hide(engine);
        await api.delete(namespace(goes));
        await eventually(() => api.assertGone(object), DELETION);
        await eventually(() => api.assertGone(namespace(goes)), DELETION);
      },
    ),

    "an object of others in it is forgotten, and its child elsewhere goes": scene(
      WATCHING,
      async ({ operator, api, goes, stays }) => {
        const far = inNamespace(configMap("far"), stays);
        operator.plan("watched", { answer: { children: [far as unknown as Json] } });
        const before = await operator.start();
        const watched = inNamespace(configMap("watched", {}, { labels: WATCHED }), goes);
        const memory = operator.memoryOf(await api.apply(watched));
        await eventually(() => api.get(far));
        await eventually(async () => assert.ok((await api.get(memory))["status"]));
        await before.stop();
        await api.delete(namespace(goes));
        await eventually(() => api.assertGone(namespace(goes)), DELETION);
        await operator.start({ identity: "two" });
        await eventually(() => api.assertGone(memory));
        await api.assertGone(far);
      },
    ),

    "an object in another namespace to which they belonged goes": scene(
      ELSEWHERE,
      async ({ api, goes, stays, hide, running }) => {
        const far = inNamespace(configMap("far"), goes);
        const { engine, object } = await running(answering(far), stays);
        await hide(engine);
        await api.delete(namespace(goes));
        await eventually(() => api.assertGone(namespace(goes)), DELETION);
        await api.delete(object);
        await eventually(async () => assert.deepEqual((await api.find(object))?.["status"], undefined), {
          timeoutMs: 20_000,
        });
        await api.assertGone(object);
      },
    ),
  });
});
