import assert from "node:assert/strict";
import { fieldsLeftOut, withDefaults } from "../../runtime/children/leftDefaults";
import { ApiError } from "../../runtime/kubernetes/errors";
import type { JsonObject, KubernetesObject, Manifest } from "../../runtime/kubernetes/objects";

const MANAGER = "argosy/argosy.shop";
const FIELD = "spec.strategy.rollingUpdate";
const ROLLING = { maxSurge: "25%" };

function refusal(...fields: (string | undefined)[]): ApiError {
  const causes = fields.map((field) => ({
    reason: "FieldValueForbidden",
    ...(field !== undefined && { field }),
  }));
  return new ApiError(422, { details: { causes } }, "PATCH");
}
const answered = (strategy: object): Manifest => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web" },
  spec: { strategy },
});

/** A Deployment of which we own the labels and the number of replicas. @param theirs the fields that somebody else owns */
function deployment(theirs: JsonObject = {}, apiVersion = "apps/v1"): KubernetesObject {
  const fieldsV1 = { "f:metadata": { "f:labels": { "f:a": {} } }, "f:spec": { "f:replicas": {} } };
  const managedFields = [
    { manager: MANAGER, operation: "Apply" as const, apiVersion, fieldsV1 },
    { manager: "kubectl", operation: "Update" as const, apiVersion, fieldsV1: theirs },
  ];
  const metadata = {
    name: "web",
    namespace: "shop",
    uid: "u",
    resourceVersion: "7",
    labels: { a: "1", b: "2" },
    managedFields,
  };
  const spec = { replicas: 2, paused: true, strategy: { type: "RollingUpdate", rollingUpdate: ROLLING } };
  return { apiVersion: "apps/v1", kind: "Deployment", metadata, spec };
}

describe("a refusal about what a manifest leaves out", () => {
  it("names fields of maps that the manifest does not have, or has as null", () => {
    for (const strategy of [{ type: "Recreate" }, { type: "Recreate", rollingUpdate: null }])
      assert.deepEqual(fieldsLeftOut(refusal(FIELD), answered(strategy)), [FIELD]);
  });

  it("is none if it is about anything else too", () => {
    const manifest = answered({ type: "Recreate" });
    for (const fields of [[], [undefined], [FIELD, "spec.strategy.type"], ["spec.list[0].a"], ["spec"]])
      assert.deepEqual(fieldsLeftOut(refusal(...fields), manifest), [], String(fields));
    assert.deepEqual(fieldsLeftOut(refusal(FIELD), answered({ rollingUpdate: {} })), []);
  });
});

describe("a manifest that owns a default", () => {
  it("has what we own of the object already, as it is, and the default", () => {
    assert.deepEqual(withDefaults(deployment(), [FIELD], MANAGER), {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "web", namespace: "shop", labels: { a: "1" } },
      spec: { replicas: 2, strategy: { rollingUpdate: ROLLING } },
    });
  });

  it("does not take a field of somebody else's, nor one that is not there, nor fields of another version", () => {
    const theirs = { "f:spec": { "f:strategy": { "f:rollingUpdate": { "f:maxSurge": {} } } } };
    assert.equal(withDefaults(deployment(theirs), [FIELD], MANAGER), undefined);
    assert.equal(withDefaults(deployment(), ["spec.other.field"], MANAGER), undefined);
    assert.equal(withDefaults(deployment({}, "apps/v1beta2"), [FIELD], MANAGER), undefined);
    assert.equal(withDefaults(deployment(), [FIELD], "argosy/argosy.other"), undefined);
  });
});
