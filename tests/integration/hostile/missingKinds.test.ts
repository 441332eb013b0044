import assert from "node:assert/strict";
import type { Api } from "../support/api";
import { announceKind, sharedCluster } from "../support/cluster";
import { eventually } from "../support/eventually";
import { configMap, inNamespace } from "../support/manifests";
import { customResourceDefinitionOf, TestOperator } from "../support/testOperator";
import { answering, conditionOf } from "../support/useOperator";

const MISSING = { apiVersion: "engine.example.com/v1", kind: "MissingThing", plural: "missingthings" };
const OPERATOR = {
  name: "missing-kind",
  children: [{ apiVersion: "v1", kind: "ConfigMap" }, MISSING],
};

describe("where the cluster does not serve a kind of the children", function () {
  this.timeout(90_000);
  announceKind(customResourceDefinitionOf(OPERATOR));
  let api: Api;
  let operator: TestOperator;
  let namespace: string;

  before(async function () {
    this.timeout(0);
    const cluster = await sharedCluster();
    api = cluster.api;
    operator = await TestOperator.install(cluster, OPERATOR);
    namespace = await api.newNamespace("missing");
    operator.launch({ awaitKinds: true });
  });
  after(() => operator?.dispose());

  it("objects that need others are served, the others say what they wait for, until it is there", async () => {
    const { apiVersion, kind } = MISSING;
    const thing = { apiVersion, kind, metadata: { name: "thing" }, spec: {} };
    const served = await api.apply(operator.object("served", answering(configMap("served")), namespace));
    const waits = await api.apply(operator.object("waits", answering(thing), namespace));
    await eventually(
      async () => {
        assert.equal(conditionOf(await api.get(served), "Ready").status, "True");
        const { status, message } = conditionOf(await api.get(waits), "Ready");
        assert.equal(status, "False");
        assert.match(message, /MissingThing/);
      },
      { timeoutMs: 15_000 },
    );
    await api.apply(customResourceDefinitionOf({ name: "missing-thing" }));
    await eventually(async () => assert.equal(conditionOf(await api.get(waits), "Ready").status, "True"));
    await api.get(inNamespace(thing, namespace));
  });
});
