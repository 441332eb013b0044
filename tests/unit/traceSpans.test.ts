import assert from "node:assert/strict";
import fc from "fast-check";
import { FAILURE_REASONS, ReconcileFailure } from "../../runtime/base/failure";
import { newTrace, traceparentOf } from "../../runtime/base/traceContext";
import { CAUSES } from "../../runtime/base/turn";
import type { ReconcileReport } from "../../runtime/reconcile/report";
import { STEPS, type Step, Timeline } from "../../runtime/reconcile/timeline";
import { otlpTraces } from "../../runtime/report/traces/exporter";
import { type Span, spansOf, type TracedRun, timingText } from "../../runtime/report/traces/spans";
import { reconcileReport } from "./support/objects";

const SPAN_ID = /^(?!0{16})[0-9a-f]{16}$/;
const TRACE_ID = /^(?!0{32})[0-9a-f]{32}$/;
/** What an object may contain, and no span may. */
const CONTENT = "CONTENT-OF-THE-OBJECT";
/** When the monotonic clock began. */
const BEGIN = Date.parse("2026-11-20T14:00:00Z");
const epochOf = (monotonic: number) => BEGIN + monotonic;

const moment = fc.double({ min: 0, max: 1e9, noNaN: true });
const duration = fc.double({ min: 0, max: 1e6, noNaN: true });
const name = fc.stringMatching(/^[a-z0-9]([-a-z0-9.]{0,60}[a-z0-9])?$/);

const step: fc.Arbitrary<Step> = fc
  .record({
    name: fc.constantFrom(...STEPS),
    from: moment,
    took: duration,
    child: fc.record({
      apiVersion: fc.constantFrom("v1", "apps/v1", "batch/v1", "example.com/v1"),
      kind: fc.constantFrom("Deployment", "ConfigMap", "Job", "Widget"),
      namespace: fc.option(name, { nil: undefined }),
      name,
    }),
    verb: fc.constantFrom("created", "patched", "deleted", "unchanged", undefined),
    error: fc.option(fc.constant("it was refused"), { nil: undefined }),
  })
  .map(({ name: what, from, took, child, verb, error }) => ({
    name: what,
    from,
    to: from + took,
    ...(what === "child" && { child, verb }),
    ...(error !== undefined && { error }),
  }));

const tracedRun: fc.Arbitrary<TracedRun> = fc
  .record({
    steps: fc.array(step, { maxLength: 20 }),
    from: moment,
    took: duration,
    arrival: fc.option(
      fc.record({
        cause: fc.constantFrom(...CAUSES),
        at: fc.option(moment, { nil: undefined }),
        readyAt: moment,
        waited: duration,
      }),
      { nil: undefined },
    ),
    reportTime: fc.option(fc.record({ from: moment, took: duration }), { nil: undefined }),
    failure: fc.option(fc.constantFrom(...FAILURE_REASONS), { nil: undefined }),
    namespace: fc.option(name, { nil: undefined }),
  })
  .map(({ steps, from, took, arrival, reportTime, failure, namespace }) => {
    const report = reconcileReport({
      namespace,
      uid: "widget-uid",
      generation: 3,
      attempt: 2,
      result: failure ? "failed" : "succeeded",
      ...(failure && { failure: new ReconcileFailure(failure, "no luck", { log: CONTENT }) }),
      log: CONTENT,
      durationMs: took,
      timing: { from, to: from + took, steps, omitted: 0 },
      ...(arrival && {
        arrival: { ...arrival, takenAt: arrival.readyAt + arrival.waited },
      }),
    });
    return {
      trace: newTrace(1),
      report,
      ...(reportTime && {
        reportTime: { from: reportTime.from, to: reportTime.from + reportTime.took },
      }),
    };
  });

function assertWithinParents(spans: readonly Span[]): void {
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  for (const span of spans) {
    assert.ok(span.from <= span.to, `${span.name} ends before it begins`);
    const parent = byId.get(span.parentId ?? "");
    if (!parent) continue;
    assert.ok(parent.from <= span.from && span.to <= parent.to, `${span.name} is not within ${parent.name}`);
  }
}

