import assert from "node:assert/strict";
import fc from "fast-check";
import { ReconcileFailure } from "../../runtime/base/failure";
import { ownerRangeOf } from "../../runtime/base/names";
import type { Condition } from "../../runtime/base/objects";
import type { ReconcileReport } from "../../runtime/reconcile/report";
import { conditionsOf, type Verdict } from "../../runtime/remember/composeStatus";
import {
  buildRecordedRun,
  describeRun,
  isRecorded,
  outputsOf,
  type RecordingPlace,
} from "../../runtime/report/recordedRun";
import { runName } from "../../runtime/report/runRecorder";
import { reconcileReport } from "./support/objects";

const PLACE: RecordingPlace = {
  namespace: "operators",
  installation: "argosy",
  instanceId: "argosy",
  keptSeconds: 3_600,
};
const FINISHED = new Date("2026-11-20T14:22:41.900Z");
const HANDLER_FAILED = new ReconcileFailure("HandlerError", "no such plan");

function report(more: Partial<ReconcileReport> = {}): ReconcileReport {
  return reconcileReport({
    operator: "memcached",
    kind: "Memcached",
    namespace: "services",
    name: "demo",
    uid: "8c5e2f0a-1b1c-4c8e-9c39-2f8f6f1c2f11",
    generation: 3,
    changes: [
      { verb: "created", apiVersion: "apps/v1", kind: "Deployment", namespace: "services", name: "demo" },
    ],
    durationMs: 12.4,
    ...more,
  });
}

function record(given: ReconcileReport, place = PLACE) {
  return buildRecordedRun({ name: "memcached-demo-3-x2", report: given, finishedAt: FINISHED }, place);
}

/** What Kubernetes takes as a DNS subdomain, up to its longest, and operators' names as Argosy takes them. */
const label = (longest: number) =>
  fc.stringMatching(new RegExp(`^[a-z0-9]([-a-z0-9]{0,${longest - 2}}[a-z0-9])?$`));
const objectName = fc
  .array(label(63), { minLength: 1, maxLength: 8 })
  .map((labels) =>
    labels
      .join(".")
      .slice(0, 253)
      .replace(/[-.]+$/, ""),
  )
  .filter((name) => name !== "");
const operatorName = label(40);
const generation = fc.option(fc.nat({ max: Number.MAX_SAFE_INTEGER }), { nil: undefined });

describe("the name of a run", () => {
  it("is a DNS label of at most 63 characters, and so a label's value, whatever the object is called", () => {
    fc.assert(
      fc.property(operatorName, objectName, generation, (operator, name, of) => {
        const made = runName(operator, { name, generation: of }, ["x"]);
        assert.match(made, /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/);
        assert.ok(made.startsWith(operator.slice(0, 10)), made);
      }),
    );
  });

  it("can be read", () => {
    assert.match(
      runName("memcached", { name: "my.demo", generation: 3 }, []),
      /^memcached-my-demo-3-[0-9a-f]{10}$/,
    );
  });

  it("tells names that differ only where they are cut, and objects that differ only in a dot", () => {
    const long = "a".repeat(250);
    const names = ["x", "y"].map((end) => runName("op", { name: long + end }, []));
    assert.notEqual(names[0], names[1]);
    assert.notEqual(runName("op", { name: "a.b" }, []), runName("op", { name: "a-b" }, []));
  });

  it("is the same for the same run", () => {
    const name = () => runName("op", { name: "demo", generation: 1 }, ["uid", "HandlerError"]);
    assert.equal(name(), name());
  });
});

