import assert from "node:assert/strict";
import fc from "fast-check";
import { buildCustomResourceDefinition } from "../../components/manifests/customResourceDefinition";
import { versionsOf } from "../../definition/customResourceDefinition";
import type { Json, JsonObject } from "../../runtime/base/objects";
import { isJsonObject } from "../../runtime/base/objects";
import type { Operator } from "../../runtime/operator/definition";
import { widgetCrd, widgetVersion } from "./operatorFolder";
import { assertEach } from "./support/lists";

/** An operator of which only what the builder reads is given. */
function operatorOf(crd: JsonObject): Operator {
  const customResource = { group: "shop.example.com", version: "v1", kind: "Widget", plural: "widgets" };
  return { crd, customResource } as unknown as Operator;
}

const build = (crd: JsonObject): JsonObject => buildCustomResourceDefinition(operatorOf(crd)) as JsonObject;

/** What the builder makes of a version, the first of its CRD. */
function buildVersion(version: JsonObject): JsonObject {
  const [built] = versionsOf(build(widgetCrd({ versions: [version] })));
  assert.ok(built);
  return built;
}

/** The value at a path, "a/b/c". */
function at(value: Json | undefined, path: string): Json | undefined {
  return path
    .split("/")
    .reduce<Json | undefined>((inner, key) => (isJsonObject(inner) ? inner[key] : undefined), value);
}

const STATUS = "schema/openAPIV3Schema/properties/status";
const columnNames = (version: JsonObject) =>
  (version.additionalPrinterColumns as JsonObject[]).map(({ name }) => name);

