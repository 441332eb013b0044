import assert from "node:assert/strict";
import fc from "fast-check";
import { isNewer } from "../../runtime/base/objects";

describe("isNewer", () => {
  it("compares resourceVersions as the numbers that they are, however long", () => {
    const version = fc.bigInt({ min: 1n, max: 10n ** 30n });
    fc.assert(
      fc.property(version, version, (a, b) => {
        assert.equal(isNewer(String(a), String(b)), a > b);
        assert.equal(isNewer(String(a + 1n), String(a)), true);
        assert.equal(isNewer(String(a), String(a)), false);
      }),
    );
  });
});
