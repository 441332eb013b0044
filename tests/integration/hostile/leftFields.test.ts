import assert from "node:assert/strict";
import type { JsonObject, Manifest } from "../../../runtime/base/objects";
import { deployment, inNamespace } from "../support/manifests";
import { answering, useOperator } from "../support/useOperator";

describe("where a default of the old content is in the way of the new one", function () {
  this.timeout(60_000);
  const bench = useOperator({
    name: "defaults-left",
    children: [{ apiVersion: "apps/v1", kind: "Deployment", update: "recreate" }, "apps/v1/StatefulSet"],
  });
  const there = (manifest: Manifest) => bench.api.get(inNamespace(manifest, bench.namespace));
  const strategyOf = async (manifest: Manifest) =>
    ((await there(manifest))["spec"] as JsonObject)["strategy"];
  const none = { replicas: 0 };

  for (const [what, name, strategy] of [
    ["says nothing of it", "left-out", { type: "Recreate" }],
    ["answers null for it", "null", { type: "Recreate", rollingUpdate: null }],
  ] as const)
    it(`a Deployment gets another strategy if the handler ${what}, and is neither deleted nor given a default back`, async () => {
      const child = (spec: JsonObject = {}) => deployment(name, { ...none, ...spec });
      await bench.applied(name, answering(child()));
      const { uid } = (await there(child())).metadata;
      await bench.applied(name, answering(child({ strategy })));
      assert.deepEqual(await strategyOf(child()), { type: "Recreate" });
      await bench.applied(name, answering(child({ strategy: { type: "RollingUpdate" } })));
      assert.equal((await there(child())).metadata.uid, uid);
    });

  it("a StatefulSet gets another update strategy", async () => {
    const child = (spec: JsonObject = {}): Manifest => {
      const stateful = deployment("stateful", { ...none, serviceName: "stateful", ...spec });
      return { ...stateful, kind: "StatefulSet" };
    };
    await bench.applied("stateful", answering(child()));
    await bench.applied("stateful", answering(child({ updateStrategy: { type: "OnDelete" } })));
    const { spec } = (await there(child())) as unknown as { spec: JsonObject };
    assert.deepEqual(spec["updateStrategy"], { type: "OnDelete" });
  });
});

describe("a field that stays in a child although the handler no longer returns it", function () {
  this.timeout(60_000);
  for (const [update, becomes] of [
    ["apply", "refused"],
    ["recreate", "created again"],
  ] as const)
    describe(`where the kind has update: ${update}`, () => {
      const bench = useOperator({
        name: `staying-${update}`,
        children: [
          { apiVersion: "apps/v1", kind: "Deployment", update },
          { apiVersion: "v1", kind: "Service", update },
        ],
      });
      const there = (manifest: Manifest) => bench.api.get(inNamespace(manifest, bench.namespace));
      const specOf = async (manifest: Manifest) => (await there(manifest))["spec"] as JsonObject;

      it("is taken away together with its twin, even if a default is in the way: pods lose an account", async () => {
        const child = (pods: JsonObject): Manifest => {
          const whole = deployment("account", { replicas: 0 });
          const { template, ...rest } = whole["spec"] as { template: { spec: JsonObject } };
          const strategy = { type: "serviceAccountName" in pods ? "RollingUpdate" : "Recreate" };
          const spec = { ...rest, strategy, template: { ...template, spec: { ...template.spec, ...pods } } };
          return { ...whole, spec };
        };
        await bench.applied("account", answering(child({ serviceAccountName: "admin" })));
        const { uid } = (await there(child({}))).metadata;
        await bench.applied("account", answering(child({})));
        const { template } = (await specOf(child({}))) as { template: { spec: JsonObject } };
        const { serviceAccountName, serviceAccount } = template.spec;
        assert.deepEqual([serviceAccountName, serviceAccount], [undefined, undefined]);
        assert.equal((await there(child({}))).metadata.uid, uid);
      });

      it(`or the child is ${becomes}, if the API server does not let it go`, async () => {
        const child = (spec: JsonObject): Manifest => ({
          apiVersion: "v1",
          kind: "Service",
          metadata: { name: "headless" },
          spec: { selector: { app: "a" }, ...spec },
        });
        const ports = (port: number) => [{ port }];
        const before = child({ clusterIP: "None", ports: ports(80) });
        const object = await bench.applied("headless", answering(before));
        const { uid } = (await there(before)).metadata;
        const wanted = answering(child({ ports: ports(81) }));
        if (update === "recreate") {
          await bench.applied("headless", wanted);
          assert.notEqual((await specOf(before))["clusterIP"], "None");
          assert.notEqual((await there(before)).metadata.uid, uid);
          return;
        }
        const changed = await bench.applyObject("headless", wanted);
        const said =
          /it keeps spec\.clusterIP, which the handler no longer returns.* Declare update: recreate/;
        assert.match((await bench.failed(changed, "ChildRefused")).message, said);
        await bench.reconcileAgain(object);
        assert.match((await bench.failed(changed, "ChildRefused")).message, said);
        const [port] = (await specOf(before))["ports"] as JsonObject[];
        assert.equal(port?.["port"], 80, "only a part was applied");
        await bench.applied("headless", answering(child({ clusterIP: "None", ports: ports(81) })));
        assert.equal((await there(before)).metadata.uid, uid);
      });
    });
});
