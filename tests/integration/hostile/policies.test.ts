import assert from "node:assert/strict";
import type { Manifest } from "../../../runtime/base/objects";
import { eventually } from "../../support/eventually";
import { configMap } from "../support/manifests";
import { answering, useOperator } from "../support/useOperator";

describe("where a policy of the cluster refuses writes", function () {
  this.timeout(90_000);
  const bench = useOperator({
    name: "forbidden",
    finalize: true,
    children: ["v1/ConfigMap", { apiVersion: "batch/v1", kind: "Job", update: "recreate" }],
  });
  let policies: Manifest[];

  beforeEach(() => {
    policies = [];
  });
  afterEach(async () => {
    for (const policy of policies) await bench.api.delete(policy);
  });

  it("to its Events, the object is handled, and the log says once a minute why they are missing", async () => {
    const regarding = { apiVersion: "v1", kind: "ConfigMap", name: "probe", namespace: bench.namespace };
    const probe: Manifest = {
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata: { name: "probe", namespace: bench.namespace },
      ...{ eventTime: new Date().toISOString().replace("Z", "000Z"), regarding, type: "Normal" },
      ...{ reason: "Probe", action: "Probe", reportingController: "test", reportingInstance: "test" },
    };
    await forbid("events.k8s.io", "events", "CREATE", "false", async () => {
      const created = await bench.api.create(probe);
      await bench.api.delete(probe);
      return created;
    });
    for (const name of ["first", "second"]) await bench.applied(name, answering(configMap(name)));
    const refusals = () => bench.engine.notices.filter((notice) => /an Event is not written/.test(notice));
    await eventually(async () => {
      assert.ok((await bench.engine.metric("argosy_kubernetes_events_dropped_total")) >= 2);
      assert.equal(refusals().length, 1);
    });
    assert.match(refusals()[0] ?? "", /^an Event is not written: .*a team is missing/);
  });

  /**
   * Lets the API server refuse what does not fulfil the expression, in this namespace.
   * @param probe is refused as soon as the policy is in force
   */
  async function forbid(
    group: string,
    plural: string,
    operation: string,
    expression: string,
    probe: (time: string) => Promise<unknown>,
  ): Promise<void> {
    const metadata = { name: `${plural}.${bench.namespace}` };
    const apiVersion = "admissionregistration.k8s.io/v1";
    const rule = { apiGroups: [group], apiVersions: ["*"], operations: [operation], resources: [plural] };
    const validations = [{ expression, message: "a team is missing" }];
    const namespaceSelector = { matchLabels: { "kubernetes.io/metadata.name": bench.namespace } };
    policies = [
      {
        ...{ apiVersion, kind: "ValidatingAdmissionPolicy", metadata },
        spec: { matchConstraints: { resourceRules: [rule] }, validations },
      },
      {
        ...{ apiVersion, kind: "ValidatingAdmissionPolicyBinding", metadata },
        spec: {
          policyName: metadata.name,
          validationActions: ["Deny"],
          matchResources: { namespaceSelector },
        },
      },
    ];
    for (const policy of policies) await bench.api.apply(policy);
    await eventually(() => assert.rejects(probe(String(performance.now())), /a team is missing/));
  }
});