describe("a recorded run", () => {
  it("is a Workflow of the operator's template that has completed, as Argo's controller leaves one", () => {
    const { metadata, ...workflow } = record(report());
    assert.deepStrictEqual(metadata, {
      name: "memcached-demo-3-x2",
      namespace: "operators",
      labels: {
        "workflows.argoproj.io/completed": "true",
        "workflows.argoproj.io/phase": "Succeeded",
        "workflows.argoproj.io/workflow-template": "memcached",
        "workflows.argoproj.io/controller-instanceid": "argosy",
        "argosy.dev/operator": "argosy.memcached",
        "argosy.dev/object-uid": "8c5e2f0a-1b1c-4c8e-9c39-2f8f6f1c2f11",
        "argosy.dev/owner-range": ownerRangeOf("8c5e2f0a-1b1c-4c8e-9c39-2f8f6f1c2f11"),
      },
    });
    const told = {
      phase: "Succeeded",
      startedAt: "2026-11-20T14:22:41Z",
      finishedAt: "2026-11-20T14:22:41Z",
      message: "created Deployment demo",
      progress: "1/1",
    };
    assert.deepStrictEqual(workflow, {
      apiVersion: "argoproj.io/v1alpha1",
      kind: "Workflow",
      spec: {
        workflowTemplateRef: { name: "memcached" },
        arguments: {
          parameters: [
            { name: "namespace", value: "services" },
            { name: "name", value: "demo" },
            { name: "uid", value: "8c5e2f0a-1b1c-4c8e-9c39-2f8f6f1c2f11" },
          ],
        },
        ttlStrategy: { secondsAfterCompletion: 3_600 },
      },
      status: {
        ...told,
        nodes: {
          "memcached-demo-3-x2": {
            ...told,
            id: "memcached-demo-3-x2",
            name: "memcached-demo-3-x2",
            displayName: "memcached-demo-3-x2",
            type: "Plugin",
            templateName: "reconcile",
            templateScope: "local/",
            outputs: { parameters: outputsOf(report()) },
          },
        },
      },
    });
  });

  it("names its trace, if it has one, and says how long its steps took", () => {
    assert.equal(record(report()).metadata.labels?.["argosy.dev/trace-id"], undefined);
    const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
    const timing = { from: 0, to: 5, steps: [{ name: "handler" as const, from: 1, to: 4 }], omitted: 0 };
    const given = report({ traceId, timing });
    assert.equal(record(given).metadata.labels?.["argosy.dev/trace-id"], traceId);
    const timings = outputsOf(given).find(({ name }) => name === "timings")?.value;
    assert.equal(timings, `trace ${traceId}\n+1.0 ms  3.0 ms  handler`);
  });

  it("has no label of an instance where the controller has no id, and is archived only where there is an archive", () => {
    const labels = (place: RecordingPlace) => Object.keys(record(report(), place).metadata.labels ?? {});
    assert.ok(!labels({ ...PLACE, instanceId: "" }).includes("workflows.argoproj.io/controller-instanceid"));
    assert.ok(!labels(PLACE).includes("workflows.argoproj.io/workflow-archiving-status"));
    assert.ok(
      labels({ ...PLACE, archive: true }).includes("workflows.argoproj.io/workflow-archiving-status"),
    );
  });

  it("carries only the object's namespace, name and uid in what Argo would run again", () => {
    const braces = "{{=sprig.env('TOKEN')}}";
    const failure = new ReconcileFailure("HandlerError", braces);
    const { metadata, spec } = record(report({ failure, result: "failed", log: braces }));
    assert.ok(!JSON.stringify({ metadata, spec }).includes("{{"));
  });

  it("has labels that Kubernetes takes, whatever the operator and the object are called", () => {
    fc.assert(
      fc.property(operatorName, objectName, (operator, name) => {
        const { metadata } = record(report({ operator, name }));
        for (const value of Object.values(metadata.labels ?? {})) {
          assert.match(value, /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/);
        }
      }),
    );
  });

  it("reports a failure, and what had been done before it", () => {
    const { status } = record(report({ result: "failed", failure: HANDLER_FAILED }));
    assert.match(
      JSON.stringify(status),
      /"phase":"Failed".*HandlerError: no such plan; before that: created/,
    );
  });

  it("stays small, however much a handler has to say", () => {
    const changes = Array.from({ length: 5_000 }, (_, at) => {
      return { verb: "created" as const, apiVersion: "v1", kind: "ConfigMap", name: `settings-${at}` };
    });
    const failure = new ReconcileFailure("HandlerError", "x".repeat(1_000_000));
    const large = record(report({ changes, failure, log: "y".repeat(1_000_000) }));
    assert.ok(JSON.stringify(large).length < 64 * 1024);
  });
});

describe("the outputs of a run", () => {
  const output = (given: ReconcileReport, name: string) =>
    outputsOf(given).find((parameter) => parameter.name === name)?.value;

  it("say what was created, patched and pruned", () => {
    const changes: ReconcileReport["changes"] = [
      { verb: "created", apiVersion: "apps/v1", kind: "Deployment", namespace: "services", name: "demo" },
      { verb: "recreated", apiVersion: "batch/v1", kind: "Job", namespace: "services", name: "load" },
      { verb: "patched", apiVersion: "v1", kind: "Service", namespace: "services", name: "demo" },
      { verb: "adopted", apiVersion: "v1", kind: "ConfigMap", namespace: "other", name: "theirs" },
      { verb: "deleted", apiVersion: "v1", kind: "Service", namespace: "services", name: "old" },
    ];
    assert.equal(output(report({ changes }), "created"), "created Deployment demo, recreated Job load");
    assert.equal(
      output(report({ changes }), "patched"),
      "patched Service demo, adopted ConfigMap other/theirs",
    );
    assert.equal(output(report({ changes }), "pruned"), "deleted Service old");
  });

  it("give generation, duration and reason as text, as Argo wants a parameter", () => {
    const failed = report({ result: "failed", failure: HANDLER_FAILED });
    assert.equal(output(failed, "generation"), "3");
    assert.equal(output(failed, "durationMs"), "12");
    assert.equal(output(failed, "reason"), "HandlerError");
    assert.ok(outputsOf(failed).every(({ value }) => typeof value === "string"));
  });

  it("give the end of the log, where the error is, without what a terminal would act on", () => {
    const log = output(report({ log: `${"x".repeat(50_000)}\u001b[31mthe end` }), "log") ?? "";
    assert.ok(log.endsWith("the end") && log.length <= 8 * 1024);
    assert.ok(!log.includes("\u001b"));
  });
});

