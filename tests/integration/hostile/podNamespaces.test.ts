import assert from "node:assert/strict";
import { RUN_WORKFLOW_RULES } from "../../../components/manifests/operator/rules";
import { eventually } from "../../support/eventually";
import { submit } from "../support/argo";
import { configMap, namespace as namespaceOf } from "../support/manifests";
import { type PodBench, usePods } from "../support/podRun";
import { answering } from "../support/useOperator";

const ROLE_BINDINGS = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "RoleBinding" };
const GOES = "pod-namespaces-goes";

describe("in a pod, where a namespace is deleted that the operator lists", function () {
  this.timeout(120_000);
  let bench: PodBench;
  usePods(
    { name: "pod-namespaces", finalize: true, namespaces: [GOES] },
    () => RUN_WORKFLOW_RULES,
    (begun) => {
      bench = begun;
    },
  );

  it("it goes, with an object that the handler finalizes in it, although the runner's rights went first", async () => {
    const { api, operator } = bench;
    const run = async (name: string) => {
      await submit(operator, name, { namespace: GOES, name: "there" });
      return bench.run(name);
    };
    const object = await api.apply(operator.object("there", answering(configMap("kept")), GOES));
    assert.equal((await run("first")).exitCode, 0);
    await api.delete(namespaceOf(GOES));
    await eventually(async () => assert.deepEqual(await api.list(ROLE_BINDINGS, GOES), []));
    const { exitCode, message } = await run("second");
    assert.equal(exitCode, 0, message);
    const finalizing = operator.calls("there").filter(({ event }) => event === "finalize");
    assert.equal(finalizing.length, 1);
    await api.assertGone(object);
    await eventually(() => api.assertGone(namespaceOf(GOES)), { timeoutMs: 90_000 });
  });
});
