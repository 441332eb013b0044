import assert from "node:assert/strict";
import fc from "fast-check";
import { readinessOf, whyNotReady } from "../../runtime/observe/readiness";
import type { ReadyRule } from "../../runtime/operator/definition";
import { observed } from "./support/objects";

/** What the API server puts into `apiVersion` of the kinds in these tests. */
const API_VERSIONS: Record<string, string> = {
  Deployment: "apps/v1",
  StatefulSet: "apps/v1",
  ReplicaSet: "apps/v1",
  DaemonSet: "apps/v1",
  Job: "batch/v1",
};

function why(
  kind: string,
  status: object | undefined,
  spec: object = {},
  apiVersion?: string,
): string | undefined {
  const content = { apiVersion: apiVersion ?? API_VERSIONS[kind] ?? "v1", spec, ...(status && { status }) };
  return whyNotReady(observed(kind, content, { generation: 2 }));
}

const UP = { observedGeneration: 2, replicas: 2, readyReplicas: 2, updatedReplicas: 2 };
const TWO = { replicas: 2 };
const DAEMONS = {
  observedGeneration: 2,
  desiredNumberScheduled: 2,
  numberReady: 2,
  updatedNumberScheduled: 2,
};
const condition = (type: string, status = "True", reason = "") => ({ type, status, reason });

