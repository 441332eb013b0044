import assert from "node:assert/strict";
import { IMAGES } from "../../components/manifests/images";
import { type ArgoKind, argoRelease, argoValidator } from "./support/argoSchemas";

/** What Argo's schema says of a manifest of this kind. */
function problemsOf(kind: ArgoKind, spec: object, more: object = {}): string[] {
  return argoValidator(kind)({
    apiVersion: "argoproj.io/v1alpha1",
    kind,
    metadata: { name: "x" },
    spec,
    ...more,
  });
}

describe("argoValidator", () => {
  it("knows the schemas of the releases that are installed", () => {
    assert.equal(argoRelease("argo-events"), IMAGES.argoEvents.tag);
    assert.equal(argoRelease("argo-workflows"), IMAGES.workflowController.tag);
  });

  it("takes what is in order, text or number where Kubernetes takes both", () => {
    const template = { name: "main", retryStrategy: { limit: 3 }, plugin: { argosy: { any: ["thing"] } } };
    assert.deepEqual(problemsOf("WorkflowTemplate", { templates: [template] }), []);
    assert.deepEqual(problemsOf("CronWorkflow", { schedules: ["* * * * *"], workflowSpec: {} }), []);
  });

  it("finds a field that Argo does not know, wherever it is", () => {
    const container = { resuorces: {} };
    const sensor = { dependencies: [], triggers: [], template: { container } };
    assert.deepEqual(problemsOf("Sensor", sensor), ['/spec/template/container: has no field "resuorces"']);
    const template = { name: "main", container: { image: "x", volumeMount: [] } };
    assert.deepEqual(problemsOf("Workflow", { templates: [template] }), [
      '/spec/templates/0/container: has no field "volumeMount"',
    ]);
  });

  it("finds what is missing and what is of another type, and shows it", () => {
    const resource = { shop: { namespace: "", group: "g", version: "v1", eventTypes: "ADD" } };
    assert.deepEqual(problemsOf("EventSource", { resource }).sort(), [
      '/spec/resource/shop/eventTypes: must be array, is "ADD"',
      "/spec/resource/shop: must have required property 'resource'",
    ]);
  });

  it("finds another kind or version", () => {
    assert.deepEqual(problemsOf("EventBus", {}, { kind: "Eventbus" }), [
      "/: is argoproj.io/v1alpha1, Eventbus, not a EventBus of Argo",
    ]);
  });
});
