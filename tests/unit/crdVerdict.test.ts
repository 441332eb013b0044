import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import path from "node:path";
import fc from "fast-check";
import { compareCrdSets, compareCustomResourceDefinitions } from "../../components/crdVerdict/compareCrds";
import { anyCrdBreaks, formatCrdVerdict } from "../../components/crdVerdict/formatCrdVerdict";
import { versionsOf } from "../../definition/customResourceDefinition";
import { isJsonObject, type Json, type JsonObject } from "../../runtime/base/objects";
import { baseCrd, readCorpus, verdictsOf } from "./crdVerdict/corpus";
import { assertEach } from "./support/lists";

const corpus = readCorpus();

/** The changes that let pass more than before, or give more. */
const LOOSENINGS =
  /^(type-widened|nullable-added|default-added|field-added|enum-removed|enum-value-added|pattern-removed|additional-properties-added|unknown-fields-preserved|validation-rule-removed|composition-loosened|selectable-field-added|scale-subresource-added|short-name-added|category-added|(min|max)[a-z-]*-(raised|lowered))$/;

/** Schemas of all keywords in any combination, sensible or not. */
const anySchema: fc.Arbitrary<JsonObject> = schemaOfDepth(2).map(
  (schema) => structuredClone(schema) as JsonObject,
);

describe("compareCustomResourceDefinitions", () => {
  for (const { edit, before, after, verdicts, reversed } of corpus) {
    it(`judges when ${edit}`, () => {
      assert.deepStrictEqual(verdictsOf(compareCustomResourceDefinitions(before, after)), verdicts);
    });
    if (reversed === undefined) continue;
    it(`judges the reverse of when ${edit}`, () => {
      assert.deepStrictEqual(verdictsOf(compareCustomResourceDefinitions(after, before)), reversed);
    });
  }

  it("says all in one sentence with whom it breaks and a remedy", () => {
    for (const { before, after } of corpus) {
      for (const { verdict, message } of compareCustomResourceDefinitions(before, after)) {
        assert.match(message, verdict === "breaking" ? /^[^\n]+: [^\n]+; [^\n]+\.$/ : /^[^\n]+\.$/);
        assert.doesNotMatch(message, /undefined|\[object|Infinity/);
      }
    }
  });

  it("says of a field that another one of its type replaces how to rename it", () => {
    const removal = (edit: string) => {
      const { before, after } = corpusEntry(edit);
      const changes = compareCustomResourceDefinitions(before, after);
      return changes.find(({ change }) => change === "field-removed")?.message ?? "";
    };
    const page = "docs/tasks/rename-a-field.md";
    assert.match(
      removal("a field is renamed"),
      new RegExp(`if its new name is \\S+, keep both .*${page}\\.$`),
    );
    assert.ok(existsSync(path.resolve(__dirname, "../..", page)));
    assert.doesNotMatch(removal("a field is removed"), /new name/);
  });

  it("names the version of a change in a schema", () => {
    const { before, after } = corpusEntry("a field is removed from one of two versions");
    assertEach(compareCustomResourceDefinitions(before, after), ({ version }) => version, ["v2"]);
  });

  it("names all versions that keep what the stored one drops in one change", () => {
    const { before, after } = corpusEntry(
      "a field is added to two versions, and objects are stored in a third one",
    );
    const loss = compareCustomResourceDefinitions(before, after).find(
      ({ verdict }) => verdict === "breaking",
    );
    assert.match(loss?.message ?? "", /^v1 drops what v2 and v3 keep: objects lose the field at once, /);
  });

  it("speaks of the operator where the status is tighter, and of clients elsewhere", () => {
    const message = (edit: string) => {
      const { before, after } = corpusEntry(edit);
      return compareCustomResourceDefinitions(before, after)[0]?.message ?? "";
    };
    assert.match(message("the operator may no longer write a value"), /the operator is refused/);
    assert.match(message("a value is taken from an enumeration"), /clients that send .* are refused/);
  });

  it("has nothing to say of what did not change, in whatever order it is written", () => {
    for (const { after } of corpus) {
      assert.deepStrictEqual(compareCustomResourceDefinitions(after, structuredClone(after)), []);
      assert.deepStrictEqual(compareCustomResourceDefinitions(after, reordered(after)), []);
    }
  });

  it("judges alike in whatever order the fields are written", () => {
    for (const { before, after, verdicts } of corpus) {
      const changes = compareCustomResourceDefinitions(reordered(before), reordered(after));
      assert.deepStrictEqual(verdictsOf(changes), verdicts);
    }
  });

  it("finds something breaking in every loosening that is taken back", () => {
    let loosenings = 0;
    const check = (before: JsonObject, after: JsonObject) => {
      const back = compareCustomResourceDefinitions(after, before);
      for (const { verdict, change, path } of compareCustomResourceDefinitions(before, after)) {
        if (verdict !== "safe" || !LOOSENINGS.test(change)) continue;
        loosenings++;
        // What is within a value is not compared where its type has changed.
        const breaks = back.some((each) => each.verdict === "breaking" && path.startsWith(each.path));
        assert.ok(breaks, `${change} ${path}`);
      }
    };
    for (const { before, after } of corpus) {
      check(before, after);
      check(after, before);
    }
    assert.ok(loosenings >= 40, String(loosenings));
    fc.assert(fc.property(anySchema, anySchema, (one, other) => check(withSpec(one), withSpec(other))));
  });

  it("never fails, and judges nothing where nothing has changed, whatever the schemas are", () => {
    fc.assert(
      fc.property(anySchema, anySchema, (one, other) => {
        const [before, after] = [withSpec(one), withSpec(other)];
        assert.deepStrictEqual(compareCustomResourceDefinitions(before, withSpec(one)), []);
        for (const { path, version } of compareCustomResourceDefinitions(before, after)) {
          assert.match(path, /^\.spec/);
          assert.equal(version, "v1");
        }
      }),
    );
  });

  it("never fails at a manifest that is no CRD", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
        compareCustomResourceDefinitions({ spec: one as Json }, { spec: other as Json });
      }),
    );
  });

  it("finds it breaking when values that were valid are no longer", () => {
    const bound = fc.integer({ min: -3, max: 3 });
    const bounds = fc.record(
      { minimum: bound, maximum: bound, exclusiveMinimum: fc.boolean(), exclusiveMaximum: fc.boolean() },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(bounds, bounds, (one, other) => {
        const schema = (limits: typeof one) => ({ type: "integer", ...limits });
        const valid = (limits: typeof one) => [...Array(13).keys()].map((i) => i - 6).filter(within(limits));
        fc.pre(valid(one).length > 0);
        const lost = valid(one).some((value) => !within(other)(value));
        const changes = compareCustomResourceDefinitions(withSpec(schema(one)), withSpec(schema(other)));
        assert.equal(
          changes.some(({ verdict }) => verdict === "breaking"),
          lost,
        );
      }),
    );
  });
});

