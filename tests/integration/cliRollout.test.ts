import assert from "node:assert/strict";
import { buildEngineFiles, buildFiles } from "../../components/manifests/operator/configMaps";
import { buildRunner } from "../../components/manifests/operator/runner";
import { leaseNameOf } from "../../runtime/base/names";
import type { KubernetesObject, Manifest } from "../../runtime/base/objects";
import { type RolloutState, rolloutStateIn, rolloutText } from "../../runtime/engine/rollout";
import type { Operator } from "../../runtime/operator/definition";
import { addFiles, writeFolder } from "../unit/operatorFolder";
import { operatorOptions } from "../unit/operatorManifests";
import { samplePlatform } from "../unit/support/platform";
import { runArgosy } from "../unit/support/runArgosy";
import { deployedDefinition } from "./support/manifests";
import { askForCluster } from "./support/sharedCluster";
import { useOperator } from "./support/useOperator";

const HALTED: RolloutState = {
  program: "new",
  former: "old",
  stage: "first",
  since: "2026-01-01T00:00:00Z",
  halted: { at: "2026-01-01T00:01:00Z", why: "shop/a failed" },
};
const rollout = { firstPercent: 5, pauseSeconds: 60, haltAfterFailures: 3, haltOnDeletions: true };

describe("argosy rollout", function () {
  this.timeout(60_000);
  const bench = useOperator({ name: "rolled" });
  let kubeconfig: string;
  let namespace: string;
  let other: Operator;

  before(async () => {
    kubeconfig = await askForCluster();
    const { operator } = bench.operator;
    namespace = bench.operator.runnerNamespace;
    other = { ...operator, name: "rolled-too" };
    for (const each of [operator, other]) await bench.api.apply(deployedDefinition(each, namespace));
  });

  async function argosy(expectedCode: number, ...args: string[]): Promise<string> {
    const { result, stdout, stderr } = await runArgosy("rollout", ...args, "--kubeconfig", kubeconfig);
    assert.equal(result, expectedCode, `${stdout}\n${stderr}`);
    return stdout + stderr;
  }

  const leaseOf = (operator: Operator) => ({
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: leaseNameOf(operator), namespace },
  });
  async function says(operator: Operator, text: string): Promise<void> {
    const { metadata, ...lease } = leaseOf(operator);
    await bench.api.apply({
      ...lease,
      metadata: { ...metadata, annotations: { "argosy.dev/rollout": text } },
    });
  }
  async function stateOf(operator: Operator): Promise<RolloutState | undefined> {
    const { metadata } = await bench.api.get(leaseOf(operator));
    return rolloutStateIn(metadata.annotations?.["argosy.dev/rollout"]);
  }

  it("shows the roll-outs, and resumes the one that has halted; of two, the one that is named", async () => {
    const { operator } = bench.operator;
    await says(operator, rolloutText(HALTED));
    assert.match(
      await argosy(3, "status"),
      /rolled: halted about its first objects since \S+: shop\/a failed/,
    );
    const [line = ""] = (await argosy(3, "status", "rolled", "--json")).trim().split("\n");
    assert.deepEqual(JSON.parse(line).halted, HALTED.halted);
    await says(other, rolloutText(HALTED));
    assert.match(
      await argosy(2, "resume"),
      /Several roll-outs have halted: \S+\.rolled, \S+\.rolled-too\. Name one/,
    );
    const {
      operator: name,
      installation: _,
      ...resumed
    } = JSON.parse(await argosy(0, "resume", "rolled-too", "--json"));
    assert.deepEqual([name, resumed.halted, resumed.accepted], ["rolled-too", undefined, true]);
    assert.deepEqual(await stateOf(other), resumed);
    assert.ok((await stateOf(operator))?.halted);
    assert.match(await argosy(1, "resume", "rolled-too"), /has not halted/);
    await argosy(0, "resume");
    assert.match(await argosy(0, "status", "rolled"), /the new version is asked about its first objects/);
    assert.match(await argosy(1, "undo", "missing"), /There is no operator missing/);
    assert.match(await argosy(2, "stop"), /stop is none of status, resume, undo/);
    // A text that was changed by hand is no state.
    await says(operator, rolloutText(HALTED).replace("first", "done"));
    assert.match(await argosy(1, "resume", "rolled"), /No staged roll-out has halted/);
  });

  it("brings the former version back, under names that a later pulumi up does not need", async () => {
    const { operator } = bench.operator;
    await says(operator, rolloutText(HALTED));
    await deploy("old", "old");
    const runner = await deploy("new", "new");
    assert.match(
      await argosy(1, "undo", "rolled"),
      /the ConfigMap rolled-engine-\S+ of the former version is gone/,
    );
    await bench.api.apply(engine());
    assert.match(await argosy(0, "undo", "rolled"), /rolled goes back to its former version/);
    const { spec } = await bench.api.get({ ...runner, metadata: { name: runner.metadata.name, namespace } });
    const text = JSON.stringify(spec);
    const [name] = /rolled-handler-[0-9a-f]+-undo/.exec(text) ?? [];
    const files = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: name ?? "", namespace } };
    const { data, metadata } = (await bench.api.get(files)) as KubernetesObject & { data: object };
    assert.deepEqual(data, { "main.py": "old" });
    assert.equal(metadata.ownerReferences?.[0]?.kind, "Deployment");
    assert.equal((await stateOf(operator))?.undone, true);
  });

  const engine = () => buildEngineFiles("rolled", namespace, { "engine.js": "//" });

  /** A version of the operator, as Pulumi deploys it. Only the test makes the ReplicaSet. */
  async function deploy(hash: string, content: string): Promise<Manifest> {
    const folder = writeFolder({});
    addFiles(folder, { "main.py": content });
    const operator: Operator = { ...bench.operator.operator, folder, rollout };
    const platform = samplePlatform({ namespace, instanceId: "argosy", jetStreamVersion: "2.10.29" });
    const options = operatorOptions({ platform });
    const runner = buildRunner(operator, options, buildFiles(operator, options, engine()));
    const { uid } = (await bench.api.apply(runner)).metadata;
    const { template, selector } = runner.spec;
    const labels = { ...template.metadata?.labels, "pod-template-hash": hash };
    await bench.api.apply({
      apiVersion: "apps/v1",
      kind: "ReplicaSet",
      metadata: {
        name: `${runner.metadata.name}-${hash}`,
        namespace,
        ownerReferences: [{ apiVersion: "apps/v1", kind: "Deployment", name: runner.metadata.name, uid }],
      },
      spec: { replicas: 0, selector, template: { ...template, metadata: { ...template.metadata, labels } } },
    } as Manifest);
    return runner;
  }
});
