import assert from "node:assert/strict";
import { DryRunClient } from "../../cli/diff/dryRunClient";
import { runOperator } from "../../cli/local/runOperator";
import { connectionAs } from "../../cli/local/serviceAccountToken";
import { buildGuards, type GuardOptions } from "../../components/manifests/operator/guards";
import type { KubernetesObject, Manifest } from "../../runtime/base/objects";
import { isApiError } from "../../runtime/kubernetes/errors";
import { eventually } from "../support/eventually";
import { operatorOptions } from "../unit/operatorManifests";
import { Api } from "./support/api";
import { configMap, deployment, inNamespace, namespace, pod } from "./support/manifests";
import { answering, type Bench, useOperator } from "./support/useOperator";

/** A program may call it anything: nothing in it has rights by its name. */
const TEAM = "backup-team";
const GUARDS: GuardOptions = {
  children: true,
  annotations: { groups: ["system:serviceaccounts:operations-team"] },
  exempt: [`system:serviceaccounts:${TEAM}`],
};

const CHILDREN = ["v1/ConfigMap", "v1/Pod", "apps/v1/Deployment"];

/** Puts the operator's guards into force, and gives accounts that may do everything as far as RBAC goes. */
function useGuards(bench: Bench, probe: () => Manifest) {
  const apis: Api[] = [];
  let policies: Manifest[] = [];

  /** A user with every right in the cluster, but outside the group of its administrators. */
  async function privilegedUser(home: string, name: string): Promise<Api> {
    const { cluster } = bench.operator;
    await cluster.api.apply(namespace(home));
    const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace: home } };
    await cluster.api.apply(account);
    await cluster.api.apply({
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: `everything.${home}.${name}` },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ kind: "ServiceAccount", name, namespace: home }],
    });
    const theirs = new Api(connectionAs({ namespace: home, name }, cluster.connection));
    apis.push(theirs);
    await eventually(() => theirs.list({ apiVersion: "v1", kind: "Node" }));
    return theirs;
  }

  /** The same account, with dry runs in place of writes. */
  function dryRunning(home: string, name: string): Api {
    const connection = connectionAs({ namespace: home, name }, bench.operator.cluster.connection);
    const theirs = Object.assign(new Api(connection), { client: new DryRunClient(connection) });
    apis.push(theirs);
    return theirs;
  }

  async function enforce(): Promise<void> {
    const { operator, runnerNamespace } = bench.operator;
    const options = operatorOptions({ guards: GUARDS });
    const platform = { ...options.platform, namespace: runnerNamespace };
    policies = Object.values(buildGuards(operator, { ...options, platform }));
    for (const policy of policies) await bench.api.apply(policy);
    const enemy = await privilegedUser("enemies", "enemy");
    await eventually(() =>
      refused(() => enemy.create(inNamespace(probe(), bench.namespace)).then((made) => enemy.delete(made))),
    );
  }

  after(async () => {
    for (const policy of policies.reverse()) await bench.api.delete(policy);
    for (const api of apis) api.close();
  });
  return { privilegedUser, dryRunning, enforce };
}

/** Asserts that a guard refuses something, and returns what it says. */
async function refused(action: () => Promise<unknown>, what = "it"): Promise<string> {
  try {
    await action();
  } catch (error) {
    if (!isApiError(error, 403)) throw error;
    const { message } = error;
    assert.match(message, /ValidatingAdmissionPolicy/);
    return message;
  }
  assert.fail(`${what} was not refused`);
}

