import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import fc from "fast-check";
import ts from "typescript";
import { pythonTypes } from "../../cli/types/python";
import { type Shape, structsOf } from "../../cli/types/shapes";
import { typescriptTypes } from "../../cli/types/typescript";
import { typesOf } from "../../cli/types/typesOf";
import { loadOperators } from "../../definition/loadOperators";
import { isJsonObject, type JsonObject } from "../../runtime/base/objects";
import { addFiles, widgetCrd, widgetDefinition, widgetVersion, writeFolder } from "./operatorFolder";
import { assertEach } from "./support/lists";
import { runArgosy } from "./support/runArgosy";

const EXAMPLES = path.resolve(__dirname, "../../examples");

/** A schema with every shape that a CRD may have. */
const spec = {
  type: "object",
  required: ["size", "a-b"],
  properties: {
    size: { type: "integer", description: "How many.\nReally." },
    ratio: { type: "number" },
    plan: { type: "string", enum: ["small", "large"], default: "small" },
    hosts: { type: "array", items: { type: "string" } },
    ports: {
      type: "array",
      items: {
        type: "object",
        required: ["port"],
        properties: { port: { "x-kubernetes-int-or-string": true } },
      },
    },
    labels: { type: "object", additionalProperties: { type: "string" } },
    extra: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
    gone: { type: "boolean", nullable: true },
    "a-b": { type: "object", properties: { class: { type: "string" } } },
  },
};

