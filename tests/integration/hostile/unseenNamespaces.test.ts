import assert from "node:assert/strict";
import type { Json, Manifest } from "../../../runtime/kubernetes/objects";
import { eventually } from "../../support/eventually";
import { ApiProxy } from "../support/apiProxy";
import { sharedCluster } from "../support/cluster";
import { configMap, inNamespace, namespace } from "../support/manifests";
import type { TestController, TestOperatorOptions } from "../support/testOperator";
import { answering } from "../support/useOperator";
import { useOperators } from "../support/useOperators";

/** How long Kubernetes may take to delete a namespace. */
const DELETION = { timeoutMs: 60_000 };

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

describe("when a namespace is deleted, and nobody sees the children in it go", function () {
  this.timeout(120_000);
  const bench = useOperators([FINALIZES, ELSEWHERE], { graceMs: 1_000 });
  let proxy: ApiProxy;
  beforeEach(async () => {
    proxy = await ApiProxy.start((await sharedCluster()).connection);
  });
  afterEach(() => proxy.stop());

  /** From now on no ConfigMap of this namespace is seen. */
  async function hide(where: string, { notices }: TestController): Promise<void> {
    proxy.before = ({ method, path }) =>
      method === "GET" && path.startsWith(`/api/v1/namespaces/${where}/configmaps?`) ? FORBIDDEN : undefined;
    const before = notices.length;
    await eventually(
      () => assert.ok(notices.slice(before).some((notice) => /ConfigMap: .*forbidden/.test(notice))),
      { timeoutMs: 30_000 },
    );
  }

  async function running(options: TestOperatorOptions, spec: object, where: string) {
    const operator = await bench.install(options);
    const engine = await operator.start({ connection: proxy.through(operator.connection) });
    const manifest: Manifest = operator.object("object", spec, where);
    return { engine, object: await bench.ready(await bench.api.apply(manifest)) };
  }

  it("an object in it whose handler waits for them goes, and the namespace with it", async () => {
    const [goes] = FINALIZES.namespaces;
    const { engine, object } = await running(FINALIZES, {}, goes);
    await hide(goes, engine);
    await bench.api.delete(namespace(goes));
    await eventually(() => bench.api.assertGone(object), DELETION);
    await eventually(() => bench.api.assertGone(namespace(goes)), DELETION);
  });

  it("an object of others in it is forgotten, and its child elsewhere goes", async () => {
    const [goes, stays] = WATCHING.namespaces;
    const operator = await bench.install(WATCHING);
    const far = inNamespace(configMap("far"), stays);
    operator.plan("watched", { answer: { children: [far as unknown as Json] } });
    const before = await operator.start();
    const watched = inNamespace(configMap("watched", {}, { labels: WATCHED }), goes);
    const memory = operator.memoryOf(await bench.api.apply(watched));
    await eventually(() => bench.api.get(far));
    await eventually(async () => assert.ok((await bench.api.get(memory))["conditions"]));
    await before.stop();
    await bench.api.delete(namespace(goes));
    await eventually(() => bench.api.assertGone(namespace(goes)), DELETION);
    await operator.start({ identity: "two" });
    await eventually(() => bench.api.assertGone(memory));
    await bench.api.assertGone(far);
  });

  it("an object in another namespace to which they belonged goes", async () => {
    const [goes, stays] = ELSEWHERE.namespaces;
    const far = inNamespace(configMap("far"), goes);
    const { engine, object } = await running(ELSEWHERE, answering(far), stays);
    await hide(goes, engine);
    await bench.api.delete(namespace(goes));
    await eventually(() => bench.api.assertGone(namespace(goes)), DELETION);
    await bench.api.delete(object);
    await eventually(async () => assert.deepEqual((await bench.api.find(object))?.["status"], undefined), {
      timeoutMs: 20_000,
    });
    await bench.api.assertGone(object);
  });
});
