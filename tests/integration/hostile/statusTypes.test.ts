import assert from "node:assert/strict";
import type { Json, JsonObject } from "../../../runtime/base/objects";
import { eventually } from "../../support/eventually";
import { announceKind, sharedCluster } from "../support/cluster";
import { configMap, inNamespace } from "../support/manifests";
import { customResourceDefinitionOf, type ObjectPlan, TestOperator } from "../support/testOperator";
import { conditionOf, statusOf } from "../support/useOperator";

const NAME = "retyped";

/** The operator, with a status whose field has this type. */
const withType = (type: JsonObject) => ({
  name: NAME,
  statusSchema: { type: "object", properties: { size: type, kept: { type: "string" } } } as JsonObject,
});
const answered = (status: JsonObject): ObjectPlan => ({
  answer: { children: [configMap("child") as unknown as Json], status },
});

describe("when an author changes the type of a field of the status", function () {
  this.timeout(60_000);
  const before = withType({ type: "string" });
  announceKind(customResourceDefinitionOf(before));

  it("objects with values of the former type get a status of the new one, and conditions", async () => {
    const cluster = await sharedCluster();
    const { api } = cluster;
    const namespace = await api.newNamespace(NAME);
    const former = await TestOperator.install(cluster, before);
    const { stop } = await former.start();
    const object = await api.apply(former.object("object", answered({ size: "big", kept: "1" }), namespace));
    await eventually(async () => assert.equal(statusOf(await api.get(object))["size"], "big"));
    await eventually(async () => assert.equal(conditionOf(await api.get(object), "Ready").status, "True"));
    await stop();

    const operator = await TestOperator.install(cluster, withType({ type: "integer" }));
    try {
      // No server-side apply: the API server refuses every one to an object that does not fit its schema.
      await api.patch(object, { spec: { answer: { status: { size: 5, kept: null } } } });
      await operator.start({ identity: "two" });
      await eventually(async () => {
        const now = await api.get(object);
        const { size, kept, observedGeneration } = statusOf(now);
        assert.deepEqual([size, kept, observedGeneration], [5, undefined, now.metadata.generation]);
        assert.equal(conditionOf(now, "Ready").observedGeneration, now.metadata.generation);
      });
    } finally {
      await Promise.all([operator.dispose(), former.dispose()]);
    }
  });

  for (const [name, place, value] of [
    ["retyped-status", "status", { size: "big" }],
    ["retyped-spec", "spec", { size: "big" }],
  ] as const) {
    it(`an object with a value of the former type in its ${place} gets its finalizer before the handler is asked`, async () => {
      const cluster = await sharedCluster();
      const { api } = cluster;
      const namespace = await api.newNamespace(name);
      const definition = (type: string, finalize: boolean) => ({
        ...{ name, finalize },
        [`${place}Schema`]: {
          type: "object",
          properties: { size: { type } },
          "x-kubernetes-preserve-unknown-fields": true,
        },
      });
      const former = await TestOperator.install(cluster, definition("string", false));
      const plan = answered({});
      const spec = place === "spec" ? { ...plan, ...value } : plan;
      const object = await api.apply(former.object("object", spec, namespace));
      const { plural } = former.operator.customResource;
      const resource = { apiVersion: object.apiVersion, kind: object.kind, plural, namespaced: true };
      if (place === "status")
        await api.client.mergePatch(resource, object.metadata, { status: value }, "status");
      const operator = await TestOperator.install(cluster, definition("integer", true));
      const { apiVersion, kind, metadata } = object;
      const bare = { apiVersion, kind, metadata: { name: metadata.name, namespace } };
      await eventually(() => assert.rejects(api.apply(bare, "other-client"), /failed to create/));
      try {
        await operator.start();
        const asked = await eventually(() => {
          const [first] = operator.calls("object");
          assert.ok(first);
          return first;
        });
        assert.deepEqual(asked.object.metadata.finalizers, [operator.finalizer]);
        await eventually(() => api.get(inNamespace(configMap("child"), namespace)));
        if (place === "spec")
          await eventually(async () => {
            const events = await api.list({ apiVersion: "events.k8s.io/v1", kind: "Event" }, namespace);
            const refusal = events.find(({ reason }) => reason === "StatusRefused");
            assert.match(String(refusal?.["note"]), /\.spec\.size: expected/);
          });
        await api.delete(object);
        await eventually(() => api.assertGone(object));
        assert.equal(operator.calls("object").at(-1)?.event, "finalize");
      } finally {
        await Promise.all([operator.dispose(), former.dispose()]);
      }
    });
  }
});
