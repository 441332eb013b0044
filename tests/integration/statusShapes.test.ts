import assert from "node:assert/strict";
import { buildCustomResourceDefinition } from "../../components/manifests/customResourceDefinition";
import { ReconcileFailure } from "../../runtime/base/failure";
import {
  type Condition,
  conditionsIn,
  type JsonObject,
  type KubernetesObject,
  type Manifest,
} from "../../runtime/base/objects";
import type { Operator } from "../../runtime/operator/definition";
import type { StatusChange } from "../../runtime/remember/composeStatus";
import { StatusWriter } from "../../runtime/remember/statusMemories";
import { widgetCrd, widgetVersion } from "../unit/operatorFolder";
import { STATUS_SHAPES } from "../unit/support/statusShapes";
import { announceKind, sharedCluster } from "./support/cluster";

/** The CRD of a shape, as its author has it, as it is installed, and its kind. */
function kindOf(statusSchema: JsonObject | undefined, index: number) {
  const [group, kind, plural] = ["shapes.example.com", `Shape${index}`, `shape${index}s`];
  const version = widgetVersion({}, statusSchema && { status: statusSchema });
  const names = { kind, plural, singular: kind.toLowerCase() };
  const crd = widgetCrd({ group, names, versions: [version] }, { metadata: { name: `${plural}.${group}` } });
  const customResource = { group, version: "v1", kind, plural, namespaced: true };
  const resource = { apiVersion: `${group}/v1`, kind, plural, namespaced: true };
  return {
    resource,
    manifest: buildCustomResourceDefinition({ crd, customResource } as unknown as Operator),
  };
}

describe("a status is written whatever shape its CRD gives it:", function () {
  this.timeout(60_000);
  before(async function () {
    this.timeout(0);
    await sharedCluster();
  });

  for (const [index, [shape, schema]] of Object.entries(STATUS_SHAPES).entries()) {
    const { resource, manifest } = kindOf(schema, index);
    announceKind(manifest);

    it(shape, async () => {
      const { api } = await sharedCluster();
      const namespace = await api.newNamespace("shape");
      const { apiVersion, kind } = resource;
      const created: Manifest = { apiVersion, kind, metadata: { name: "a", namespace } };
      let object = await api.apply(created);
      // Before a runner has looked at it: kstatus would take it for current without that.
      assert.deepEqual((await api.get(object))["status"], { observedGeneration: 0 });
      const writer = new StatusWriter({ resource, fieldManager: "argosy/argosy.shape", schema });
      const write = async (change: StatusChange) => {
        object = (await writer.write(api.client, object, change)) as KubernetesObject;
        const there = await api.get(object);
        assert.equal(await writer.write(api.client, there, change), there, "it is written again");
        return object["status"] as JsonObject;
      };
      const statusOf = (type: string) =>
        conditionsIn(object["status"]).find((each: Condition) => each.type === type)?.status;
      const failure = new ReconcileFailure("HandlerError", "not yet");
      const verdict = (kind: "ready" | "failed") =>
        ({ verdict: { verdict: kind === "ready" ? { kind } : { kind, failure }, generation: 1 } }) as const;

      // Before the handler has answered at all.
      await write({ memory: { kinds: ["v1/ConfigMap"] } });
      await write(verdict("failed"));
      assert.deepEqual([statusOf("Ready"), statusOf("Stalled")], ["False", "False"]);
      const mine = { type: "Mine", status: "True", reason: "Because", message: "" } as const;
      const answered = await write({
        fields: { phase: "Up", note: null },
        conditions: { statements: [mine], generation: 1 },
        ...verdict("ready"),
      });
      assert.deepEqual([answered.phase, answered.observedGeneration], ["Up", 1]);
      assert.deepEqual([statusOf("Ready"), statusOf("Mine")], ["True", "True"]);
      // A verdict that is written alone leaves the handler's own conditions as they are.
      await write(verdict("failed"));
      assert.deepEqual([statusOf("Ready"), statusOf("Mine")], ["False", "True"]);
      await write({ fields: {}, conditions: { statements: [], generation: 1 }, ...verdict("ready") });
      assert.deepEqual([statusOf("Ready"), statusOf("Mine")], ["True", undefined]);
      assert.deepEqual((object["status"] as JsonObject).argosy, { kinds: ["v1/ConfigMap"] });
    });
  }
});
