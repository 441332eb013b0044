import assert from "node:assert/strict";
import { eventually } from "../../support/eventually";
import { configMap, inNamespace } from "../support/manifests";
import { customResourceDefinitionOf } from "../support/testOperator";
import { answering, conditionOf } from "../support/useOperator";
import { useOperators } from "../support/useOperators";

const MISSING = { apiVersion: "missing.example.com/v1", kind: "MissingThing", plural: "missingthings" };
const OPERATOR = {
  name: "missing-kind",
  children: [{ apiVersion: "v1", kind: "ConfigMap" }, MISSING],
};

describe("where the cluster does not serve a kind of the children", function () {
  this.timeout(90_000);
  const bench = useOperators([OPERATOR]);

  it("objects that need others are served, the others say what they wait for, until it exists", async () => {
    const { api, namespace } = bench;
    const operator = await bench.install(OPERATOR);
    await operator.start();
    const { apiVersion, kind } = MISSING;
    const thing = { apiVersion, kind, metadata: { name: "thing" }, spec: {} };
    const served = await api.apply(operator.object("served", answering(configMap("served")), namespace));
    const waits = await api.apply(operator.object("waits", answering(thing), namespace));
    await eventually(async () => {
      assert.equal(conditionOf(await api.get(served), "Ready").status, "True");
      const { status, message } = conditionOf(await api.get(waits), "Ready");
      assert.equal(status, "False");
      assert.match(message, /MissingThing/);
    });
    await api.apply(customResourceDefinitionOf({ name: "missing-thing" }));
    await bench.ready(waits);
    await api.get(inNamespace(thing, namespace));
  });
});
