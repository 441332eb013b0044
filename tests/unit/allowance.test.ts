import assert from "node:assert/strict";
import fc from "fast-check";
import { Allowance } from "../../runtime/base/limits";

describe("Allowance", () => {
  it("lets go of what was taken longest ago, and of no more than it must", () => {
    const gone: string[] = [];
    const allowance = new Allowance<string>(10, (holder) => gone.push(holder));
    for (const holder of ["a", "b", "c"]) allowance.hold(holder, 3);
    allowance.hold("a", 3);
    assert.deepEqual(gone, []);
    allowance.hold("d", 3);
    assert.deepEqual(gone, ["b"]);
  });

  it("keeps the newest, however long it is", () => {
    const gone: string[] = [];
    const allowance = new Allowance<string>(10, (holder) => gone.push(holder));
    allowance.hold("a", 5);
    allowance.hold("b", 50);
    assert.deepEqual(gone, ["a"]);
    allowance.hold("c", 10);
    assert.deepEqual(gone, ["a", "b"]);
  });

  it("never lets more be held than allowed, but for the newest alone", () => {
    const step = fc.record({ holder: fc.nat(9), length: fc.option(fc.nat(60)) });
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const held = new Map<number, number>();
        const allowance = new Allowance<number>(100, (holder) => held.delete(holder));
        for (const { holder, length } of steps) {
          held.delete(holder);
          if (length === null) allowance.release(holder);
          else {
            held.set(holder, length);
            allowance.hold(holder, length);
          }
          const total = [...held.values()].reduce((sum, each) => sum + each, 0);
          assert.ok(total <= 100 || held.size === 1, `${total} of ${held.size}`);
        }
      }),
    );
  });
});