describe("compareCrdSets", () => {
  const crd = baseCrd();
  const other = { ...crd, metadata: { name: "others.shop.example.com" } };
  const judged = (before: JsonObject[], after: JsonObject[]) =>
    compareCrdSets(before, after).map(({ name, changes }) => [name, ...verdictsOf(changes)]);

  it("finds a CRD that is gone breaking, and one that is new safe", () => {
    assert.deepStrictEqual(judged([crd], [other]), [
      ["gadgets.shop.example.com", "breaking crd-removed metadata.name"],
      ["others.shop.example.com", "safe crd-added metadata.name"],
    ]);
  });

  it("compares those of one name, wherever they stand", () => {
    const { after } = corpusEntry("a field is removed");
    assert.deepStrictEqual(judged([other, crd], [after, other]), [
      ["gadgets.shop.example.com", "breaking field-removed .spec.title"],
      ["others.shop.example.com"],
    ]);
    assert.deepStrictEqual(judged([], []), []);
  });
});

function corpusEntry(edit: string) {
  const entry = corpus.find((each) => each.edit === edit);
  assert.ok(entry, edit);
  return entry;
}

/** The same with the keys of every object, and the names in `required`, the other way round. */
function reordered(value: JsonObject): JsonObject {
  const turn = (inner: Json, key: string): Json => {
    if (Array.isArray(inner)) {
      const items = inner.map((item) => turn(item, ""));
      return key === "required" ? items.reverse() : items;
    }
    if (!isJsonObject(inner)) return inner;
    return Object.fromEntries(
      Object.entries(inner)
        .reverse()
        .map(([name, item]) => [name, turn(item, name)]),
    );
  };
  return turn(value, "") as JsonObject;
}

/** The base CRD with another schema of `.spec`. */
function withSpec(spec: JsonObject): JsonObject {
  const crd = structuredClone(baseCrd());
  const [version] = versionsOf(crd);
  const schema = version?.schema as { openAPIV3Schema: { properties: JsonObject } };
  schema.openAPIV3Schema.properties.spec = structuredClone(spec);
  return crd;
}