describe("the spans of a run", () => {
  it("lie within their parents, have ids of their own, and one trace", () => {
    fc.assert(
      fc.property(tracedRun, (run) => {
        const spans = spansOf(run, epochOf);
        assertWithinParents(spans);
        const [root, ...parts] = spans;
        assert.equal(root?.spanId, run.trace.rootId);
        assert.equal(root?.parentId, undefined);
        assert.ok(parts.every(({ parentId }) => parentId === run.trace.rootId));
        for (const { traceId, spanId } of spans) {
          assert.equal(traceId, run.trace.traceId);
          assert.match(traceId, TRACE_ID);
          assert.match(spanId, SPAN_ID);
        }
        const steps = run.report.timing?.steps ?? [];
        // Each run asks its handler once.
        if (steps.filter((each) => each.name === "handler").length < 2)
          assert.equal(new Set(spans.map(({ spanId }) => spanId)).size, spans.length);
      }),
    );
  });

  it("have nothing of the object's content, and no log, in the bytes that are sent", () => {
    fc.assert(
      fc.property(tracedRun, (run) => {
        const body = otlpTraces({ "service.name": "shop" }, spansOf(run, epochOf));
        assert.ok(!body.includes(CONTENT));
        const keys = new Set([...body.matchAll(/"key":"([^"]+)"/g)].map(([, key = ""]) => key));
        for (const key of keys) assert.match(key, /^(argosy|k8s|service|error)\./);
      }),
    );
  });

  const child = (verb: Step["verb"], more: Partial<Step> = {}): Step => ({
    name: "child",
    from: 40,
    to: 50,
    child: { apiVersion: "apps/v1", kind: "Deployment", namespace: "shop", name: "sessions" },
    verb,
    ...more,
  });
  const run = (more: Partial<ReconcileReport> = {}, steps: readonly Step[] = []): TracedRun => ({
    trace: newTrace(1),
    report: reconcileReport({
      namespace: "shop",
      durationMs: 80,
      timing: { from: 20, to: 100, steps, omitted: 0 },
      ...more,
    }),
  });
  const told = ({ name: what, from, to }: Span) => [what, from - BEGIN, to - BEGIN];

  it("say how the change came, how long it waited, and what was done", () => {
    const steps: Step[] = [
      { name: "read", from: 20, to: 21 },
      { name: "handler", from: 22, to: 38 },
      child("created"),
      child("unchanged", { from: 51, to: 51 }),
      { name: "status", from: 60, to: 90 },
    ];
    const arrival = { cause: "watch", at: 5, readyAt: 10, takenAt: 20 } as const;
    const traced = { ...run({ arrival }, steps), reportTime: { from: 120, to: 150 } };
    const spans = spansOf(traced, epochOf);
    assert.deepEqual(spans.map(told), [
      ["reconcile Widget", 5, 150],
      ["watch", 5, 10],
      ["queue", 10, 20],
      ["read", 20, 21],
      ["handler", 22, 38],
      ["created Deployment", 40, 50],
      ["unchanged Deployment", 51, 51],
      ["status", 60, 90],
      ["report", 120, 150],
    ]);
    assert.equal(spans.find(({ name: what }) => what === "handler")?.spanId, traced.trace.handlerId);
    assert.deepEqual(spans[5]?.attributes, {
      "argosy.child.api_version": "apps/v1",
      "argosy.child.kind": "Deployment",
      "argosy.child.name": "sessions",
      "k8s.namespace.name": "shop",
      "argosy.child.verb": "created",
    });
  });

  it("say why a run failed, on the run and on the step", () => {
    const failure = new ReconcileFailure("ChildRefused", "no\u001b[31m such field");
    const failed = child(undefined, { error: "no such field" });
    const [root, part] = spansOf(run({ result: "failed", failure }, [failed]), epochOf);
    assert.deepEqual([root?.error, part?.error], ["ChildRefused: no such field", "no such field"]);
    assert.equal(root?.attributes["error.type"], "ChildRefused");
    assert.equal(part?.name, "apply Deployment");
  });

  it("are encoded as OTLP has it in JSON", () => {
    const span: Span = {
      traceId: "4bf92f3577b34da6a3ce929d0e0e4736",
      spanId: "00f067aa0ba902b7",
      parentId: "b7ad6b7169203331",
      name: "handler",
      from: 1_700_000_000_000.123,
      to: 1_700_000_000_001,
      attributes: { text: "a", whole: 3, part: 0.5, flag: true },
      error: "no luck",
    };
    const [sent] = JSON.parse(otlpTraces({ "service.name": "shop" }, [span])).resourceSpans;
    assert.deepEqual(sent.resource.attributes, [{ key: "service.name", value: { stringValue: "shop" } }]);
    assert.deepEqual(sent.scopeSpans[0].scope, { name: "argosy" });
    assert.deepEqual(sent.scopeSpans[0].spans, [
      {
        traceId: "4bf92f3577b34da6a3ce929d0e0e4736",
        spanId: "00f067aa0ba902b7",
        parentSpanId: "b7ad6b7169203331",
        name: "handler",
        kind: 1,
        startTimeUnixNano: "1700000000000123000",
        endTimeUnixNano: "1700000000001000000",
        attributes: [
          { key: "text", value: { stringValue: "a" } },
          { key: "whole", value: { intValue: "3" } },
          { key: "part", value: { doubleValue: 0.5 } },
          { key: "flag", value: { boolValue: true } },
        ],
        status: { code: 2, message: "no luck" },
      },
    ]);
  });

  it("are told as text too, from the first of them on", () => {
    const steps: Step[] = [
      { name: "handler", from: 22, to: 38.25 },
      child("created"),
      child("unchanged", { from: 51, to: 51 }),
      child(undefined, { from: 52, to: 53, error: "no" }),
    ];
    const arrival = { cause: "hint", at: 5, readyAt: 10, takenAt: 20 } as const;
    const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
    const { report } = run({ arrival, traceId }, steps);
    const text = timingText([report]);
    assert.deepEqual(text.split("\n"), [
      `trace ${traceId}`,
      "+0.0 ms  5.0 ms  hint",
      "+5.0 ms  10.0 ms  queue",
      "+17.0 ms  16.3 ms  handler",
      "+35.0 ms  10.0 ms  created Deployment sessions",
      "+46.0 ms  0.0 ms  unchanged Deployment sessions",
      "+47.0 ms  1.0 ms  apply Deployment sessions, failed",
    ]);
  });
});

describe("the ids of a trace", () => {
  it("are never zeros alone, whatever is drawn", () => {
    const trace = newTrace(1, (bytes) => Buffer.alloc(bytes));
    assert.match(trace.traceId, TRACE_ID);
    assert.match(trace.rootId, SPAN_ID);
  });

  it("are given to the handler as the standard has them, with whether the trace is sent", () => {
    const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
    const context = { traceId, rootId: "b7ad6b7169203331", handlerId: "00f067aa0ba902b7" };
    const header = `00-${traceId}-00f067aa0ba902b7`;
    assert.equal(traceparentOf({ ...context, isSampled: true }), `${header}-01`);
    assert.equal(traceparentOf({ ...context, isSampled: false }), `${header}-00`);
  });

  it("decide by the ratio whether a trace is sent: none with 0, all with 1, and the ratio of them between", () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.integer({ min: 0, max: 2 ** 48 - 1 }),
        (ratio, drawn) => {
          const random = (bytes: number) => {
            const buffer = Buffer.alloc(bytes, 1);
            buffer.writeUIntBE(drawn, bytes - 6, 6);
            return buffer;
          };
          assert.equal(newTrace(ratio, random).isSampled, drawn / 2 ** 48 < ratio);
        },
      ),
    );
    assert.ok(newTrace(1).isSampled);
    assert.ok(!newTrace(0).isSampled);
  });
});

