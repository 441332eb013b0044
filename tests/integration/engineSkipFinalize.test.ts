import assert from "node:assert/strict";
import { localHandler } from "../../cli/handler/localHandler";
import { RUN_WORKFLOW_RULES } from "../../components/manifests/operator/rules";
import { KubernetesClient } from "../../runtime/kubernetes/client";
import { runOnce } from "../../runtime/programs/run/runOnce";
import type { Reference } from "../../tools/objects";
import { eventually } from "../support/eventually";
import { allowRunner, announceArgo, submit } from "./support/argo";
import { CLUSTER_ROLE_GRANTS, clusterRole, configMap, inNamespace } from "./support/manifests";
import { answering, useOperator } from "./support/useOperator";

const SKIP = { "argosy.dev/skip-finalize": "true" };

describe("the engine, when the handler of a deleted object is broken for ever", function () {
  this.timeout(60_000);
  announceArgo();
  const bench = useOperator({
    name: "skip-test",
    finalize: true,
    children: ["v1/ConfigMap", "rbac.authorization.k8s.io/v1/ClusterRole"],
    grants: CLUSTER_ROLE_GRANTS,
  });
  const finalizeCalls = (name: string) =>
    bench.operator.calls(name).filter(({ event }) => event === "finalize").length;

  async function toldOf(object: Reference): Promise<void> {
    await eventually(async () => {
      const events = await bench.api.list({ apiVersion: "events.k8s.io/v1", kind: "Event" }, bench.namespace);
      const told = events.find(({ reason }) => reason === "FinalizeSkipped");
      assert.ok(told, "no Event reports it");
      assert.equal((told["regarding"] as { name: string }).name, object.metadata.name);
    });
  }

  it("lets the object go where it is annotated, without what the handler would do, and tells", async () => {
    const role = clusterRole(`${bench.namespace}-far`);
    const near = inNamespace(configMap("near"), bench.namespace);
    const object = await bench.applied("broken", {
      ...answering(configMap("near"), role),
      finalize: { exitCode: 3 },
    });
    await bench.api.delete(object);
    await bench.failed(object, "HandlerCrashed");
    await bench.api.get(role);
    await bench.api.annotate(object, SKIP);
    await eventually(() => bench.api.assertGone(object));
    await bench.api.assertGone(role);
    await eventually(() => bench.api.assertGone(near));
    await toldOf(object);
  });

  it("does not ask if the annotation was set before, and goes on asking if it says false", async () => {
    const asked = await bench.applied("asked", answering());
    await bench.api.annotate(asked, { "argosy.dev/skip-finalize": "false" });
    await bench.api.delete(asked);
    await eventually(() => bench.api.assertGone(asked));
    assert.equal(finalizeCalls("asked"), 1);
    const skipped = await bench.applied("skipped", answering());
    await bench.api.annotate(skipped, SKIP);
    await bench.api.delete(skipped);
    await eventually(() => bench.api.assertGone(skipped));
    assert.equal(finalizeCalls("skipped"), 0);
  });

  it("changes nothing while the object is not deleted", async () => {
    const object = await bench.applied("lives", answering(configMap("lives")));
    await bench.api.annotate(object, SKIP);
    await bench.reconcileAgain(object);
    await bench.api.get(inNamespace(configMap("lives"), bench.namespace));
    assert.deepEqual((await bench.api.get(object)).metadata.finalizers, ["argosy.dev/argosy.skip-test"]);
  });

  it("does so in a pod of its own too", async () => {
    const { operator, api } = bench;
    await allowRunner(operator, "run", RUN_WORKFLOW_RULES);
    const client = new KubernetesClient(operator.connection);
    const role = clusterRole(`${bench.namespace}-pod`);
    const object = await bench.applied("in-pod", { ...answering(role), finalize: { exitCode: 3 } });
    // Nothing else works on it from here on.
    await bench.engine.stop();
    await api.delete(object);
    const run = async (workflow: string) => {
      await submit(operator, workflow, { namespace: bench.namespace, name: "in-pod" });
      const transport = localHandler(operator.operator, {});
      const { runnerNamespace: namespace } = operator;
      return runOnce({
        operator: operator.operator,
        client,
        transport,
        namespace,
        workflow,
        instance: "pod",
      });
    };
    assert.equal((await run("skip-1")).exitCode, 1);
    await api.get(role);
    await api.annotate(object, SKIP);
    assert.deepEqual(await run("skip-2"), {
      exitCode: 0,
      message: `deleted ClusterRole ${role.metadata.name}`,
    });
    await api.assertGone(object);
    await api.assertGone(role);
    await toldOf(object);
    client.close();
  });
});
