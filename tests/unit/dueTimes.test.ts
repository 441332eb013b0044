import assert from "node:assert/strict";
import fc from "fast-check";
import { DueTimes } from "../../runtime/when/dueTimes";

describe("DueTimes", () => {
  const key = fc.constantFrom("a", "b", "c", "d", "e");
  const step = fc.oneof(
    fc.record({ kind: fc.constant("set" as const), key, at: fc.nat(20) }),
    fc.record({ kind: fc.constant("delete" as const), key }),
    fc.record({ kind: fc.constant("takeFirst" as const) }),
  );

  it("gives what a sorted list gives, whatever is set, set again, deleted, taken and cleared", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
        const times = new DueTimes();
        const model = new Map<string, number>();
        for (const each of steps) {
          if (each.kind === "set") {
            times.set(each.key, each.at);
            model.set(each.key, each.at);
          } else if (each.kind === "delete") {
            times.delete(each.key);
            model.delete(each.key);
          } else if (times.first) {
            model.delete(times.first.key);
            times.delete(times.first.key);
          }
          const { first } = times;
          assert.equal(first?.at, model.size === 0 ? undefined : Math.min(...model.values()));
          if (first) assert.equal(model.get(first.key), first.at);
          for (const name of "abcde") assert.equal(times.of(name), model.get(name));
        }
      }),
    );
  });

  it("holds no more than its keys need, however often their times change", () => {
    const times = new DueTimes();
    for (let at = 0; at < 10_000; at++) times.set(`key-${at % 10}`, 1_000_000 + at);
    assert.ok(times.held <= 100, `${times.held} entries for 10 keys`);
    for (let at = 0; at < 10; at++) times.delete(`key-${at}`);
    assert.equal(times.first, undefined);
    assert.equal(times.held, 0);
  });
});
