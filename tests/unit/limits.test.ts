import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";

const ROOT = path.join(__dirname, "../..");

/** What the table of docs/operations.md says, and where the code says it. */
const LIMITS: readonly (readonly [row: string, words: string, file: string, code: string])[] = [
  ["objects that wait in a runner", "10,000", "runtime/work/triggers.ts", "MOST_WAITING = 10_000;"],
  [
    "runs of one object",
    "20 in a row, then ten a second",
    "runtime/work/workQueue.ts",
    "{ burst: 20, refillMs: 100 };",
  ],
  [
    "objects that have their answer",
    "16 times",
    "runtime/engine/engine.ts",
    "AT_WORK_FOR_EACH_HANDLER = 16;",
  ],
  ["objects that have their answer", "64 KiB", "runtime/reconcile/asking.ts", "SMALL_ANSWER = 64 * 1024;"],
  ["objects and children kept", "24 Mi", "runtime/watch/store.ts", "MOST_KEPT = 24 * 1024 * 1024;"],
  [
    "an object's children in a request",
    "8 MiB",
    "runtime/handler/contract.ts",
    "MOST_GIVEN_BYTES = 8 * 1024 * 1024;",
  ],
  ["a page of a list", "4 MiB", "runtime/kubernetes/list.ts", "LONGEST_PAGE = 4 * 1024 * 1024;"],
  [
    "a handler's answer",
    "4 MiB",
    "runtime/handler/parseAnswer.ts",
    "LONGEST_ANSWER_BYTES = 4 * 1024 * 1024;",
  ],
  ["handler processes", "idle for a minute", "runtime/handler/handlerPool.ts", "idleMs ?? 60_000"],
  ["values of Secrets", "8 Mi", "runtime/reconcile/scrubber.ts", "MOST_REMEMBERED = 8 * 1024 * 1024;"],
  [
    "the standard error in a run's outputs",
    "8 KiB",
    "runtime/handler/handlerWorker.ts",
    "KEPT_LOG_BYTES = 8 * 1024;",
  ],
  ["Kubernetes Events", "5,000", "runtime/outbox/outbox.ts", "MOST_WAITING = 5_000;"],
  [
    "Kubernetes Events",
    "ten Normal ones and ten Warnings are written, then one of each a minute",
    "runtime/outbox/eventWriter.ts",
    "{ burst: 10, refillMs: 60_000 };",
  ],
  ["spans of traces", "2,048", "runtime/traces/exporter.ts", "MOST_WAITING = 2_048;"],
  ["spans of traces", "100 children", "runtime/reconcile/timeline.ts", "MOST_STEPS = 100;"],
  ["runs that wait", "5,000", "runtime/outbox/outbox.ts", "MOST_WAITING = 5_000;"],
  [
    "statuses and records",
    "five in a row, then one a second",
    "runtime/outbox/outbox.ts",
    "{ burst: 5, refillMs: 1_000 };",
  ],
  [
    "Workflows of recorded",
    "one and ten minutes",
    "runtime/argo/runRecorder.ts",
    "{ successes: 60, failures: 600 };",
  ],
  ["Workflows of recorded", "above 1,000", "runtime/argo/runRecorder.ts", "FEW = 1_000;"],
  ["changes that await", "10,000", "runtime/pod/hints/changesWithoutHint.ts", "MOST_OPEN = 10_000;"],
];

/** The same of what the manifests say, as they lie in the golden file. */
const MANIFESTS: readonly (readonly [row: string, words: string, yaml: RegExp])[] = [
  ["Workflows that run or wait", "500", /^ +parallelism: \|\n +500$/m],
  ["events on the bus", "a day, 100,000", /maxAge: 24h\n +maxMsgs: 100000\n/],
  ["events on the bus", "256 MiB without one", /maxBytes: 268435456\n/],
  ["ReplicaSets of a runner", "2", /^ +revisionHistoryLimit: 2$/m],
];

describe("the limits that docs/operations.md names", () => {
  const page = readFileSync(path.join(ROOT, "docs/operations.md"), "utf8");
  const golden = readFileSync(path.join(ROOT, "tests/golden/dev.yaml"), "utf8");
  const rowOf = (name: string) => page.split("\n").find((line) => line.startsWith(`| ${name}`)) ?? "";

  for (const [name, words, file, code] of LIMITS) {
    it(`${name}: ${words}, in ${file}`, () => {
      assert.ok(rowOf(name).includes(words), rowOf(name));
      assert.ok(readFileSync(path.join(ROOT, file), "utf8").includes(code), code);
    });
  }
  for (const [name, words, yaml] of MANIFESTS) {
    it(`${name}: ${words}, in the manifests`, () => {
      assert.ok(rowOf(name).includes(words), rowOf(name));
      assert.ok(yaml.test(golden), String(yaml));
    });
  }
});
