import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { localHandler } from "../../cli/handler/localHandler";
import { RESIDENT_WORKFLOW_RULES } from "../../components/manifests/operator/rules";
import { conditionsIn, type JsonObject, type Manifest } from "../../runtime/base/objects";
import { Engine } from "../../runtime/engine/engine";
import { KubernetesClient } from "../../runtime/kubernetes/client";
import { RunRecorder } from "../../runtime/report/runRecorder";
import { WORKFLOWS } from "../../runtime/report/workflows";
import { always, eventually, inOneOf } from "../support/eventually";
import { allowRunner, announceArgo, INSTANCE_ID, KEPT } from "./support/argo";
import { configMap } from "./support/manifests";
import type { TestOperator } from "./support/testOperator";
import { saying, useWatching } from "./support/useWatching";

/** A Job that does nothing: no node runs its pods here, a test writes its status. */
function job(name: string, annotations: Record<string, string> = {}): Manifest {
  const containers = [{ name: "main", image: "busybox:1.37" }];
  const spec = { suspend: true, template: { spec: { restartPolicy: "Never", containers } } };
  return { apiVersion: "batch/v1", kind: "Job", metadata: { name, annotations }, spec };
}

describe("an operator that watches a kind that others own, with", function () {
  this.timeout(90_000);
  const bench = useWatching();
  announceArgo();

  const usedBy = (operator: TestOperator, name: string) => operator.calls(name).at(-1)?.used;

  it("a pure handler, is not asked after a restart in which nothing changed", async () => {
    const labels = { "example.com/by": `pure-${process.pid}` };
    const watch = { apiVersion: "v1", kind: "ConfigMap", labels };
    const operator = await bench.install({ watch, ask: "changed" });
    operator.plan("web", saying([configMap("of-web")], { seen: 1 }));
    const running = await operator.start({ program: "one", identity: "one" });
    const object = await bench.api.apply({
      ...bench.configMap("web"),
      metadata: { name: "web", namespace: bench.namespace, labels },
    });
    await bench.settled(operator, object);
    await eventually(async () => {
      assert.equal(typeof (await bench.memory(operator, object)).memory["digest"], "string");
    });
    await running.stop();
    const { resourceVersion } = (await bench.memory(operator, object)).metadata;
    for (const [program, times] of [
      ["one", 0],
      ["two", 1],
      ["two", 0],
    ] as const) {
      const before = operator.calls("web").length;
      const next = await operator.start({ program, identity: program });
      await eventually(() => assert.ok(next.reportsOf("web").length > 0, "not looked at"));
      assert.equal(operator.calls("web").length - before, times, program);
      await eventually(async () => {
        const { annotations = {} } = (await bench.api.get(operator.lease)).metadata;
        assert.ok(annotations["argosy.dev/asked-by"]);
      });
      await next.stop();
    }
    assert.equal((await bench.memory(operator, object)).metadata.resourceVersion, resourceVersion);
  });

  describe("uses", () => {
    const settings = (name: string, value: string) => bench.api.apply(bench.configMap(name, { value }));
    const settingOf = (operator: TestOperator, name: string) =>
      (usedBy(operator, name)?.["settings"] as { data?: { value: string } } | null)?.data?.value;

    it("is given what the object names, and asked when that changes", async () => {
      const name = "metadata.annotations['example.com/settings']";
      const operator = await bench.install({
        uses: { settings: { apiVersion: "v1", kind: "ConfigMap", name } },
      });
      operator.plan("web", saying([configMap("of-web")], { seen: 1 }));
      await bench.leading(operator);
      const object = await bench.watched(operator, "web");
      await bench.settled(operator, object);
      assert.deepEqual(usedBy(operator, "web"), { settings: null });
      await bench.api.annotate(object, { "example.com/settings": "first" });
      for (const value of ["one", "two"]) {
        await settings("first", value);
        await eventually(() => assert.equal(settingOf(operator, "web"), value));
      }
      const versionNow = async () => (await bench.api.get(object)).metadata.resourceVersion;
      let before = await versionNow();
      // Kubernetes' own Deployment controller writes to it too, and may be late.
      await eventually(async () => {
        const seen = before;
        await pause(2_000);
        before = await versionNow();
        assert.equal(before, seen);
      });
      await bench.api.delete(bench.configMap("first"));
      await eventually(() => assert.deepEqual(usedBy(operator, "web"), { settings: null }));
      assert.deepEqual((await bench.memory(operator, object)).memory["state"], { seen: 1 });
      assert.equal((await bench.api.get(object)).metadata.resourceVersion, before);
    });

    it("follows a name in a part of the object that does not count as a change", async () => {
      const name = "spec.template.metadata.annotations.settings";
      const labels = { "example.com/uses": "quietly" };
      const operator = await bench.install({
        watch: { apiVersion: "apps/v1", kind: "Deployment", labels, on: ["labels"] },
        uses: { settings: { apiVersion: "v1", kind: "ConfigMap", name } },
      });
      await settings("first", "1");
      await settings("second", "2");
      await bench.leading(operator);
      const object = await bench.watched(operator, "quiet");
      await bench.settled(operator, object);
      const naming = (settings: string) =>
        bench.api.patch(object, { spec: { template: { metadata: { annotations: { settings } } } } });
      for (const used of ["first", "second"]) {
        await naming(used);
        // A change of what the object used before, or does not use yet, asks no handler.
        await always(() => assert.notEqual(settingOf(operator, "quiet"), used), { forMs: 500 });
        await settings(used, `of ${used}`);
        await eventually(() => assert.equal(settingOf(operator, "quiet"), `of ${used}`));
      }
    });
  });

  describe("schedules", () => {
    it("is asked when one is due, once for all that was missed, and keeps its state", async () => {
      const operator = await bench.install({
        schedules: { yearly: { cron: "0 0 1 1 *", timeZone: "UTC", spreadSeconds: 0 } },
      });
      operator.plan("report", saying([configMap("of-report")], { seen: 1 }));
      const running = await bench.leading(operator);
      const object = await bench.watched(operator, "report");
      const kept = await bench.settled(operator, object);
      const { yearly } = kept.memory["schedules"] as { yearly: JsonObject };
      assert.equal(yearly["of"], "0 0 1 1 * UTC");
      await running.stop();
      // As if no operator had run for three years.
      const at = "2023-06-01T00:00:00Z";
      await bench.api.patch(kept, { memory: { schedules: { yearly: { ...yearly, at } } } });
      operator.plan("report", { answer: { error: { message: "not yet", retryAfterSeconds: 1 } } });
      await bench.leading(operator);
      const asked = () => operator.calls("report").filter(({ due }) => due.length > 0);
      await eventually(() => assert.ok(asked().length >= 2));
      assert.deepEqual(asked().at(-1)?.state, { seen: 1 });
      operator.plan("report", saying([configMap("of-report")]));
      await bench.settled(operator, object);
      const instant = `${new Date().getUTCFullYear()}-01-01T00:00:00Z`;
      assert.deepEqual(
        new Set(asked().flatMap(({ due }) => due.map(({ name, at }) => `${name} ${at}`))),
        new Set([`yearly ${instant}`]),
      );
      const before = asked().length;
      const calls = operator.calls("report").length;
      await bench.api.annotate(object, { "example.com/again": "1" });
      await eventually(() => assert.ok(operator.calls("report").length > calls));
      assert.equal(asked().length, before);
      assert.deepEqual((await bench.memory(operator, object)).memory["state"], { seen: 1 });
    });
  });

  describe("an order of its children", () => {
    const after = configMap("app", {}, { annotations: { "argosy.dev/after": "Job/migrate" } });
    const migrate = job("migrate", { "argosy.dev/once": "true" });

    it("applies each after those that it waits for, and creates none again that is created once", async () => {
      const operator = await bench.install({ children: ["v1/ConfigMap", "batch/v1/Job"] });
      operator.plan("db", saying([after, migrate]));
      const running = await bench.leading(operator);
      const object = await bench.watched(operator, "db");
      await eventually(async () => {
        const [ready] = conditionsIn((await bench.memory(operator, object))["status"]);
        assert.equal(ready?.message, "Job migrate is running; ConfigMap app waits for Job migrate");
      });
      await bench.api.assertGone(bench.configMap("app"));
      const now = new Date().toISOString().replace(/\.\d+/, "");
      const condition = (type: string): JsonObject => ({ type, status: "True", lastTransitionTime: now });
      await bench.api.applyStatus(bench.here(job("migrate")), {
        startTime: now,
        completionTime: now,
        succeeded: 1,
        conditions: [condition("SuccessCriteriaMet"), condition("Complete")],
      });
      await bench.settled(operator, object);
      const app = await bench.api.get(bench.configMap("app"));
      assert.deepEqual(Object.keys(app.metadata.annotations ?? {}), ["argosy.dev/follows"]);
      await bench.api.delete(bench.here(job("migrate")));
      await eventually(() => bench.api.assertGone(bench.here(job("migrate"))));
      // The next leader knows it too.
      await running.stop();
      await bench.leading(operator);
      const asked = operator.calls("db").length;
      await bench.api.annotate(object, { "example.com/again": "1" });
      await eventually(() => assert.ok(operator.calls("db").length > asked));
      await bench.settled(operator, object);
      await always(() => bench.api.assertGone(bench.here(job("migrate"))));
      await bench.unlabel(operator, object);
      await eventually(() => bench.api.assertGone(bench.configMap("app")));
      await eventually(() => bench.api.assertGone(operator.memoryOf(object)));
    });
  });

  describe("records", () => {
    it("names the record of a run in its memory, and records that it cleared up", async () => {
      const operator = await bench.install();
      await allowRunner(operator, "workflows", RESIDENT_WORKFLOW_RULES);
      const client = new KubernetesClient(operator.connection);
      const place = { client, namespace: operator.runnerNamespace, instanceId: INSTANCE_ID };
      const recorder = new RunRecorder({
        ...place,
        kept: KEPT,
        operator: operator.operator,
        onNotice: () => {},
      });
      const engine = new Engine({
        operator: operator.operator,
        connection: operator.connection,
        transport: localHandler(operator.operator, {}),
        namespace: operator.runnerNamespace,
        identity: "one",
        recorder,
      });
      try {
        await engine.start();
        await eventually(() => assert.ok(engine.isLeading));
        // A verdict waits a second for its record, which may take longer on a busy machine.
        const { object, records } = await inOneOf(10, async (time) => {
          const name = `shown-${time}`;
          operator.plan(name, saying([configMap(`of-${name}`)], { seen: 1 }));
          const object = await bench.watched(operator, name);
          const records = async () =>
            (await bench.api.list(WORKFLOWS, operator.runnerNamespace)).filter(
              ({ metadata }) => metadata.labels?.["argosy.dev/object-uid"] === object.metadata.uid,
            );
          const [record] = await eventually(async () => {
            const found = await records();
            assert.equal(found.length, 1);
            return found;
          });
          const kept = await bench.settled(operator, object);
          assert.match(
            conditionsIn(kept["status"])[0]?.message ?? "",
            new RegExp(`^every child is applied and ready \\(run ${record?.metadata.name}\\)$`),
          );
          assert.deepEqual(kept.memory, { kinds: ["v1/ConfigMap"], state: { seen: 1 } });
          return { object, records };
        });
        await bench.unlabel(operator, object);
        await eventually(() => bench.api.assertGone(operator.memoryOf(object)));
        await eventually(async () => assert.equal((await records()).length, 2));
        // The report of the last run must not bring back what was forgotten.
        await always(() => bench.api.assertGone(operator.memoryOf(object)));
      } finally {
        await engine.stop();
        client.close();
      }
    });
  });
});