describe("the timeline of a run", () => {
  let now: number;
  let timeline: Timeline;
  beforeEach(() => {
    now = 10;
    timeline = new Timeline(() => now);
  });
  const child = (name: string) => ({ apiVersion: "v1", kind: "ConfigMap", namespace: "shop", name });

  it("has each step with its times, and throws what a step throws", async () => {
    await timeline.step("read", async () => {
      now = 12;
    });
    await timeline.step(
      "sweep",
      async () => 0,
      (deleted) => deleted > 0,
    );
    const failing = timeline.step("handler", async () => {
      now = 20;
      throw new Error(`no luck ${"!".repeat(5_000)}`);
    });
    await assert.rejects(failing, /^Error: no luck/);
    const { steps, ...timing } = timeline.timing();
    assert.deepEqual(timing, { from: 10, to: 20, omitted: 0 });
    assert.deepEqual(
      steps.map(({ name, from, to, error }) => [name, from, to, error?.slice(0, 7), error?.length]),
      [
        ["read", 10, 12, undefined, undefined],
        ["handler", 12, 20, "no luck", 1025],
      ],
    );
  });

  it("leaves out children of a run with thousands: first those that it left as they were", async () => {
    for (let at = 0; at < 300; at++)
      await timeline.step("child", async () => undefined, undefined, child(`same-${at}`));
    for (let at = 0; at < 300; at++) {
      const change = { verb: "created" as const, apiVersion: "v1", kind: "ConfigMap", name: `new-${at}` };
      await timeline.step("child", async () => change, undefined, child(change.name));
    }
    await timeline.step("status", async () => {});
    const { steps, omitted } = timeline.timing();
    const count = (verb: string) => steps.filter((step) => step.verb === verb).length;
    assert.deepEqual([count("unchanged"), count("created"), omitted], [50, 50, 500]);
    assert.equal(steps.at(-1)?.name, "status");
  });
});
