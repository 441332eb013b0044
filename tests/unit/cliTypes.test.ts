import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import ts from "typescript";
import { main } from "../../cli/argosy";
import { typesOf } from "../../cli/types";
import { pythonTypes } from "../../cli/types/python";
import { structsOf } from "../../cli/types/shapes";
import { typescriptTypes } from "../../cli/types/typescript";
import { loadOperators } from "../../definition/loadOperators";
import { addFiles, removeFolder, widgetCrd, widgetDefinition, writeFolder } from "./operatorFolder";
import { captured } from "./support/captured";

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
    const properties = { spec, status: { type: "object", properties: { ready: { type: "integer" } } } };
    const openAPIV3Schema = { type: "object", required: ["spec"], properties };
    return widgetCrd({
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema } }],
    });
  };
  const write = (handler: unknown, files: Record<string, string>) => {
    root = writeFolder({
      "handlers/widget/crd.yaml": crd(),
      "handlers/widget/operator.yaml": { ...widgetDefinition, handler: handler as string },
    });
    for (const [name, text] of Object.entries(files)) addFiles(root, { [`handlers/widget/${name}`]: text });
  };
  afterEach(() => removeFolder(root));
  const run = (...args: string[]) =>
    captured(() => main(["types", ...args, "--handlers", path.join(root, "handlers")]));
  const read = (name: string) => readFileSync(path.join(root, "handlers/widget", name), "utf8");

  it("have each name once, whatever the kind is called", () => {
    root = writeFolder({});
    for (const kind of ["Request", "Answer", "Metadata", "KubernetesObject", "Any", "Record"]) {
      const structs = structsOf(kind, { properties: { spec, status: {} } });
      for (const text of [pythonTypes(kind, "a/v1", structs), typescriptTypes(kind, "a/v1", structs)]) {
        const names = [
          ...text.matchAll(/^(?:class|export interface|export type) (\w+)|^(\w+) = /gm),
          ...text.matchAll(/^from typing import (\w+), (\w+), (\w+), (\w+)$/gm),
        ].flatMap(([, ...found]) => found.filter((each) => each !== undefined));
        assert.ok(names.includes(`${kind}Resource`), text);
        assert.deepEqual(names, [...new Set(names)]);
      }
    }
  });

  it("are current after a checkout that has changed the ends of their lines", async () => {
    write("main.py", { "main.py": "def reconcile(request):\n    pass\n" });
    await run();
    addFiles(root, { "handlers/widget/widget_types.py": read("widget_types.py").replaceAll("\n", "\r\n") });
    const { result, stdout } = await run("--check");
    assert.deepEqual([result, stdout.startsWith("current ")], [0, true], stdout);
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

  it("are checked to be current", async () => {
    write("main.py", { "main.py": "def reconcile(request):\n    pass\n" });
    const missing = await run("--check");
    assert.equal(missing.result, 3);
    assert.match(
      missing.stdout,
      /^outdated .*widget_types\.py: write it with: npm run argosy -- types widget\n$/,
    );
    await run();
    assert.match((await run("--check")).stdout, /^current {2}/);
    addFiles(root, { "handlers/widget/widget_types.py": "" });
    assert.equal((await run("--check")).result, 3);
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

  it("leave out a program that nobody named, and are written for the others", async () => {
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
    assert.deepEqual(
      written.map(({ name }) => name),
      ["children-and-status", "manifest-template"],
    );
    for (const operator of written) {
      const { file, text } = typesOf(operator);
      assert.equal(readFileSync(file, "utf8"), text);
    }
  });
});
