import assert from "node:assert/strict";
import path from "node:path";
import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { type Made, manifestsOf, readResources } from "../../cli/render/manifests";
import { renderStack } from "../../cli/render/renderStack";
import { runProgram } from "../../cli/render/runProgram";
import { readStackConfiguration } from "../../cli/render/stackConfiguration";
import type { Manifest } from "../../runtime/base/objects";
import { addFiles, removeFolder, writeFolder } from "./operatorFolder";
import { assertEach } from "./support/lists";
import { titleOf } from "./support/titles";

const { ConfigMap } = k8s.core.v1;
const metadata = { name: "settings", namespace: "shop" };
const keepAll = async () => undefined;

async function read(program: () => unknown): Promise<Made> {
  const { resources } = await runProgram(
    program,
    { project: "argosy", stack: "dev", values: {} },
    { preview: true },
  );
  return readResources(resources);
}

async function render(program: () => unknown): Promise<Manifest[]> {
  return (await read(program)).manifests;
}

describe("render", () => {
  it("leaves out what is meant for Pulumi, and keeps all other annotations", async () => {
    const annotations = { "pulumi.com/waitFor": "condition=Ready", "example.com/owner": "shop" };
    const manifests = await render(() => {
      new ConfigMap("one", { metadata: { ...metadata, annotations } });
      const only = { "pulumi.com/skipAwait": "true" };
      new ConfigMap("other", { metadata: { name: "other", namespace: "shop", annotations: only } });
    });
    assertEach(manifests, (manifest) => manifest.metadata, [
      { name: "other", namespace: "shop" },
      { ...metadata, annotations: { "example.com/owner": "shop" } },
    ]);
  });

  it("waits for what a program makes of something that is known later", async () => {
    const later = pulumi.output(new Promise<string>((resolve) => setImmediate(resolve, "late")));
    const manifests = await render(() => {
      later.apply((name) => new ConfigMap(name, { metadata: { ...metadata, name } }));
    });
    assertEach(manifests, (manifest) => manifest.metadata.name, ["late"]);
  });

  it("gives a program the whole configuration of its stack, as Pulumi does", async () => {
    const values = { "kubernetes:kubeconfig": "/home/somebody/.kube/config", "kubernetes:context": "prod" };
    let seen: unknown;
    const program = () => {
      const config = new pulumi.Config("kubernetes");
      seen = [config.get("kubeconfig"), config.get("context")];
    };
    await runProgram(program, { project: "argosy", stack: "dev", values });
    assert.deepEqual(seen, ["/home/somebody/.kube/config", "prod"]);
  });

  /** Resources of which only Pulumi knows what becomes of them. */
  const OTHERS: readonly (readonly [what: string, make: () => unknown, others: readonly string[]])[] = [
    [
      "a release, a chart and what is made of them",
      () => {
        const release = new k8s.helm.v3.Release("argo", { chart: "argo-cd" });
        new k8s.helm.v4.Chart("web", { chart: "nginx" });
        new ConfigMap("one", { metadata, data: { status: release.status.status } });
      },
      [
        "argo (kubernetes:helm.sh/v3:Release)",
        "web (kubernetes:helm.sh/v4:Chart)",
        "one (kubernetes:core/v1:ConfigMap)",
      ],
    ],
    [
      "what is no object of Kubernetes, and what refers to it",
      () => {
        const { id } = new Pet("pet", {});
        const stringData = { password: pulumi.secret(id) };
        new k8s.core.v1.Secret("password", { metadata, stringData });
        new ConfigMap("named", { metadata: { name: id } });
      },
      [
        "pet (random:index/randomPet:RandomPet)",
        "password (kubernetes:core/v1:Secret)",
        "named (kubernetes:core/v1:ConfigMap)",
      ],
    ],
    [
      "an object with a secret of Pulumi's, and one whose name the API server or Pulumi makes",
      () => {
        new ConfigMap("one", { metadata, data: { password: pulumi.secret("s3cret") } });
        new ConfigMap("two", { metadata: { generateName: "settings-" } });
        new ConfigMap("three", { data: {} });
      },
      ["one", "two", "three"].map((name) => `${name} (kubernetes:core/v1:ConfigMap)`),
    ],
    [
      "a patch of an object, and an object that is only read",
      () => {
        new k8s.core.v1.ConfigMapPatch("patch", { metadata, data: { a: "b" } });
        ConfigMap.get("read", "shop/settings");
      },
      ["patch (kubernetes:core/v1:ConfigMapPatch)", "read (kubernetes:core/v1:ConfigMap)"],
    ],
    ["providers of others", () => new Cloud("cloud", {}), []],
  ];
  for (const [what, make, others] of OTHERS) {
    it(`leaves out, and names, ${what}`, async () => {
      const made = await read(() => {
        make();
        new ConfigMap("beside", { metadata: { name: "beside" } });
      });
      assert.deepEqual(made.others, [...others].sort());
      assertEach(made.manifests, ({ metadata: { name } }) => name, ["beside"]);
    });
  }

  for (const [what, value, reason] of [
    [
      "only Pulumi knows",
      () => new Pet("pet", {}).id,
      /^one contains a value that another resource has only/,
    ],
    ["is secret", () => pulumi.secret("s3cret"), /^one contains a secret of Pulumi.*Refer to a Secret of/],
  ] as const) {
    it(`refuses an object of Argosy's own with a value that ${what}`, async () => {
      const labels = { "app.kubernetes.io/managed-by": "argosy" };
      const annotations = { "argosy.dev/program": "acme/shop/dev" };
      for (const mark of [{ labels }, { annotations }]) {
        const own = () => new ConfigMap("one", { metadata: { ...metadata, ...mark }, data: { a: value() } });
        await assert.rejects(render(own), { name: "CommandError", message: reason });
      }
    });
  }

  describe("refuses", () => {
    const refused: readonly (readonly [() => unknown, RegExp])[] = [
      [
        () => new ConfigMap("one", { metadata }, { transforms: [keepAll] }),
        /^one has a transform, which only Pulumi's engine runs.*use pulumi preview\.$/,
      ],
      [
        () => {
          const parent = new pulumi.ComponentResource("a:b:C", "group", {}, { transforms: [keepAll] });
          new ConfigMap("one", { metadata }, { parent });
        },
        /^group has a transform/,
      ],
      [() => pulumi.runtime.registerResourceTransform(keepAll), /^the stack dev has a transform/],
      [
        () => new ConfigMap("one", { metadata, data: { text: pulumi.output(askProvider()) } }),
        /^kubernetes:yaml:decode needs a provider, and there is none here/,
      ],
      [() => askProvider().catch(() => ""), /^kubernetes:yaml:decode needs a provider/],
      [
        () => new pulumi.StackReference("org/other/dev").getOutput("x"),
        /^the program needs the outputs of the stack org\/other\/dev.*--platform FILE/,
      ],
      [
        () => new k8s.Provider("other", { context: "prod", namespace: "shop" }),
        /^the provider other has a namespace, /,
      ],
      [
        () => [new ConfigMap("one", { metadata }), new ConfigMap("other", { metadata })],
        /^v1\/ConfigMap shop\/settings is registered twice\. Give one of them another name\.$/,
      ],
      [() => ["v1alpha1", "v1"].map(sensor), /^argoproj\.io\/Sensor shop\/settings is registered twice/],
    ];
    for (const [program, message] of refused) {
      it(titleOf(message), () =>
        assert.rejects(
          render(() => void program()),
          { message },
        ),
      );
    }

    it("what a program fails with if it does not await it", () =>
      assert.rejects(
        render(() => void Promise.reject(new Error("lost on the way"))),
        /^Error: lost on the way$/,
      ));
  });
});

