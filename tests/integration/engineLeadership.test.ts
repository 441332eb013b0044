import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { always, eventually } from "../support/eventually";
import { ApiProxy } from "./support/apiProxy";
import { LEASE_SECONDS, LeadershipScene } from "./support/leadershipScene";
import { configMap } from "./support/manifests";
import { type Play, withOperatorEach } from "./support/operatorEach";
import { answering } from "./support/useOperator";

/** How long a run takes that is to be interrupted: longer than it takes to do so. */
const INTERRUPTED_MS = 6_000;
/** Not over within any deadline here. */
const LONG_LEASE_SECONDS = 60;
const LOST = "not leading any more";

/** They wait for the ends of leases nearly all the time. */
const scenes: Readonly<Record<string, Play<LeadershipScene>>> = {
  "one that is to stop waits no longer than it is told, and the other does over what ran": async (scene) => {
    const first = await scene.leading("impatient", { leaseSeconds: LONG_LEASE_SECONDS / 2 });
    const second = await scene.start("patient", { leaseSeconds: LONG_LEASE_SECONDS / 2 });
    await scene.apply("interrupted", {
      ...answering(configMap("interrupted", { by: "$CONTROLLER" })),
      delayMs: INTERRUPTED_MS,
    });
    await eventually(() => assert.equal(scene.operator.calls("interrupted").length, 1));
    await first.controller.stop(100);
    await eventually(() => assert.equal(first.reportsOf("interrupted")[0]?.skipped, "not the leader"));
    await scene.ready("interrupted");
    assert.deepEqual(await scene.dataOf("interrupted"), { by: "patient" });
    assert.ok(second.controller.isLeading);
    const events = await scene.api.list({ apiVersion: "events.k8s.io/v1", kind: "Event" }, scene.namespace);
    assert.ok(
      !events.some((event) => event["reportingInstance"] === "impatient" && event["type"] === "Warning"),
    );
  },

  "one that was frozen past its lease writes nothing of what it knew": async (scene) => {
    const frozen = await scene.leadingProcess("frozen");
    const stale = answering(configMap("stale", { of: "one" }), configMap("stale-only"));
    await scene.apply("stale", { ...stale, delayMs: INTERRUPTED_MS });
    await scene.apply("stale-failure", { raw: "no answer", delayMs: INTERRUPTED_MS });
    await eventually(() => {
      assert.equal(scene.operator.calls("stale").length, 1);
      assert.equal(scene.operator.calls("stale-failure").length, 1);
    });
    frozen.freeze();
    const other = await scene.leading("other");
    await scene.apply("stale", answering(configMap("stale", { of: "two" })));
    await scene.apply("stale-failure", answering(configMap("stale-failure")));
    await scene.ready("stale");
    await scene.ready("stale-failure");
    const newer = await scene.everything();

    frozen.thaw();
    await eventually(() => {
      assert.ok(frozen.notices.includes(LOST), frozen.notices.join());
      assert.equal(frozen.reportsOf("stale")[0]?.skipped, "not the leader");
      assert.equal(frozen.reportsOf("stale-failure")[0]?.skipped, "not the leader");
    });
    await always(async () => assert.deepEqual(await scene.everything(), newer), { forMs: 1_500 });
    const events = await scene.api.list({ apiVersion: "events.k8s.io/v1", kind: "Event" }, scene.namespace);
    assert.deepEqual(
      events.filter((event) => event["reportingInstance"] === "frozen"),
      [],
    );
    assert.ok(other.controller.isLeading);
    assert.deepEqual(frozen.faults, []);
  },

  "one that was frozen past its lease, which no other runner took, repeats what it could not write": async (
    scene,
  ) => {
    const frozen = await scene.leadingProcess("frozen");
    await scene.apply("resumed", { ...answering(configMap("resumed")), delayMs: INTERRUPTED_MS });
    await eventually(() => assert.equal(scene.operator.calls("resumed").length, 1));
    frozen.freeze();
    await sleep(LEASE_SECONDS * 1_000 + 500);
    frozen.thaw();
    await scene.ready("resumed");
    assert.deepEqual(frozen.faults, []);
  },

  "one asks no handler about what the API server answers only after its term": async (scene) => {
    const proxy = await ApiProxy.start(scene.operator.cluster.connection);
    try {
      const late = await scene.leading("late", { connection: proxy.through(scene.operator.connection) });
      const object = await scene.apply("late-read", answering(configMap("late-read")));
      await scene.ready("late-read");
      let release = () => {};
      const released = new Promise<undefined>((resolve) => {
        release = () => resolve(undefined);
      });
      let isReading = false;
      proxy.before = ({ method, path }) => {
        if (path.includes("/leases")) return isReading ? "cut" : undefined;
        if (method !== "GET" || !path.includes("/late-read")) return undefined;
        isReading = true;
        return released;
      };
      // A hint that comes while the object is reconciled may lead to another read than that of the next run.
      await eventually(() => {
        const [known] = late.controller.objects().filter(({ name }) => name === "late-read");
        if (known?.state === "idle") late.controller.hint(object.metadata);
        assert.ok(isReading, "it reads the object");
      });
      await eventually(() => assert.equal(late.controller.isLeading, false));
      await scene.leading("other");
      await scene.apply("late-read", answering(configMap("late-read", { of: "two" })));
      await scene.ready("late-read");
      const asked = scene.operator.calls("late-read").length;
      release();
      await eventually(() => assert.equal(late.reportsOf("late-read").at(-1)?.skipped, "not the leader"));
      assert.equal(scene.operator.calls("late-read").length, asked);
    } finally {
      await proxy.stop();
    }
  },

  "one that leads again knows that the other has changed its children since its last term": async (scene) => {
    const proxies = [await scene.proxied(), await scene.proxied()] as const;
    const first = await scene.leading("first", { connection: proxies[0].through(scene.operator.connection) });
    await scene.apply("back", answering(configMap("back", { step: "1" })));
    await scene.ready("back");
    proxies[0].hold();
    const second = await scene.leading("second", {
      connection: proxies[1].through(scene.operator.connection),
    });
    proxies[0].release();
    await scene.apply("back", answering(configMap("back", { step: "2" })));
    await scene.ready("back");
    proxies[1].hold();
    await eventually(() => assert.equal(second.controller.isLeading, false));
    // What the first one has applied in its first term, and would find nothing to do for.
    await scene.apply("back", answering(configMap("back", { step: "1" })));
    await eventually(() => assert.ok(first.controller.isLeading));
    await scene.ready("back");
    assert.deepEqual(await scene.dataOf("back"), { step: "1" });
    proxies[1].release();
  },

  "none works any more when both are stopped at the same time": async (scene) => {
    await scene.apply("stopped", answering(configMap("stopped")));
    for (let round = 0; round < 3; round++) {
      const both = [await scene.leading(`one-${round}`), await scene.start(`two-${round}`)];
      await Promise.all(both.map(({ stop }) => stop()));
      const reports = both.map(({ reports }) => reports.length);
      await sleep(200);
      assert.deepEqual(
        both.map(({ reports }) => reports.length),
        reports,
      );
      for (const one of both) assert.equal(await one.metric("argosy_handler_processes"), 0);
    }
  },
};

describe("of two controllers of one operator", function () {
  this.timeout(150_000);
  withOperatorEach({ name: "leadership" }, LeadershipScene.play, scenes);
});
