import assert from "node:assert/strict";
import fc from "fast-check";
import { generatePlan, type PlanOptions } from "../../tools/chaos/generatePlan";

const FAULTS = ["a", "b", "c", "d"];
const options = fc.record<PlanOptions>({
  seed: fc.nat(),
  changes: fc.integer({ min: 1, max: 400 }),
  objects: fc.integer({ min: 1, max: 40 }),
  calmRounds: fc.integer({ min: 0, max: 2 }),
  changesPerRound: fc.integer({ min: 1, max: 60 }),
  faults: fc.constant(FAULTS),
  faultSeconds: fc.constant([2, 6] as const),
  mostDelayMs: fc.nat(200),
});

describe("the plan of a chaos run", () => {
  it("is the same for the same seed, and another for another", () => {
    fc.assert(fc.property(options, (each) => assert.deepEqual(generatePlan(each), generatePlan(each))));
    const of = (seed: number) =>
      generatePlan({
        seed,
        changes: 50,
        objects: 5,
        calmRounds: 1,
        changesPerRound: 10,
        faults: FAULTS,
        faultSeconds: [1, 2],
        mostDelayMs: 5,
      });
    assert.notDeepEqual(of(1).rounds, of(2).rounds);
  });

  it("has as many changes as it was asked for, and no two with the same number", () => {
    fc.assert(
      fc.property(options, (each) => {
        const changes = generatePlan(each).rounds.flatMap((round) => round.changes);
        assert.equal(changes.length, each.changes);
        const values = changes.flatMap((change) => ("wish" in change ? [change.wish.value] : []));
        assert.equal(new Set(values).size, values.length);
      }),
    );
  });

  it("creates only missing objects, and changes only existing ones", () => {
    fc.assert(
      fc.property(options, (each) => {
        const alive = new Set<string>();
        for (const { verb, object } of generatePlan(each).rounds.flatMap(({ changes }) => changes)) {
          if (verb === "create") assert.ok(!alive.has(object), object);
          else if (verb !== "apply") assert.ok(alive.has(object), `${verb} ${object}`);
          if (verb === "delete" || verb === "orphan") alive.delete(object);
          else alive.add(object);
        }
      }),
    );
  });

  it("has no fault in its calm rounds, then every kind before any comes again", () => {
    fc.assert(
      fc.property(options, (each) => {
        const { rounds } = generatePlan(each);
        const others = rounds.slice(each.calmRounds);
        for (const { faults } of rounds.slice(0, each.calmRounds)) assert.deepEqual(faults, []);
        for (const { faults } of others) assert.ok(faults.length > 0);
        const times = new Map(FAULTS.map((kind) => [kind, 0]));
        for (const { changes, faults } of others) {
          assert.equal(new Set(faults.map(({ kind }) => kind)).size, faults.length);
          for (const { kind, seconds, afterChanges } of faults) {
            assert.ok(afterChanges < changes.length && seconds >= 2 && seconds <= 6);
            times.set(kind, (times.get(kind) ?? 0) + 1);
          }
        }
        // Two in one round must differ, which may put one of them off.
        assert.ok(Math.max(...times.values()) - Math.min(...times.values()) <= 2);
      }),
    );
  });
});