class Pet extends pulumi.CustomResource {
  constructor(name: string, inputs: pulumi.Inputs) {
    super("random:index/randomPet:RandomPet", name, inputs);
  }
}

class Cloud extends pulumi.ProviderResource {
  constructor(name: string, inputs: pulumi.Inputs) {
    super("cloud", name, inputs);
  }
}

/** As components ask that are made from YAML or charts. */
function askProvider(): Promise<unknown> {
  return pulumi.runtime.invoke("kubernetes:yaml:decode", { text: "" });
}

function sensor(version: string): pulumi.Resource {
  const manifest = { apiVersion: `argoproj.io/${version}`, kind: "Sensor", metadata };
  return new k8s.apiextensions.CustomResource(version, manifest);
}

describe("a stack's configuration", () => {
  const PROJECT = `name: argosy
runtime: nodejs
config:
  size: { type: integer, default: 1 }
  title: { type: string, default: "" }
  labels: { type: object, default: {} }
  undecided: { type: string }
  other:region: { value: north }
  plain: text
`;
  let root: string;
  beforeEach(() => {
    root = writeFolder({ "Pulumi.yaml": PROJECT, "Pulumi.prod.yaml": "", "Pulumi.dev.yaml": "" });
  });

  /** What a program is given where the stack's file is this. */
  function read(file: string): Readonly<Record<string, string>> {
    addFiles(root, { "Pulumi.dev.yaml": file });
    return readStackConfiguration(root, "dev").values;
  }
  const refuse = (file: string, message: RegExp) => assert.throws(() => read(file), { message });
  const DEFAULTS = {
    "argosy:size": "1",
    "argosy:title": "",
    "argosy:labels": "{}",
    "other:region": "north",
    "argosy:plain": "text",
  };

  it("is the project's defaults, and over them the stack's file", () => {
    assert.deepEqual(read(""), DEFAULTS);
    const file = `config: { "argosy:size": 3, title: a, "argosy:labels": { b: [true] }, "aws:region": south }`;
    assert.deepEqual(read(file), {
      ...DEFAULTS,
      "argosy:size": "3",
      "argosy:title": "a",
      "argosy:labels": '{"b":[true]}',
      "aws:region": "south",
    });
  });

  it("is what Pulumi makes of it: all of it text, and nothing is an empty one", () => {
    assert.equal(read('config: { "argosy:title": "2.10" }')["argosy:title"], "2.10");
    assert.equal(read("config: { argosy:title: yes }")["argosy:title"], "yes");
    assert.equal(read("config: { argosy:title: null }")["argosy:title"], "");
    assert.equal(read("config: { argosy:size: -2.5 }")["argosy:size"], "-2.5");
  });

  it("refuses numbers that Go reads otherwise", () => {
    refuse("config: { argosy:size: 017 }", /^Pulumi\.dev\.yaml cannot be read: 017 .* Write 17, or quote it/);
    refuse("config: { argosy:labels: { a: [12345678901234567890] } }", /12345678901234567890 can be read in/);
  });

  it("refuses encrypted values, however deep", () => {
    const message =
      /^Pulumi\.dev\.yaml: argosy:labels is encrypted, and only Pulumi can read it.*pulumi preview\.$/;
    for (const value of [
      "{ secure: v1:abc }",
      "{ a: { secure: v1:abc } }",
      "[{ b: [{ secure: v1:abc }] }]",
    ]) {
      refuse(`config: { "argosy:labels": ${value} }`, message);
    }
    addFiles(root, { "Pulumi.yaml": `${PROJECT}  token: { value: { secure: v1:abc } }\n` });
    refuse("", /^Pulumi\.yaml: argosy:token is encrypted/);
  });

  it("takes a key named secure for what Pulumi takes it for", () => {
    const labels = (value: string) => read(`config: { "argosy:labels": ${value} }`)["argosy:labels"];
    assert.equal(labels("{ secure: a, disk: b }"), '{"secure":"a","disk":"b"}');
    assert.equal(labels("{ secure: true }"), '{"secure":true}');
  });

  it("refuses environments of Pulumi Cloud", () => {
    refuse(
      "environment: [shop/prod]",
      /^Pulumi\.dev\.yaml: environment names values .* only Pulumi can read/,
    );
  });

  it("names the stacks that there are", () => {
    assert.throws(() => readStackConfiguration(root, "test"), {
      message: "Pulumi.test.yaml is missing. Stacks with a file: dev, prod. Name one of them with --stack.",
    });
    const none = writeFolder({ "Pulumi.yaml": "name: none\nruntime: nodejs\n" });
    assert.throws(() => readStackConfiguration(none, "dev"), {
      message:
        "Pulumi.dev.yaml is missing. No stack has a file yet. Create the file with this line: config: {}",
    });
  });

  it("names the file that is no YAML", () => {
    refuse("config: [", /^Pulumi\.dev\.yaml cannot be read: .*line 1/s);
    addFiles(root, { "Pulumi.yaml": "name: a\nname: b\n" });
    refuse("", /^Pulumi\.yaml cannot be read: Map keys must be unique/);
    removeFolder(path.join(root, "Pulumi.yaml"));
    refuse("", /^Pulumi\.yaml cannot be read: ENOENT/);
  });
});

