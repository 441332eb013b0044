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
const PARTITIONED = { ...TWO, updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 1 } } };
const BALANCED = { type: "LoadBalancer" };
const NONE_READY = "has 0 of 2 replicas ready";
const DAEMONS = {
  observedGeneration: 2,
  desiredNumberScheduled: 2,
  numberReady: 2,
  updatedNumberScheduled: 2,
};
const condition = (type: string, status = "True", reason = "") => ({ type, status, reason });
/** A status in which each of these conditions is true. */
const withTrue = (...types: string[]) => ({ conditions: types.map((type) => condition(type)) });

/** What it is, its status, its specification, and why it is not ready. Undefined: it is. */
type State = readonly [what: string, status: object | undefined, spec: object, expected: string | undefined];

describe("whyNotReady", () => {
  const states: Readonly<Record<string, readonly State[]>> = {
    Deployment: [
      ["that is up", UP, TWO, undefined],
      ["without replicas wanted", { observedGeneration: 2 }, { replicas: 0 }, undefined],
      ["that no controller has observed", undefined, TWO, "has 0 of 2 replicas ready"],
      ["without pods", { observedGeneration: 2 }, TWO, "has 0 of 2 replicas ready"],
      ["whose pods exist", { ...UP, readyReplicas: 0 }, TWO, "has 0 of 2 replicas ready"],
      [
        "in a roll-out that has no replica ready",
        { ...UP, updatedReplicas: 1, readyReplicas: 0 },
        TWO,
        NONE_READY,
      ],
      [
        "in a roll-out that has no replica ready, and one more than it wants",
        { ...UP, replicas: 3, updatedReplicas: 1, readyReplicas: 0 },
        TWO,
        "has 0 of 2 replicas ready",
      ],
      ["without replicas that no controller has observed", {}, { replicas: 0 }, "is not observed yet"],
      ["seen in an older form", { ...UP, observedGeneration: 1 }, TWO, "is not observed yet"],
      ["in a roll-out", { ...UP, updatedReplicas: 1 }, TWO, "has 1 of 2 replicas updated"],
      ["with old replicas left", { ...UP, replicas: 3 }, TWO, "has 1 replicas too many"],
      ["that starts", { ...UP, readyReplicas: 1 }, TWO, "has 1 of 2 replicas ready"],
      ["of one replica by default", { observedGeneration: 2 }, {}, "has 0 of 1 replicas ready"],
      [
        "past its deadline",
        {
          ...UP,
          readyReplicas: 0,
          conditions: [condition("Progressing", "False", "ProgressDeadlineExceeded")],
        },
        TWO,
        "makes no progress",
      ],
    ],
    StatefulSet: [
      ["that is to update only a part", { ...UP, updatedReplicas: 1 }, PARTITIONED, undefined],
      [
        "whose part is not updated",
        { ...UP, updatedReplicas: 0 },
        PARTITIONED,
        "has 0 of 1 replicas updated",
      ],
      [
        "that updates what a user deletes",
        { ...UP, updatedReplicas: 0 },
        { ...TWO, updateStrategy: { type: "OnDelete" } },
        undefined,
      ],
      ["that is up", UP, TWO, undefined],
      ["in a roll-out", { ...UP, updatedReplicas: 0 }, TWO, "has 0 of 2 replicas updated"],
    ],
    ReplicaSet: [["that is up", { observedGeneration: 2, replicas: 2, readyReplicas: 2 }, TWO, undefined]],
    DaemonSet: [
      ["that is up", DAEMONS, {}, undefined],
      ["on no node", { observedGeneration: 2 }, {}, undefined],
      ["that starts", { ...DAEMONS, numberReady: 1 }, {}, "has 1 of 2 replicas ready"],
      ["in a roll-out", { ...DAEMONS, updatedNumberScheduled: 1 }, {}, "has 1 of 2 replicas updated"],
      ["without pods", { ...DAEMONS, numberReady: 0, updatedNumberScheduled: 0 }, {}, NONE_READY],
      ["that no controller has observed", {}, {}, "is not observed yet"],
    ],
    Job: [
      ["that runs", { active: 1 }, {}, "is running"],
      ["that is suspended", withTrue("Suspended"), {}, "is running"],
      ["that is complete", withTrue("Complete"), {}, undefined],
      [
        "that is complete, from Kubernetes 1.31 on",
        withTrue("SuccessCriteriaMet", "Complete"),
        {},
        undefined,
      ],
      ["that has failed", withTrue("Failed"), {}, "has failed"],
      ["that has failed, from Kubernetes 1.31 on", withTrue("FailureTarget", "Failed"), {}, "has failed"],
    ],
    PersistentVolumeClaim: [
      ["that is bound", { phase: "Bound" }, {}, undefined],
      ["that is not bound", undefined, {}, "is Pending"],
    ],
    Pod: [
      ["that is ready", { phase: "Running", conditions: [condition("Ready")] }, {}, undefined],
      ["that is done", { phase: "Succeeded", conditions: [condition("Ready", "False")] }, {}, undefined],
      ["without a node", undefined, {}, "is Pending"],
      [
        "that is not ready",
        { phase: "Running", conditions: [condition("Ready", "False", "ContainersNotReady")] },
        {},
        "is not ready (ContainersNotReady)",
      ],
    ],
    Service: [
      ["by itself", { loadBalancer: {} }, { type: "ClusterIP" }, undefined],
      ["that waits for its load balancer", { loadBalancer: {} }, BALANCED, "has no load balancer address"],
      ["with its load balancer", { loadBalancer: { ingress: [{ ip: "10.0.0.1" }] } }, BALANCED, undefined],
    ],
    ConfigMap: [["which has no status", undefined, {}, undefined]],
    Widget: [
      ["that says it is not", { conditions: [condition("Ready", "Unknown")] }, {}, "is not ready"],
      ["with conditions of another form", { conditions: { Ready: "True" } }, {}, undefined],
      ["that has not seen its newest form", { observedGeneration: 1 }, {}, "is not observed yet"],
    ],
  };
  for (const [kind, each] of Object.entries(states))
    for (const [what, status, spec, expected] of each)
      it(`says of a ${kind} ${what}: ${expected ?? "ready"}`, () =>
        assert.equal(why(kind, status, spec), expected));

  it("takes another group's kind of the same name at its own word", () => {
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
  const states: Readonly<
    Record<string, readonly [status: object | undefined, expected?: string | undefined, rule?: ReadyRule][]>
  > = {
    "cert-manager.io/v1/Certificate": [
      [{ conditions: [is("Ready", "True", "Ready", 2)] }],
      [
        { conditions: [is("Issuing", "True", "DoesNotExist", 2), is("Ready", "False", "DoesNotExist", 2)] },
        "is not ready (DoesNotExist)",
      ],
      [{ conditions: [is("Ready", "True", "Ready", 1)] }, "is not observed yet"],
    ],
    "rds.aws.upbound.io/v1beta1/Instance": [
      [{ conditions: [is("Synced", "True", "ReconcileSuccess"), is("Ready", "True", "Available")] }],
      [
        { conditions: [is("Synced", "True", "ReconcileSuccess"), is("Ready", "False", "Creating")] },
        "is not ready (Creating)",
      ],
      // Crossplane leaves Ready as it was when a change of the resource fails.
      [
        { conditions: [is("Synced", "False", "ReconcileError"), is("Ready", "True", "Available")] },
        "is not Synced (ReconcileError)",
      ],
      [
        { conditions: [is("Synced", "True", "ReconcileSuccess"), is("Ready", "False", "Creating")] },
        undefined,
        { condition: "Synced" },
      ],
      [{}, "has no condition Synced yet", { condition: "Synced" }],
    ],
    "postgresql.cnpg.io/v1/Cluster": [
      [
        { phase: "Setting up primary", conditions: [is("Ready", "False", "ClusterIsNotReady")] },
        "is not ready (ClusterIsNotReady)",
      ],
      [
        { phase: "Setting up primary" },
        "has status.phase Setting up primary, not Cluster in healthy state",
        { field: "status.phase", in: ["Cluster in healthy state"] },
      ],
    ],
    "serving.knative.dev/v1/Service": [
      [
        {
          observedGeneration: 2,
          conditions: [is("ConfigurationsReady", "True"), is("Ready", "Unknown", "RolloutInProgress")],
        },
        "is not ready (RolloutInProgress)",
      ],
      [{ observedGeneration: 1, conditions: [is("Ready", "True")] }, "is not observed yet"],
    ],
    "kafka.strimzi.io/v1beta2/Kafka": [
      [
        { observedGeneration: 2, conditions: [is("NotReady", "True", "Creating")] },
        "is not ready (Creating)",
      ],
      [{ observedGeneration: 2, conditions: [is("Ready", "True")] }],
    ],
    "helm.toolkit.fluxcd.io/v2/HelmRelease": [
      [
        {
          observedGeneration: 2,
          conditions: [is("Reconciling", "True", "Progressing", 2), is("Ready", "Unknown", "Progressing", 2)],
        },
        "is not ready (Progressing)",
      ],
    ],
    "example.com/v1/Kstatus": [
      [{ conditions: [is("Reconciling", "True", "Copying")] }, "is Reconciling (Copying)"],
      [{ conditions: [is("Stalled", "True", "NoSource")] }, "is Stalled (NoSource)"],
      [{ conditions: [is("Reconciling", "False"), is("Stalled", "False")] }],
    ],
    "gateway.networking.k8s.io/v1/Gateway": [
      [
        { conditions: [is("Accepted", "True", "Accepted", 2), is("Programmed", "False", "Pending", 2)] },
        "is not Programmed (Pending)",
      ],
      [{ conditions: [is("Accepted", "True", "Accepted", 2), is("Programmed", "True", "Programmed", 2)] }],
    ],
    "gateway.networking.k8s.io/v1/HTTPRoute": [
      // It says its conditions of each parent, in a list: no rule reaches them.
      [{ parents: [{ conditions: [is("Accepted", "False")] }] }],
    ],
    "tekton.dev/v1/TaskRun": [
      [{ conditions: [is("Succeeded", "Unknown", "Running")] }, "is not Succeeded (Running)"],
    ],
    "kubeflow.org/v1/PyTorchJob": [
      [{ conditions: [is("Failed", "True", "PodFailed")] }, "is Failed (PodFailed)"],
    ],
    "bitnami.com/v1alpha1/SealedSecret": [[{ conditions: [is("Synced", "False")] }, "is not Synced"]],
    "argoproj.io/v1alpha1/Application": [
      [{ health: { status: "Progressing" } }],
      [{}, "has no status.health.status yet", HEALTH],
      [{ health: { status: "Progressing" } }, "has status.health.status Progressing, not Healthy", HEALTH],
      [{ health: { status: "Healthy" } }, undefined, HEALTH],
    ],
    "pulumi.com/v1/Stack": [
      [
        stack(
          "succeeded",
          is("Ready", "False", "NotReadyInProgress", 2),
          is("Reconciling", "True", "StackProcessing", 2),
        ),
        "is not ready (NotReadyInProgress)",
      ],
      [stack("succeeded", is("Ready", "True", "ProcessingCompleted", 2))],
      [stack("failed"), "has status.lastUpdate.state failed, not succeeded", LAST_UPDATE],
      [stack("succeeded"), undefined, LAST_UPDATE],
      [{ ...stack("succeeded"), observedGeneration: 1 }, "is not observed yet", LAST_UPDATE],
    ],
    "v1/PersistentVolumeClaim": [
      // A rule takes the place of what is known of Kubernetes' own kinds.
      [{ phase: "Pending" }, "has status.phase Pending, not Bound or Released", PHASE],
    ],
    "v1/PersistentVolume": [
      [{ phase: "Bound" }, undefined, PHASE],
      [undefined, "has no status.phase yet", PHASE],
      [{ phase: { of: "another form" } }, "has no status.phase yet", PHASE],
    ],
    "batch/v1/Job": [[{ ready: 0 }, "has status.ready 0, not 1", { field: "status.ready", in: [1] }]],
    "example.com/v1/Flag": [
      [{ ready: true }, undefined, { field: "status.ready", in: [true] }],
      [{ constructor: 1 }, "has no status.valueOf yet", { field: "status.valueOf", in: [1] }],
    ],
    "apiextensions.k8s.io/v1/CustomResourceDefinition": [
      [{ conditions: [is("NamesAccepted", "True")] }, "is not established yet"],
      [{ conditions: [is("Established", "True")] }],
    ],
    "apiregistration.k8s.io/v1/APIService": [
      [{ conditions: [is("Available", "False", "ServiceNotFound")] }, "is not Available (ServiceNotFound)"],
      [undefined, "is not available yet"],
    ],
  };
  for (const [key, each] of Object.entries(states))
    for (const [status, expected, rule] of each) {
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
    for (const rule of [undefined, PHASE]) assert.equal(whyNotReady(found, rule), "is being deleted");
  });
});
