import assert from "node:assert/strict";
import fc from "fast-check";
import { ReconcileFailure } from "../../runtime/base/failure";
import type { Condition } from "../../runtime/base/objects";
import { clean } from "../../runtime/base/text";
import { conditionsOf, type Verdict } from "../../runtime/remember/composeStatus";
import { anyCharacter } from "./support/anyCharacter";

const NOW = "2026-01-02T03:04:05Z";
const BEFORE = "2025-01-01T00:00:00Z";
const anyText = fc.string({ unit: anyCharacter, maxLength: 3_000 });

const reason = fc.constantFrom(
  ...(["HandlerError", "HandlerCrashed", "InvalidAnswer", "ChildConflict", "StatusRefused"] as const),
);
const verdict: fc.Arbitrary<Verdict> = fc.oneof(
  fc.constant<Verdict>({ kind: "ready" }),
  fc.constant<Verdict>({ kind: "finalizing" }),
  anyText.map((message): Verdict => ({ kind: "progressing", message })),
  fc.tuple(reason, anyText, fc.boolean()).map(
    ([why, message, permanent]): Verdict => ({
      kind: "failed",
      failure: new ReconcileFailure(why, message, { permanent }),
    }),
  ),
);

/** Type, status and reason of each condition, in few words. */
function table(given: Verdict): string[] {
  return conditionsOf(given, [], 1, NOW).map((one) => `${one.type}=${one.status} ${one.reason}`);
}

describe("conditionsOf", () => {
  it("gives Ready, Reconciling and Stalled, each as metav1.Condition wants it", () => {
    fc.assert(
      fc.property(verdict, fc.nat(), (given, generation) => {
        const conditions = conditionsOf(given, [], generation, NOW);
        assert.deepStrictEqual(
          conditions.map(({ type }) => type),
          ["Ready", "Reconciling", "Stalled"],
        );
        for (const condition of conditions) {
          assert.match(condition.status, /^(True|False|Unknown)$/);
          assert.match(condition.reason, /^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/);
          assert.ok(condition.message.length <= 32_768);
          assert.equal(condition.observedGeneration, generation);
          assert.equal(condition.lastTransitionTime, NOW);
        }
      }),
    );
  });

  it("moves a transition time only together with the status", () => {
    fc.assert(
      fc.property(verdict, verdict, (first, second) => {
        const before = conditionsOf(first, [], 1, BEFORE);
        for (const condition of conditionsOf(second, before, 2, NOW)) {
          const same = before.find(({ type }) => type === condition.type)?.status === condition.status;
          assert.equal(condition.lastTransitionTime, same ? BEFORE : NOW);
        }
      }),
    );
  });

  it("takes no time from a condition of another type", () => {
    const other: Condition = {
      type: "Other",
      status: "True",
      reason: "X",
      message: "",
      lastTransitionTime: BEFORE,
    };
    for (const condition of conditionsOf({ kind: "ready" }, [other], 1, NOW)) {
      assert.equal(condition.lastTransitionTime, NOW);
    }
  });

  const failure = (permanent: boolean) => new ReconcileFailure("HandlerError", "no such size", { permanent });
  const verdicts: [string, Verdict, string[]][] = [
    [
      "ready",
      { kind: "ready" },
      ["Ready=True Reconciled", "Reconciling=False Reconciled", "Stalled=False Reconciled"],
    ],
    [
      "progressing",
      { kind: "progressing", message: "Deployment web has 0 of 1 replicas ready" },
      ["Ready=False ChildrenNotReady", "Reconciling=True ChildrenNotReady", "Stalled=False Progressing"],
    ],
    [
      "finalizing",
      { kind: "finalizing" },
      ["Ready=False Finalizing", "Reconciling=True Finalizing", "Stalled=False Progressing"],
    ],
    [
      "failed and tried again",
      { kind: "failed", failure: failure(false) },
      ["Ready=False HandlerError", "Reconciling=True Retrying", "Stalled=False Retrying"],
    ],
    [
      "failed for good",
      { kind: "failed", failure: failure(true) },
      ["Ready=False HandlerError", "Reconciling=False HandlerError", "Stalled=True HandlerError"],
    ],
  ];
  for (const [what, given, expected] of verdicts) {
    it(`says what is ${what}`, () => assert.deepStrictEqual(table(given), expected));
  }

  it("carries the failure's own words", () => {
    const [ready] = conditionsOf({ kind: "failed", failure: failure(false) }, [], 1, NOW);
    assert.equal(ready?.message, "no such size");
  });

  it("says of a run whose pod has not begun only that, and keeps what Ready and Stalled say", () => {
    const before = conditionsOf({ kind: "ready" }, [], 1, BEFORE, "widget-1");
    const awaiting: Verdict = {
      kind: "awaiting",
      run: "widget-2",
      message: "Insufficient memory",
    };
    const conditions = conditionsOf(awaiting, before, 2, NOW);
    const kept = before.filter(({ type }) => type !== "Reconciling");
    assert.deepEqual(
      conditions.filter(({ type }) => type !== "Reconciling"),
      kept,
    );
    const reconciling = conditions.find(({ type }) => type === "Reconciling");
    assert.deepEqual(reconciling, {
      type: "Reconciling",
      status: "True",
      reason: "AwaitingPod",
      message: "the pod of Workflow widget-2 has not begun: Insufficient memory",
      observedGeneration: 2,
      lastTransitionTime: NOW,
    });
    assert.deepEqual(table(awaiting), ["Reconciling=True AwaitingPod"]);
    const stopped = conditionsOf({ kind: "stopped", message: "by hand" }, conditions, 2, NOW);
    assert.deepEqual(
      stopped.map(({ type, status, reason }) => `${type}=${status} ${reason}`),
      ["Ready=True Reconciled", "Stalled=False Reconciled", "Reconciling=False RunStopped"],
    );
  });
});

describe("clean", () => {
  it("leaves no control character, no escape sequence and no half of a character, in any text", () => {
    const nasty = fc.constantFrom(
      "\u001b[31m",
      "\u001b",
      "[0m",
      "\u009b",
      "\u0007",
      "\ud83d",
      "\ude80",
      "🚢",
      "\n",
      "x",
    );
    const texts = fc.oneof(
      anyText,
      fc.array(nasty).map((parts) => parts.join("")),
    );
    fc.assert(
      fc.property(texts, fc.integer({ min: 1, max: 50 }), (text, longest) => {
        const cleaned = clean(text, longest);
        assert.doesNotMatch(cleaned, /[^\P{Cc}\n]/u);
        assert.doesNotMatch(cleaned, /\p{Cs}/u);
        assert.ok(cleaned.length <= longest);
      }),
    );
  });

  it("leaves ordinary text as it is", () => {
    const plain = fc.stringMatching(/^[ -~äß🚢\n]{0,100}$/u);
    fc.assert(fc.property(plain, (text) => assert.equal(clean(text), text)));
  });

  it("takes colours out whole", () => assert.equal(clean("\u001b[1;31mError\u001b[0m: size"), "Error: size"));

  it("shows where half of a character stood, and keeps the rest", () => {
    assert.equal(clean("a\ud83db 🚢 \ude80"), "a\ufffdb 🚢 \ufffd");
    assert.equal(clean("\ud800"), "\ufffd");
  });

  it("marks where a text was cut, and cuts no character in two", () => {
    assert.equal(clean("abcdef", 4), "abc…");
    assert.equal(clean("ab🚢🚢", 4), "ab…");
    assert.equal(clean("abcd", 4), "abcd");
  });
});
