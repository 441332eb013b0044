import assert from "node:assert/strict";
import fc from "fast-check";
import { isSameMemory, memoryOf, NOTHING, remembered } from "../../runtime/reconcile/memory";
import { widget } from "./support/objects";

describe("the engine's memory of an object", () => {
  const texts = fc.array(fc.constantFrom("v1/Pod", "v1/Secret", "apps/v1/Deployment"));

  it("is read as it was written, sorted and without what comes twice", () => {
    fc.assert(
      fc.property(texts, texts, (kinds, created) => {
        const memory = memoryOf(widget({}, { status: { argosy: remembered({ kinds, created }) } }));
        assert.deepEqual(memory, {
          kinds: [...new Set(kinds)].sort(),
          created: [...new Set(created)].sort(),
        });
        assert.ok(isSameMemory(memory, { kinds, created }));
      }),
    );
  });

  it("is nothing for an object without one, and of one that somebody forged it has the texts", () => {
    assert.deepEqual(memoryOf(widget()), NOTHING);
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (status, kinds) => {
        memoryOf(widget({}, { status }));
        const memory = memoryOf(widget({}, { status: { argosy: { kinds } } }));
        assert.ok(memory.kinds.every((kind) => typeof kind === "string"));
      }),
    );
  });
});
