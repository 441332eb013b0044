import assert from "node:assert/strict";
import path from "node:path";
import { test } from "../../cli/commands/test";
import { operatorSource } from "../../cli/render/stackOperators";
import {
  addFiles,
  removeFolder,
  widgetCrd,
  widgetDefinition,
  widgetVersion,
  writeFolder,
} from "./operatorFolder";
import { captured } from "./support/captured";
import { assertEach } from "./support/lists";
import { titleOf } from "./support/titles";

const ROOT = path.resolve(__dirname, "../..");
const PULUMI = `import { Config } from ${JSON.stringify(require.resolve("@pulumi/pulumi"))};
import { loadOperators, Operators } from ${JSON.stringify(path.join(ROOT, "components"))};
`;
const PROGRAM = `${PULUMI}
new Operators("shop", { handlers: "./operators", overrides: new Config().getObject("overrides") ?? {} });
`;
const FILTERING = `${PULUMI}
const all = loadOperators("./operators", { overrides: { widget: { env: { SIZE: "2" } } } });
new Operators("shop", { handlers: all.filter(({ name }) => name !== "gear") });
`;
/** Answers what its environment says. */
const HANDLER = `export const reconcile = () => ({ children: [], status: { size: Number(process.env.SIZE) } });\n`;
/** A further operator. */
const GEAR = {
  "operators/gear/operator.yaml": { ...widgetDefinition, handler: "main.js" },
  "operators/gear/crd.yaml": widgetCrd(
    { names: { kind: "Gear", plural: "gears" } },
    { metadata: { name: "gears.shop.example.com" } },
  ),
  "operators/gear/main.js": HANDLER,
};
const status = { type: "object", properties: { size: { type: "integer" } } };

describe("the operators of a stack", function () {
  this.timeout(120_000);
  let root: string;
  beforeEach(() => {
    root = writeFolder({
      "Pulumi.yaml": "name: shop\nruntime: nodejs\n",
      "Pulumi.dev.yaml": "config: {}\n",
      "Pulumi.large.yaml":
        "config: { shop:overrides: { widget: { env: { SIZE: '2' }, resyncSeconds: 77, namespaces: [team] } } }\n",
      "Pulumi.sealed.yaml": "config: { shop:overrides: { secure: AAABAxyz } }\n",
      "index.ts": PROGRAM,
      "operators/widget/crd.yaml": widgetCrd({
        versions: [widgetVersion({ subresources: { status: {} } }, { status })],
      }),
      "operators/widget/operator.yaml": { ...widgetDefinition, handler: "main.js", env: { SIZE: "1" } },
      "operators/widget/main.js": HANDLER,
      "operators/widget/fixtures/a.yaml":
        "object: { metadata: { name: a } }\nanswer: { children: [], status: { size: 2 } }\n",
    });
  });

  const ofStack = (stack: string) => operatorSource({ project: root, stack });
  const tested = (options: object) => captured(() => test([], { project: root, ...options }));

  it("have its overrides in their fixtures, and those of another stack have not", async () => {
    const large = await tested({ stack: "large" });
    assert.deepEqual([large.result, large.stderr], [0, ""]);
    assert.match(large.stdout, /✔ widget fixtures\/a\.yaml\n1 passed, 0 failed\n$/);
    const dev = await tested({ stack: "dev" });
    assert.equal(dev.result, 1);
    assert.match(dev.stdout, /status: \.size: expected 2, got 1/);
    const plain = await tested({ handlers: path.join(root, "operators"), project: undefined });
    assert.equal(plain.result, 1);
  });

  it("are loaded again with its overrides after an edit, new ones too", async () => {
    const { folders, load } = await ofStack("large");
    assert.deepEqual(folders, [path.join(root, "operators")]);
    const told = () =>
      load().map(({ name, namespaces, resyncSeconds, timeoutSeconds }) => [
        ...[name, namespaces, resyncSeconds, timeoutSeconds],
      ]);
    assert.deepEqual(told(), [["widget", ["team"], 77, 30]]);
    addFiles(root, {
      "operators/widget/operator.yaml": { ...widgetDefinition, handler: "main.js", timeoutSeconds: 7 },
      ...GEAR,
    });
    assert.deepEqual(told(), [
      ["gear", "all", 600, 30],
      ["widget", ["team"], 77, 7],
    ]);
    removeFolder(path.join(root, "operators/widget"));
    assert.throws(load, /overrides\.widget/);
  });

  it("are those that the program deploys, and not all that it loads", async () => {
    addFiles(root, {
      "index.ts": FILTERING,
      ...GEAR,
    });
    const { load } = await ofStack("dev");
    assertEach(load(), ({ name, env }) => [name, env.SIZE], [["widget", "2"]]);
  });

  for (const [options, expected] of [
    [{ stack: "sealed" }, /Pulumi\.sealed\.yaml: shop:overrides is encrypted, and only Pulumi can read it/],
    [{ stack: "lage" }, /Pulumi\.lage\.yaml is missing\. Stacks with a file: dev, large, sealed/],
    [
      { stack: "dev", handlers: "operators" },
      /--stack uses the operators of the program\. Leave out --handlers/,
    ],
    [{ platform: "outputs.json" }, /--platform is for a stack\. Give --stack too/],
  ] as const) {
    it(`are refused in words: ${titleOf(expected)}`, async () => {
      await assert.rejects(operatorSource({ project: root, ...options }), expected);
    });
  }

  it("are refused in words if the program has none, or if it fails", async () => {
    addFiles(root, { "index.ts": `export const nothing = true;\n` });
    await assert.rejects(
      ofStack("dev"),
      /^CommandError: The program deploys no operators in the stack dev\.$/,
    );
    addFiles(root, {
      "index.ts": PROGRAM,
      "Pulumi.dev.yaml": "config: { shop:overrides: { wigdet: {} } }\n",
    });
    await assert.rejects(ofStack("dev"), /overrides\.wigdet: it names no operator. Did you mean widget\?/);
  });
});