describe("whyNotReady", () => {
  const table: [string, string, object | undefined, object, string | undefined][] = [
    ["a Deployment that is up", "Deployment", UP, TWO, undefined],
    [
      "a Deployment without replicas wanted",
      "Deployment",
      { observedGeneration: 2 },
      { replicas: 0 },
      undefined,
    ],
    [
      "a Deployment that no controller has observed",
      "Deployment",
      undefined,
      TWO,
      "has 0 of 2 replicas ready",
    ],
    ["a Deployment without pods", "Deployment", { observedGeneration: 2 }, TWO, "has 0 of 2 replicas ready"],
    [
      "a Deployment whose pods exist",
      "Deployment",
      { ...UP, readyReplicas: 0 },
      TWO,
      "has 0 of 2 replicas ready",
    ],
    [
      "a Deployment in a roll-out that has no replica ready",
      "Deployment",
      { ...UP, updatedReplicas: 1, readyReplicas: 0 },
      TWO,
      "has 0 of 2 replicas ready",
    ],
    [
      "a Deployment in a roll-out that has no replica ready, and one more than it wants",
      "Deployment",
      { ...UP, replicas: 3, updatedReplicas: 1, readyReplicas: 0 },
      TWO,
      "has 0 of 2 replicas ready",
    ],
    [
      "a Deployment without replicas that no controller has observed",
      "Deployment",
      {},
      { replicas: 0 },
      "is not observed yet",
    ],
    [
      "a Deployment seen in an older form",
      "Deployment",
      { ...UP, observedGeneration: 1 },
      TWO,
      "is not observed yet",
    ],
    [
      "a Deployment in a roll-out",
      "Deployment",
      { ...UP, updatedReplicas: 1 },
      TWO,
      "has 1 of 2 replicas updated",
    ],
    [
      "a StatefulSet that is to update only a part",
      "StatefulSet",
      { ...UP, updatedReplicas: 1 },
      { ...TWO, updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 1 } } },
      undefined,
    ],
    [
      "a StatefulSet that has not updated that part yet",
      "StatefulSet",
      { ...UP, updatedReplicas: 0 },
      { ...TWO, updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 1 } } },
      "has 0 of 1 replicas updated",
    ],
    [
      "a StatefulSet that updates what a user deletes",
      "StatefulSet",
      { ...UP, updatedReplicas: 0 },
      { ...TWO, updateStrategy: { type: "OnDelete" } },
      undefined,
    ],
    [
      "a Deployment with old replicas left",
      "Deployment",
      { ...UP, replicas: 3 },
      TWO,
      "has 1 replicas too many",
    ],
    ["a Deployment that starts", "Deployment", { ...UP, readyReplicas: 1 }, TWO, "has 1 of 2 replicas ready"],
    [
      "a Deployment of one replica by default",
      "Deployment",
      { observedGeneration: 2 },
      {},
      "has 0 of 1 replicas ready",
    ],
    [
      "a Deployment past its deadline",
      "Deployment",
      {
        ...UP,
        readyReplicas: 0,
        conditions: [condition("Progressing", "False", "ProgressDeadlineExceeded")],
      },
      TWO,
      "makes no progress",
    ],
    ["a StatefulSet that is up", "StatefulSet", UP, TWO, undefined],
    [
      "a StatefulSet in a roll-out",
      "StatefulSet",
      { ...UP, updatedReplicas: 0 },
      TWO,
      "has 0 of 2 replicas updated",
    ],
    [
      "a ReplicaSet that is up",
      "ReplicaSet",
      { observedGeneration: 2, replicas: 2, readyReplicas: 2 },
      TWO,
      undefined,
    ],
    ["a DaemonSet that is up", "DaemonSet", DAEMONS, {}, undefined],
    ["a DaemonSet on no node", "DaemonSet", { observedGeneration: 2 }, {}, undefined],
    ["a DaemonSet that starts", "DaemonSet", { ...DAEMONS, numberReady: 1 }, {}, "has 1 of 2 replicas ready"],
    [
      "a DaemonSet in a roll-out",
      "DaemonSet",
      { ...DAEMONS, updatedNumberScheduled: 1 },
      {},
      "has 1 of 2 replicas updated",
    ],
    [
      "a DaemonSet whose pods do not exist yet",
      "DaemonSet",
      { ...DAEMONS, numberReady: 0, updatedNumberScheduled: 0 },
      {},
      "has 0 of 2 replicas ready",
    ],
    ["a DaemonSet that no controller has observed", "DaemonSet", {}, {}, "is not observed yet"],
    ["a Job that runs", "Job", { active: 1 }, {}, "is running"],
    ["a Job that is suspended", "Job", { conditions: [condition("Suspended")] }, {}, "is running"],
    ["a Job that is complete", "Job", { conditions: [condition("Complete")] }, {}, undefined],
    [
      "a Job that is complete, from Kubernetes 1.31 on",
      "Job",
      { conditions: [condition("SuccessCriteriaMet"), condition("Complete")] },
      {},
      undefined,
    ],
    ["a Job that has failed", "Job", { conditions: [condition("Failed")] }, {}, "has failed"],
    [
      "a Job that has failed, from Kubernetes 1.31 on",
      "Job",
      { conditions: [condition("FailureTarget"), condition("Failed")] },
      {},
      "has failed",
    ],
    ["a claim that is bound", "PersistentVolumeClaim", { phase: "Bound" }, {}, undefined],
    ["a claim that is not bound", "PersistentVolumeClaim", undefined, {}, "is Pending"],
    ["a Pod that is ready", "Pod", { phase: "Running", conditions: [condition("Ready")] }, {}, undefined],
    [
      "a Pod that is done",
      "Pod",
      { phase: "Succeeded", conditions: [condition("Ready", "False")] },
      {},
      undefined,
    ],
    ["a Pod without a node", "Pod", undefined, {}, "is Pending"],
    [
      "a Pod that is not ready",
      "Pod",
      { phase: "Running", conditions: [condition("Ready", "False", "ContainersNotReady")] },
      {},
      "is not ready (ContainersNotReady)",
    ],
    ["a Service", "Service", { loadBalancer: {} }, { type: "ClusterIP" }, undefined],
    [
      "a Service that waits for its load balancer",
      "Service",
      { loadBalancer: {} },
      { type: "LoadBalancer" },
      "has no load balancer address",
    ],
    [
      "a Service with its load balancer",
      "Service",
      { loadBalancer: { ingress: [{ ip: "10.0.0.1" }] } },
      { type: "LoadBalancer" },
      undefined,
    ],
    ["a ConfigMap, which has no status", "ConfigMap", undefined, {}, undefined],
    ["a kind that says it is ready", "Widget", { conditions: [condition("Ready")] }, {}, undefined],
    [
      "a kind that said of an older generation that it is ready",
      "Widget",
      { conditions: [{ ...condition("Ready"), observedGeneration: 1 }] },
      {},
      "is not observed yet",
    ],
    [
      "a kind that says it is not",
      "Widget",
      { conditions: [condition("Ready", "Unknown")] },
      {},
      "is not ready",
    ],
    ["a kind with conditions of another form", "Widget", { conditions: { Ready: "True" } }, {}, undefined],
    [
      "a kind that has not seen its newest form",
      "Widget",
      { observedGeneration: 1 },
      {},
      "is not observed yet",
    ],
  ];
  for (const [what, kind, status, spec, expected] of table) {
    it(`says of ${what}: ${expected ?? "ready"}`, () => assert.equal(why(kind, status, spec), expected));
  }

  it("takes another group's kind of the same name at its own word", () => {
    const waiting = { conditions: [condition("Ready", "False", "RevisionMissing")] };
    assert.equal(why("Service", waiting, {}, "serving.knative.dev/v1"), "is not ready (RevisionMissing)");
    assert.equal(why("Job", { state: "done" }, {}, "batch.volcano.sh/v1alpha1"), undefined);
  });

  it("takes a Deployment for ready only if all its counts say so, whatever they are", () => {
    const count = fc.option(fc.nat(3), { nil: undefined });
    const counts = fc.record({ replicas: count, updatedReplicas: count, readyReplicas: count });
    fc.assert(
      fc.property(
        counts,
        fc.option(fc.constantFrom(1, 2), { nil: undefined }),
        fc.nat(3),
        (given, seen, wanted) => {
          const { replicas = 0, updatedReplicas = 0, readyReplicas = 0 } = given;
          const isUp = updatedReplicas >= wanted && readyReplicas >= wanted && replicas <= wanted;
          const status = { ...given, observedGeneration: seen };
          assert.equal(why("Deployment", status, { replicas: wanted }) === undefined, isUp && seen === 2);
        },
      ),
    );
  });

  it("takes nothing for ready that is being deleted", () => {
    const going = observed("ConfigMap", {}, { deletionTimestamp: "2026-01-01T00:00:00Z" });
    assert.equal(whyNotReady(going), "is being deleted");
  });
});

