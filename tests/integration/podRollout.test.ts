import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { leaseNameOf } from "../../runtime/base/names";
import { type RolloutState, rolloutStateIn } from "../../runtime/engine/rollout";
import { WORKFLOW_TEMPLATES } from "../../runtime/report/workflows";
import { eventually } from "../support/eventually";
import { configMap, inNamespace } from "./support/manifests";
import { type PodBench, useDispatching } from "./support/podRun";

/** While this file exists, the handler is the bad version. */
const IS_BAD = path.join(os.tmpdir(), `argosy-bad-version-${process.pid}`);
const HANDLER = `
const { existsSync } = require("node:fs");
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, object } = JSON.parse(line);
  const child = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "of-" + object.metadata.name } };
  const children = existsSync(${JSON.stringify(IS_BAD)}) ? [] : [child];
  process.stdout.write(JSON.stringify({ id, children }) + "\\n");
});
`;
const NAMES = Array.from({ length: 6 }, (_, index) => `one-${index}`);

describe("a staged roll-out of runs in pods", function () {
  this.timeout(120_000);
  let bench: PodBench;
  const rollout = { first: "20%", pauseSeconds: 1, haltAfterFailures: 3, haltOnDeletions: true };
  useDispatching({ name: "staged", resyncSeconds: 86_400, handler: HANDLER, rollout }, (begun) => {
    bench = begun;
  });
  after(() => rmSync(IS_BAD, { force: true }));

  /** The template of runs is that of another version now. */
  async function deploy(version: string): Promise<void> {
    const { operator, api } = bench;
    await api.apply({
      apiVersion: WORKFLOW_TEMPLATES.apiVersion,
      kind: WORKFLOW_TEMPLATES.kind,
      metadata: { name: operator.operator.name, namespace: operator.runnerNamespace },
      spec: {
        templates: [{ name: "reconcile", volumes: [{ name: "engine", configMap: { name: version } }] }],
      },
    });
  }

  async function state(): Promise<RolloutState | undefined> {
    const { operator, api } = bench;
    const lease = await api.get({
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name: leaseNameOf(operator.operator), namespace: operator.runnerNamespace },
    });
    return rolloutStateIn(lease.metadata.annotations?.["argosy.dev/rollout"]);
  }

  const isDone = (former?: RolloutState) =>
    eventually(async () => {
      const now = await state();
      assert.equal(now?.stage, "done");
      assert.notEqual(now?.program, former?.program);
    });
  const runs = async () => (await Promise.all(NAMES.map((name) => bench.workflowsOf(name)))).flat().length;
  const children = () =>
    Promise.all(NAMES.map((name) => bench.api.get(inNamespace(configMap(`of-${name}`), bench.namespace))));

  it("halts a version that deletes children after the first share, keeps them, and is undone", async () => {
    await deploy("v1");
    for (const name of NAMES) await bench.api.apply(bench.object(name));
    await eventually(async () => void (await children()));
    await isDone();
    const good = await state();
    const uids = (await children()).map(({ metadata }) => metadata.uid);
    await eventually(async () => assert.equal(await runs(), NAMES.length));

    writeFileSync(IS_BAD, "");
    await deploy("v2");
    await eventually(async () => assert.match((await state())?.halted?.why ?? "", /^DeletionWithheld: /));
    assert.equal((await state())?.former, good?.program);
    assert.ok((await runs()) <= NAMES.length + 2, "two of six objects were asked about");
    assert.deepEqual(
      (await children()).map(({ metadata }) => metadata.uid),
      uids,
    );

    rmSync(IS_BAD);
    await deploy("v1");
    await eventually(async () => {
      assert.deepEqual([(await state())?.stage, (await state())?.program], ["done", good?.program]);
      for (const name of NAMES) assert.equal((await bench.readyOf(bench.object(name))).status, "True");
    });
    assert.deepEqual(
      (await children()).map(({ metadata }) => metadata.uid),
      uids,
    );
  });

  it("comes to its end with a version that does no harm", async () => {
    const before = await state();
    await deploy("v3");
    await isDone(before);
    assert.equal((await state())?.former, before?.program);
  });
});
