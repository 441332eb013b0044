import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { fingerprint, readJson } from "../../runtime/base/json";

/** The same functions as another process has them. */
function ofAnotherProcess() {
  const file = require.resolve("../../runtime/base/json");
  const loaded = require.cache[file];
  delete require.cache[file];
  try {
    return require(file) as typeof import("../../runtime/base/json");
  } finally {
    require.cache[file] = loaded;
  }
}

describe("fingerprint", () => {
  it("is the same for the same value, and another for another", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
        const same = isDeepStrictEqual(JSON.parse(JSON.stringify(a)), JSON.parse(JSON.stringify(b)));
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

  it("is the same in whatever order the keys come, of lists in their own", () => {
    const one = { a: 1, b: [{ c: 2, d: 3 }, 4], "10": 5 };
    assert.equal(fingerprint({ b: [{ d: 3, c: 2 }, 4], "10": 5, a: 1 }), fingerprint(one));
    assert.notEqual(fingerprint({ ...one, b: [4, { c: 2, d: 3 }] }), fingerprint(one));
  });

  it("is the same in each process, also of an integer of 64 bits", () => {
    const text = '{"a":9007199254740993}';
    const other = ofAnotherProcess();
    assert.notDeepEqual(other.readJson(text), readJson(text));
    assert.equal(other.fingerprint(other.readJson(text)), fingerprint(readJson(text)));
    assert.notEqual(fingerprint(readJson('{"a":9007199254740995}')), fingerprint(readJson(text)));
  });

  it("takes nothing for null", () => assert.equal(fingerprint(undefined), fingerprint(null)));
});
