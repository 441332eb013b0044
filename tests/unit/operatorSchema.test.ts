import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import Ajv from "ajv";
import fc from "fast-check";
import { parse } from "yaml";
import { SCHEMA_FILE, schemaComment } from "../../definition/jsonSchema";
import { DEFINITION } from "../../definition/schema";
import { schemaText } from "../../tools/operatorSchema";
import { widgetDefinition } from "./operatorFolder";
import { hostileJson, hostileText } from "./support/hostile";

const ROOT = path.join(__dirname, "../..");

describe("operator.schema.json", () => {
  const text = readFileSync(path.join(ROOT, SCHEMA_FILE), "utf8");
  const isValid = new Ajv({ strict: true, allowUnionTypes: true, validateFormats: false }).compile(
    JSON.parse(text),
  );

  it("is what `npm run schema` writes", () => assert.equal(text, schemaText()));

  it("describes every field, those of kinds included", () => {
    const { properties } = JSON.parse(text);
    const ofKinds = properties.children.items.anyOf[1].properties;
    for (const [field, { description }] of Object.entries<{ description?: string }>({
      ...properties,
      ...ofKinds,
    })) {
      assert.match(description ?? "", /^[A-Za-z].*\.$/, field);
    }
  });

  const refused: [string, object][] = [
    ["a field that is not known", { nmae: "a" }],
    ["a field that is reserved", { watch: [] }],
    ["a number for a name", { name: 1.2 }],
    ["a name in capitals", { name: "A" }],
    ["a name that is too long", { name: "a".repeat(41) }],
    ["a handler in another language", { handler: "main.rb" }],
    ["a program without its image", { handler: { command: ["sh"] } }],
    ["an empty command", { handler: { image: "a:1", command: [] } }],
    ["a kind without its version", { children: ["Deployment"] }],
    ["an unknown update policy", { children: [{ apiVersion: "v1", kind: "A", update: "replace" }] }],
    ["a range", { concurrency: 129 }],
    ["half a second", { timeoutSeconds: 0.5 }],
    ["an execution", { execution: "job" }],
    ["a namespace in capitals", { namespaces: ["A"] }],
    ["a text for namespaces", { namespaces: "team-a" }],
    ["a quantity that is none", { resources: { limits: { memory: "1GB" } } }],
    ["a variable with a dash", { env: { "A-B": "" } }],
    ["half a reference to a Secret", { secretEnv: { A: { secret: "api" } } }],
    ["the grant of a role without its kind", { grants: ["view"] }],
    ["a rule without verbs", { rules: [{ apiGroups: [""], resources: ["pods"], verbs: [] }] }],
  ];
  for (const [what, fields] of refused) {
    it(`refuses ${what}, as loading it does`, () => {
      const definition = { ...widgetDefinition, ...fields };
      assert.deepStrictEqual([isValid(definition), DEFINITION.safeParse(definition).success], [false, false]);
    });
  }

  it("misses what has no default", () => {
    for (const field of ["crd", "handler", "children"]) {
      const { [field as keyof typeof widgetDefinition]: _, ...others } = widgetDefinition;
      assert.equal(isValid(others), false, field);
    }
  });

  const any = fc.record(
    {
      crd: fc.constant("crd.yaml"),
      handler: fc.oneof(
        fc.constantFrom("main.py", "lib/main.ts"),
        fc.record({
          image: fc.constantFrom("a:1", `b@sha256:${"0".repeat(64)}`),
          command: fc.array(fc.oneof(fc.constant("sh"), hostileText), { maxLength: 2 }),
        }),
      ),
      children: fc.array(
        fc.oneof(
          fc.constantFrom("v1/Service", "apps/v1/Deployment"),
          fc.record({ apiVersion: fc.constant("v1"), kind: fc.constant("Service") }),
        ),
        { maxLength: 2 },
      ),
      name: fc.constantFrom("a", "a".repeat(40), "A"),
      formerNames: fc.array(fc.constantFrom("b", "c.d"), { maxLength: 2 }),
      namespaces: fc.oneof(fc.constant("all"), fc.array(fc.constantFrom("team-a", "b"), { maxLength: 2 })),
      concurrency: fc.integer({ min: 0, max: 130 }),
      env: fc.dictionary(fc.constantFrom("A", "_B"), hostileText, { maxKeys: 2, noNullPrototype: true }),
      resources: fc.record({ limits: fc.dictionary(fc.constant("memory"), fc.constantFrom("1Gi", "0.5")) }),
      rules: fc.array(
        fc.record({
          apiGroups: fc.constantFrom([""], ["batch"]),
          resources: fc.constant(["jobs"]),
          verbs: fc.constantFrom(["get"], ["*"]),
        }),
        { maxLength: 1 },
      ),
      grants: fc.array(fc.constantFrom("ClusterRole/view", "Role/a", "view"), { maxLength: 2 }),
    },
    { requiredKeys: ["crd", "handler", "children"] },
  );

  it("accepts everything that loading accepts: no editor underlines what is right", () => {
    let taken = 0;
    fc.assert(
      fc.property(fc.oneof({ arbitrary: any, weight: 9 }, hostileJson), (definition) => {
        if (!DEFINITION.safeParse(definition).success) return;
        taken++;
        assert.ok(isValid(definition), JSON.stringify(isValid.errors));
      }),
      { numRuns: 2000 },
    );
    assert.ok(taken > 100, `${taken}`);
  });

  const shipped = execFileSync(
    "git",
    ["ls-files", "-co", "--exclude-standard", "examples/**/operator.yaml", "tests/**/operator.yaml"],
    {
      cwd: ROOT,
      encoding: "utf8",
    },
  );
  for (const file of shipped.trim().split("\n")) {
    it(`is named by ${file}, which keeps to it`, () => {
      const definition = readFileSync(path.join(ROOT, file), "utf8");
      const address = path.relative(path.dirname(path.join(ROOT, file)), path.join(ROOT, SCHEMA_FILE));
      assert.equal(definition.split("\n")[0], schemaComment(address));
      assert.ok(isValid(parse(definition)), JSON.stringify(isValid.errors));
    });
  }
});