describe("the guards", function () {
  this.timeout(120_000);
  const name = "guarded";
  const bench = useOperator({ name, children: CHILDREN, finalize: true });
  const marked = () => configMap("marked", {}, { labels: bench.operator.childLabels });
  const guards = useGuards(bench, marked);
  const enemy = { api: undefined as unknown as Api };
  const here = (manifest: Manifest) => inNamespace(manifest, bench.namespace);
  const child = () => here(configMap("settings"));

  let isEnforced = false;
  beforeEach(async () => {
    if (!isEnforced) {
      isEnforced = true;
      await guards.enforce();
      enemy.api = await guards.privilegedUser("enemies", "enemy");
    }
    // A policy looks for the namespace in a cache of the API server, which may not have a new namespace yet.
    await eventually(() => bench.api.tryApply(here(configMap("probe"))));
  });

  /** An object with a child, as the operator makes it under its guards. */
  async function made(): Promise<KubernetesObject> {
    await bench.applied(
      "object",
      answering(configMap("settings", { key: "1" }, { labels: { tier: "ours" } })),
    );
    return bench.api.get(child());
  }

  describe("of children refuse to an account with every right", () => {
    const attacks: [what: string, attack: (api: Api, object: KubernetesObject) => Promise<unknown>][] = [
      ["another content", (api) => api.patch(child(), { data: { key: "2" } })],
      ["a further field", (api) => api.patch(child(), { immutable: true })],
      ["to remove a field", (api) => api.patch(child(), { data: null })],
      ["the deletion", (api) => api.delete(child())],
      [
        "to remove the mark by which the guard recognizes the child",
        (api) => api.patch(child(), { metadata: { labels: { "argosy.dev/child-of": null } } }),
      ],
      [
        "to take all labels away",
        (api, { metadata }) =>
          api.patch(child(), {
            metadata: {
              labels: Object.fromEntries(Object.keys(metadata.labels ?? {}).map((key) => [key, null])),
            },
          }),
      ],
      [
        "another owner's uid",
        (api) => api.patch(child(), { metadata: { labels: { "argosy.dev/owner-uid": "another" } } }),
      ],
      ["to take the owner away", (api) => api.patch(child(), { metadata: { ownerReferences: null } })],
      [
        "an annotation of ours",
        (api) => api.patch(child(), { metadata: { annotations: { "argosy.dev/owner": "a/b" } } }),
      ],
      [
        "to remove the record of who applied the child",
        (api) => api.patch(child(), { metadata: { managedFields: [{}] } }),
      ],
      [
        "to say that the operator applied nothing",
        (api, { metadata }) =>
          api.patch(child(), {
            metadata: {
              managedFields: (metadata.managedFields ?? []).map((entry) => ({
                ...entry,
                fieldsV1: {},
              })) as never,
            },
          }),
      ],
      [
        "a label that the handler answered",
        (api) => api.patch(child(), { metadata: { labels: { tier: "theirs" } } }),
      ],
      ["to apply it as the operator does", (api) => api.apply(here(configMap("settings", { key: "2" })))],
      ["an object that looks like a child", (api) => api.create(here(marked()))],
      [
        "to make a child of an object that exists",
        async (api) => {
          const theirs = await bench.api.apply(here(configMap(`theirs-${bench.namespace}`)));
          await api.patch(theirs, { metadata: { labels: bench.operator.childLabels } });
        },
      ],
    ];
    it("its content, its deletion, its marks, and objects that look like one", async () => {
      const before = await made();
      for (const [what, attack] of attacks) {
        const message = await refused(() => attack(enemy.api, before), what);
        assert.match(
          message,
          /denied request: system:serviceaccount:enemies:enemy may not (create|update|delete) ConfigMap /,
          what,
        );
        assert.match(message, /Or add a group of this account to guards\.exempt of the program\.$/, what);
        assert.deepEqual(await bench.api.get(child()), before, what);
      }
    });

    it("none of these in a dry run, which stores nothing", async () => {
      const before = await made();
      const dryRuns = guards.dryRunning("enemies", "enemy");
      for (const [, attack] of attacks) await attack(dryRuns, before);
      assert.deepEqual(await bench.api.get(child()), before);
    });

    it("to name an owner that does not exist, for which the garbage collector would delete a child elsewhere", async () => {
      const namespace = await bench.api.newNamespace("elsewhere");
      const elsewhere = inNamespace(configMap("settings"), namespace);
      await eventually(() => bench.api.tryApply(inNamespace(configMap("probe"), namespace)));
      await bench.applied("object", answering(elsewhere));
      const before = await bench.api.get(elsewhere);
      const owner = { apiVersion: "v1", kind: "ConfigMap", name: "gone", uid: "gone" };
      await refused(() => enemy.api.patch(elsewhere, { metadata: { ownerReferences: [owner] } }));
      assert.deepEqual(await bench.api.get(elsewhere), before);
    });

    it("to add a container to a Pod, which is a write of a subresource", async () => {
      const web = here(pod("web"));
      await bench.applied("web", answering(pod("web")));
      const spec = { ephemeralContainers: [{ name: "shell", image: "example.com/shell:1" }] };
      const message = await refused(() => enemy.api.patchPart(web, "ephemeralcontainers", { spec }));
      assert.match(message, /enemy may not update Pod web, a child of the operator argosy\.guarded/);
    });

    it("and say what it is a child of, and what to change in its place", async () => {
      await made();
      const changed = await refused(() => enemy.api.patch(child(), { data: { key: "2" } }));
      assert.match(
        changed,
        /a child of the operator argosy\.guarded.*Change the Guarded that the child belongs to\./,
      );
      const deleted = await refused(() => enemy.api.delete(child()));
      assert.match(deleted, /may not delete ConfigMap settings.*Change or delete the Guarded/);
    });
  });

  describe("of children let", () => {
    it("any user set labels, annotations and finalizers of their own", async () => {
      await made();
      const finalizers = ["example.com/theirs"];
      const theirs = { labels: { team: "shop" }, annotations: { "example.com/note": "1" }, finalizers };
      await enemy.api.patch(child(), { metadata: theirs });
      await enemy.api.patch(child(), {
        metadata: { labels: { team: null }, annotations: null, finalizers: null },
      });
    });

    it("any user evict a Pod, because no policy sees which one, and the operator creates it again", async () => {
      const web = here(pod("web"));
      await bench.applied("web", answering(pod("web")));
      const before = await bench.api.get(web);
      const { name, namespace } = web.metadata;
      await enemy.api.post(`/api/v1/namespaces/${namespace}/pods/${name}/eviction`, {
        apiVersion: "policy/v1",
        kind: "Eviction",
        metadata: { name, namespace: bench.namespace },
      });
      await eventually(async () =>
        assert.notEqual((await bench.api.get(web)).metadata.uid, before.metadata.uid),
      );
    });

    it("any user do what they may with what is no child", async () => {
      const theirs = await enemy.api.create(here(configMap("theirs")));
      await enemy.api.patch(theirs, { data: { key: "1" } });
      await enemy.api.delete(theirs);
    });

    it("an autoscaler set what the handler does not return, and a controller the status", async () => {
      const web = here(deployment("web"));
      await bench.applied("web", answering(deployment("web")));
      const scaler = await guards.privilegedUser("kube-system", "horizontal-pod-autoscaler");
      await scaler.scale(web, 3);
      const replicas = async () => ((await bench.api.get(web))["spec"] as { replicas: number }).replicas;
      await bench.reconcileAgain(bench.operator.object("web", {}, bench.namespace));
      assert.equal(await replicas(), 3);
      await enemy.api.scale(web, 2);
      await enemy.api.applyStatus(web, { observedGeneration: 99 }, { manager: "theirs" });
      await refused(() => enemy.api.patch(web, { spec: { replicas: 5 } }));
      // The controllers of the control plane work on it as on any other.
      await eventually(async () => {
        const status = (await bench.api.get(web))["status"] as { readyReplicas?: number };
        assert.equal(status.readyReplicas, 2);
      });
    });

    it("cluster administrators, Kubernetes' own accounts and exempt groups do everything", async () => {
      await made();
      const exempt = await guards.privilegedUser(TEAM, "restore");
      const own = await guards.privilegedUser("kube-system", "some-controller");
      for (const [index, api] of [bench.api, exempt, own].entries()) {
        await api.patch(child(), { data: { further: String(index) } });
        await api.delete(child());
        await eventually(async () => assert.deepEqual((await bench.api.get(child()))["data"], { key: "1" }));
      }
    });

    it("the operator create, change, mend, prune and delete", async () => {
      await made();
      await bench.applied("object", answering(configMap("settings", { key: "2" }), configMap("more")));
      assert.deepEqual((await bench.api.get(child()))["data"], { key: "2" });
      await bench.api.patch(child(), { data: { key: "3" } });
      await eventually(async () => assert.deepEqual((await bench.api.get(child()))["data"], { key: "2" }));
      const object = await bench.applied("object", answering(configMap("settings", { key: "2" })));
      await bench.api.assertGone(here(configMap("more")));
      await enemy.api.delete(object);
      await eventually(() => bench.api.assertGone(object));
      await eventually(() => bench.api.assertGone(child()));
    });

    it("the garbage collector leave children behind, if a user wants that", async () => {
      const { metadata } = await made();
      const object = bench.operator.object("object", {}, bench.namespace);
      await enemy.api.delete(object, "Orphan");
      await eventually(() => bench.api.assertGone(object));
      const left = await bench.api.get(child());
      assert.equal(left.metadata.uid, metadata.uid);
      assert.deepEqual(left.metadata.ownerReferences, undefined);
    });

    it("the deletion of a namespace take children along", async () => {
      await made();
      const gone = namespace(bench.namespace);
      await enemy.api.delete(gone);
      // Kubernetes tries again after growing pauses, if something still existed.
      await eventually(() => bench.api.assertGone(gone), { timeoutMs: 240_000 });
    });
  });

  describe("of annotations", () => {
    const object = () => bench.operator.object("object", {}, bench.namespace);
    const paused = { annotations: { "argosy.dev/paused": "true" } };

    it("let only the named groups set them, no matter who sets them first", async () => {
      await bench.applied("object");
      const member = await guards.privilegedUser("operations-team", "member");
      const message = await refused(() => enemy.api.patch(object(), { metadata: paused }));
      assert.match(message, /enemy may not update Guarded object, with changed argosy\.dev annotations/);
      assert.match(message, /ask a member of the groups in guards\.annotations\./);
      const { metadata, ...rest } = object();
      const created = { ...rest, metadata: { ...metadata, ...paused, name: "other" } };
      await refused(() => enemy.api.create(created));
      await member.patch(object(), { metadata: paused });
      // To take it away, or to change it, is to set it as well.
      await refused(() => enemy.api.patch(object(), { metadata: { annotations: null } }));
      const another = { "argosy.dev/paused": "false" };
      await refused(() => enemy.api.patch(object(), { metadata: { annotations: another } }));
      await enemy.api.patch(object(), { spec: { team: "shop" }, metadata: { labels: { team: "shop" } } });
      await member.patch(object(), { metadata: { annotations: null } });
      await bench.ready(object());
    });

    it("let any user set them in a dry run, which stores nothing", async () => {
      await bench.applied("object");
      const dryRuns = guards.dryRunning("enemies", "enemy");
      assert.deepEqual(
        (await dryRuns.patch(object(), { metadata: paused })).metadata.annotations,
        paused.annotations,
      );
      assert.equal((await bench.api.get(object())).metadata.annotations, undefined);
    });

    it("let no other user skip the finalizer of the handler by them", async () => {
      await bench.applied("object");
      const skip = { annotations: { "argosy.dev/skip-finalize": "true" } };
      await refused(() => enemy.api.patch(object(), { metadata: skip }));
    });

    it("let exempt groups, cluster administrators and Kubernetes' own accounts set them", async () => {
      await bench.applied("object");
      const exempt = await guards.privilegedUser(TEAM, "restore");
      // A Deployment's controller copies the annotations of a Deployment to its ReplicaSets, which an operator may watch.
      const own = await guards.privilegedUser("kube-system", "some-controller");
      for (const api of [bench.api, exempt, own]) {
        await api.patch(object(), { metadata: paused });
        await api.patch(object(), { metadata: { annotations: null } });
      }
    });
  });
});

