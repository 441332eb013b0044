import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { parse as parseYaml } from "yaml";
import {
  escaped,
  fingerprint,
  fnv64,
  keyTwiceIn,
  readJson,
  rounded,
  writeJson,
} from "../../runtime/base/json";
import { anyCharacter } from "./support/anyCharacter";

/** What YAML does not take as it is (1.2, c-printable), and where some reader of lines would see a line end. */
const UNPRINTABLE = /[^\n\x20-\x7e\xa0-\u2027\u202a-\ufefe\uff00-\ufffd]/;

describe("readJson and writeJson", () => {
  it("are JSON's own for whatever JSON can carry", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        assert.deepEqual(readJson(text), JSON.parse(text));
        assert.deepEqual(JSON.parse(writeJson(value)), JSON.parse(text));
      }),
    );
  });

  it("carry an integer of 64 bits from one text to the next as it is", () => {
    const text =
      '{"a":9223372036854775807,"b":[-9223372036854775808,9007199254740993],"c":{"d":18446744073709551615}}';
    assert.equal(writeJson(readJson(text)), text);
  });

  it("carry it through copies, and through JSON's own functions", () => {
    const object = readJson('{"spec":{"id":9007199254740993}}') as { spec: { id: unknown } };
    const copy = JSON.parse(JSON.stringify({ ...object, more: structuredClone(object.spec) })) as unknown;
    assert.equal(writeJson(copy), '{"spec":{"id":9007199254740993},"more":{"id":9007199254740993}}');
  });

  it("leave every other number a number, and every text as it is", () => {
    const text =
      '{"9007199254740993":1,"text":"9007199254740993, \\"9007199254740993\\\\","small":9007199254740991,"float":0.12345678901234568,"large":1e+21,"even":9007199254740992}';
    const { small, float, large, text: same } = readJson(text) as Record<string, unknown>;
    assert.deepEqual([typeof small, typeof float, typeof large], ["number", "number", "number"]);
    assert.equal(same, '9007199254740993, "9007199254740993\\');
    assert.equal(writeJson(readJson(text)), text);
  });

  it("agree about texts, whatever integers stand next to them", () => {
    const big = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
    fc.assert(
      fc.property(fc.string(), fc.string(), big, (key, value, integer) => {
        const text = `{${JSON.stringify(`k${key}`)}:${integer},"v":[${JSON.stringify(value)},${integer}]}`;
        const written = writeJson(readJson(text));
        assert.equal((JSON.parse(written) as { v: string[] }).v[0], value);
        assert.equal(written.split(String(integer)).length >= 3, true, written);
      }),
    );
  });

  it("round such an integer where only its size matters", () => {
    assert.deepEqual(rounded(readJson('{"a":[9007199254740993],"b":"x"}')), {
      a: [9007199254740992],
      b: "x",
    });
    const small = { a: 1 };
    assert.equal(rounded(small), small);
  });

  it("write nothing that YAML refuses or folds, and no end of a line, but what was written comes back", () => {
    const unit = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code));
    fc.assert(
      fc.property(
        fc.array(unit).map((units) => units.join("")),
        (text) => {
          const written = writeJson({ [text]: text });
          assert.doesNotMatch(written.replace(/[\u{10000}-\u{10ffff}]/gu, ""), UNPRINTABLE);
          assert.deepEqual(JSON.parse(written), { [text]: text });
        },
      ),
    );
    for (const text of ["a\u0085b", "a \u2028 b", "\u007f", "\ufeff", "\uffff"]) {
      assert.deepEqual(parseYaml(writeJson({ text })), { text });
    }
  });

  it("know a key that an object has twice, however it is written", () => {
    const keys = fc.uniqueArray(
      fc.oneof(fc.string({ unit: anyCharacter }), fc.constantFrom("__proto__", "a")),
      {
        minLength: 1,
        maxLength: 5,
      },
    );
    fc.assert(
      fc.property(keys, fc.jsonValue(), fc.boolean(), fc.nat(), (names, value, isEscaped, place) => {
        const entry = (name: string) => `${JSON.stringify(name)} : ${JSON.stringify(value)}`;
        const entries = names.map(entry);
        const inside = (text: string) => `{"outer":[1,{${text}},${JSON.stringify(value)}]}`;
        const once = inside(entries.join(","));
        assert.equal(keyTwiceIn(once), undefined);
        const again = names[place % names.length] ?? "";
        const written = [...JSON.stringify(again).slice(1, -1)].map((each) =>
          isEscaped && /[a-z_]/.test(each) && !JSON.stringify(again).includes("\\") ? escaped(each) : each,
        );
        const twice = inside([...entries, `"${written.join("")}":1`].join(","));
        assert.equal(keyTwiceIn(twice), again);
      }),
    );
  });

  it("throw what JSON throws", () => {
    assert.throws(() => readJson('{"a":9007199254740993'), SyntaxError);
    assert.throws(() => readJson("no JSON 9007199254740993"), SyntaxError);
  });
});

describe("fnv64", () => {
  // IETF, draft-eastlake-fnv: "A Few Test Vectors".
  for (const [text, hash] of [
    ["", "cbf29ce484222325"],
    ["a", "af63dc4c8601ec8c"],
    ["foobar", "85944171f73967e8"],
  ] as const)
    it(`is the published FNV-1a of ${JSON.stringify(text)}`, () => assert.equal(fnv64(text), hash));
});

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
