import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import fc from "fast-check";
import { stringify } from "yaml";
import { loadOperator } from "../../../definition/loadOperator";
import { OperatorError } from "../../../definition/problems";
import type { OperatorOverrides } from "../../../definition/schema";
import { statusChecker } from "../../../runtime/base/contentSchema";
import type { Operator } from "../../../runtime/operator/definition";
import { definitionFileContent } from "../../../runtime/programs/definitionFile";
import { temporaryFolder } from "../../support/temporaryFolder";
import { loadDefinition, widgetCrd, widgetVersion } from "../operatorFolder";
import { fuzz } from "../support/fuzz";
import { hostileJson, hostileObject, hostileText, mostly } from "../support/hostile";

const handler = mostly({
  image: fc.constantFrom("python:3.13-slim", "a"),
  command: fc.array(fc.oneof(fc.constantFrom("python3", "main.py", "./main.py"), hostileText), {
    maxLength: 3,
  }),
});
const child = mostly({
  apiVersion: fc.constantFrom("v1", "apps/v1", "shop.example.com/v1"),
  kind: fc.constantFrom("ConfigMap", "Deployment", "Widget", "ClusterRole"),
  update: fc.constantFrom("apply", "recreate", "never"),
  plural: fc.constantFrom("deployments", "x"),
});
const variables = fc.dictionary(fc.oneof(fc.constantFrom("A", "B_1"), hostileText), hostileText, {
  maxKeys: 3,
});
const definition = mostly({
  crd: fc.constantFrom("crd.yaml", "crd.yaml", "missing.yaml", "."),
  handler,
  children: fc.array(child, { maxLength: 3 }),
  name: fc.constantFrom("widget", "a"),
  execution: fc.constantFrom("resident", "pod"),
  concurrency: fc.integer({ min: 0, max: 70 }),
  timeoutSeconds: fc.integer({ min: 0, max: 4000 }),
  resyncSeconds: fc.integer({ min: 0, max: 90_000 }),
  namespaces: fc.oneof(
    fc.constant("all"),
    fc.array(fc.constantFrom("team-a", "team-b", "..", "A"), { maxLength: 3 }),
  ),
  finalize: fc.boolean(),
  resources: mostly({ limits: fc.dictionary(hostileText, fc.constantFrom("1", "1Gi", "x"), { maxKeys: 2 }) }),
  env: variables,
  secretEnv: fc.dictionary(
    fc.constantFrom("S", "A"),
    mostly({ secret: fc.constant("api"), key: fc.constant("token") }),
    { maxKeys: 2 },
  ),
  record: fc.constantFrom("changes", "all", "failures"),
  rules: fc.array(
    mostly({
      apiGroups: fc.array(hostileText),
      resources: fc.array(hostileText),
      verbs: fc.array(hostileText),
    }),
    { maxLength: 1 },
  ),
});

const schema = mostly({
  type: fc.constantFrom("object", "string"),
  properties: fc.dictionary(
    hostileText,
    mostly({ type: fc.constantFrom("string", "integer", "array", "object") }),
    { maxKeys: 3 },
  ),
  required: fc.array(hostileText, { maxLength: 2 }),
  additionalProperties: fc.boolean(),
});
const version = mostly({
  name: fc.constantFrom("v1", "v2"),
  served: fc.boolean(),
  storage: fc.boolean(),
  schema: mostly({
    openAPIV3Schema: mostly({
      type: fc.constant("object"),
      properties: mostly({ status: schema, spec: hostileObject }),
    }),
  }),
});
const crd = mostly({
  apiVersion: fc.constant("apiextensions.k8s.io/v1"),
  kind: fc.constant("CustomResourceDefinition"),
  metadata: mostly({ name: fc.constant("widgets.shop.example.com") }),
  spec: mostly({
    group: fc.constant("shop.example.com"),
    scope: fc.constantFrom("Namespaced", "Cluster"),
    names: mostly({
      kind: fc.constantFrom("Widget"),
      plural: fc.constant("widgets"),
      shortNames: fc.array(hostileText, { maxLength: 2 }),
    }),
    versions: fc.array(version, { maxLength: 2 }),
  }),
});

/** Texts that are nearly YAML, with what YAML has beyond JSON. */
const SNIPPETS = [
  "a: ",
  "- ",
  "&a ",
  "*a",
  "*b",
  "<<: *a",
  "[",
  "]",
  "{",
  "}",
  "|\n  x",
  ">-\n",
  "? ",
  ": ",
  "\n",
  "---\n",
  "...\n",
  "%YAML 1.1\n",
  "!!set ",
  "!!binary ",
  "!!timestamp ",
  "2001-01-01",
  ".nan",
  ".inf",
  "1e999",
  "0x1F",
  "'",
  '"',
  "#",
  "\t",
  "kind: CustomResourceDefinition\n",
  "apiVersion: apiextensions.k8s.io/v1\n",
  "spec:\n",
  "  group: a.b\n",
  "__proto__: ",
  "\ud800",
  "\u0000",
] as const;
const yamlText = fc
  .array(fc.oneof(fc.constantFrom<string>(...SNIPPETS), hostileText), { maxLength: 12 })
  .map((parts) => parts.join(""));

