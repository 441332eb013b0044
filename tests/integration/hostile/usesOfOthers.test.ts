import assert from "node:assert/strict";
import { KubernetesClient } from "../../../runtime/kubernetes/client";
import { builtIn } from "../../../runtime/kubernetes/discovery";
import { always, eventually } from "../../support/eventually";
import { configMap, inNamespace } from "../support/manifests";
import { answering, useOperator } from "../support/useOperator";
import { useOperators } from "../support/useOperators";

describe("one object that many use", function () {
  this.timeout(180_000);
  const bench = useOperator({
    name: "use-storm",
    uses: { shared: { apiVersion: "v1", kind: "ConfigMap", name: "spec.settings" } },
  });

  it("is read once for all of them when it changes, and wakes each", async () => {
    const names = Array.from({ length: 40 }, (_, index) => `user-${index}`);
    const settings = (value: string) => inNamespace(configMap("settings", { value }), bench.namespace);
    await bench.api.apply(settings("one"));
    for (const name of names)
      await bench.applyObject(name, { ...answering(), settings: "settings" } as never);
    const value = (name: string) =>
      (bench.operator.calls(name).at(-1)?.used["shared"] as { data?: { value: string } } | null)?.data?.value;
    // The first that is missing is enough: to look at all of them takes time from the engine, which is in this process.
    const all = (expected: string) =>
      eventually(
        () =>
          assert.equal(
            names.find((name) => value(name) !== expected),
            undefined,
          ),
        { timeoutMs: 240_000, pollMs: 200 },
      );
    await all("one");
    await bench.idle();
    const reads = () => bench.engine.metric("argosy_api_requests_total", { method: "GET" });
    const before = await reads();
    await bench.api.apply(settings("two"));
    await all("two");
    const more = (await reads()) - before;
    assert.ok(more <= 5, `${more} reads`);
  });
});

const REFUSED = {
  name: "use-refused",
  children: [],
  finalize: true,
  uses: { settings: { apiVersion: "v1", kind: "ConfigMap", name: "'refused'", namespace: "default" } },
};

describe("an operator without rights to what its objects use", function () {
  this.timeout(90_000);
  const bench = useOperators([REFUSED]);

  it("says so and asks no handler, goes on when it may, and finalizes without", async () => {
    const { api, namespace } = bench;
    const operator = await bench.install(REFUSED);
    const role = {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "Role",
      metadata: { name: "argosy.use-refused-runner-used", namespace: "default" },
    };
    const { rules } = await api.get(role);
    assert.deepEqual(rules, [
      {
        apiGroups: [""],
        resources: ["configmaps"],
        verbs: ["get", "list", "watch"],
        resourceNames: ["refused"],
      },
    ]);
    await api.patch(role, { rules: [] });
    const client = new KubernetesClient(operator.connection);
    const selection = { namespace: "default", fieldSelector: "metadata.name=refused" };
    await eventually(() => assert.rejects(client.list(builtIn("v1", "ConfigMap"), selection, () => {})));
    client.close();
    operator.launch();
    const [object, gone] = await Promise.all(
      ["waits", "goes"].map((name) => api.apply(operator.object(name, answering(), namespace))),
    );
    assert.ok(object && gone);
    const failure = await eventually(async () => {
      const status = (await api.get(object))["status"] as {
        conditions?: { reason: string; message: string }[];
      };
      const found = status?.conditions?.find(({ reason }) => reason === "UsedNotReadable");
      assert.ok(found);
      return found;
    });
    assert.match(failure.message, /uses\.settings: the runner may not read ConfigMap: .*forbidden/);
    assert.deepEqual(operator.calls("waits"), []);
    await api.delete(gone);
    await eventually(() => api.assertGone(gone));
    assert.deepEqual(
      operator.calls("goes").map(({ event, used }) => [event, used]),
      [["finalize", { settings: null }]],
    );
    await api.patch(role, { rules: rules as never });
    await bench.ready(object, { timeoutMs: 150_000 });
    await always(() => assert.ok(operator.calls("waits").length > 0));
  });
});
