import assert from "node:assert/strict";
import { DevRecord } from "../../cli/dev/devRecord";
import { runOf } from "../../cli/inspect/runs";
import type { KubernetesObject } from "../../runtime/base/objects";
import type { Operator } from "../../runtime/operator/definition";
import type { ReconcileReport } from "../../runtime/reconcile/report";

const customResource = { group: "cache.example.com", version: "v1", kind: "Cache", plural: "caches" };
const operator = { name: "cache", installation: "argosy", customResource } as Operator;

let ids = 0;
function report(more: Partial<ReconcileReport> = {}): ReconcileReport {
  return {
    id: `id-${++ids}`,
    operator: "cache",
    kind: "Cache",
    namespace: "shop",
    name: "sessions",
    uid: "u",
    generation: 1,
    attempt: 1,
    event: "reconcile",
    result: "succeeded",
    changes: [{ verb: "created", apiVersion: "v1", kind: "ConfigMap", name: "made", namespace: "shop" }],
    log: "",
    durationMs: 3,
    ...more,
  } as ReconcileReport;
}
const failure = (message: string, log = "") =>
  report({
    result: "failed",
    changes: [],
    log,
    failure: { reason: "HandlerError", message },
  } as object);

describe("the record of argosy dev", () => {
  it("has the runs that a cluster would record, with the kind of their objects", () => {
    const record = new DevRecord();
    const engine = record.of(operator, "argosy");
    engine.report(report());
    engine.report(report({ changes: [] }));
    const [run, ...others] = record.runs();
    assert.deepEqual(others, []);
    const { object, phase, message } = runOf(run as KubernetesObject, () => undefined);
    assert.deepEqual(object, {
      apiVersion: "cache.example.com/v1",
      kind: "Cache",
      namespace: "shop",
      name: "sessions",
    });
    assert.deepEqual([phase, message], ["Succeeded", "created ConfigMap made"]);
  });

  it("has the same failure once, as of its last time", () => {
    const record = new DevRecord();
    const engine = record.of(operator, "argosy");
    const last = failure("no room for 8", "the last words");
    for (const each of [failure("no room for 7"), report(), last]) engine.report(each);
    assert.deepEqual(
      record.runs().map((run) => runOf(run as KubernetesObject, () => undefined).message),
      ["created ConfigMap made", "HandlerError: no room for 8"],
    );
    assert.equal(record.runOf(last), record.runs()[1]);
  });

  it("has the lines of the engine and of the handler, and gives those after a number", () => {
    const record = new DevRecord();
    const engine = record.of(operator, "argosy");
    engine.report(report({ log: "one\n\ntwo\n" }));
    engine.handlerLog("three\n");
    engine.notice("leading");
    const lines = record
      .linesAfter(0)
      .map(({ container, text }) => [
        container,
        text.startsWith("{") ? (JSON.parse(text) as { message: string }).message : text,
      ]);
    assert.deepEqual(lines, [
      ["handler", "one"],
      ["handler", "two"],
      ["runner", "created ConfigMap made"],
      ["handler", "three"],
      ["runner", "leading"],
    ]);
    assert.deepEqual(
      record.linesAfter(3).map(({ number }) => number),
      [4, 5],
    );
  });

  it("stays small, whatever handlers write, and keeps what is newest", () => {
    const record = new DevRecord();
    const engine = record.of(operator, "argosy");
    for (let count = 0; count < 700; count++)
      engine.report(failure(`${"x".repeat(count)} no room`, "é".repeat(8_000)));
    for (let count = 0; count < 6_000; count++) engine.handlerLog(`line ${count}`);
    engine.handlerLog("y".repeat(2 ** 21));
    engine.handlerLog("the last one");
    const [runs, lines] = [record.runs(), record.linesAfter(0)];
    assert.ok(Buffer.byteLength(JSON.stringify(runs)) <= 4.1 * 2 ** 20);
    assert.ok(Buffer.byteLength(JSON.stringify(lines)) <= 1.1 * 2 ** 20);
    assert.ok(runs.length > 100 && runs.length <= 500, String(runs.length));
    assert.ok(lines.length <= 5_000, String(lines.length));
    assert.equal(lines.at(-1)?.text, "the last one");
  });
});
