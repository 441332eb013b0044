import assert from "node:assert/strict";
import { cpSync, rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { isRunning } from "../../../cli/common/isRunning";
import {
  type Component,
  killComponent,
  processIdOf,
  readComponents,
  startComponent,
} from "../../../cli/controlPlane/component";
import { isNewer } from "../../../runtime/base/objects";
import { eventually } from "../../support/eventually";
import { killApiServer, startApiServer } from "../support/apiServer";
import { type OwnCluster, startTestCluster } from "../support/cluster";
import { configMap, inNamespace } from "../support/manifests";
import { TcpProxy } from "../support/tcpProxy";
import { TestOperator } from "../support/testOperator";
import { answering, becomesReady } from "../support/useOperator";

/** The longest pause of a watch between two tries, and the API server's start. No resync hides what the watches miss. */
const AFTERWARDS = { timeoutMs: 60_000 };

describe("when etcd is restored from a backup", function () {
  this.timeout(180_000);
  // Its own cluster: the objects of all tests in a cluster are lost with etcd.
  let cluster: OwnCluster;
  let operator: TestOperator;
  let proxy: TcpProxy;
  let namespace: string;

  before(async function () {
    this.timeout(0);
    cluster = await startTestCluster();
    operator = await TestOperator.install(cluster, { name: "restored", resyncSeconds: 3_600 });
    namespace = await cluster.api.newNamespace("restored");
    proxy = await TcpProxy.start(operator.connection);
    // Longer than the restore takes: if the lease were lost, the next term would list everything anyway.
    const { controller } = await operator.start({
      connection: proxy.through(operator.connection),
      leaseSeconds: 40,
    });
    await eventually(() => assert.ok(controller.isLeading));
  });
  after(async () => {
    await operator?.dispose();
    await proxy?.stop();
    await cluster?.close();
  });

  it("objects are what the API server has, and later changes are handled", async () => {
    const { api } = cluster;
    await apply("changed", "1");
    await apply("kept", "1");
    await apply("deleted", "1");
    await ready("changed");
    await ready("deleted");
    await ready("kept");
    const backup = `${cluster.controlPlane.directory}/backup`;
    await withoutEtcd((data) => cpSync(data, backup, { recursive: true }));

    await eventually(() => apply("changed", "2"));
    await ready("changed");
    await apply("lost", "1");
    await ready("lost");
    await api.delete(operator.object("deleted", {}, namespace));
    await eventually(() => api.assertGone(inNamespace(configMap("deleted"), namespace)));
    // So much more that the backup does not reach today's versions for some time.
    for (let at = 0; at < 200; at++) {
      await api.apply(inNamespace(configMap("noise", { at: String(at) }), "default"));
    }
    await withoutEtcd((data) => {
      rmSync(data, { recursive: true });
      cpSync(backup, data, { recursive: true });
    });

    await eventually(() => api.assertGone(operator.object("lost", {}, namespace)));
    await eventually(() => assertStep("changed", "1"), AFTERWARDS);
    await apply("kept", "3");
    await eventually(() => assertStep("kept", "3"), AFTERWARDS);
    await apply("deleted", "2");
    await eventually(() => assertStep("deleted", "2"), AFTERWARDS);
    await apply("new", "1");
    await eventually(() => assertStep("new", "1"), AFTERWARDS);
    await api.delete(inNamespace(configMap("new"), namespace));
    await eventually(() => assertStep("new", "1"), AFTERWARDS);
  });

  it("even if so much was written since that its versions are beyond those that were seen", async () => {
    const { api } = cluster;
    await apply("passed", "1");
    await ready("passed");
    const backup = `${cluster.controlPlane.directory}/backup-2`;
    await withoutEtcd((data) => cpSync(data, backup, { recursive: true }));
    await eventually(() => apply("passed", "2"));
    await ready("passed");
    const seen = await api.get(operator.object("passed", {}, namespace));
    // A restored backup is older than the last renewal of a lease.
    const renewed = await api.get(operator.lease);
    await eventually(async () => assert.notDeepEqual(await api.get(operator.lease), renewed));
    proxy.hold();
    await withoutEtcd((data) => {
      rmSync(data, { recursive: true });
      cpSync(backup, data, { recursive: true });
    });
    const write = (at: number) =>
      api.apply(inNamespace(configMap("noise", { again: String(at) }), "default"));
    let { metadata } = await eventually(() => write(0));
    // The API server's caches begin here. If they began later, they would refuse the watches that go on.
    await api.beginCache(operator.object("passed", {}, namespace));
    await api.beginCache(configMap("passed"));
    for (let at = 1; !isNewer(metadata.resourceVersion, seen.metadata.resourceVersion) || at < 100; at++)
      ({ metadata } = await write(at));
    proxy.release();
    await eventually(() => assertStep("passed", "1"), AFTERWARDS);
  });

  /** Does something to etcd's data while neither it nor the API server runs. */
  async function withoutEtcd(change: (data: string) => void): Promise<void> {
    const { controlPlane } = cluster;
    const { directory } = controlPlane;
    const etcd = (await readComponents(directory)).find(({ name }) => name === "etcd");
    assert.ok(etcd);
    await killApiServer(controlPlane);
    const id = await processIdOf(directory, etcd);
    await killComponent(directory, etcd);
    await eventually(() => assert.ok(id === undefined || !isRunning(id)));
    change(dataOf(etcd));
    await startComponent(directory, etcd);
    await sleep(500);
    await startApiServer(controlPlane);
  }

  function apply(name: string, step: string) {
    return cluster.api.apply(operator.object(name, answering(configMap(name, { step })), namespace));
  }

  const ready = (name: string) => becomesReady(cluster.api, operator.object(name, {}, namespace));

  async function assertStep(name: string, step: string): Promise<void> {
    const child = await cluster.api.get(inNamespace(configMap(name), namespace));
    assert.deepEqual(child["data"], { step });
    const asked = operator.calls(name).at(-1)?.object.spec as { answer?: object } | undefined;
    assert.match(
      JSON.stringify(asked?.answer),
      new RegExp(`"step":"${step}"`),
      "the handler saw another one",
    );
    await ready(name);
  }
});

/** The folder that etcd keeps its data in. */
function dataOf({ args }: Component): string {
  const [, folder] = /--data-dir=(\S+)/.exec(args.join(" ")) ?? [];
  assert.ok(folder, args.join(" "));
  return folder;
}
