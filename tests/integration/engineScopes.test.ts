import assert from "node:assert/strict";
import type { PolicyRule } from "../../runtime/operator/definition";
import { always, eventually } from "../support/eventually";
import { CLUSTER_ROLE_GRANTS, clusterRole, configMap, inNamespace } from "./support/manifests";
import { answering, UNTOUCHED, useOperator } from "./support/useOperator";

describe("the engine of an operator with a list of namespaces", function () {
  this.timeout(60_000);
  const namespaces = ["scope-test-one", "scope-test-two"];
  const bench = useOperator({ name: "scope-test", namespaces });

  it("needs no right outside of them but to its own kind, reads no other Namespace, and handles the objects of each", async () => {
    for (const namespace of namespaces) {
      const object = await bench.applyObject("inside", answering(configMap("inside")), namespace);
      await bench.ready(object);
      const child = inNamespace(configMap("inside"), namespace);
      await bench.api.delete(child);
      await eventually(() => bench.api.get(child));
    }
    const roles = (
      await bench.api.list({ apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole" })
    ).filter(({ metadata }) => metadata.name.includes("scope-test"));
    const { plural } = bench.operator.operator.customResource;
    const rules = roles.flatMap((role) => role["rules"] as PolicyRule[]);
    const resources = rules.flatMap((rule) => rule.resources);
    assert.deepEqual(resources, [plural, `${plural}/status`, `${plural}/finalizers`, "namespaces"]);
    const ofNamespaces = rules.find((rule) => rule.resources?.includes("namespaces"));
    assert.deepEqual([ofNamespaces?.verbs, ofNamespaces?.resourceNames], [["get"], namespaces]);
  });

  it("leaves objects elsewhere alone", async () => {
    const object = await bench.applyObject("outside", answering(configMap("outside")));
    await always(async () => assert.deepEqual((await bench.api.get(object))["status"], UNTOUCHED));
    assert.deepEqual(bench.operator.calls("outside"), []);
  });
});

describe("the engine of an operator whose custom resource is cluster-scoped", function () {
  this.timeout(60_000);
  const bench = useOperator({
    name: "global-test",
    scope: "Cluster",
    children: ["v1/ConfigMap", "rbac.authorization.k8s.io/v1/ClusterRole"],
    grants: CLUSTER_ROLE_GRANTS,
  });
  const applyGlobal = (name: string, ...children: object[]) =>
    bench.api.apply(bench.operator.object(name, answering(...children)));

  it("owns children with and without a namespace by reference, heals them, and prunes them", async () => {
    const children = [inNamespace(configMap("global"), bench.namespace), clusterRole(bench.namespace)];
    const object = await bench.ready(await applyGlobal("owner", ...children));
    assert.deepEqual(object.metadata.finalizers ?? [], []);
    for (const child of children) {
      const { uid, ownerReferences } = (await bench.api.get(child)).metadata;
      assert.equal(ownerReferences?.[0]?.uid, object.metadata.uid);
      await bench.api.delete(child);
      await eventually(async () => assert.notEqual((await bench.api.get(child)).metadata.uid, uid));
    }
    await bench.ready(await applyGlobal("owner"));
    for (const child of children) await bench.api.assertGone(child);
  });
});
