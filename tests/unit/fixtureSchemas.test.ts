import assert from "node:assert/strict";
import { addFiles, widgetCrd } from "./operatorFolder";
import { FixtureFolder, handler } from "./support/fixtureFolder";

describe("runFixtures", () => {
  let folder: FixtureFolder;
  beforeEach(() => {
    folder = new FixtureFolder();
  });
  afterEach(() => folder.remove());

  describe("with a schema", () => {
    const properties = {
      size: { type: "integer", minimum: 1 },
      plan: { type: "object", default: {}, properties: { name: { type: "string", default: "small" } } },
    };
    const openAPIV3Schema = {
      type: "object",
      required: ["spec"],
      properties: { spec: { type: "object", required: ["size"], properties } },
    };
    beforeEach(() => {
      const version = { name: "v1", served: true, storage: true, schema: { openAPIV3Schema } };
      addFiles(folder.root, { "crd.yaml": widgetCrd({ versions: [version] }) });
    });
    const object = (spec: string, more = "") =>
      `object: { metadata: { name: a }, spec: ${spec}${more} }\nanswer: { children: [], status: { spec: { size: 2, plan: { name: small } } } }\n`;

    it("fills in the CRD's defaults, as the API server does", async () => {
      const [result] = await folder.run(handler("{ children: [], status: { spec: request.object.spec } }"), {
        "a.yaml": object("{ size: 2 }"),
      });
      assert.deepStrictEqual([result?.failure, result?.differences], [undefined, []]);
    });

    for (const [what, text, complaint] of [
      ["of a wrong type", object("{ size: two }"), "object: spec.size must be integer"],
      ["that the schema refuses", object("{ size: 0 }"), "object: spec.size must be >= 1"],
      ["that is missing", object("{}"), "object: spec must have required property 'size'"],
      [
        "that the schema does not know",
        object("{ size: 1, sise: 2 }"),
        "object: spec.sise is not in the CRD's schema",
      ],
      [
        "of another kind",
        object("{ size: 1 }", ", kind: Gadget"),
        "object: is Gadget (shop.example.com/v1), not Widget (shop.example.com/v1)",
      ],
      [
        "of another version",
        object("{ size: 1 }", ", apiVersion: shop.example.com/v2"),
        "object: is of shop.example.com/v2, and the CRD serves v1",
      ],
    ] as const) {
      it(`refuses an object ${what}`, async () => {
        const [result] = await folder.run(handler("{ children: [] }"), { "a.yaml": text });
        assert.equal(result?.failure, complaint);
      });
    }
  });
});
