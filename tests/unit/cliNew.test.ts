import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { parse } from "yaml";
import { main } from "../../cli/argosy";
import { LANGUAGES } from "../../cli/new/languages";
import { loadOperators } from "../../definition/loadOperators";
import { addFiles, removeFolder, writeFolder } from "./operatorFolder";
import { captured } from "./support/captured";

describe("argosy new", function () {
  this.timeout(30_000);
  let root: string;
  beforeEach(() => {
    root = writeFolder({ "Pulumi.yaml": "name: shop\nruntime: nodejs\n" });
  });
  afterEach(() => removeFolder(root));
  const within = (file: string) => path.join(root, "handlers", file);
  const run = (...args: string[]) => captured(() => main([...args, "--project", root]));
  const FIELDS = ["size:int", "plan:string?", "ratio:number", "on:bool", "hosts:list", "labels:map?"];

  for (const language of Object.keys(LANGUAGES)) {
    it(`in ${language} writes an operator whose own test passes at once`, async () => {
      const made = await run("new", "shop.example.com/Cache", ...FIELDS, "--language", language);
      assert.deepEqual([made.result, made.stderr], [0, ""]);
      assert.match(
        made.stdout,
        /written {2}.*handlers\/cache\/operator\.yaml[\s\S]*npm run argosy -- test cache --watch/,
      );
      const tested = await run("test", "cache");
      assert.deepEqual([tested.result, tested.stderr], [0, ""], tested.stdout);
      assert.match(tested.stdout, /^✔ cache fixtures\/created\.yaml\n1 passed, 0 failed\n$/);
      const cluster = await run(
        "new",
        "shop.example.com/Zone",
        ...FIELDS,
        "--language",
        language,
        "--cluster",
      );
      assert.equal(cluster.result, 0, cluster.stderr);
      assert.match((await run("test", "zone")).stdout, /^✔ zone/);
      // The test looks at what the handler answers.
      addFiles(root, {
        "handlers/cache/fixtures/created.yaml": readFileSync(
          within("cache/fixtures/created.yaml"),
          "utf8",
        ).replace("size: 1", "size: 2"),
      });
      const failing = await run("test", "cache");
      assert.equal(failing.result, 1);
      assert.match(
        failing.stdout,
        /fixtures\/created\.yaml: ConfigMap cache-example: \.data\.size: expected "1", got "2"/,
      );
    });
  }

  it("names the sample after its operator, so that the samples of two operators have no child of one name", async () => {
    for (const kind of ["Cache", "Zone"]) await run("new", `shop.example.com/${kind}`);
    const samples = ["cache", "zone"].map((name) =>
      parse(readFileSync(within(`${name}/fixtures/created.yaml`), "utf8")),
    );
    assert.deepEqual(
      samples.map(({ object, answer }) => [object.metadata.name, answer.children[0].metadata.name]),
      [
        ["cache-example", "cache-example"],
        ["zone-example", "zone-example"],
      ],
    );
  });

  it("in bash ends when jq fails, so that nobody waits for an answer", async () => {
    await run("new", "shop.example.com/Cache", "size:int", "--language", "bash");
    const program = readFileSync(within("cache/main.sh"), "utf8");
    addFiles(root, { "handlers/cache/main.sh": program.replace(".object.metadata.name", '"x" | error') });
    const failing = await run("test", "cache");
    assert.equal(failing.result, 1);
    assert.match(failing.stdout, /ended with exit code 5[\s\S]*jq: error/);
  });

  it("gives the CRD these fields, and those that must be there", async () => {
    await run("new", "shop.example.com/Policy", ...FIELDS, "--cluster", "--name", "rules");
    const [operator] = loadOperators(within(""));
    assert.equal(operator?.name, "rules");
    const { spec, metadata } = parse(readFileSync(within("rules/crd.yaml"), "utf8"));
    assert.deepEqual([metadata.name, spec.scope], ["policies.shop.example.com", "Cluster"]);
    const { required, properties } = spec.versions[0].schema.openAPIV3Schema.properties.spec;
    assert.deepEqual(required, ["size", "ratio", "on", "hosts"]);
    assert.deepEqual(properties, {
      size: { type: "integer" },
      plan: { type: "string" },
      ratio: { type: "number" },
      on: { type: "boolean" },
      hosts: { type: "array", items: { type: "string" } },
      labels: { type: "object", additionalProperties: { type: "string" } },
    });
  });

  it("names the schema of the package that is installed above", async () => {
    addFiles(root, { "node_modules/@argosy-dev/argosy/operator.schema.json": "{}" });
    await run("new", "shop.example.com/Cache");
    assert.match(
      readFileSync(within("cache/operator.yaml"), "utf8"),
      /^# yaml-language-server: \$schema=\.\.\/\.\.\/node_modules\/@argosy-dev\/argosy\/operator\.schema\.json\n/,
    );
  });

  it("overwrites nothing", async () => {
    addFiles(root, { "handlers/cache/note.txt": "mine" });
    const { result, stderr, stdout } = await run("new", "shop.example.com/Cache");
    assert.deepEqual([result, stdout], [1, ""]);
    assert.match(stderr, /handlers\/cache already exists\. Nothing is overwritten: .* --name\.\n$/);
    assert.ok(!existsSync(within("cache/operator.yaml")));
  });

  it("refuses a kind that has an operator here", async () => {
    await run("new", "shop.example.com/Cache");
    const { result, stderr, stdout } = await run("new", "shop.example.com/Cache", "--name", "other");
    assert.deepEqual([result, stdout], [1, ""]);
    assert.match(
      stderr,
      /handlers\/cache is already the operator of shop\.example\.com\/Cache, and a kind has one/,
    );
    assert.ok(!existsSync(within("other")));
  });

  for (const [args, complaint] of [
    [
      ["Cache"],
      /^Cache: this is not a group and a kind\. Write, for example, shop\.example\.com\/Cache\.\n$/,
    ],
    [["shop/Cache"], /the group must be a domain of yours/],
    [["apps.k8s.io/Cache"], /reserved for Kubernetes' own kinds/],
    [["shop.example.com/cache"], /a kind must begin with a capital letter/],
    [
      ["shop.example.com/Cache", "size"],
      /^size: this is not a field\. Write a name and a type, for example size:int/,
    ],
    [["shop.example.com/Cache", "size:itn"], /there is no type itn\. Did you mean size:int\?/],
    [["shop.example.com/Cache", "size:quaternion"], /Types are: string, int, number, bool, list, map\./],
    [["shop.example.com/Cache", "Size:int"], /begins with a lower-case letter/],
    [["shop.example.com/Cache", "a:int", "a:bool"], /^a: the field is given twice\.\n$/],
    [["shop.example.com/Cache", "--language", "pyton"], /there is no such language\. Did you mean python\?/],
    [
      ["shop.example.com/Cache", "--name", "My_Cache"],
      /^--name: it is "My_Cache", not a DNS label of at most 40/,
    ],
  ] as const) {
    it(`refuses ${args.join(" ")}`, async () => {
      const { result, stderr, stdout } = await run("new", ...args);
      assert.deepEqual([result, stdout], [2, ""]);
      assert.match(stderr, complaint);
      assert.ok(!existsSync(within("")));
    });
  }
});
