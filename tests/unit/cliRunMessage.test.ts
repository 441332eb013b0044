import assert from "node:assert/strict";
import { runOf } from "../../cli/inspect/runs";
import type { KubernetesObject } from "../../runtime/base/objects";
import { WORKFLOWS } from "../../runtime/report/workflows";

const FORBIDDEN = 'pods "press-1" is forbidden: exceeded quota: none';

/** What `argosy runs` and `argosy explain` say of a run in a pod of its own. */
describe("the message of a run", () => {
  const messageOf = (status: object) =>
    runOf(
      {
        apiVersion: WORKFLOWS.apiVersion,
        kind: WORKFLOWS.kind,
        metadata: { name: "press-1", uid: "1", resourceVersion: "1" },
        status,
      } as KubernetesObject,
      () => undefined,
    ).message;

  it("is why its pod waits, as long as the Workflow itself says nothing", () => {
    const nodes = { "press-1": { phase: "Pending", message: FORBIDDEN } };
    assert.equal(messageOf({ phase: "Running", nodes }), FORBIDDEN);
    assert.equal(messageOf({ phase: "Failed", message: "Stopped", nodes }), "Stopped");
  });

  it("is none if nothing waits", () => {
    assert.equal(
      messageOf({ phase: "Running", nodes: { "press-1": { phase: "Running", message: "" } } }),
      undefined,
    );
    assert.equal(messageOf({ phase: "Running", nodes: { "press-1": { phase: "Pending" } } }), undefined);
    assert.equal(messageOf({}), undefined);
  });
});

describe("a run in JSON", () => {
  it("names its operator, its installation and its object, and has no key for what it does not have", () => {
    const parameters = [
      { name: "namespace", value: "shop" },
      { name: "name", value: "cards" },
    ];
    const run = (labels: Record<string, string>, more: object = {}) =>
      JSON.parse(
        JSON.stringify(
          runOf(
            {
              apiVersion: WORKFLOWS.apiVersion,
              kind: WORKFLOWS.kind,
              metadata: { name: "press-1", namespace: "argosy", uid: "1", resourceVersion: "1", labels },
              ...more,
            } as KubernetesObject,
            (identity) => (identity === "argosy.press" ? { apiVersion: "a/v1", kind: "Press" } : undefined),
          ),
        ),
      );
    const spec = { arguments: { parameters } };
    const base = { name: "press-1", namespace: "argosy", phase: "Pending" };
    const object = { namespace: "shop", name: "cards" };
    assert.deepEqual(run({ "argosy.dev/operator": "argosy.press" }, { spec }), {
      ...base,
      operator: "press",
      installation: "argosy",
      object: { apiVersion: "a/v1", kind: "Press", ...object },
    });
    assert.deepEqual(run({ "argosy.dev/operator": "argosy.gone" }, { spec }), {
      ...base,
      operator: "gone",
      installation: "argosy",
      object,
    });
    assert.deepEqual(run({ "argosy.dev/operator": "argosy.press" }), {
      ...base,
      operator: "press",
      installation: "argosy",
    });
  });
});
