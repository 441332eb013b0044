import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { KubernetesObject } from "../../runtime/kubernetes/objects";
import { fieldManagerOf, leaseNameOf } from "../../runtime/names";
import { always, eventually } from "../support/eventually";
import type { Api } from "./support/api";
import { announceKind, sharedCluster } from "./support/cluster";
import { ControllerProcess } from "./support/controllerProcess";
import { configMap, inNamespace } from "./support/manifests";
import { TcpProxy } from "./support/tcpProxy";
import {
  customResourceDefinitionOf,
  type ObjectPlan,
  type TestController,
  type TestControllerOptions,
  TestOperator,
} from "./support/testOperator";
import { answering, conditionOf } from "./support/useOperator";

const OPERATOR = { name: "leadership-test" };
/** Soon over, for tests that wait for its end, and not so soon that a busy machine cannot renew it in time. */
const LEASE_SECONDS = 9;
/** How long a run takes that is to be interrupted: longer than it takes to do so. */
const INTERRUPTED_MS = 6_000;
/** Not over within any deadline here. */
const LONG_LEASE_SECONDS = 60;
const LOST = "not leading any more";

describe("of two controllers of one operator", function () {
  this.timeout(150_000);
  announceKind(customResourceDefinitionOf(OPERATOR));
  let operator: TestOperator;
  let api: Api;
  let namespace: string;
  let cleanUp: (() => Promise<void>)[];

  before(async function () {
    this.timeout(0);
    const cluster = await sharedCluster();
    api = cluster.api;
    operator = await TestOperator.install(cluster, OPERATOR);
  });
  beforeEach(async () => {
    cleanUp = [];
    namespace = await api.newNamespace(OPERATOR.name);
  });
  afterEach(async () => {
    await Promise.all(cleanUp.map((clean) => clean()));
    await api.delete(lease());
  });
  after(() => operator?.dispose());

  it("only one works", async () => {
    const leaseSeconds = LONG_LEASE_SECONDS;
    const controllers = [await start("one", { leaseSeconds }), await start("two", { leaseSeconds })];
    await eventually(() => assert.ok(controllers.some(({ controller }) => controller.isLeading)));
    for (let at = 0; at < 10; at++) await apply(`only-${at}`, answering(configMap(`only-${at}`)));
    for (let at = 0; at < 10; at++) await ready(`only-${at}`);
    const [leader, standby] = controllers.sort((a, b) => b.reports.length - a.reports.length);
    assert.ok(leader?.controller.isLeading);
    assert.equal(standby?.controller.isLeading, false);
    assert.deepEqual(standby?.reports, []);
  });

  it("the other takes over at once when the first is stopped, which finishes its work before", async () => {
    const first = await leading("one", { leaseSeconds: LONG_LEASE_SECONDS / 2 });
    const second = await start("two", { leaseSeconds: LONG_LEASE_SECONDS / 2 });
    await apply("handed-over", { ...answering(configMap("handed-over", { by: "one" })), delayMs: 1_000 });
    await eventually(() => assert.equal(operator.calls("handed-over").length, 1));
    await first.stop();
    assert.deepEqual(
      first.reportsOf("handed-over").map(({ result }) => result),
      ["succeeded"],
    );
    // Not by the end of the lease, which is later than this.
    await eventually(() => assert.ok(second.controller.isLeading), { timeoutMs: 20_000 });
    await apply("handed-over", answering(configMap("handed-over", { by: "two" })));
    await ready("handed-over");
    assert.deepEqual(await dataOf("handed-over"), { by: "two" });
  });

  it("one that is to stop waits no longer than it is told, and the other does over what ran", async () => {
    const first = await leading("impatient", { leaseSeconds: LONG_LEASE_SECONDS / 2 });
    const second = await start("patient", { leaseSeconds: LONG_LEASE_SECONDS / 2 });
    await apply("interrupted", {
      ...answering(configMap("interrupted", { by: "$CONTROLLER" })),
      delayMs: INTERRUPTED_MS,
    });
    await eventually(() => assert.equal(operator.calls("interrupted").length, 1));
    await first.controller.stop(100);
    await eventually(() => assert.equal(first.reportsOf("interrupted")[0]?.skipped, "not the leader"));
    await ready("interrupted");
    assert.deepEqual(await dataOf("interrupted"), { by: "patient" });
    assert.ok(second.controller.isLeading);
    const events = await api.list({ apiVersion: "events.k8s.io/v1", kind: "Event" }, namespace);
    assert.ok(
      !events.some((event) => event["reportingInstance"] === "impatient" && event["type"] === "Warning"),
    );
  });

  it("the other takes over when the lease of one that died in the middle of a run is over", async () => {
    const first = await leadingProcess("dies");
    await apply("orphaned", { ...answering(configMap("orphaned")), delayMs: INTERRUPTED_MS });
    await eventually(() => assert.equal(operator.calls("orphaned").length, 1));
    const second = await start("two");
    await first.kill();
    assert.equal((await leaseSpec())["holderIdentity"], "dies");
    assert.equal(second.controller.isLeading, false);
    await ready("orphaned");
    assert.equal((await leaseSpec())["holderIdentity"], "two");
    await eventually(() => assert.equal(second.reportsOf("orphaned")[0]?.result, "succeeded"));
  });

  it("one that was frozen past its lease writes nothing of what it knew", async () => {
    const frozen = await leadingProcess("frozen");
    const stale = answering(configMap("stale", { of: "one" }), configMap("stale-only"));
    await apply("stale", { ...stale, delayMs: INTERRUPTED_MS });
    await apply("stale-failure", { raw: "no answer", delayMs: INTERRUPTED_MS });
    await eventually(() => {
      assert.equal(operator.calls("stale").length, 1);
      assert.equal(operator.calls("stale-failure").length, 1);
    });
    frozen.freeze();
    const other = await leading("other");
    await apply("stale", answering(configMap("stale", { of: "two" })));
    await apply("stale-failure", answering(configMap("stale-failure")));
    await ready("stale");
    await ready("stale-failure");
    const newer = await everything();

    frozen.thaw();
    await eventually(() => {
      assert.ok(frozen.notices.includes(LOST), frozen.notices.join());
      assert.equal(frozen.reportsOf("stale")[0]?.skipped, "not the leader");
      assert.equal(frozen.reportsOf("stale-failure")[0]?.skipped, "not the leader");
    });
    await always(async () => assert.deepEqual(await everything(), newer), { forMs: 1_500 });
    const events = await api.list({ apiVersion: "events.k8s.io/v1", kind: "Event" }, namespace);
    assert.deepEqual(
      events.filter((event) => event["reportingInstance"] === "frozen"),
      [],
    );
    assert.ok(other.controller.isLeading);
    assert.deepEqual(frozen.faults, []);
  });

  it("one that was frozen past its lease, which nobody took, does over what it could not write", async () => {
    const frozen = await leadingProcess("frozen");
    await apply("resumed", { ...answering(configMap("resumed")), delayMs: INTERRUPTED_MS });
    await eventually(() => assert.equal(operator.calls("resumed").length, 1));
    frozen.freeze();
    await sleep(LEASE_SECONDS * 1_000 + 500);
    frozen.thaw();
    await ready("resumed");
    assert.deepEqual(frozen.faults, []);
  });

  it("the leader goes on and the other waits when the lease is deleted by hand", async () => {
    // As long as it is by default, so that a busy machine renews it in time.
    const leaseSeconds = 15;
    const leader = await leading("one", { leaseSeconds });
    const standby = await start("two", { leaseSeconds });
    for (let round = 0; round < 2; round++) {
      // The standby has seen the lease.
      await sleep(leaseSeconds * 250);
      await api.delete(lease());
      await always(() => assert.equal(standby.controller.isLeading, false), { forMs: leaseSeconds * 400 });
      await eventually(async () => assert.equal((await leaseSpec())["holderIdentity"], "one"));
    }
    await apply("deleted-lease", answering(configMap("deleted-lease")));
    await ready("deleted-lease");
    assert.ok(leader.controller.isLeading);
    assert.ok(!leader.notices.includes(LOST));
  });

  it("one stops writing when the API server does not answer, and the other takes over", async () => {
    const proxy = await proxied();
    const cutOff = await leading("cut-off", { connection: proxy.through(operator.connection) });
    await apply("cut-off", { ...answering(configMap("cut-off", { of: "one" })), delayMs: INTERRUPTED_MS });
    await eventually(() => assert.equal(operator.calls("cut-off").length, 1));
    proxy.hold();
    await eventually(() => assert.equal(cutOff.controller.isLeading, false));
    await leading("other");
    await apply("cut-off", answering(configMap("cut-off", { of: "two" })));
    await ready("cut-off");
    const newer = await everything();
    proxy.release();
    await eventually(() => assert.equal(cutOff.reportsOf("cut-off")[0]?.skipped, "not the leader"));
    await always(async () => assert.deepEqual(await everything(), newer));
  });

  it("one that leads again knows that the other has changed its children meanwhile", async () => {
    const proxies = [await proxied(), await proxied()] as const;
    const first = await leading("first", { connection: proxies[0].through(operator.connection) });
    await apply("back", answering(configMap("back", { step: "1" })));
    await ready("back");
    proxies[0].hold();
    const second = await leading("second", { connection: proxies[1].through(operator.connection) });
    proxies[0].release();
    await apply("back", answering(configMap("back", { step: "2" })));
    await ready("back");
    proxies[1].hold();
    await eventually(() => assert.equal(second.controller.isLeading, false));
    // What the first one has applied in its first term, and would find nothing to do for.
    await apply("back", answering(configMap("back", { step: "1" })));
    await eventually(() => assert.ok(first.controller.isLeading));
    await ready("back");
    assert.deepEqual(await dataOf("back"), { step: "1" });
    proxies[1].release();
  });

  it("the leader makes good what a former one wrote too late", async () => {
    await leading("one");
    const object = await apply("late", answering(configMap("late", { of: "now" })));
    await ready("late");
    // The API server tells the time of an apply in whole seconds.
    await sleep(1_100);
    const child = await api.get(here("late"));
    const { ownerReferences, labels } = child.metadata;
    const late = configMap(
      "late",
      { of: "then" },
      { namespace, ...(ownerReferences && { ownerReferences }) },
    );
    await api.apply(
      { ...late, metadata: { ...late.metadata, ...(labels && { labels }) } },
      fieldManagerOf(operator.operator),
    );
    await eventually(async () => assert.deepEqual(await dataOf("late"), { of: "now" }));
    assert.equal((await api.get(object)).metadata.generation, 1);
  });

  it("none works any more when both are stopped at the same time", async () => {
    await apply("stopped", answering(configMap("stopped")));
    for (let round = 0; round < 3; round++) {
      const both = [await leading(`one-${round}`), await start(`two-${round}`)];
      await Promise.all(both.map(({ stop }) => stop()));
      const reports = both.map(({ reports }) => reports.length);
      await sleep(200);
      assert.deepEqual(
        both.map(({ reports }) => reports.length),
        reports,
      );
      for (const one of both) assert.equal(await one.metric("argosy_handler_processes"), 0);
    }
  });

  async function start(identity: string, options: TestControllerOptions = {}): Promise<TestController> {
    const controller = await operator.start({ leaseSeconds: LEASE_SECONDS, ...options, identity });
    cleanUp.push(controller.stop);
    return controller;
  }

  async function leading(identity: string, options: TestControllerOptions = {}): Promise<TestController> {
    const controller = await start(identity, options);
    await eventually(() => assert.ok(controller.controller.isLeading, `${identity} does not lead`));
    return controller;
  }

  async function leadingProcess(identity: string): Promise<ControllerProcess> {
    const controller = await ControllerProcess.start(operator, { identity, leaseSeconds: LEASE_SECONDS });
    cleanUp.push(() => controller.kill());
    await eventually(() => assert.ok(controller.notices.includes("leading"), `${identity} does not lead`));
    return controller;
  }

  async function proxied(): Promise<TcpProxy> {
    const proxy = await TcpProxy.start(operator.connection);
    cleanUp.push(() => proxy.stop());
    return proxy;
  }

  function apply(name: string, plan: ObjectPlan): Promise<KubernetesObject> {
    return api.apply(operator.object(name, plan, namespace));
  }

  /** Waits until an object is ready at its newest generation. */
  async function ready(name: string): Promise<void> {
    await eventually(async () => {
      const now = await api.get(operator.object(name, {}, namespace));
      const { status, observedGeneration, message } = conditionOf(now, "Ready");
      assert.equal(observedGeneration, now.metadata.generation, `${name} is not observed`);
      assert.equal(status, "True", message);
    });
  }

  /** All that the engine may have written. */
  async function everything(): Promise<KubernetesObject[]> {
    const { apiVersion, kind } = operator.object("any");
    const objects = await api.list({ apiVersion, kind }, namespace);
    return [...objects, ...(await api.list({ apiVersion: "v1", kind: "ConfigMap" }, namespace))];
  }

  function here(name: string) {
    return inNamespace(configMap(name), namespace);
  }

  async function dataOf(name: string): Promise<unknown> {
    return (await api.get(here(name)))["data"];
  }

  function lease() {
    const metadata = { name: leaseNameOf(operator.operator), namespace: operator.runnerNamespace };
    return { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata };
  }

  async function leaseSpec(): Promise<Record<string, unknown>> {
    return ((await api.get(lease()))["spec"] ?? {}) as Record<string, unknown>;
  }
});