describe("fuzz: an operator's folder", () => {
  let folder: string;
  const sound = stringify(widgetCrd());
  before(() => {
    folder = temporaryFolder();
    writeFileSync(path.join(folder, "main.py"), "print()\n");
  });

  /** The operator that a folder makes with this definition and CRD; undefined where its author is told what is wrong. */
  function load(written: unknown, text: string, overrides: unknown = {}): Operator | undefined {
    writeFileSync(path.join(folder, "crd.yaml"), text);
    return told(() =>
      loadDefinition(folder, written, { overrides: { widget: overrides as OperatorOverrides } }),
    );
  }

  function told(read: () => Operator): Operator | undefined {
    try {
      return read();
    } catch (error) {
      assert.ok(error instanceof OperatorError, `${error} is not told as an author's mistake`);
      assert.ok(error.problems.length > 0);
      for (const problem of error.problems) assert.doesNotMatch(problem, /\n|undefined/);
      return undefined;
    }
  }

  /** What is made of an operator that was accepted must go as well. */
  function use(operator: Operator | undefined): void {
    if (!operator) return;
    assert.equal(Object.keys(JSON.parse(definitionFileContent(operator))).includes("customResource"), true);
    statusChecker(operator.customResource.statusSchema)({});
  }

  fuzz(
    "has any definition: it is an operator, or its author is told",
    definition,
    (exported) => use(load({ name: "widget", ...exported }, sound)),
    { cost: 2 },
  );

  fuzz(
    "has any value for a definition: its author is told",
    hostileJson,
    (exported) => use(load(exported, sound)),
    { cost: 2 },
  );

  const good = {
    name: "widget",
    crd: "crd.yaml",
    handler: { image: "python:3.13-slim", command: ["python3", "main.py"] },
    children: [],
  };

  fuzz("has a definition of any text: its author is told", yamlText, (text) => {
    writeFileSync(path.join(folder, "crd.yaml"), sound);
    writeFileSync(path.join(folder, "operator.yaml"), text);
    use(told(() => loadOperator(folder)));
  });

  fuzz(
    "has any overrides: it is an operator, or the program is told",
    fc.tuple(definition, fc.oneof(definition, hostileJson)),
    ([written, overrides]) => use(load({ ...good, ...written, name: "widget" }, sound, overrides)),
    { cost: 2 },
  );

  it("has overrides that no JSON has: the program is told", () => {
    const cyclic: Record<string, unknown> = {};
    cyclic.env = cyclic;
    const values = [
      null,
      () => {},
      Symbol("a"),
      1n,
      new Date(),
      new Map(),
      Object.create(null),
      cyclic,
      class {},
    ];
    for (const value of values) {
      load(good, sound, value);
      for (const field of [
        "env",
        "secretEnv",
        "resources",
        "namespaces",
        "image",
        "replicas",
        "concurrency",
      ]) {
        assert.equal(load(good, sound, { [field]: value, execution: 3 }), undefined);
        use(load(good, sound, { [field]: value }));
      }
    }
  });

  fuzz(
    "has any CRD: it is an operator, or its author is told",
    crd,
    (document) => use(load(good, stringify(document))),
    { cost: 4 },
  );

  fuzz("has a CRD of any text: its author is told", yamlText, (text) => use(load(good, text)), { cost: 2 });

  fuzz(
    "has a CRD with any schema of its status: it is an operator, or its author is told",
    schema,
    (status) => {
      const versions = [widgetVersion({}, { status })];
      use(load(good, JSON.stringify(widgetCrd({ versions }))));
    },
    { cost: 40 },
  );

  it("has a CRD that grows without bound by its aliases: its author is told", () => {
    const bomb = (levels: number) =>
      Array.from({ length: levels }, (_, level) => {
        const below = level === 0 ? "lol" : `*a${level - 1}`;
        return `a${level}: &a${level} [${Array(10).fill(below).join(", ")}]`;
      }).join("\n");
    const told = (levels: number) => {
      writeFileSync(path.join(folder, "crd.yaml"), bomb(levels));
      try {
        loadDefinition(folder, good);
        return "nothing";
      } catch (error) {
        return String(error);
      }
    };
    // Nine levels would be a thousand million texts; one is only shorthand.
    assert.match(told(9), /without aliases/);
    assert.match(told(1), /crd\.yaml/);
    assert.doesNotMatch(told(1), /aliases/);
  });

  const nested = fc.tuple(fc.integer({ min: 1, max: 5_000 }), fc.constantFrom("[", "{a: ", "- ", "? "));
  fuzz(
    "has a CRD of any depth: its author is told",
    nested,
    ([levels, open]) => {
      const close = { "[": "]", "{a: ": "}", "- ": "", "? ": "" }[open] ?? "";
      assert.equal(load(good, `a: ${open.repeat(levels)}${close.repeat(levels)}`), undefined);
    },
    { cost: 50 },
  );
});
