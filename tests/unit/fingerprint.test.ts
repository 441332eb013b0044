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

  it("takes a value that is nested ever so deeply, and differs where that differs", () => {
    const deep = (innermost: string) =>
      JSON.parse(`${'{"a":[1,'.repeat(50_000)}${innermost}${"]}".repeat(50_000)}`) as unknown;
    assert.equal(fingerprint(deep('"x"')), fingerprint(deep('"x"')));
    assert.notEqual(fingerprint(deep('"x"')), fingerprint(deep('"y"')));
  });

  it("is the same of a deep value, however much room there is to walk it", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const given = { value, gone: undefined, list: [undefined, value], ü: "\u2028" };
        const known = fingerprint(given);
        const { stringify } = JSON;
        JSON.stringify = (part: unknown, ...more: unknown[]) => {
          if (typeof part === "object" && part !== null)
            throw new RangeError("Maximum call stack size exceeded");
          return stringify(part, ...(more as []));
        };
        try {
          assert.equal(fingerprint(given), known);
        } finally {
          JSON.stringify = stringify;
        }
      }),
    );
  });

  it("takes nothing for null", () => assert.equal(fingerprint(undefined), fingerprint(null)));
});