/** The parts of the statuses that the controllers of popular kinds write, and what an author may declare of each. */
describe("readiness of kinds of others", () => {
  const is = (type: string, status: string, reason = "", observedGeneration?: number) => ({
    ...{ type, status, reason },
    ...(observedGeneration && { observedGeneration }),
  });
  const stack = (state: string, ...conditions: object[]) => ({
    ...{ observedGeneration: 2, conditions },
    lastUpdate: { state, type: "up" },
  });
  const LAST_UPDATE: ReadyRule = { field: "status.lastUpdate.state", in: ["succeeded"] };
  const PHASE: ReadyRule = { field: "status.phase", in: ["Bound", "Released"] };
  const HEALTH: ReadyRule = { field: "status.health.status", in: ["Healthy"] };
  const table: [kind: string, status: object | undefined, expected: string | undefined, rule?: ReadyRule][] =
    [
      ["cert-manager.io/v1/Certificate", { conditions: [is("Ready", "True", "Ready", 2)] }, undefined],
      [
        "cert-manager.io/v1/Certificate",
        { conditions: [is("Issuing", "True", "DoesNotExist", 2), is("Ready", "False", "DoesNotExist", 2)] },
        "is not ready (DoesNotExist)",
      ],
      [
        "cert-manager.io/v1/Certificate",
        { conditions: [is("Ready", "True", "Ready", 1)] },
        "is not observed yet",
      ],
      [
        "rds.aws.upbound.io/v1beta1/Instance",
        { conditions: [is("Synced", "True", "ReconcileSuccess"), is("Ready", "True", "Available")] },
        undefined,
      ],
      [
        "rds.aws.upbound.io/v1beta1/Instance",
        { conditions: [is("Synced", "True", "ReconcileSuccess"), is("Ready", "False", "Creating")] },
        "is not ready (Creating)",
      ],
      // Crossplane leaves Ready as it was when a change of the resource fails.
      [
        "rds.aws.upbound.io/v1beta1/Instance",
        { conditions: [is("Synced", "False", "ReconcileError"), is("Ready", "True", "Available")] },
        "is not Synced (ReconcileError)",
      ],
      [
        "rds.aws.upbound.io/v1beta1/Instance",
        { conditions: [is("Synced", "True", "ReconcileSuccess"), is("Ready", "False", "Creating")] },
        undefined,
        { condition: "Synced" },
      ],
      ["rds.aws.upbound.io/v1beta1/Instance", {}, "has no condition Synced yet", { condition: "Synced" }],
      [
        "postgresql.cnpg.io/v1/Cluster",
        { phase: "Setting up primary", conditions: [is("Ready", "False", "ClusterIsNotReady")] },
        "is not ready (ClusterIsNotReady)",
      ],
      [
        "postgresql.cnpg.io/v1/Cluster",
        { phase: "Setting up primary" },
        "has status.phase Setting up primary, not Cluster in healthy state",
        { field: "status.phase", in: ["Cluster in healthy state"] },
      ],
      [
        "serving.knative.dev/v1/Service",
        {
          observedGeneration: 2,
          conditions: [is("ConfigurationsReady", "True"), is("Ready", "Unknown", "RolloutInProgress")],
        },
        "is not ready (RolloutInProgress)",
      ],
      [
        "serving.knative.dev/v1/Service",
        { observedGeneration: 1, conditions: [is("Ready", "True")] },
        "is not observed yet",
      ],
      [
        "kafka.strimzi.io/v1beta2/Kafka",
        { observedGeneration: 2, conditions: [is("NotReady", "True", "Creating")] },
        "is not ready (Creating)",
      ],
      [
        "kafka.strimzi.io/v1beta2/Kafka",
        { observedGeneration: 2, conditions: [is("Ready", "True")] },
        undefined,
      ],
      [
        "helm.toolkit.fluxcd.io/v2/HelmRelease",
        {
          observedGeneration: 2,
          conditions: [is("Reconciling", "True", "Progressing", 2), is("Ready", "Unknown", "Progressing", 2)],
        },
        "is not ready (Progressing)",
      ],
      [
        "example.com/v1/Kstatus",
        { conditions: [is("Reconciling", "True", "Copying")] },
        "is Reconciling (Copying)",
      ],
      [
        "example.com/v1/Kstatus",
        { conditions: [is("Stalled", "True", "NoSource")] },
        "is Stalled (NoSource)",
      ],
      [
        "example.com/v1/Kstatus",
        { conditions: [is("Reconciling", "False"), is("Stalled", "False")] },
        undefined,
      ],
      [
        "gateway.networking.k8s.io/v1/Gateway",
        { conditions: [is("Accepted", "True", "Accepted", 2), is("Programmed", "False", "Pending", 2)] },
        "is not Programmed (Pending)",
      ],
      [
        "gateway.networking.k8s.io/v1/Gateway",
        { conditions: [is("Accepted", "True", "Accepted", 2), is("Programmed", "True", "Programmed", 2)] },
        undefined,
      ],
      // It says its conditions of each parent, in a list: no rule reaches them.
      [
        "gateway.networking.k8s.io/v1/HTTPRoute",
        { parents: [{ conditions: [is("Accepted", "False")] }] },
        undefined,
      ],
      [
        "tekton.dev/v1/TaskRun",
        { conditions: [is("Succeeded", "Unknown", "Running")] },
        "is not Succeeded (Running)",
      ],
      [
        "kubeflow.org/v1/PyTorchJob",
        { conditions: [is("Failed", "True", "PodFailed")] },
        "is Failed (PodFailed)",
      ],
      ["bitnami.com/v1alpha1/SealedSecret", { conditions: [is("Synced", "False")] }, "is not Synced"],
      ["argoproj.io/v1alpha1/Application", { health: { status: "Progressing" } }, undefined],
      ["argoproj.io/v1alpha1/Application", {}, "has no status.health.status yet", HEALTH],
      [
        "argoproj.io/v1alpha1/Application",
        { health: { status: "Progressing" } },
        "has status.health.status Progressing, not Healthy",
        HEALTH,
      ],
      ["argoproj.io/v1alpha1/Application", { health: { status: "Healthy" } }, undefined, HEALTH],
      [
        "pulumi.com/v1/Stack",
        stack(
          "succeeded",
          is("Ready", "False", "NotReadyInProgress", 2),
          is("Reconciling", "True", "StackProcessing", 2),
        ),
        "is not ready (NotReadyInProgress)",
      ],
      ["pulumi.com/v1/Stack", stack("succeeded", is("Ready", "True", "ProcessingCompleted", 2)), undefined],
      [
        "pulumi.com/v1/Stack",
        stack("failed"),
        "has status.lastUpdate.state failed, not succeeded",
        LAST_UPDATE,
      ],
      ["pulumi.com/v1/Stack", stack("succeeded"), undefined, LAST_UPDATE],
      [
        "pulumi.com/v1/Stack",
        { ...stack("succeeded"), observedGeneration: 1 },
        "is not observed yet",
        LAST_UPDATE,
      ],
      // A rule takes the place of what is known of Kubernetes' own kinds.
      [
        "v1/PersistentVolumeClaim",
        { phase: "Pending" },
        "has status.phase Pending, not Bound or Released",
        PHASE,
      ],
      ["v1/PersistentVolume", { phase: "Bound" }, undefined, PHASE],
      ["v1/PersistentVolume", undefined, "has no status.phase yet", PHASE],
      ["v1/PersistentVolume", { phase: { of: "another form" } }, "has no status.phase yet", PHASE],
      ["batch/v1/Job", { ready: 0 }, "has status.ready 0, not 1", { field: "status.ready", in: [1] }],
      ["example.com/v1/Flag", { ready: true }, undefined, { field: "status.ready", in: [true] }],
      [
        "example.com/v1/Flag",
        { constructor: 1 },
        "has no status.valueOf yet",
        { field: "status.valueOf", in: [1] },
      ],
      [
        "apiextensions.k8s.io/v1/CustomResourceDefinition",
        { conditions: [is("NamesAccepted", "True")] },
        "is not established yet",
      ],
      [
        "apiextensions.k8s.io/v1/CustomResourceDefinition",
        { conditions: [is("Established", "True")] },
        undefined,
      ],
      [
        "apiregistration.k8s.io/v1/APIService",
        { conditions: [is("Available", "False", "ServiceNotFound")] },
        "is not Available (ServiceNotFound)",
      ],
      ["apiregistration.k8s.io/v1/APIService", undefined, "is not available yet"],
    ];
  for (const [key, status, expected, rule] of table) {
    const kind = key.slice(key.lastIndexOf("/") + 1);
    const apiVersion = key.slice(0, key.lastIndexOf("/"));
    const declared = rule ? ` by ${JSON.stringify(rule)}` : "";
    it(`says of ${kind} ${JSON.stringify(status)}${declared}: ${expected ?? "ready"}`, () => {
      const found = observed(kind, { apiVersion, ...(status && { status }) }, { generation: 2 });
      // The version of the definition does not count.
      const others = { apiVersion: "example.com/v1", kind: "Other", ready: { condition: "Other" } };
      const whyNot = readinessOf([others, { apiVersion, kind, ready: rule }]);
      assert.equal(whyNot(found), expected);
    });
  }

  it("says of any child that is being deleted, whatever the rule, that it is", () => {
    const deletionTimestamp = "2026-01-01T00:00:00Z";
    const found = observed("Claim", { status: { phase: "Bound" } }, { deletionTimestamp });
    assert.equal(whyNotReady(found, PHASE), "is being deleted");
  });
});
