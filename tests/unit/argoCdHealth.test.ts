import assert from "node:assert/strict";
import { ARGO_CD_HEALTH, argoCdHealth } from "../../cli/render/argoCdHealth";
import { annotated, OPERATOR_LABEL, PAUSED_ANNOTATION } from "../../runtime/base/names";
import {
  conditionsIn,
  type JsonObject,
  type KubernetesObject,
  type Manifest,
} from "../../runtime/base/objects";
import { engineStatuses } from "./support/engineStatuses";
import { healthOf } from "./support/luaHealth";
import { widget } from "./support/objects";
import { manyTold, type Step, type ToldObject, told } from "./support/toldStatuses";

/** What Argo CD must say of an object. Of one that is being deleted it says Progressing by itself. */
function expected({ isPaused, result, run }: ToldObject): string {
  if (isPaused) return "Suspended";
  if (result === "retried" || result === "stalled") return "Degraded";
  return result === "ready" && run !== "awaiting" ? "Healthy" : "Progressing";
}

/** The same by what the conditions say, without the reasons of Ready. */
function read(object: KubernetesObject): string {
  const { metadata, status } = object as KubernetesObject & { readonly status?: JsonObject };
  if (annotated(metadata, PAUSED_ANNOTATION)) return "Suspended";
  if (status?.["observedGeneration"] !== metadata.generation) return "Progressing";
  const has = (type: string, value: string, reason?: string) =>
    conditionsIn(status).some(
      (each) => each.type === type && each.status === value && (reason ?? each.reason) === each.reason,
    );
  if (has("Stalled", "True") || has("Reconciling", "True", "Retrying")) return "Degraded";
  return has("Ready", "True") ? "Healthy" : "Progressing";
}

const health = (object: KubernetesObject) => healthOf(ARGO_CD_HEALTH, object);

describe("Argo CD's health check", () => {
  const table: [Step[], string, string][] = [
    [[], "Progressing", "this generation is not reconciled yet"],
    [["progressing"], "Progressing", "Deployment web has 0 of 1 replicas ready"],
    [["progressing", "ready"], "Healthy", "every child is applied and ready"],
    [["ready", "change"], "Progressing", "this generation is not reconciled yet"],
    [["stalled", "change"], "Progressing", "this generation is not reconciled yet"],
    [["retried"], "Degraded", "no such size"],
    [["stalled"], "Degraded", "the name is taken"],
    [["ready", "awaiting"], "Progressing", "the pod of Workflow widget-2 has not begun: Insufficient memory"],
    [["retried", "awaiting"], "Degraded", "no such size"],
    [["ready", "change", "stopped"], "Progressing", "this generation is not reconciled yet"],
    [["ready", "pause"], "Suspended", "paused by the annotation argosy.dev/paused"],
    [["ready", "pause", "resume"], "Healthy", "every child is applied and ready"],
    [["ready", "delete", "finalizing"], "Progressing", "the handler has not finished yet"],
    [["ready", "delete", "retried"], "Degraded", "no such size"],
  ];
  for (const [steps, status, message] of table)
    it(`says ${status} after the steps "${steps.join(", ")}"`, () =>
      assert.deepEqual(health(told(steps, undefined).object), { status, message }));

  it("is right about every status that the engine can write, in CRDs of every shape", () => {
    const seen = new Set<string>();
    for (const each of manyTold()) {
      const { status } = health(each.object);
      seen.add(status);
      assert.equal(status, expected(each), `${each.shape}: ${each.steps.join(", ")}`);
    }
    assert.deepEqual([...seen].sort(), ["Degraded", "Healthy", "Progressing", "Suspended"]);
  });

  it("is right about what a real engine writes", async () => {
    const seen = new Set<string>();
    for (const object of await engineStatuses()) {
      const { status } = health(object);
      seen.add(status);
      assert.equal(status, read(object), JSON.stringify(object));
    }
    assert.deepEqual([...seen].sort(), ["Degraded", "Healthy", "Progressing", "Suspended"]);
  });

  it("reads what others have written into a status", () => {
    const statuses: JsonObject[] = [
      { observedGeneration: "3" },
      { observedGeneration: 4, conditions: [{ type: "Ready", status: "True" }] },
      { observedGeneration: 3, conditions: [{ status: "True" }, {}] },
      { observedGeneration: 3, conditions: {} },
      { observedGeneration: 3, conditions: [{ type: "Ready", status: "Unknown" }] },
    ];
    for (const status of statuses) assert.equal(health(widget({}, { status })).status, "Progressing");
    assert.equal(health(widget()).status, "Progressing");
  });

  it("is a key of argocd-cm for each kind of an operator, and for no other", () => {
    const crd = (kind: string, labels?: Record<string, string>): Manifest => ({
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: "any", ...(labels && { labels }) },
      spec: { group: "shop.example.com", names: { kind } },
    });
    const ours = { [OPERATOR_LABEL]: "argosy.shop" };
    const manifest = argoCdHealth([crd("Widget", ours), crd("EventBus"), crd("Gadget", ours), widget()]);
    assert.deepEqual(manifest?.["data"], {
      "resource.customizations.health.shop.example.com_Widget": ARGO_CD_HEALTH,
      "resource.customizations.health.shop.example.com_Gadget": ARGO_CD_HEALTH,
    });
    assert.equal(argoCdHealth([crd("EventBus")]), undefined);
  });
});
