import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { Counter, Registry } from "prom-client";
import { ReconcileFailure } from "../../runtime/base/failure";
import type { HttpListener } from "../../runtime/base/http/listen";
import { withoutRepeats } from "../../runtime/base/notices";
import { Metrics } from "../../runtime/engine/metrics";
import { formatLogLine, type LogFields, logReport, logTo } from "../../runtime/programs/logLine";
import { startTelemetryServer } from "../../runtime/programs/telemetryServer";
import {
  leaveExitOfHandler,
  leaveTimings,
  writeTerminationMessage,
} from "../../runtime/programs/terminationMessage";
import type { ReconcileReport } from "../../runtime/reconcile/report";
import { temporaryFolder } from "../support/temporaryFolder";
import { FakeClock } from "./support/fakeClock";
import { reconcileReport } from "./support/objects";

describe("the telemetry server", () => {
  let server: HttpListener;
  let why: string | undefined;
  let stopping: AbortController;
  beforeEach(async () => {
    why = undefined;
    stopping = new AbortController();
    const registry = new Registry();
    registry.setDefaultLabels({ operator: "shop" });
    new Counter({ name: "runs_total", help: "Runs", registers: [registry] }).inc(2);
    const settings = { root: "", host: "127.0.0.1", ports: { hints: 0, metrics: 0 }, leaseSeconds: 15 };
    server = await startTelemetryServer({ settings, stopping: stopping.signal }, registry, () => why);
  });
  afterEach(() => server.close());

  async function get(path: string): Promise<[code: number, text: string]> {
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`);
    return [response.status, await response.text()];
  }

  it("says that the process lives, whether it is ready or not", async () => {
    why = "no handler";
    assert.deepEqual(await get("/livez"), [200, "ok\n"]);
  });

  it("says that it is ready, or why not", async () => {
    assert.deepEqual(await get("/readyz?verbose"), [200, "ok\n"]);
    why = "no handler";
    assert.deepEqual(await get("/readyz"), [503, "no handler\n"]);
    stopping.abort();
    assert.deepEqual(await get("/readyz"), [503, "the pod is to end\n"]);
  });

  it("serves metrics, and nothing else", async () => {
    const [code, text] = await get("/metrics");
    assert.equal(code, 200);
    assert.match(text, /^runs_total\{operator="shop"\} 2$/m);
    assert.equal((await get("/"))[0], 404);
  });
});

describe("a runner's notices", () => {
  it("are told again and again once a minute", async () => {
    const clock = FakeClock.install();
    try {
      const told: string[] = [];
      const tell = withoutRepeats((notice) => told.push(notice));
      for (const notice of ["leading", "gone", "gone", "leading", "gone"]) tell(notice);
      assert.deepEqual(told, ["leading", "gone", "leading", "gone"]);
      await clock.tick(59_999);
      tell("gone");
      assert.equal(told.length, 4);
      await clock.tick(1);
      tell("gone");
      assert.equal(told.length, 5);
    } finally {
      clock.uninstall();
    }
  });
});

describe("a runner's log", () => {
  const about = { namespace: "team", name: "one", uid: "u", generation: 3 };
  const report = reconcileReport({ ...about, attempt: 2, durationMs: 12.6 });

  function logged(more: Partial<ReconcileReport>): Record<string, unknown>[] {
    const lines: string[] = [];
    const log = logTo((line) => lines.push(line));
    logReport((level, message, fields) => log(level, message, { operator: "shop", ...fields }), {
      ...report,
      ...more,
    });
    return lines.map((line) => {
      const { time, ...rest } = JSON.parse(line) as Record<string, unknown>;
      assert.equal(new Date(String(time)).toISOString(), time);
      return rest;
    });
  }

  it("is one line for each thing told, whatever is in it", () => {
    const fields: LogFields = { log: 'two\nlines "and" \u001b[31mmore', reason: undefined };
    const line = formatLogLine("warn", "a\nb", fields, new Date(0));
    assert.equal(line.indexOf("\n"), line.length - 1);
    assert.deepEqual(JSON.parse(line), {
      time: "1970-01-01T00:00:00.000Z",
      level: "warn",
      message: "a\nb",
      log: fields.log,
    });
  });

  it("tells what a reconcile changed", () => {
    const changes = [
      { verb: "created", apiVersion: "apps/v1", kind: "Deployment", namespace: "team", name: "one" },
      { verb: "deleted", apiVersion: "v1", kind: "ConfigMap", namespace: "other", name: "old" },
    ] as const;
    assert.deepEqual(logged({ changes: [...changes] }), [
      {
        level: "info",
        message: "created Deployment one, deleted ConfigMap other/old",
        operator: "shop",
        object: "team/one",
        uid: "u",
        generation: 3,
        result: "succeeded",
        durationMs: 13,
        changes: ["created Deployment one", "deleted ConfigMap other/old"],
      },
    ]);
  });

  it("tells why a reconcile failed, with the end of the handler's own log", () => {
    const failure = new ReconcileFailure("HandlerCrashed", "the handler ended with exit code 1");
    assert.deepEqual(logged({ result: "failed", failure, log: "Traceback" }), [
      {
        level: "error",
        message: "the handler ended with exit code 1",
        operator: "shop",
        object: "team/one",
        uid: "u",
        generation: 3,
        result: "failed",
        durationMs: 13,
        reason: "HandlerCrashed",
        attempt: 2,
        log: "Traceback",
      },
    ]);
  });

  it("tells what a handler said, where nothing was to be changed", () => {
    assert.equal(logged({ log: "hello\n" })[0]?.["message"], "nothing to change");
  });

  it("says nothing where there is nothing to say, but that an object is paused", () => {
    assert.deepEqual(logged({}), []);
    for (const skipped of ["gone", "changed during the run", "not the leader"] as const) {
      assert.deepEqual(logged({ result: "skipped", skipped }), []);
    }
    assert.equal(logged({ result: "skipped", skipped: "paused" })[0]?.["message"], "paused");
  });
});

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

describe("the last word of a container", () => {
  let root: string;
  let file: string;
  beforeEach(() => {
    root = temporaryFolder();
    mkdirSync(path.join(root, "dev"));
    file = path.join(root, "dev/termination-log");
  });

  it("goes where the kubelet looks for it, short and without what a terminal would act on", () => {
    writeFileSync(file, "");
    writeTerminationMessage({ root }, `the handler ended \u001b[31mwith exit code 3${"!".repeat(9_000)}`);
    const text = readFileSync(file, "utf8");
    assert.match(text, /^the handler ended with exit code 3!+…$/);
    assert.ok(Buffer.byteLength(text) < 4096, "the kubelet cuts what is longer");
  });

  it("is not left where no kubelet has made a place for it", () => {
    writeTerminationMessage({ root }, "over");
    assert.equal(existsSync(file), false);
  });

  it("says in the place of a handler's container that it has ended, where Argo waits for that and does not know it", () => {
    const folder = path.join(root, "var/run/argo/ctr/handler");
    leaveExitOfHandler({ root });
    assert.equal(existsSync(folder), false);
    mkdirSync(folder, { recursive: true });
    leaveExitOfHandler({ root });
    assert.equal(readFileSync(path.join(folder, "exitcode"), "utf8"), "137");
    writeFileSync(path.join(folder, "exitcode"), "0");
    leaveExitOfHandler({ root });
    assert.equal(readFileSync(path.join(folder, "exitcode"), "utf8"), "0");
  });

  it("leaves how long the steps took where Argo takes outputs from, and nothing where there is no such place", () => {
    const timing = { from: 0, to: 5, steps: [{ name: "handler" as const, from: 1, to: 4 }], omitted: 0 };
    const report = reconcileReport({ durationMs: 5, timing });
    leaveTimings({ root }, [report]);
    assert.equal(existsSync(path.join(root, "tmp")), false);
    mkdirSync(path.join(root, "tmp"));
    leaveTimings({ root }, [report]);
    assert.equal(readFileSync(path.join(root, "tmp/timings.txt"), "utf8"), "+1.0 ms  3.0 ms  handler");
  });
});
