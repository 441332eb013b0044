import assert from "node:assert/strict";
import type { Manifest } from "../../../runtime/base/objects";
import { eventually } from "../../support/eventually";
import { configMap, inNamespace, job } from "../support/manifests";
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

  it("to the object, its finalizer cannot be added: the object says so, and is handled when it may be", async () => {
    const { group, plural } = bench.operator.operator.customResource;
    const probe = await bench.applied("probe");
    const hasTeam = "has(object.metadata.labels) && 'team' in object.metadata.labels";
    await forbid(group, plural, "UPDATE", hasTeam, (time) => bench.api.annotate(probe, { time }));
    const object = await bench.applyObject("object", answering(configMap("object")));
    const { message } = await bench.failed(object, "ApiError");
    assert.match(message, /a team is missing/);
    assert.deepEqual(bench.operator.calls("object"), []);
    await bench.api.patch(object, { metadata: { labels: { team: "shop" } } });
    await bench.ready(object);
  });

  it("to a child, the object says so, and it is applied when it may be", async () => {
    const probe = inNamespace(configMap("probe", { forbidden: "1" }), bench.namespace);
    const isAllowed = "!has(object.data) || !('forbidden' in object.data)";
    await forbid("", "configmaps", "CREATE", isAllowed, async () => {
      const created = await bench.api.create(probe);
      await bench.api.delete(probe);
      return created;
    });
    const object = await bench.applyObject("child", answering(configMap("child", { forbidden: "1" })));
    const { message } = await bench.failed(object, "ChildRefused");
    assert.match(message, /a team is missing/);
    await bench.applied("child", answering(configMap("child", { allowed: "1" })));
    await bench.api.get(inNamespace(configMap("child"), bench.namespace));
  });

  it("to a child that could be recreated, it stays: the engine does not delete what must not be changed", async () => {
    const labelled = (labels: Record<string, string>): Manifest => {
      const made = job("kept", "example.com/worker:1");
      return { ...made, metadata: { ...made.metadata, labels } };
    };
    const child = inNamespace(labelled({}), bench.namespace);
    const object = await bench.applyObject("kept", answering(labelled({})));
    const { uid } = (await eventually(() => bench.api.get(child))).metadata;
    await forbid("batch", "jobs", "UPDATE", "false", (time) => bench.api.annotate(child, { time }));
    await bench.applyObject("kept", answering(labelled({ team: "shop" })));
    const { message } = await bench.failed(object, "ChildRefused");
    assert.match(message, /a team is missing/);
    assert.equal((await bench.api.get(child)).metadata.uid, uid);
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
