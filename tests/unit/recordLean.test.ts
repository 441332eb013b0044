import assert from "node:assert/strict";
import { recorded } from "../../cli/record/lean";
import type { KubernetesObject } from "../../runtime/base/objects";

/** A Deployment as an API server gives it: defaults filled in, its status reported by its controller. */
const deployment: KubernetesObject = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: {
    name: "sessions",
    namespace: "shop",
    uid: "u1",
    resourceVersion: "7",
    generation: 2,
    creationTimestamp: "2026-01-01T00:00:00Z",
    labels: { app: "sessions", "argosy.dev/child-of": "argosy.cache", "argosy.dev/owner-uid": "u0" },
    annotations: { "deployment.kubernetes.io/revision": "1" },
    ownerReferences: [{ apiVersion: "v1", kind: "Cache", name: "sessions", uid: "u0" }],
    managedFields: [
      {
        manager: "argosy/argosy.cache",
        operation: "Apply",
        fieldsV1: {
          "f:spec": {
            "f:replicas": {},
            "f:template": {
              "f:spec": {
                "f:containers": {
                  'k:{"name":"main"}': { ".": {}, "f:name": {}, "f:image": {}, "f:args": {} },
                },
              },
            },
          },
        },
      },
      { manager: "kube-controller-manager", subresource: "status", fieldsV1: { "f:status": {} } },
    ],
  },
  spec: {
    replicas: 2,
    progressDeadlineSeconds: 600,
    template: {
      spec: {
        containers: [
          { name: "main", image: "a:1", args: ["-m", "64"], imagePullPolicy: "IfNotPresent" },
          { name: "injected", image: "b:1" },
        ],
        restartPolicy: "Always",
      },
    },
  },
  status: { replicas: 2, observedGeneration: 2 },
};

describe("what argosy record leaves of an object", () => {
  it("lean: what a client has set, and the status, without what the API server and Argosy count", () => {
    assert.deepEqual(recorded(deployment, "lean", false), {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "sessions", namespace: "shop", generation: 2, labels: { app: "sessions" } },
      spec: {
        replicas: 2,
        template: { spec: { containers: [{ name: "main", image: "a:1", args: ["-m", "64"] }] } },
      },
      status: { replicas: 2, observedGeneration: 2 },
    });
  });

  it("lean: that a handler is given only the metadata", () => {
    const annotations = { "argosy.dev/truncated": "true", "argosy.dev/owner": "shop/sessions" };
    const { apiVersion, kind, metadata } = deployment;
    const child = { apiVersion, kind, metadata: { ...metadata, annotations } };
    const { metadata: left } = recorded(child, "lean", false) as unknown as KubernetesObject;
    assert.deepEqual(left.annotations, { "argosy.dev/truncated": "true" });
  });

  it("identified: with uid, times and owners too", () => {
    const { metadata } = recorded(deployment, "identified", false) as unknown as KubernetesObject;
    assert.equal(metadata.uid, "u1");
    assert.equal(metadata.creationTimestamp, "2026-01-01T00:00:00Z");
    assert.equal(metadata.ownerReferences?.[0]?.uid, "u0");
    assert.equal(metadata.resourceVersion, undefined);
  });

  it("whole: everything but managedFields", () => {
    const { managedFields: _, ...metadata } = deployment.metadata;
    assert.deepEqual(recorded(deployment, "whole", false), { ...deployment, metadata });
  });

  it("of a custom resource the handler's own status and conditions, without the engine's", () => {
    const own = { type: "Backed", status: "True", observedGeneration: 1 };
    const ready = { type: "Ready", status: "True", observedGeneration: 1 };
    const object = (status: object, finalizers?: string[]): KubernetesObject => ({
      apiVersion: "shop.example.com/v1",
      kind: "Cache",
      metadata: { name: "a", uid: "u", resourceVersion: "1", ...(finalizers && { finalizers }) },
      spec: { size: 1 },
      status,
    });
    const memory = { kinds: [] };
    const finalizers = [
      "argosy.dev/argosy.cache",
      "other.example.com/keep",
      "elsewhere.argosy.dev/argosy.cache",
    ];
    const both = { observedGeneration: 1, ready: 2, conditions: [ready, own], argosy: memory };
    assert.deepEqual(recorded(object(both, finalizers), "lean", true), {
      apiVersion: "shop.example.com/v1",
      kind: "Cache",
      metadata: { name: "a", finalizers: ["other.example.com/keep"] },
      spec: { size: 1 },
      status: { ready: 2, conditions: [own] },
    });
    assert.equal(recorded(object({ conditions: [ready], argosy: memory }), "lean", true).status, undefined);
    // What others report stays as it is, whatever they call it.
    assert.deepEqual(recorded(object(both), "lean", false).status, both);
  });
});
