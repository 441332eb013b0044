import assert from "node:assert/strict";
import { Counter, Registry } from "prom-client";
import { ReconcileFailure } from "../../runtime/base/failure";
import type { HttpListener } from "../../runtime/base/http/listen";
import { withoutRepeats } from "../../runtime/base/notices";
import { formatLogLine, type LogFields, logReport, logTo } from "../../runtime/programs/logLine";
import { startTelemetryServer } from "../../runtime/programs/telemetryServer";
import type { ReconcileReport } from "../../runtime/reconcile/report";
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
