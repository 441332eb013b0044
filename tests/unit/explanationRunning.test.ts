import assert from "node:assert/strict";
import { explain } from "../../cli/inspect/explanation";
import { lookAt } from "../../cli/inspect/look";
import type { InstalledOperator } from "../../cli/inspect/readInstalled";
import type { KubernetesObject, ObjectMeta } from "../../runtime/base/objects";
import type { Resource } from "../../runtime/base/resource";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import { builtIn } from "../../runtime/kubernetes/discovery";
import { ApiError } from "../../runtime/kubernetes/errors";
import { operator } from "./support/objects";

const DEPLOYMENTS = builtIn("apps/v1", "Deployment");
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

describe("an explanation where an operator is installed", () => {
  const installed = (name: string, namespaces: "all" | string[] = "all"): InstalledOperator => ({
    ...operator({ name, namespaces, customResource: { group: "apps", version: "v1", ...DEPLOYMENTS } }),
    home: "ops",
  });
  const DELETED = object({
    deletionTimestamp: "2026-01-01T11:00:00Z",
    finalizers: ["argosy.dev/argosy.web"],
  });
  const runner = (replicas: number, readyReplicas?: number): KubernetesObject => ({
    ...object({ name: "web-runner", namespace: "ops" }),
    spec: { replicas },
    status: { readyReplicas } as never,
  });
  const refusal = new ApiError(403, { message: "you may not" }, "GET");
  /** What `argosy explain` says of an object with these operators, in a cluster with these objects. */
  async function said(
    of: KubernetesObject,
    operators: readonly InstalledOperator[],
    there: readonly KubernetesObject[],
    refused: readonly string[] = [],
  ) {
    const client = {
      get: async ({ kind }: Resource, { name }: { name: string }) => {
        if (refused.includes(kind)) throw refusal;
        return there.find((each) => each.kind === kind && each.metadata.name === name);
      },
      listAll: async () => [],
    } as unknown as KubernetesClient;
    const target = { resource: DEPLOYMENTS, name: of.metadata, operators, unreadable: [] };
    return explain(await lookAt(client, of, target, () => {}));
  }

  for (const [there, why, remedy] of [
    [
      [runner(0)],
      ": the operator is scaled to zero",
      /^Scale it .*: kubectl -n ops scale deployment web-runner --replicas=1$/,
    ],
    [
      [],
      ": the operator has no Deployment web-runner in ops",
      /^Run pulumi up --refresh\. If .* was deleted, /,
    ],
    [
      [runner(1)],
      ": the operator has no ready runner",
      /^See why: kubectl -n ops describe deployments,pods --selector app\.kubernetes\.io\/name=web$/,
    ],
    [[runner(1, 1)], "", /^See why: npm run argosy -- logs web$/],
  ] as const) {
    it(`says of an object that waits for a runner why none leads: "${why}"`, async () => {
      const { summary, advice } = await said(DELETED, [installed("web")], there);
      assert.equal(summary, `It is being deleted, and no runner of argosy.web leads${why}.`);
      assert.equal(advice.length, 1);
      assert.match(advice[0] ?? "", remedy);
      const never = await said(object(), [installed("web")], there);
      const start = "It was never handled: it has no Ready condition.";
      assert.equal(never.summary, `${start} No runner of argosy.web leads${why}.`);
      assert.deepEqual(never.advice, advice);
    });
  }

  it("says that no runner leads without the right to see its Deployment, and nothing without the right to see the Lease", async () => {
    const of = async (refused: string) => (await said(DELETED, [installed("web")], [], [refused])).summary;
    assert.equal(await of("Deployment"), "It is being deleted, and no runner of argosy.web leads.");
    assert.match(await of("Lease"), /its handler has not returned "finalized": true\.$/);
  });

  it("looks at the runner of the operator that handles the object's namespace", async () => {
    const operators = [installed("other", ["team-a"]), installed("web", ["shop"])];
    const { leader, summary } = await said(DELETED, operators, [lease("argosy.web")]);
    assert.equal(leader, "laptop");
    assert.match(summary, /its handler has not returned "finalized": true\.$/);
  });
});
