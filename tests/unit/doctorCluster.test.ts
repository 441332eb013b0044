import assert from "node:assert/strict";
import { examineCluster } from "../../cli/doctor/cluster";
import type { KubernetesObject } from "../../runtime/base/objects";
import type { Resource } from "../../runtime/base/resource";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import { ApiError } from "../../runtime/kubernetes/errors";
import { DEFINITION_FILE, definitionFileContent } from "../../runtime/programs/definitionFile";
import { operator } from "./support/objects";

const NOW = new Date("2026-01-01T12:00:00Z");
const at = (secondsAgo: number) => new Date(NOW.getTime() - secondsAgo * 1000).toISOString();

function there(kind: string, name: string, more: object): KubernetesObject {
  const metadata = { name, namespace: "argosy", uid: "u", resourceVersion: "1" };
  return { apiVersion: "v1", kind, metadata, ...more };
}

function deployed(name: string): KubernetesObject {
  const data = { [DEFINITION_FILE]: definitionFileContent(operator({ name })) };
  return there("ConfigMap", `${name}-definition`, { data });
}

/** A cluster with these objects. */
function clusterWith(...objects: readonly KubernetesObject[]): KubernetesClient {
  return {
    read: async () => ({ gitVersion: "v1.34.0", resources: [] }),
    list: async () => {},
    listAll: async ({ kind }: Resource) => objects.filter((each) => each.kind === kind),
    get: async ({ kind }: Resource, { name }: { name: string }) =>
      objects.find((each) => each.kind === kind && each.metadata.name === name),
  } as unknown as KubernetesClient;
}

describe("argosy doctor in a cluster", () => {
  const about = async (cluster: KubernetesClient, what: string, program: readonly string[] = []) =>
    (await examineCluster(cluster, program, NOW)).filter((each) => each.what === what);

  it("names each operator of the program that the cluster does not have, which is no problem", async () => {
    const cluster = clusterWith(deployed("cache"));
    const found = await examineCluster(cluster, ["cache", "press"], NOW);
    assert.deepEqual(
      found.filter(({ what }) => what === "operator press"),
      [
        {
          what: "operator press",
          state: "warning",
          seen: "is in the program, and was not found in this cluster",
          remedy:
            "Deploy it with pulumi up, if this cluster should have it. If what was deployed before has been deleted, run pulumi up --refresh.",
          operator: "press",
        },
      ],
    );
    assert.equal(found.filter(({ what }) => what === "operator cache").length, 1);
    // One whose definition cannot be read is deployed too.
    const strange = there("ConfigMap", "press", { data: {} });
    const [unread, ...others] = await about(clusterWith(deployed("cache"), strange), "operator press", [
      "press",
    ]);
    assert.deepEqual([unread?.state, others], ["missing", []]);
  });

  it("says once that the cluster has no operators, and both remedies", async () => {
    const found = await examineCluster(clusterWith(), ["cache", "press"], NOW);
    assert.deepEqual(
      found.filter(({ what }) => what.startsWith("operator")).map(({ seen }) => seen),
      ["none is installed"],
    );
    const [{ remedy } = {}] = found.filter(({ what }) => what === "operators");
    assert.match(
      remedy ?? "",
      /^Deploy them with pulumi up, or .* argosy dev .*\. If what .*, run pulumi up --refresh\.$/,
    );
  });

  it("says nothing of operators that it may not see", async () => {
    const refused = async () => {
      throw new ApiError(403, { message: "you may not" }, "GET");
    };
    const cluster = { ...clusterWith(), listAll: refused } as unknown as KubernetesClient;
    assert.deepEqual(await about(cluster, "operator press", ["press"]), []);
  });

  describe("says of the roll-out of a runner, of which a former pod leads,", () => {
    const rollOut = async (condition: object, unavailableReplicas?: number) => {
      const leads = there("Lease", "argosy-argosy.cache", {
        spec: { holderIdentity: "cache-runner-1", renewTime: new Date().toISOString() },
      });
      const conditions = [{ type: "Progressing", message: "It is waited for.", ...condition }];
      const status = { readyReplicas: 1, unavailableReplicas, conditions };
      const runner = there("Deployment", "cache-runner", { spec: { replicas: 1 }, status });
      const [finding] = await about(clusterWith(deployed("cache"), runner, leads), "operator cache");
      return finding;
    };
    const progressing = { status: "True", reason: "ReplicaSetUpdated" };

    for (const [what, condition, says] of [
      [
        "that it failed",
        { status: "False", reason: "ProgressDeadlineExceeded", lastUpdateTime: at(5) },
        "has failed: It is waited for",
      ],
      [
        "that it has made no progress for a minute",
        { ...progressing, lastUpdateTime: at(70) },
        "has made no progress for a minute",
      ],
    ] as const) {
      it(what, async () => {
        const { state, seen, remedy } = (await rollOut(condition, 1)) ?? {};
        assert.equal(state, "warning");
        assert.equal(seen, `1 ready, led by cache-runner-1, but its roll-out ${says}`);
        assert.match(
          remedy ?? "",
          /^See why: kubectl -n argosy describe deployments,pods .* pulumi up --refresh\.$/,
        );
      });
    }

    for (const [what, condition, unavailable] of [
      ["nothing while it makes progress", { ...progressing, lastUpdateTime: at(50) }, 1],
      ["nothing if all pods are available", { ...progressing, lastUpdateTime: at(70) }, undefined],
      [
        "nothing if it is over",
        { status: "True", reason: "NewReplicaSetAvailable", lastUpdateTime: at(70) },
        1,
      ],
    ] as const) {
      it(what, async () => {
        const { state, seen } = (await rollOut(condition, unavailable)) ?? {};
        assert.deepEqual([state, seen], ["ok", "1 ready, led by cache-runner-1"]);
      });
    }
  });
});