describe("argosy types", function () {
  this.timeout(60_000);
  let root: string;
  const crd = () => {
    const status = { type: "object", properties: { ready: { type: "integer" } } };
    return widgetCrd({ versions: [widgetVersion({}, { spec, status }, { required: ["spec"] })] });
  };
  const write = (handler: unknown, files: Record<string, string>) => {
    root = writeFolder({
      "handlers/widget/crd.yaml": crd(),
      "handlers/widget/operator.yaml": { ...widgetDefinition, handler: handler as string },
    });
    for (const [name, text] of Object.entries(files)) addFiles(root, { [`handlers/widget/${name}`]: text });
  };
  const run = (...args: string[]) => runArgosy("types", ...args, "--handlers", path.join(root, "handlers"));
  const read = (name: string) => readFileSync(path.join(root, "handlers/widget", name), "utf8");

  it("have each name once, whatever the kind is called", () => {
    root = writeFolder({});
    const namesFor = (kind: string) => {
      const structs = structsOf(kind, { properties: { spec, status: {} } });
      const contract = { children: ["apps/v1/Deployment"], used: [], schedules: [] };
      const typed = typescriptTypes(kind, "a/v1", structs, contract, () => "types.input.apps.v1.Deployment");
      return [typed, pythonTypes(kind, "a/v1", structs, contract)].map((text) =>
        [
          ...text.matchAll(/^(?:class|(?:export )?(?:interface|type)) (\w+)|^(\w+) = /gm),
          ...text.matchAll(/^from [\w.]+ import (\w+), (\w+)(?:, (\w+), (\w+))?$/gm),
        ].flatMap(([, ...found]) => found.filter((each) => each !== undefined)),
      );
    };
    const others = namesFor("Widget")
      .flat()
      .filter((each) => !each.startsWith("Widget"));
    assert.ok(others.length > 20, others.join());
    for (const kind of ["Record", "Readonly", "True", "False", "None", ...others]) {
      for (const names of namesFor(kind)) {
        assert.ok(names.includes(`${kind}Resource`), `${kind}: ${names}`);
        assert.deepEqual(names, [...new Set(names)]);
      }
    }
  });

  it("have a struct of its own for each object, whatever the fields are called", () => {
    const name = fc.constantFrom(
      "foo-bar",
      "fooBar",
      "foo_bar",
      "Spec",
      "spec",
      "foo",
      "bar",
      "item",
      "fooBar2",
    );
    const { schema } = fc.letrec<{ schema: JsonObject }>((tie) => ({
      schema: fc.oneof(
        { maxDepth: 3 },
        fc.nat().map((maximum): JsonObject => ({ type: "integer", maximum })),
        fc
          .dictionary(name, tie("schema"), { minKeys: 1, maxKeys: 4 })
          .map((properties): JsonObject => ({ type: "object", properties })),
        tie("schema").map((items): JsonObject => ({ type: "array", items })),
      ),
    }));
    fc.assert(
      fc.property(schema, (given) => {
        const structs = structsOf("Widget", { properties: { spec: given } });
        const names = structs.map((struct) => struct.name);
        assert.equal(new Set(names).size, names.length, names.join());
        const fieldsOf = (shape: Shape): unknown => {
          if (shape.is === "list") return [fieldsOf(shape.of)];
          if (shape.is !== "struct") return shape.is;
          const found = structs.find((struct) => struct.name === shape.name);
          return Object.fromEntries((found?.fields ?? []).map((each) => [each.name, fieldsOf(each.shape)]));
        };
        const wantedOf = (of: JsonObject): unknown => {
          if (isJsonObject(of.items)) return [wantedOf(of.items)];
          if (!isJsonObject(of.properties)) return of.type;
          const fields = Object.entries(of.properties);
          return Object.fromEntries(fields.map(([key, each]) => [key, wantedOf(each as JsonObject)]));
        };
        if (given.type === "object")
          assert.deepEqual(fieldsOf({ is: "struct", name: "WidgetSpec" }), wantedOf(given));
      }),
    );
  });

  it("are what a handler in TypeScript is checked against", async () => {
    const right = [
      "number = spec.size",
      '"small" | "large" = spec.plan',
      "readonly string[] | undefined = spec.hosts",
      "string | number | undefined = spec.ports?.[0]?.port",
      "string | undefined = spec.labels?.x",
      "unknown = spec.extra?.anything",
      "boolean | null | undefined = spec.gone",
      'string | undefined = spec["a-b"].class',
    ];
    const wrong = ["number = spec.ratio", "string = spec.size", "unknown = spec.sise"];
    const lines = [
      ...right.map((line, index) => `  const right${index}: ${line};`),
      ...wrong.map((line, index) => `  // @ts-expect-error\n  const wrong${index}: ${line};`),
    ];
    write("main.ts", {
      "main.ts": `import type { Answer, Request } from "./widget-types";
export function reconcile({ object: { spec } }: Request): Answer {
${lines.join("\n")}
  return { children: [], status: { ready: spec.size } };
}
`,
    });
    assert.deepEqual((await run()).result, 0);
    assert.match(read("widget-types.d.ts"), /\/\*\* How many\. Really\. \*\/\n {2}readonly size: number;/);
    const file = path.join(root, "handlers/widget/main.ts");
    const program = ts.createProgram([file], {
      strict: true,
      noEmit: true,
      lib: ["lib.es2020.d.ts"],
      types: [],
    });
    const errors = ts.getPreEmitDiagnostics(program).map(({ messageText }) => messageText);
    assert.deepEqual(errors, []);
  });

  it("are a module in Python, with the fields that may be missing", async () => {
    write("main.py", {
      "main.py":
        "from widget_types import Request, WidgetSpec\n\ndef reconcile(request: Request):\n    return {'children': []}\n",
    });
    assert.equal((await run("widget")).result, 0);
    const script = `
import json, widget_types as t
print(json.dumps([sorted(t.WidgetSpec.__required_keys__), sorted(t.WidgetSpec.__optional_keys__), sorted(t.WidgetSpecAB.__optional_keys__), str(t.WidgetSpec.__annotations__["plan"]), t.Request.__annotations__["object"] is t.Widget]))
`;
    const cwd = path.join(root, "handlers/widget");
    const result = JSON.parse(execFileSync("python3", ["-c", script], { cwd, encoding: "utf8" }));
    assert.deepEqual(result.slice(0, 3), [
      ["a-b", "plan", "size"],
      ["extra", "gone", "hosts", "labels", "ports", "ratio"],
      ["class"],
    ]);
    assert.match(result[3], /Literal\['small', 'large'\]/);
    assert.equal(result[4], true);
  });

  it("are checked to be current, whatever ends their lines have", async () => {
    write("main.py", { "main.py": "def reconcile(request):\n    pass\n" });
    const missing = await run("--check");
    assert.equal(missing.result, 3);
    assert.match(
      missing.stdout,
      /^missing {2}.*widget_types\.py: write it with: npm run argosy -- types widget --handlers \S+\n$/,
    );
    await run();
    assert.match((await run("--check")).stdout, /^current {2}/);
    // As a checkout may change the ends of its lines.
    addFiles(root, { "handlers/widget/widget_types.py": read("widget_types.py").replaceAll("\n", "\r\n") });
    const { result, stdout } = await run("--check");
    assert.deepEqual([result, stdout.startsWith("current ")], [0, true], stdout);
    addFiles(root, { "handlers/widget/widget_types.py": "" });
    const outdated = await run("--check");
    assert.equal(outdated.result, 3);
    assert.match(outdated.stdout, /^outdated /);
    assert.equal(read("widget_types.py"), "");
  });

  it("refuse a language that has none, even if the handler has one of its own", async () => {
    write("main.py", { "main.py": "def reconcile(request): ...\n" });
    const { result, stderr } = await run("--language", "ruby");
    assert.deepEqual([result, stderr], [2, "--language ruby: there are types for python and typescript.\n"]);
  });

  it("need a language for a program", async () => {
    write(widgetDefinition.handler, { "main.py": "" });
    const { result, stderr } = await run("widget");
    assert.equal(result, 2);
    assert.match(
      stderr,
      /^widget: its handler is a program\. .*--language python or --language typescript\.\n$/,
    );
    assert.equal((await run("--language", "python")).result, 0);
    assert.match((await run("--language", "ruby")).stderr, /there are types for python and typescript/);
  });

  it("leave out a program that was not named, and are written for the others", async () => {
    write(widgetDefinition.handler, { "main.py": "" });
    addFiles(root, {
      "handlers/yard/crd.yaml": widgetCrd(
        { group: "yard.example.com" },
        { metadata: { name: "widgets.yard.example.com" } },
      ),
      "handlers/yard/operator.yaml": { crd: "crd.yaml", handler: "main.py", children: [] },
      "handlers/yard/main.py": "def reconcile(request):\n    pass\n",
    });
    const { result, stdout } = await run();
    assert.match(
      stdout,
      /^left out widget: its handler is a program\. .*\nwritten .*yard\/widget_types\.py\n$/,
    );
    assert.equal(result, 0);
    assert.equal((await run("--check")).result, 0);
  });
});

describe("the types in the examples", () => {
  it("are current", () => {
    const written = loadOperators(EXAMPLES).filter(({ folder }) =>
      readdirSync(folder).some((file) => /-types\.d\.ts$|_types\.py$/.test(file)),
    );
    assertEach(written, ({ name }) => name, ["children-and-status", "manifest-template"]);
    for (const operator of written) {
      const { file, text } = typesOf(operator);
      assert.equal(readFileSync(file, "utf8"), text);
    }
  });
});