describe("buildCustomResourceDefinition", () => {
  it("adds room for the engine's memory, whether the author gave the status a schema or not", () => {
    const described = widgetVersion({}, { status: { type: "object", properties: {} } });
    for (const version of [widgetVersion(), described]) {
      const memory = at(buildVersion(version), `${STATUS}/properties/argosy`);
      assert.equal(at(memory, "type"), "object");
      assert.equal(at(memory, "x-kubernetes-preserve-unknown-fields"), true);
    }
  });

  it("requires no field of the status, which is written before the handler has answered", () => {
    const version = widgetVersion(
      {},
      { status: { type: "object", required: ["url"], properties: { url: {} } } },
    );
    const built = at(buildVersion(version), STATUS);
    assert.equal(at(built, "required"), undefined);
    assert.deepEqual(at(built, "properties/url"), {});
  });

  it("preserves unknown fields of a status without schema, and only of such a one", () => {
    const preserve = `${STATUS}/x-kubernetes-preserve-unknown-fields`;
    assert.equal(at(buildVersion(widgetVersion()), preserve), true);
    const described = widgetVersion({}, { status: { type: "object", properties: {} } });
    assert.equal(at(buildVersion(described), preserve), undefined);
  });

  it("does so in every version", () => {
    const versions = versionsOf(
      build(widgetCrd({ versions: [widgetVersion({ storage: false }), widgetVersion({ name: "v2" })] })),
    );
    assertEach(versions, (version) => [version.name, version.subresources, columnNames(version).length], [
      ["v1", { status: {} }, 3],
      ["v2", { status: {} }, 3],
    ]);
  });

  it("leaves the author's scale subresource, conditions and generation as they are", () => {
    const scale = { specReplicasPath: ".spec.size", statusReplicasPath: ".status.size" };
    const own = {
      conditions: { type: "array", items: { type: "string" } },
      observedGeneration: { type: "number" },
    };
    const version = buildVersion(
      widgetVersion({ subresources: { scale } }, { status: { type: "object", properties: own } }),
    );
    assert.deepStrictEqual(version.subresources, { status: {}, scale });
    const { argosy: _, ...properties } = at(version, `${STATUS}/properties`) as JsonObject;
    assert.deepStrictEqual(properties, {
      ...own,
      observedGeneration: { ...own.observedGeneration, default: 0 },
    });
  });

  describe("shows a new object as not observed yet, unless the author's schema may refuse that:", () => {
    const rule = [{ rule: "has(self.phase)" }];
    const ofWhole = [{ rule: "!has(self.status) || has(self.status.phase)" }];
    const shapes: [JsonObject, JsonObject, boolean][] = [
      [{ type: "object" }, {}, true],
      [{ type: "object", nullable: true }, {}, true],
      [{ type: "object", minProperties: 2 }, {}, false],
      [{ type: "object", "x-kubernetes-validations": rule }, {}, false],
      [{ type: "object", anyOf: [{ required: ["phase"] }] }, {}, false],
      [{ type: "object", default: { phase: "New" } }, {}, false],
      [{ type: "object" }, { "x-kubernetes-validations": ofWhole }, false],
      [{ type: "object" }, { "x-kubernetes-validations": [{ rule: "has(self.spec)" }] }, true],
      [{ type: "object", properties: { observedGeneration: { type: "integer", minimum: 1 } } }, {}, false],
      [{ type: "object", properties: { observedGeneration: { type: "integer", minimum: 0 } } }, {}, true],
      [{ type: "object", properties: { observedGeneration: { type: "integer", default: 0 } } }, {}, false],
    ];
    for (const [status, root, isShown] of shapes)
      it(JSON.stringify({ ...root, status }), () => {
        const version = widgetVersion({}, { status });
        Object.assign(at(version, "schema/openAPIV3Schema") as JsonObject, root);
        const built = at(buildVersion(version), STATUS);
        const shown = isShown
          ? [{}, 0]
          : [status.default, at(status, "properties/observedGeneration/default")];
        const found = [at(built, "default"), at(built, "properties/observedGeneration/default")];
        assert.deepEqual(found, shown);
      });
  });

  it("puts the author's columns first, and adds none with a name that they have", () => {
    const mine = { name: "READY", type: "integer", jsonPath: ".status.ready" };
    const size = { name: "Size", type: "integer", jsonPath: ".spec.size" };
    const version = buildVersion(widgetVersion({ additionalPrinterColumns: [size, mine] }));
    assert.deepStrictEqual(columnNames(version), ["Size", "READY", "Reason", "Age"]);
    assert.deepStrictEqual(at(version, "additionalPrinterColumns"), [
      size,
      mine,
      ...(version.additionalPrinterColumns as Json[]).slice(2),
    ]);
  });

  it("shares nothing between versions and nothing with the input", () => {
    const crd = widgetCrd({ versions: [widgetVersion(), widgetVersion({ name: "v2", storage: false })] });
    const [first, second] = versionsOf(build(crd)).map((version) =>
      at(version, `${STATUS}/properties/conditions`),
    );
    assert.deepStrictEqual(first, second);
    assert.notEqual(first, second);
  });

  const column = fc.record({
    name: fc.constantFrom("Ready", "age", "Size", "Reason", "Zone"),
    type: fc.constant("string"),
    jsonPath: fc.constant(".spec.x"),
  });
  const properties = fc.dictionary(
    fc.constantFrom("conditions", "observedGeneration", "nodes", "phase"),
    fc.record({ type: fc.constantFrom("string", "array", "object") }),
  );
  const version = fc
    .record({
      columns: fc.option(fc.uniqueArray(column, { selector: ({ name }) => name }), { nil: undefined }),
      status: fc.option(properties, { nil: undefined }),
      scale: fc.boolean(),
      root: fc.dictionary(fc.constantFrom("deprecated", "selectableFields"), fc.boolean(), {
        noNullPrototype: true,
      }),
    })
    .map(({ columns, status, scale, root }) =>
      widgetVersion(
        {
          ...root,
          ...(columns && { additionalPrinterColumns: columns }),
          ...(scale && { subresources: { scale: { specReplicasPath: ".spec.a" } } }),
        },
        status && { status: { type: "object", properties: status } },
      ),
    );
  const anyCrd = fc
    .array(version, { minLength: 1, maxLength: 3 })
    // As plain objects: fast-check also makes some without prototype, which no YAML file gives.
    .map((versions) => structuredClone(widgetCrd({ versions, conversion: { strategy: "None" } })));

  it("keeps every field of the author's, whatever he has", () => {
    fc.assert(
      fc.property(anyCrd, (crd) => {
        const before = structuredClone(crd);
        const built = build(crd);
        assert.deepStrictEqual(crd, before, "the input was changed");
        assertContains(built, crd, "");
      }),
    );
  });

  it("makes nothing more of what it has made", () => {
    fc.assert(fc.property(anyCrd, (crd) => assert.deepStrictEqual(build(build(crd)), build(crd))));
  });
});

/** Everything of `part` is in `whole` with the same value: lists from their beginning, objects by key. */
function assertContains(whole: Json | undefined, part: Json, path: string): void {
  if (Array.isArray(part)) {
    assert.ok(Array.isArray(whole), path);
    for (const [index, item] of part.entries()) assertContains(whole[index], item, `${path}[${index}]`);
  } else if (isJsonObject(part)) {
    assert.ok(isJsonObject(whole), path);
    for (const [key, value] of Object.entries(part)) assertContains(whole[key], value, `${path}.${key}`);
  } else {
    assert.equal(whole, part, path);
  }
}