describe("the outputs of the platform's stack", () => {
  /** Operators alone, on what a program of two lines makes of another stack's outputs. */
  const PROGRAM = `
const pulumi = require(${JSON.stringify(require.resolve("@pulumi/pulumi"))});
const k8s = require(${JSON.stringify(require.resolve("@pulumi/kubernetes"))});
module.exports = async () => {
  const { value } = await new pulumi.StackReference("org/argosy/platform").getOutputDetails("platform");
  new k8s.core.v1.ConfigMap("one", { metadata: { name: "one", namespace: value.namespace } });
};`;
  let root: string;
  before(() => {
    root = writeFolder({
      "Pulumi.yaml": "name: argosy\nruntime: nodejs\n",
      "Pulumi.dev.yaml": "",
      "index.ts": PROGRAM,
      "outputs.json": '{ "platform": { "namespace": "shop" } }',
      "list.json": "[]",
      "broken.json": "{",
    });
  });

  const given = (file: string) => renderStack(root, "dev", path.join(root, file));

  it("are read from a file", async () => {
    assert.equal(manifestsOf(await given("outputs.json"))[0]?.metadata.namespace, "shop");
  });

  it("are refused by the file's name where it is no JSON, no object, or missing", async () => {
    await assert.rejects(
      given("broken.json"),
      /broken\.json cannot be read as JSON: .*\. Create it with pulumi stack/,
    );
    await assert.rejects(
      given("list.json"),
      /list\.json contains no outputs\. Create it with pulumi stack output/,
    );
    await assert.rejects(given("none.json"), /none\.json cannot be read as JSON: ENOENT/);
  });
});