describe("which runs are recorded", () => {
  const unchanged = report({ changes: [] });
  const failed = report({ result: "failed", failure: HANDLER_FAILED, changes: [] });

  it('are those that changed something or failed, with "changes"', () => {
    assert.ok(isRecorded(report(), "changes"));
    assert.ok(isRecorded(failed, "changes"));
    assert.ok(!isRecorded(unchanged, "changes"));
  });

  it('are all that did something, with "all", and failures alone, with "failures"', () => {
    assert.ok(isRecorded(unchanged, "all"));
    assert.ok(!isRecorded(report(), "failures"));
    assert.ok(isRecorded(failed, "failures"));
  });

  it("are also the success that ends a failure, and the end of an object", () => {
    assert.ok(isRecorded({ ...unchanged, attempt: 2 }, "changes"));
    assert.ok(isRecorded({ ...unchanged, event: "finalize" }, "changes"));
    assert.equal(describeRun({ ...unchanged, event: "finalize" }), "finalized");
    // Its handler has not finished, or children still exist.
    for (const waits of [{ againAfterMs: 5_000 }, { ready: false }]) {
      const waiting = { ...unchanged, event: "finalize", ...waits } as const;
      assert.ok(!isRecorded(waiting, "changes"));
      assert.equal(describeRun(waiting), "not finalized yet");
    }
  });

  it("are none that did nothing, nor those that found no API server", () => {
    const skipped = report({ result: "skipped", skipped: "paused", changes: [] });
    const away = report({ result: "skipped", skipped: "API server away", changes: [] });
    for (const policy of ["changes", "all", "failures"] as const) {
      assert.ok(!isRecorded(skipped, policy));
      assert.ok(!isRecorded(away, policy));
    }
  });

  it("are those that had changed something before they noticed that the object had changed too", () => {
    const overtaken = report({ result: "skipped", skipped: "changed during the run" });
    assert.ok(isRecorded(overtaken, "changes"));
    assert.equal(describeRun(overtaken), "created Deployment demo; changed during the run");
  });
});

const NOW = "2026-01-02T03:04:05Z";
const READY: Verdict = { kind: "ready" };
const FAILED: Verdict = { kind: "failed", failure: new ReconcileFailure("HandlerError", "no plan") };

describe("the run that Ready names", () => {
  const ready = (verdict: Verdict, previous: readonly Condition[], run?: string) =>
    conditionsOf(verdict, previous, 1, NOW, run);
  const message = (conditions: readonly Condition[]) =>
    conditions.find(({ type }) => type === "Ready")?.message;

  it("is the one that did something, in Ready alone", () => {
    const conditions = ready(READY, [], "shop-demo-1-ab");
    assert.equal(message(conditions), "every child is applied and ready (run shop-demo-1-ab)");
    assert.equal(conditions.filter((condition) => condition.message.includes("(run ")).length, 1);
  });

  it("stays where a later run did nothing, so that its status is not written", () => {
    const before = ready({ kind: "progressing", message: "wait" }, [], "shop-demo-1-ab");
    assert.equal(message(ready(READY, before)), "every child is applied and ready (run shop-demo-1-ab)");
    const calm = ready(READY, ready(READY, before));
    assert.deepStrictEqual(ready(READY, calm), calm);
  });

  it("is no run that failed, once one has not", () => {
    const before = ready(FAILED, [], "shop-demo-1-ab");
    assert.equal(message(before), "no plan (run shop-demo-1-ab)");
    assert.equal(message(ready(READY, before)), "every child is applied and ready");
  });

  it("is not the former one if an unrecorded run fails", () => {
    assert.equal(message(ready(FAILED, ready(READY, [], "shop-demo-1-ab"))), "no plan");
  });

  it("stays where the message is cut", () => {
    const long: Verdict = { kind: "progressing", message: "x".repeat(5_000) };
    assert.ok(message(ready(long, [], "shop-demo-1-ab"))?.endsWith("… (run shop-demo-1-ab)"));
  });
});
