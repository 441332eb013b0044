import assert from "node:assert/strict";
import type { JsonObject, Manifest } from "../../../runtime/kubernetes/objects";
import { deployment, inNamespace } from "../support/manifests";
import { answering, useOperator } from "../support/useOperator";

describe("where a default of the old content is in the way of the new one", function () {
  this.timeout(60_000);
  const bench = useOperator({
    name: "defaults-left",
    children: [
      { apiVersion: "apps/v1", kind: "Deployment", update: "recreate" },
      { apiVersion: "apps/v1", kind: "StatefulSet" },
    ],
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
