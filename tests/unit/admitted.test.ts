import assert from "node:assert/strict";
import { admitted } from "../../definition/customResource";
import type { CustomResourceDefinition } from "../../definition/customResourceDefinition";
import { uncheckedRules } from "../../definition/uncheckedRules";
import type { Json, JsonObject } from "../../runtime/base/objects";
import { widgetCrd, widgetVersion } from "./operatorFolder";

const TEXT = { type: "string" };

/** The kind of a CRD of which v1 is stored. */
function kindOf(versions: readonly JsonObject[], spec: JsonObject = {}): CustomResourceDefinition {
  const customResource = {
    ...{ group: "shop.example.com", version: "v1", kind: "Widget", plural: "widgets" },
    namespaced: true,
  };
  return { crd: widgetCrd({ versions: [...versions], ...spec }), customResource };
}

function withSpec(properties: JsonObject, more: JsonObject = {}): JsonObject {
  return { spec: { type: "object", properties, ...more } };
}

describe("admitted", () => {
  const named = { metadata: { name: "a" } };

  describe("removes a null as the API server does", () => {
    const kind = kindOf([
      widgetVersion(
        {},
        withSpec({
          obj: { type: "object", properties: { x: TEXT } },
          arr: { type: "array", items: TEXT },
          filled: { type: "array", items: { ...TEXT, default: "f" } },
          str: TEXT,
          map: { type: "object", additionalProperties: TEXT },
          req: { type: "object", required: ["r"], properties: { r: TEXT } },
          any: { "x-kubernetes-preserve-unknown-fields": true },
          ios: { "x-kubernetes-int-or-string": true },
          nullable: { ...TEXT, nullable: true },
          def: { ...TEXT, default: "d" },
          en: { ...TEXT, enum: ["a", "b"] },
          deep: {
            type: "array",
            items: { type: "object", properties: { v: TEXT, w: { ...TEXT, default: "w" } } },
          },
        }),
      ),
    ]);
    const cases: [given: Json, becomes: Json | string][] = [
      [{ obj: null, arr: null, str: null, ios: null, en: null }, {}],
      [{ map: { a: null, b: "x" } }, { map: { b: "x" } }],
      [{ deep: [{ v: null, w: null }] }, { deep: [{ w: "w" }] }],
      [{ any: null }, {}],
      [{ any: { a: null, b: [null] } }, { any: { a: null, b: [null] } }],
      [{ nullable: null }, { nullable: null }],
      [{ def: null }, {}],
      [{ obj: { x: null } }, { obj: {} }],
      [{ filled: [null] }, { filled: ["f"] }],
      [{ req: { r: null } }, "spec.req must have required property 'r'"],
      [{ arr: [null, "a"] }, "spec.arr.0 must be string"],
    ];
    for (const [given, becomes] of cases) {
      it(`${JSON.stringify(given)}: ${JSON.stringify(becomes)}`, () => {
        const { object, flaw } = admitted({ ...named, spec: given }, kind);
        if (typeof becomes === "string") assert.equal(flaw, becomes);
        else assert.deepEqual([flaw, object.spec], [undefined, { ...(becomes as JsonObject), def: "d" }]);
      });
    }

    it("and the whole spec", () => {
      const { object, flaw } = admitted({ ...named, spec: null }, kind);
      assert.deepEqual([flaw, object.spec], [undefined, undefined]);
    });
  });

  it("says what is wrong with the metadata", () => {
    const kind = kindOf([widgetVersion()]);
    for (const [metadata, flaw] of [
      [{}, "metadata.name is missing"],
      [{ name: "Bad_Name!" }, /^metadata\.name is "Bad_Name!", which no Widget can have: write lower-case/],
      [{ name: "a", namespace: "X Y" }, 'metadata.namespace is "X Y", which is not the name of a namespace'],
      [{ name: 1 }, "metadata.name must be string"],
      [{ name: "a", labels: { a: 1 } }, "metadata.labels.a must be string"],
      [{ name: "a", labels: { a: "b c" } }, "metadata.labels.a cannot be the value of a label"],
      [{ name: "a", labels: null, annotations: null }, undefined],
    ] as [JsonObject, string | RegExp | undefined][]) {
      const found = admitted({ metadata }, kind).flaw;
      if (flaw instanceof RegExp) assert.match(found ?? "", flaw);
      else assert.equal(found, flaw);
    }
    assert.deepEqual(admitted(named, kind).object.metadata, { namespace: "default", name: "a" });
  });

  it("has one blank if the whole object is wrong", () => {
    const { schema: _, ...version } = widgetVersion();
    const openAPIV3Schema = { type: "object", required: ["spec"], properties: withSpec({}) };
    const kind = kindOf([{ ...version, schema: { openAPIV3Schema } } as JsonObject]);
    assert.equal(admitted(named, kind).flaw, "must have required property 'spec'");
  });

  describe("of another version", () => {
    const beta = widgetVersion(
      { name: "v1beta1", storage: false },
      withSpec({ a: TEXT, old: { ...TEXT, default: "o" } }),
    );
    const stored = widgetVersion({}, withSpec({ a: TEXT, new: { ...TEXT, default: "n" } }));
    const given = { ...named, apiVersion: "shop.example.com/v1beta1", spec: { a: "x", old: "y" } };

    it("is converted to the stored one, whose fields and defaults it has then", () => {
      const { object, flaw } = admitted(given, kindOf([beta, stored]));
      assert.equal(flaw, undefined);
      assert.equal(object.apiVersion, "shop.example.com/v1");
      assert.deepEqual(object.spec, { a: "x", new: "n" });
    });

    it("is checked in its own", () => {
      const { flaw } = admitted({ ...given, spec: { new: "y" } }, kindOf([beta, stored]));
      assert.equal(flaw, "spec.new is not in the CRD's schema");
    });

    it("is refused if it is not served", () => {
      const { flaw } = admitted(given, kindOf([{ ...beta, served: false }, stored]));
      assert.equal(flaw, "is of shop.example.com/v1beta1, and the CRD serves v1");
    });

    it("is refused if only a webhook could convert it", () => {
      const { flaw } = admitted(given, kindOf([beta, stored], { conversion: { strategy: "Webhook" } }));
      assert.match(flaw ?? "", /^is of .*\/v1beta1, and only the CRD's webhook could convert it to v1/);
    });
  });
});

describe("what only an API server checks", () => {
  it("is counted wherever it is", () => {
    const rule = { rule: "self.a > 0" };
    const schema = withSpec({
      a: { ...TEXT, format: "duration", pattern: "^a$" },
      b: { type: "array", items: { ...TEXT, pattern: "(?i)^b$" }, "x-kubernetes-validations": [rule, rule] },
      c: { type: "integer", format: "int32", anyOf: [{ "x-kubernetes-validations": [rule] }] },
      pattern: TEXT,
    });
    assert.equal(
      uncheckedRules({ type: "object", properties: schema }),
      "3 rules in CEL and 1 pattern of RE2's own syntax and 1 format (duration)",
    );
    assert.equal(uncheckedRules({ type: "object", properties: withSpec({ a: TEXT }) }), undefined);
  });
});
