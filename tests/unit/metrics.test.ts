import assert from "node:assert/strict";
import { ReconcileFailure } from "../../runtime/base/failure";
import { Metrics } from "../../runtime/engine/metrics";
import { reconcileReport } from "./support/objects";

describe("Metrics", () => {
  const report = reconcileReport({ durationMs: 20 });

  /** The samples that Prometheus reads, without the label that each of them carries. */
  async function samples(metrics: Metrics): Promise<string[]> {
    const lines = (await metrics.registry.metrics())
      .split("\n")
      .filter((line) => line && !line.startsWith("#"));
    assert.ok(lines.every((line) => line.startsWith("argosy_") && line.includes('operator="shop"')));
    return lines.map((line) => line.replace(/,?operator="shop"/, "").replace("{}", ""));
  }

  function make(depth: () => number = () => 0): Metrics {
    return new Metrics("shop", {
      queue_depth: depth,
      queue_oldest_seconds: () => 1.5,
      resync_late_seconds: () => 2.5,
      objects_failing: () => 7,
      objects_contested: () => 8,
      reconciles_active: () => 2,
      handler_processes: () => 3,
      children: () => 4,
      leader: () => 1,
      rollout_objects_waiting: () => 9,
      rollout_halted: () => 1,
    });
  }

  it("reads its gauges when they are asked for", async () => {
    let depth = 5;
    const metrics = make(() => depth);
    assert.ok((await samples(metrics)).includes("argosy_queue_depth 5"));
    depth = 6;
    const lines = await samples(metrics);
    for (const line of [
      "argosy_queue_depth 6",
      "argosy_queue_oldest_seconds 1.5",
      "argosy_resync_late_seconds 2.5",
      "argosy_objects_failing 7",
      "argosy_objects_contested 8",
      "argosy_reconciles_active 2",
      "argosy_handler_processes 3",
      "argosy_children 4",
      "argosy_leader 1",
    ]) {
      assert.ok(lines.includes(line), line);
    }
  });

  it("counts reconciles, failures, changes and time", async () => {
    const metrics = make();
    metrics.reconciled({
      ...report,
      changes: [{ verb: "created", apiVersion: "v1", kind: "ConfigMap", name: "settings" }],
    });
    const failure = new ReconcileFailure("HandlerCrashed", "x");
    metrics.reconciled({ ...report, result: "failed", failure });
    const lines = await samples(metrics);
    for (const line of [
      'argosy_reconciles_total{result="succeeded"} 1',
      'argosy_reconciles_total{result="failed"} 1',
      'argosy_reconcile_failures_total{reason="HandlerCrashed"} 1',
      'argosy_child_changes_total{verb="created",kind="ConfigMap"} 1',
      "argosy_reconcile_duration_seconds_count 2",
      "argosy_reconcile_duration_seconds_sum 0.04",
    ]) {
      assert.ok(lines.includes(line), `${line} is not among\n${lines.join("\n")}`);
    }
  });

  it("counts what goes wrong around the reconciles", async () => {
    const metrics = make();
    metrics.handlerStarts.inc();
    metrics.handlerFailures.inc({ reason: "HandlerTimedOut" });
    metrics.requests.inc({ method: "GET", code: "0" });
    metrics.watchInterruptions.inc({ kind: "ConfigMap" });
    metrics.droppedEvents.inc();
    metrics.hints.inc({ result: "queued" });
    const lines = await samples(metrics);
    for (const line of [
      'argosy_hints_total{result="queued"} 1',
      "argosy_handler_process_starts_total 1",
      'argosy_handler_process_failures_total{reason="HandlerTimedOut"} 1',
      'argosy_api_requests_total{method="GET",code="0"} 1',
      'argosy_watch_interruptions_total{kind="ConfigMap"} 1',
      "argosy_kubernetes_events_dropped_total 1",
    ]) {
      assert.ok(lines.includes(line), `${line} is not among\n${lines.join("\n")}`);
    }
  });

  it("begins at 0 with whatever it may count, so that a first time is an increase", async () => {
    const lines = await samples(make());
    for (const line of [
      'argosy_reconciles_total{result="failed"} 0',
      'argosy_reconcile_failures_total{reason="InternalError"} 0',
      'argosy_handler_process_failures_total{reason="HandlerCrashed"} 0',
      'argosy_hints_total{result="leaderless"} 0',
    ]) {
      assert.ok(lines.includes(line), `${line} is not among\n${lines.join("\n")}`);
    }
  });

  it("keeps the metrics of two operators apart", async () => {
    const other = make();
    make().droppedEvents.inc();
    assert.ok((await samples(other)).includes("argosy_kubernetes_events_dropped_total 0"));
  });
});
