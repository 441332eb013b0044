import assert from "node:assert/strict";
import type { Cause } from "../../runtime/base/turn";
import type { ReconcileReport } from "../../runtime/reconcile/report";
import { LONGEST_NOTE } from "../../runtime/report/eventWriter";
import { differingWarning } from "../../runtime/report/teller";
import { DifferingAnswers } from "../../runtime/when/contests";
import type { ChildChange } from "../../runtime/write/childWriter";

const KEY = "shop/demo";
const PATCHED: ChildChange = {
  verb: "patched",
  apiVersion: "apps/v1",
  kind: "Deployment",
  namespace: "shop",
  name: "demo",
};

describe("DifferingAnswers", () => {
  let differingAnswers: DifferingAnswers;

  beforeEach(() => {
    differingAnswers = new DifferingAnswers();
  });

  function reconciled(
    cause: Cause,
    changes: readonly ChildChange[] = [PATCHED],
    isUndoing = false,
    { waits = false, key = KEY } = {},
  ) {
    const rounds = differingAnswers.ended(key, cause, changes, isUndoing, waits);
    const report = { namespace: "shop", changes } as unknown as ReconcileReport;
    return rounds === undefined ? undefined : differingWarning(rounds, report);
  }

  /** The Events of this many reconciles, one after another. */
  function notes(count: number, ...of: Parameters<typeof reconciled>): string[] {
    return Array.from({ length: count }, () => reconciled(...of)).flatMap((event) => event?.note ?? []);
  }

  it("says again after each thousand rounds, because Events are kept for an hour", () => {
    assert.deepEqual(
      notes(2_500, "child").map((note) => Number(/(\d+) times in a row/.exec(note)?.[1])),
      [20, 1_000, 2_000],
    );
  });

  it("says once which children differ in each answer, and how to find the fields", () => {
    assert.deepEqual(notes(50, "child"), [
      "the handler has returned different children 20 times in a row, although only the object's own children had changed: " +
        "patched Deployment demo. If the answer contains the time or a random value, this never ends: let the handler return the " +
        "same children for the same object. To find the fields, record the object as a fixture and run argosy test, which asks the " +
        "handler twice",
    ]);
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

  it("says nothing of children of several API groups with one kind and name, each of which waits for the one before", () => {
    const events = Array.from({ length: 50 }, (_, index) => {
      const created = { ...PATCHED, verb: "created", apiVersion: `group-${index}.example.com/v1` } as const;
      return reconciled("child", [created], false, { waits: true });
    });
    assert.deepEqual([...new Set(events)], [undefined]);
  });

  for (const waits of [false, true])
    it(`says it of children that have another name each time${waits ? ", although another one waits for each" : ""}`, () => {
      const events = Array.from({ length: 21 }, (_, index) => {
        const created = { ...PATCHED, verb: "created", name: `demo-${index}` } as const;
        const deleted = { ...PATCHED, verb: "deleted", name: `demo-${index - 1}` } as const;
        return reconciled("child", [created, deleted], false, { waits });
      });
      assert.ok(events.some((event) => event?.reason === "AnswersDiffer"));
    });

  it("says it of a handler that answers one more child each time, or of a child that changes each time while another one waits for it", () => {
    const more = (index: number) => ({ ...PATCHED, verb: "created", name: `demo-${index}` }) as const;
    for (const waits of [false, true]) {
      differingAnswers = new DifferingAnswers();
      const events = Array.from({ length: 20 }, (_, index) =>
        reconciled("child", [waits ? PATCHED : more(index)], false, { waits }),
      );
      assert.equal(events.at(-1)?.reason, "AnswersDiffer");
    }
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
      / patched Deployment demo-9, .*…\. If the answer contains .* which asks the handler twice$/,
    );
    assert.ok(Buffer.byteLength(note) <= LONGEST_NOTE, `${Buffer.byteLength(note)} bytes`);
  });

  it("says nothing if another client changes a child back each time", () => {
    assert.deepEqual(notes(50, "child", [PATCHED], true), []);
  });
});
