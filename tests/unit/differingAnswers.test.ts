import assert from "node:assert/strict";
import type { Child } from "../../runtime/children/childStore";
import type { ChildChange } from "../../runtime/children/childWriter";
import { DifferingAnswers } from "../../runtime/engine/differingAnswers";
import { LONGEST_NOTE } from "../../runtime/kubernetes/events";
import type { Cause } from "../../runtime/work/arrivals";

const KEY = "shop/demo";
const PATCHED: ChildChange = { verb: "patched", kind: "Deployment", namespace: "shop", name: "demo" };

/** Something that lies that deep in maps. */
function nested(levels: number, value: unknown): unknown {
  return levels === 0 ? undefined : { a: levels === 1 ? value : nested(levels - 1, value) };
}

describe("DifferingAnswers", () => {
  let differingAnswers: DifferingAnswers;
  let round: number;
  let isKept: boolean;
  let depth: number;

  /** The child as it is now: its handler puts the time into it. */
  const child = (): Child =>
    ({
      resource: { apiVersion: "apps/v1", kind: "Deployment" },
      namespace: "shop",
      name: "demo",
      uid: "uid",
      json: isKept
        ? JSON.stringify({
            metadata: { name: "demo", resourceVersion: String(round) },
            spec: { template: { metadata: { annotations: { "example.com/at": `time ${round}` } } } },
            more: nested(depth, round),
            status: { replicas: round },
          })
        : undefined,
    }) as unknown as Child;

  beforeEach(() => {
    differingAnswers = new DifferingAnswers();
    round = 0;
    isKept = true;
    depth = 0;
  });

  function reconciled(
    cause: Cause,
    changes: readonly ChildChange[] = [PATCHED],
    isUndoing = false,
    { waits = false, key = KEY } = {},
  ) {
    differingAnswers.begins(key, () => [child()]);
    round++;
    const report = { namespace: "shop", changes, waits, arrival: { cause, readyAt: 0, takenAt: 0 } };
    return differingAnswers.ended(key, report, isUndoing, () => [child()]);
  }

  /** The Events of so many reconciles, one after another. */
  function notes(count: number, ...of: Parameters<typeof reconciled>): string[] {
    return Array.from({ length: count }, () => reconciled(...of)).flatMap((event) => event?.note ?? []);
  }

  it("says again after each thousand rounds, because Events are kept for an hour", () => {
    assert.deepEqual(
      notes(2_500, "child").map((note) => Number(/(\d+) times in a row/.exec(note)?.[1])),
      [20, 1_000, 2_000],
    );
  });

  it("says once which field differs in each answer", () => {
    assert.deepEqual(notes(50, "child"), [
      "the handler has returned different children 20 times in a row, although only the object's own children had changed: " +
        "patched Deployment demo (.spec.template.metadata.annotations['example.com/at']). If the answer contains the time or a " +
        "random value, this never ends: let the handler return the same children for the same object",
    ]);
  });

  it("names only the children if nothing is kept of them", () => {
    isKept = false;
    const changes = [
      { verb: "created", kind: "Job", namespace: "shop", name: "b" },
      { verb: "deleted", kind: "Job", namespace: "shop", name: "a" },
    ] as const;
    assert.match(String(notes(20, "child", changes)), /created Job b, deleted Job a\. If/);
  });

  it("names only the children if somebody has nested something deeply in one of them", () => {
    depth = 3_000;
    assert.match(String(notes(20, "child")), /: patched Deployment demo\. If/);
  });

  it("says nothing of a handler that comes to rest, and begins to count again", () => {
    assert.deepEqual(notes(19, "child"), []);
    reconciled("child", []);
    assert.deepEqual(notes(19, "child"), []);
    assert.equal(notes(1, "child").length, 1);
  });

  for (const cause of ["watch", "used", "time"] as const) {
    it(`says nothing of changes for which there is a reason: ${cause}`, () => {
      for (let times = 0; times < 5; times++)
        assert.deepEqual([...notes(19, "child"), ...notes(1, cause)], []);
    });
  }

  for (const verb of ["created", "patched", "recreated"] as const) {
    it(`says nothing of children that are ${verb} one after another, because each waits for the one before`, () => {
      const events = Array.from({ length: 50 }, (_, index) =>
        reconciled("child", [{ ...PATCHED, verb, name: `step-${index}` }], false, { waits: true }),
      );
      assert.deepEqual([...new Set(events)], [undefined]);
    });
  }

  for (const waits of [false, true])
    it(`says it of children that have another name each time${waits ? ", although another one waits for each" : ""}`, () => {
      const events = Array.from({ length: 21 }, (_, index) => {
        const created = { ...PATCHED, verb: "created", name: `demo-${index}` } as const;
        const deleted = { ...PATCHED, verb: "deleted", name: `demo-${index - 1}` } as const;
        return reconciled("child", [created, deleted], false, { waits });
      });
      assert.ok(events.some((event) => event?.reason === "AnswersDiffer"));
    });

  it("says it of a handler that answers one more child each time", () => {
    const events = Array.from({ length: 20 }, (_, index) =>
      reconciled("child", [{ ...PATCHED, verb: "created", name: `demo-${index}` }]),
    );
    assert.equal(events.at(-1)?.reason, "AnswersDiffer");
  });

  it("says it although a child waits for the one that changes each time", () => {
    const events = Array.from({ length: 20 }, () => reconciled("child", [PATCHED], false, { waits: true }));
    assert.equal(events.at(-1)?.reason, "AnswersDiffer");
  });

  it("says it of each of 5,000 objects that take turns", () => {
    const keys = Array.from({ length: 5_000 }, (_, index) => `shop/demo-${index}`);
    const told = Array.from({ length: 20 }, () =>
      keys.map((key) => reconciled("child", [PATCHED], false, { key })),
    );
    assert.equal(told.at(-1)?.filter((event) => event !== undefined).length, 5_000);
  });

  it("says what to do, however many children change", () => {
    const changes = Array.from({ length: 200 }, (_, index) => ({ ...PATCHED, name: `demo-${index}` }));
    const [note = ""] = notes(20, "child", changes);
    assert.match(
      note,
      / patched Deployment demo-9, .*… \(\.spec\..* If the answer contains .* let the handler return the same children for the same object$/,
    );
    assert.ok(Buffer.byteLength(note) <= LONGEST_NOTE, `${Buffer.byteLength(note)} bytes`);
  });

  it("says nothing if somebody else changes a child back each time", () => {
    assert.deepEqual(notes(50, "child", [PATCHED], true), []);
  });
});
