import assert from "node:assert/strict";
import type { KubernetesObject } from "../../../runtime/base/objects";
import { eventually } from "../../support/eventually";
import { submit } from "../support/argo";
import { configMap, inNamespace, namespace as namespaceOf } from "../support/manifests";
import { type PodBench, usePods } from "../support/podRun";
import { answering } from "../support/useOperator";

const ROLE_BINDINGS = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "RoleBinding" };
const [GOES, STAYS, THIRD] = ["pod-namespaces-goes", "pod-namespaces-stays", "pod-namespaces-third"] as const;

describe("in a pod, where a namespace is deleted that the operator lists", function () {
  this.timeout(180_000);
  let bench: PodBench;
  usePods({ name: "pod-namespaces", finalize: true, namespaces: [GOES, STAYS, THIRD] }, (begun) => {
    bench = begun;
  });
  let runs = 0;

  /** Creates an object, or changes it, and lets it have its run. */
  async function applied(name: string, namespace: string, ...children: object[]): Promise<KubernetesObject> {
    const object = await bench.api.apply(bench.operator.object(name, answering(...children), namespace));
    await run(object);
    return object;
  }

  async function run({ metadata: { namespace = "", name } }: KubernetesObject): Promise<void> {
    const workflow = `run-${++runs}`;
    await submit(bench.operator, workflow, { namespace, name });
    const { exitCode, message } = await bench.run(workflow);
    assert.equal(exitCode, 0, message);
  }

  it("it goes with its objects, though the runner's rights went first, and holds up no object elsewhere", async () => {
    const { api, operator } = bench;
    const far = (namespace: string, data = {}) => inNamespace(configMap("far", data), namespace);
    const there = await applied("there", GOES, configMap("kept"));
    const other = await applied("other", STAYS, inNamespace(configMap("of-other"), GOES));
    await applied("third", STAYS, far(THIRD, { step: "1" }));
    await api.delete(namespaceOf(GOES));
    await eventually(async () => {
      assert.deepEqual(await api.list(ROLE_BINDINGS, GOES), []);
      assert.ok((await api.get(there)).metadata.deletionTimestamp);
    });
    await run(there);
    const finalizing = operator.calls("there").filter(({ event }) => event === "finalize");
    assert.equal(finalizing.length, 1);
    await api.assertGone(there);
    await eventually(() => api.assertGone(namespaceOf(GOES)), { timeoutMs: 90_000 });
    await applied("third", STAYS, far(THIRD, { step: "2" }));
    assert.deepEqual((await api.get(far(THIRD)))["data"], { step: "2" });
    await api.delete(other);
    await run(other);
    await api.assertGone(other);
  });
});
