import assert from "node:assert/strict";
import { runOf } from "../../cli/inspect/runs";
import { WORKFLOWS } from "../../runtime/argo/workflows";
import type { KubernetesObject } from "../../runtime/kubernetes/objects";

const FORBIDDEN = 'pods "press-1" is forbidden: exceeded quota: none';

/** What `argosy runs` and `argosy explain` say of a run in a pod of its own. */
describe("the message of a run", () => {
  const messageOf = (status: object) =>
    runOf({
      apiVersion: WORKFLOWS.apiVersion,
      kind: WORKFLOWS.kind,
      metadata: { name: "press-1", uid: "1", resourceVersion: "1" },
      status,
    } as KubernetesObject).message;

  it("is why its pod waits, as long as the Workflow itself says nothing", () => {
    const nodes = { "press-1": { phase: "Pending", message: FORBIDDEN } };
    assert.equal(messageOf({ phase: "Running", nodes }), FORBIDDEN);
    assert.equal(messageOf({ phase: "Failed", message: "Stopped", nodes }), "Stopped");
  });

  it("is none if nothing waits", () => {
    assert.equal(
      messageOf({ phase: "Running", nodes: { "press-1": { phase: "Running", message: "" } } }),
      "",
    );
    assert.equal(messageOf({ phase: "Running", nodes: { "press-1": { phase: "Pending" } } }), "");
    assert.equal(messageOf({}), "");
  });
});
