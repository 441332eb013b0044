import assert from "node:assert/strict";
import { type ArgoKind, argoValidator, NO_ARGO_SCHEMAS, skip } from "./support/argoSchemas";

/** What Argo's schema says of a manifest of this kind. */
function problemsOf(context: Mocha.Context, kind: ArgoKind, spec: object, more: object = {}): string[] {
  const validate = argoValidator(kind);
  if (!validate) return skip(context, NO_ARGO_SCHEMAS);
  return validate({ apiVersion: "argoproj.io/v1alpha1", kind, metadata: { name: "x" }, spec, ...more });
}

describe("argoValidator", () => {
  it("takes what is in order, text or number where Kubernetes takes both", function () {
    const template = { name: "main", retryStrategy: { limit: 3 }, plugin: { argosy: { any: ["thing"] } } };
    assert.deepEqual(problemsOf(this, "WorkflowTemplate", { templates: [template] }), []);
    assert.deepEqual(problemsOf(this, "CronWorkflow", { schedules: ["* * * * *"], workflowSpec: {} }), []);
  });

  it("finds a field that Argo does not know, wherever it is", function () {
    const container = { resuorces: {} };
    const sensor = { dependencies: [], triggers: [], template: { container } };
    assert.deepEqual(problemsOf(this, "Sensor", sensor), [
      '/spec/template/container: has no field "resuorces"',
    ]);
    const template = { name: "main", container: { image: "x", volumeMount: [] } };
    assert.deepEqual(problemsOf(this, "Workflow", { templates: [template] }), [
      '/spec/templates/0/container: has no field "volumeMount"',
    ]);
  });

  it("finds what is missing and what is of another type, and shows it", function () {
    const resource = { shop: { namespace: "", group: "g", version: "v1", eventTypes: "ADD" } };
    assert.deepEqual(problemsOf(this, "EventSource", { resource }).sort(), [
      '/spec/resource/shop/eventTypes: must be array, is "ADD"',
      "/spec/resource/shop: must have required property 'resource'",
    ]);
  });

  it("finds another kind or version", function () {
    assert.deepEqual(problemsOf(this, "EventBus", {}, { kind: "Eventbus" }), [
      "/: is argoproj.io/v1alpha1, Eventbus, not a EventBus of Argo",
    ]);
  });
});