function within(limits: {
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: boolean;
  exclusiveMaximum?: boolean;
}): (value: number) => boolean {
  const { minimum = -6, maximum = 6 } = limits;
  const aboveMinimum = (value: number) =>
    limits.exclusiveMinimum && limits.minimum !== undefined ? value > minimum : value >= minimum;
  const belowMaximum = (value: number) =>
    limits.exclusiveMaximum && limits.maximum !== undefined ? value < maximum : value <= maximum;
  return (value) => aboveMinimum(value) && belowMaximum(value);
}

function schemaOfDepth(depth: number): fc.Arbitrary<object> {
  const inner = depth === 0 ? fc.constant({ type: "string" }) : schemaOfDepth(depth - 1);
  const count = fc.integer({ min: 0, max: 3 });
  const flag = fc.boolean();
  const value = fc.constantFrom<Json>(null, 1, "a", {}, []);
  return fc.record(
    {
      type: fc.constantFrom("object", "array", "string", "integer", "number", "boolean"),
      properties: fc.dictionary(fc.constantFrom("a", "b", "apiVersion", "metadata"), inner, { maxKeys: 3 }),
      required: fc.subarray(["a", "b", "metadata"]),
      items: inner,
      additionalProperties: fc.oneof(flag, inner),
      default: value,
      enum: fc.array(value, { maxLength: 3 }),
      nullable: flag,
      minimum: count,
      exclusiveMinimum: flag,
      maxLength: count,
      maxItems: count,
      multipleOf: fc.constantFrom(1, 2, 4),
      pattern: fc.constantFrom("", "^a$", "^b$"),
      format: fc.constantFrom("", "int32", "date", "date-time"),
      anyOf: fc.array(fc.constantFrom<Json>({ type: "integer" }, { type: "string" }), { maxLength: 2 }),
      "x-kubernetes-int-or-string": flag,
      "x-kubernetes-preserve-unknown-fields": flag,
      "x-kubernetes-embedded-resource": flag,
      "x-kubernetes-list-type": fc.constantFrom("atomic", "set", "map"),
      "x-kubernetes-list-map-keys": fc.subarray(["a", "b"]),
      "x-kubernetes-validations": fc.subarray([{ rule: "self.a" }, { rule: "oldSelf.a" }]),
    },
    { requiredKeys: [] },
  );
}

describe("formatCrdVerdict", () => {
  const corpus = readCorpus();
  const judged = (edit: string) => {
    const entry = corpus.find((each) => each.edit === edit);
    assert.ok(entry);
    return compareCrdSets([entry.before], [entry.after]);
  };
  const other: JsonObject = { ...baseCrd(), metadata: { name: "a.example.com" } };

  it("puts what breaks first, with version, path and message", () => {
    const lines = formatCrdVerdict(judged("a short name is replaced"));
    assert.deepStrictEqual(lines, [
      "gadgets.shop.example.com: 2 changes, 1 breaking",
      "  breaking  spec.names.shortNames  The short name gd was removed: commands and scripts that use it fail; keep it.",
      "  safe      spec.names.shortNames  The short name gg is new.",
    ]);
    const [, first = ""] = formatCrdVerdict(judged("a field is renamed"));
    assert.match(first, /^ {2}breaking {2}v1 \.spec\.title {2}The field was removed: /);
  });

  it("says so if nothing breaks, and if nothing has changed", () => {
    assert.equal(
      formatCrdVerdict(judged("a version is added"))[0],
      "gadgets.shop.example.com: 1 change, none breaking",
    );
    const nothing = ["No CustomResourceDefinition has changed."];
    assert.deepStrictEqual(formatCrdVerdict([]), nothing);
    assert.deepStrictEqual(formatCrdVerdict(compareCrdSets([other], [other])), nothing);
  });

  it("leaves out a CRD that has not changed", () => {
    const lines = formatCrdVerdict(compareCrdSets([other, baseCrd()], [other]));
    assert.equal(lines.length, 2);
    assert.match(lines[1] ?? "", /all its objects are deleted/);
  });

  it("tells a program whether anything breaks", () => {
    assert.equal(anyCrdBreaks(judged("a field is removed")), true);
    assert.equal(anyCrdBreaks(judged("a version is added")), false);
    assert.equal(anyCrdBreaks([]), false);
  });
});
