import assert from "node:assert/strict";
import { explain } from "../../cli/inspect/explanation";
import { lookAt } from "../../cli/inspect/look";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import type { KubernetesObject, ObjectMeta } from "../../runtime/kubernetes/objects";
import type { Resource } from "../../runtime/kubernetes/resource";

const DEPLOYMENTS: Resource = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  plural: "deployments",
  namespaced: true,
};
const READY = {
  type: "Ready",
  status: "True",
  reason: "Reconciled",
  message: "all is ready",
  lastTransitionTime: "2026-01-01T11:00:00Z",
  observedGeneration: 1,
};

function object(metadata: Partial<ObjectMeta> = {}, more: object = {}): KubernetesObject {
  const names = { name: "web", namespace: "shop", uid: "u", resourceVersion: "1", generation: 1 };
  return { apiVersion: "apps/v1", kind: "Deployment", metadata: { ...names, ...metadata }, ...more };
}

function lease(identity: string, holderIdentity = "laptop"): KubernetesObject {
  const spec = { holderIdentity, renewTime: new Date().toISOString(), leaseDurationSeconds: 15 };
  const metadata = { name: `argosy-${identity}`, namespace: "argosy", uid: "l", resourceVersion: "1" };
  return { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata, spec };
}

/** What `argosy explain` says in a cluster with these objects, in which no operator is installed. */
async function explained(of: KubernetesObject, ...there: KubernetesObject[]) {
  const client = {
    get: async ({ kind }: Resource, { name }: { name: string }) =>
      there.find((each) => each.kind === kind && each.metadata.name === name),
    listAll: async ({ kind }: Resource) => there.filter((each) => each.kind === kind),
  } as unknown as KubernetesClient;
  const target = { resource: DEPLOYMENTS, name: of.metadata, operators: [], unreadable: [] };
  return explain(await lookAt(client, of, target, assert.fail));
}

describe("an explanation where argosy dev runs the operators", () => {
  it("knows the operator that holds up a deletion", async () => {
    const deleted = object({
      deletionTimestamp: "2026-01-01T11:00:00Z",
      finalizers: ["argosy.dev/argosy.web"],
    });
    const { summary, leader } = await explained(deleted, lease("argosy.web"));
    assert.match(summary, /its handler has not returned "finalized": true\.$/);
    assert.equal(leader, "laptop");
    assert.match(
      (await explained(deleted, lease("argosy.other"))).summary,
      /is not installed in this cluster/,
    );
    assert.match(
      (await explained(deleted, lease("argosy.web", ""))).summary,
      /is not installed in this cluster/,
    );
  });

  it("names only those children that are in other namespaces", async () => {
    const deleted = object(
      { deletionTimestamp: "2026-01-01T11:00:00Z", finalizers: ["elsewhere.argosy.dev/argosy.web"] },
      { status: { argosy: { kinds: ["v1/ConfigMap"], uid: "u" } } },
    );
    const child = (namespace: string): KubernetesObject => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "a", namespace, uid: "c", resourceVersion: "1" },
    });
    const { summary } = await explained(deleted, lease("argosy.web"), child("shop"), child("other"));
    assert.match(summary, /still exist: ConfigMap other\/a\.$/);
  });

  it("has what an operator that watches the object remembers", async () => {
    const memory: KubernetesObject = {
      apiVersion: "argosy.dev/v1",
      kind: "Memory",
      metadata: {
        name: "argosy.notify.u",
        namespace: "argosy",
        uid: "m",
        resourceVersion: "1",
        labels: { "argosy.dev/operator": "argosy.notify" },
      },
      status: { conditions: [READY], objectGeneration: READY.observedGeneration } as never,
      memory: { kinds: [] },
    };
    const { summary, operator } = await explained(
      object(),
      lease("argosy.cache"),
      lease("argosy.notify"),
      memory,
    );
    assert.deepEqual([summary, operator], ["It is Ready.", "notify"]);
  });

  it("says of an object that none of them handled that no operator is installed", async () => {
    const { summary } = await explained(object(), lease("argosy.cache"));
    assert.match(summary, /It was never handled: .* No operator for Deployment is installed/);
  });

  it("names the operator that wrote the status last, not the one of its former name", async () => {
    const wrote = (name: string, minute: number) => ({
      manager: `argosy/argosy.${name}`,
      subresource: "status",
      time: `2026-01-01T11:0${minute}:00Z`,
    });
    const managedFields = [wrote("old", 1), wrote("new", 2), wrote("older", 0)];
    const { operator } = await explained(object({ managedFields }, { status: { conditions: [READY] } }));
    assert.equal(operator, "new");
  });
});
