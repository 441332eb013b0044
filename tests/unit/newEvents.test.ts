import assert from "node:assert/strict";
import fc from "fast-check";
import type { AnsweredEvent } from "../../runtime/handler/contract";
import { newEventsIn } from "../../runtime/reconcile/report";

const one = (note: string): AnsweredEvent => ({ type: "Normal", reason: "BackedUp", note });
const notes = fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 4 });
const steps = fc.array(fc.record({ notes, isNext: fc.boolean() }), { maxLength: 8 });

describe("newEventsIn", () => {
  it("tells Events apart by type, reason, note and generation", () => {
    const { fingerprints } = newEventsIn([one("a")], 1);
    for (const other of [
      one("b"),
      { ...one("a"), type: "Warning" },
      { ...one("a"), reason: "Other" },
    ] as const)
      assert.deepEqual(newEventsIn([other], 1, fingerprints).events, [other]);
    assert.deepEqual(newEventsIn([one("a")], 2, fingerprints).events, [one("a")]);
  });

  it("gives an Event exactly if the answer before did not have it, or was about another generation", () => {
    fc.assert(
      fc.property(steps, (all) => {
        let [reported, generation, before]: [readonly string[], number, string[]] = [[], 1, []];
        for (const { notes, isNext } of all) {
          if (isNext) generation++;
          const news = newEventsIn(notes.map(one), generation, reported);
          const expected = [...new Set(notes)].filter((note) => isNext || !before.includes(note));
          assert.deepEqual(
            news.events.map(({ note }) => note),
            expected,
          );
          [reported, before] = [news.fingerprints, notes];
        }
      }),
    );
  });
});