describe("a guard", function () {
  this.timeout(60_000);
  const bench = useOperator({ name: "guarded-aside" });
  const marked = () => configMap("marked", {}, { labels: bench.operator.childLabels });
  const guards = useGuards(bench, marked);

  it("stops a program other than the one that created it, and tells it which account must be exempt", async () => {
    await guards.enforce();
    const { operator, cluster, runnerNamespace } = bench.operator;
    const notices: string[] = [];
    const local = { ...operator, namespaces: [bench.namespace] };
    const run = (namespace: string) =>
      runOperator({
        operator: local,
        connection: cluster.connection,
        namespace,
        onNotice: (notice) => notices.push(notice),
      });
    await bench.engine.stop();
    await (await run(runnerNamespace)).stop();
    assert.deepEqual(
      notices.filter((notice) => /guard/.test(notice)),
      [],
    );
    const engine = await run("developer");
    const object = await bench.applyObject("object", answering(configMap("settings")));
    try {
      const { message } = await bench.failed(object, "ChildRefused");
      assert.match(
        message,
        /system:serviceaccount:developer:guarded-aside-runner may not create ConfigMap settings/,
      );
      const [told = "no notice"] = notices.filter((notice) => /guard/.test(notice));
      assert.match(
        told,
        /^the guard argosy\.guarded-aside-children refuses the writes of system:serviceaccount:developer:guarded-aside-runner, .*add system:serviceaccounts:developer to guards\.exempt/,
      );
    } finally {
      await engine.stop();
    }
  });
});
