import assert from "node:assert/strict";
import fc from "fast-check";
import { fingerprint } from "../../runtime/fingerprint";

describe("fingerprint", () => {
  it("is the same for the same value, and another for another", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
        const same = JSON.stringify(a) === JSON.stringify(b);
        assert.equal(fingerprint(a) === fingerprint(b), same);
        assert.equal(fingerprint(a), fingerprint(structuredClone(a)));
        assert.match(fingerprint(a), /^[A-Za-z0-9_-]{22}$/);
      }),
    );
  });

  it("takes nothing for null", () => assert.equal(fingerprint(undefined), fingerprint(null)));
});
