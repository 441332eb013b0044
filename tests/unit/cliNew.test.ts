import assert from "node:assert/strict";
import { existsSync, readFileSync, renameSync } from "node:fs";
import path from "node:path";
import fc from "fast-check";
import { parse } from "yaml";
import { LANGUAGES } from "../../cli/new/languages";
import { loadOperators } from "../../definition/loadOperators";
import type { JsonObject } from "../../runtime/base/objects";
import { addFiles, writeFolder } from "./operatorFolder";
import { assertEach } from "./support/lists";
import { runArgosy } from "./support/runArgosy";
import { titleOf } from "./support/titles";

const SHOP = `# As kubectl prints an object.
apiVersion: apps/v1
kind: Deployment
metadata:
  name: shop
  namespace: shop
  uid: 0a1b
  labels: { app: shop, tier: "it's \\\\(1) \\"x\\"" }
spec:
  replicas: 2
  paused: false
  selector: { matchLabels: { app: shop } }
  template:
    metadata: { labels: { app: shop } }
    spec:
      containers:
        - name: shop
          image: shop
          envFrom: [{ configMapRef: { name: shop-settings } }]
      volumes: [{ name: shop, configMap: { name: shop-settings, optional: true } }]
status: { replicas: 2 }
---
apiVersion: v1
kind: Service
metadata: { name: shop }
spec: { selector: { app: shop }, ports: [{ port: 80 }] }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: shop-settings }
data: { "true": "null", motd: "a\\nb\u2028\${name}" }
---
apiVersion: example.org/v1
kind: Thing
metadata: { name: shop-thing }
nothing: null
ratio: 0.5
`;
const SHOP_CHILDREN = [
  {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "shop-example", labels: { app: "shop-example", tier: `it's \\(1) "x"` } },
    spec: {
      replicas: 2,
      paused: false,
      selector: { matchLabels: { app: "shop-example" } },
      template: {
        metadata: { labels: { app: "shop-example" } },
        spec: {
          containers: [
            { name: "shop", image: "shop", envFrom: [{ configMapRef: { name: "shop-example-settings" } }] },
          ],
          volumes: [{ name: "shop", configMap: { name: "shop-example-settings", optional: true } }],
        },
      },
    },
  },
  {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "shop-example" },
    spec: { selector: { app: "shop-example" }, ports: [{ port: 80 }] },
  },
  {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "shop-example-settings" },
    data: { true: "null", motd: `a\nb\u2028$\{name}` },
  },
  {
    apiVersion: "example.org/v1",
    kind: "Thing",
    metadata: { name: "shop-example-thing" },
    nothing: null,
    ratio: 0.5,
  },
];

describe("argosy new", function () {
  this.timeout(30_000);
  let root: string;
  beforeEach(() => {
    root = writeFolder({ "Pulumi.yaml": "name: shop\nruntime: nodejs\n" });
  });
  const within = (file: string) => path.join(root, "handlers", file);
  const run = (...args: string[]) => runArgosy(...args, "--project", root);
  const FIELDS = [
    "size:int",
    "plan:string:optional",
    "ratio:number",
    "on:bool",
    "hosts:list",
    "labels:map:optional",
  ];

  for (const language of Object.keys(LANGUAGES)) {
    it(`in ${language} writes an operator whose own test passes at once`, async () => {
      const made = await run("new", "shop.example.com/Cache", ...FIELDS, "--language", language);
      assert.deepEqual([made.result, made.stderr], [0, ""]);
      assert.match(
        made.stdout,
        /written {2}.*handlers\/cache\/operator\.yaml[\s\S]*npm run argosy -- test cache --watch --project \S+ {4}the fixture/,
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

  for (const language of Object.keys(LANGUAGES)) {
    it(`in ${language} returns the manifests of a file, and those of an object that it watches`, async () => {
      addFiles(root, { "shop.yaml": SHOP });
      const from = ["--from", path.join(root, "shop.yaml"), "--language", language];
      const made = await run("new", "shop.example.com/Shop", "size:int", ...from);
      assert.deepEqual([made.result, made.stderr], [0, ""]);
      const { children } = parse(readFileSync(within("shop/operator.yaml"), "utf8"));
      assert.deepEqual(children, [
        "apps/v1/Deployment",
        "v1/Service",
        "v1/ConfigMap",
        "example.org/v1/Thing",
      ]);
      const { object, answer } = parse(readFileSync(within("shop/fixtures/created.yaml"), "utf8"));
      assert.deepEqual(object.spec, { size: 1 });
      assert.deepEqual(answer.children, SHOP_CHILDREN);
      await run("new", "shop.example.com/Zone", "--cluster", ...from);
      await run("new", "apps/v1/Deployment", "report=true", "--watch", "--language", language);
      await run("new", "v1/Namespace", "--watch", ...from);
      const tested = await run("test");
      assert.deepEqual([tested.result, tested.stderr], [0, ""], tested.stdout);
      assert.match(tested.stdout, /^4 passed, 0 failed$/m);
      const zone = parse(readFileSync(within("zone/fixtures/created.yaml"), "utf8"));
      assert.equal(zone.answer.children[0].metadata.namespace, "shop");
      const watching = loadOperators(within("")).find(({ name }) => name === "deployment");
      assert.deepEqual(watching?.watch?.labels, { report: "true" });
      assert.ok(!existsSync(within("deployment/crd.yaml")));
    });
  }

  it("writes any content as code that says the same", () => {
    const written = (child: JsonObject) => {
      const source = LANGUAGES.javascript?.returning("Shop", [child]).replace("export ", "");
      return new Function(
        `${source}; return reconcile({ object: { metadata: { name: "n" } } }).children[0];`,
      )();
    };
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue(), { noNullPrototype: true }), (data) => {
        const content = JSON.parse(JSON.stringify(data));
        assert.deepEqual(written({ data: content }), { data: content });
      }),
    );
    const hidden = JSON.parse('{ "data": { "__proto__": "a" } }');
    assert.deepEqual(Object.keys(written(hidden).data), ["__proto__"]);
  });

  it("names children after the object and their own name if the names in the file have nothing in common", async () => {
    const document = (name: string) => `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: ${name} }\n`;
    addFiles(root, { "two.yaml": `${document("web")}---\n${document("db")}` });
    await run("new", "shop.example.com/Shop", "--from", path.join(root, "two.yaml"));
    const { answer } = parse(readFileSync(within("shop/fixtures/created.yaml"), "utf8"));
    assertEach(answer.children, ({ metadata }: { metadata: { name: string } }) => metadata.name, [
      "shop-example-web",
      "shop-example-db",
    ]);
  });

  it("leaves out of exported objects what the cluster wrote", async () => {
    const exported = [
      [
        "Service",
        "v1",
        { note: "a" },
        { clusterIP: "10.0.0.9", clusterIPs: ["10.0.0.9"], type: "ClusterIP" },
      ],
      ["Deployment", "apps/v1", { "deployment.kubernetes.io/revision": "3" }, { replicas: 2 }],
      [
        "PersistentVolumeClaim",
        "v1",
        { "pv.kubernetes.io/bind-completed": "yes", "volume.kubernetes.io/selected-node": "one" },
        { volumeName: "pvc-1", accessModes: ["ReadWriteOnce"] },
      ],
    ] as const;
    const documents = [
      ...exported.map(([kind, apiVersion, annotations, spec]) =>
        JSON.stringify({ apiVersion, kind, metadata: { name: "web", uid: "0a1b", annotations }, spec }),
      ),
      // No cluster wrote these.
      JSON.stringify({
        ...{ apiVersion: "v1", kind: "Service", metadata: { name: "web-headless", uid: "0a1c" } },
        spec: { clusterIP: "None", clusterIPs: ["None"] },
      }),
      JSON.stringify({
        ...{ apiVersion: "v1", kind: "Service", metadata: { name: "web-dns" } },
        spec: { clusterIP: "10.0.0.10" },
      }),
    ];
    addFiles(root, { "web.yaml": documents.join("\n---\n") });
    await run("new", "shop.example.com/Shop", "--from", path.join(root, "web.yaml"));
    const { answer } = parse(readFileSync(within("shop/fixtures/created.yaml"), "utf8"));
    assertEach(
      answer.children,
      ({ metadata, spec }: JsonObject) => [(metadata as JsonObject).annotations, spec],
      [
        [{ note: "a" }, { type: "ClusterIP" }],
        [undefined, { replicas: 2 }],
        [undefined, { accessModes: ["ReadWriteOnce"] }],
        [undefined, { clusterIP: "None", clusterIPs: ["None"] }],
        [undefined, { clusterIP: "10.0.0.10" }],
      ],
    );
  });

  for (const [document, complaint] of [
    ["a: 1", /shop\.yaml:5:1: the document has no apiVersion and kind\. Give manifests/],
    ["apiVersion: v1\nkind: List\nitems: []", /shop\.yaml:6:1: kind is List, a list of objects\. Make each/],
    ["apiVersion: v1\nkind: Pod\nmetadata: { generateName: a- }", /:7:1: metadata\.name is missing/],
    ["apiVersion: v1\nkind: Secret\nmetadata: { name: a }", /:6:1: kind is Secret.*argosy add uses/],
    [
      "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: { name: a }",
      /:6:1: kind is Role, which grants rights\..* argosy add child OPERATOR rbac\S+\/Role --grants/,
    ],
    [
      "apiVersion: autoscaling/v1\nkind: HorizontalPodAutoscaler\nmetadata: { name: a }\n---\n" +
        "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: { name: b }",
      /:10:1: kind is the same kind as an earlier manifest: HorizontalPodAutoscaler/,
    ],
    [
      'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a }\ndata: { a: "\\uDC00" }',
      /:8:9: data\.a has half of a character/,
    ],
    [
      "apiVersion: shop.example.com/v1\nkind: Shop\nmetadata: { name: a }",
      /:6:1: kind is Shop, the operator's own/,
    ],
    [
      "apiVersion: v1\nkind: Deployment\nmetadata: { name: a }",
      /:5:1: apiVersion is "v1", which has no Deployment/,
    ],
    [
      "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: first }",
      /:7:13: metadata\.name is first, as of another/,
    ],
    [
      "apiVersion: v1\nkind: Service\nmetadata: { name: a, namespace: other }",
      /:7:22: metadata\.namespace is other, and not that/,
    ],
  ] as const) {
    it(`refuses a file with its line, and writes nothing: ${titleOf(complaint)}`, async () => {
      const first = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: first, namespace: one }\n";
      addFiles(root, { "shop.yaml": `${first}---\n${document}\n` });
      const file = path.join(root, "shop.yaml");
      const { result, stderr, stdout } = await run("new", "shop.example.com/Shop", "--from", file);
      assert.deepEqual([result, stdout], [1, ""]);
      assert.match(stderr, complaint);
      assert.equal(stderr.trim().split("\n").length, 1);
      assert.ok(!existsSync(within("")));
    });
  }

  it("in bash ends when jq fails, so that the engine does not wait for an answer", async () => {
    await run("new", "shop.example.com/Cache", "size:int", "--language", "bash");
    const program = readFileSync(within("cache/main.sh"), "utf8");
    addFiles(root, { "handlers/cache/main.sh": program.replace(".object.metadata.name", '"x" | error') });
    const failing = await run("test", "cache");
    assert.equal(failing.result, 1);
    assert.match(failing.stdout, /ended with exit code 5[\s\S]*jq: error/);
  });

  it("gives the CRD these fields, and says which are required", async () => {
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

  it("gives fields limits, choices and defaults, in words that no shell changes", async () => {
    const fields = [
      "size:int:min=2:max=9",
      "plan:string:enum=small,large:default=large",
      "image:string:default=redis:8.2",
      "ratio:number:min=0.5:optional",
      "on:bool:default=false",
    ];
    for (const field of fields) assert.doesNotMatch(field, /[^\w:=,.]/);
    const made = await run("new", "shop.example.com/Cache", ...fields);
    assert.deepEqual([made.result, made.stderr], [0, ""]);
    const crd = parse(readFileSync(within("cache/crd.yaml"), "utf8"));
    const { required, properties } = crd.spec.versions[0].schema.openAPIV3Schema.properties.spec;
    assert.deepEqual(required, ["size"]);
    assert.deepEqual(properties, {
      size: { type: "integer", minimum: 2, maximum: 9 },
      plan: { type: "string", enum: ["small", "large"], default: "large" },
      image: { type: "string", default: "redis:8.2" },
      ratio: { type: "number", minimum: 0.5 },
      on: { type: "boolean", default: false },
    });
    const { object } = parse(readFileSync(within("cache/fixtures/created.yaml"), "utf8"));
    assert.deepEqual(object.spec, { size: 2, plan: "large", image: "redis:8.2", ratio: 0.5, on: false });
    const tested = await run("test", "cache");
    assert.deepEqual([tested.result, tested.stderr], [0, ""], tested.stdout);
  });

  it("makes a handler in each language that repeats any default as the fixture expects it", async () => {
    for (const language of Object.keys(LANGUAGES))
      await run(
        "new",
        `shop.example.com/In${language}`,
        'text:string:default=größe "a\\b" 😀',
        "--language",
        language,
      );
    const tested = await run("test");
    assert.deepEqual([tested.result, tested.stderr], [0, ""], tested.stdout);
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
    const watching = await run("new", "shop.example.com/v1/Cache", "--watch", "--name", "other");
    assert.deepEqual([watching.result, watching.stdout], [1, ""]);
    assert.match(watching.stderr, /handlers\/cache is already the operator of shop\.example\.com\/Cache/);
    assert.ok(!existsSync(within("other")));
  });

  it("refuses a name that an operator here has, whatever the name of its folder", async () => {
    await run("new", "shop.example.com/Cache");
    renameSync(within("cache"), within("moved"));
    const definition = readFileSync(within("moved/operator.yaml"), "utf8");
    addFiles(root, { "handlers/moved/operator.yaml": `name: cache\n${definition}` });
    const { result, stderr } = await run("new", "shop.example.com/Other", "--name", "cache");
    assert.equal(result, 1);
    assert.match(stderr, /handlers\/moved already has the name cache\. Give another name with --name\.\n$/);
    assert.ok(!existsSync(within("cache")));
  });

  for (const [args, complaint] of [
    [
      ["Cache"],
      /^Cache: this is not a group and a kind\. Write, for example, shop\.example\.com\/Cache\.\n$/,
    ],
    [["shop/Cache"], /the group must be a domain of yours/],
    [["apps.k8s.io/Cache"], /reserved for Kubernetes' own kinds/],
    [["shop.example.com/cache"], /a kind consists of letters and digits, and begins with a capital letter/],
    [["apps/v1/Deployment", "a=b", "a=c", "--watch"], /^a: the label is given twice\.\n$/],
    [
      ["shop.example.com/Cache", "size"],
      /^size: this is not a field\. Write a name and a type, for example size:int/,
    ],
    [["shop.example.com/Cache", "size:itn"], /there is no type itn\. Did you mean size:int\?/],
    [["shop.example.com/Cache", "size:quaternion"], /Types are: string, int, number, bool, list, map\./],
    [["shop.example.com/Cache", "size:int?"], /there is no type int\?\. Did you mean size:int\?/],
    [["shop.example.com/Cache", "size:int:mn=1"], /^size:int:mn=1: after the type follow optional, min=/],
    [["shop.example.com/Cache", "size:int:min=a"], /^size:int:min=a: "a" is not of the type int\.\n$/],
    [["shop.example.com/Cache", "size:int:min=2:default=1"], /the default is outside of the limits/],
    [["shop.example.com/Cache", "size:int:min=2:max=1"], /no value is within the limits/],
    [["shop.example.com/Cache", "plan:string:min=1"], /only an int or a number has min and max/],
    [["shop.example.com/Cache", "hosts:list:default=a"], /Write them into crd\.yaml\.\n$/],
    [["apps/v1/Deployment"], /^apps\/v1\/Deployment: only a kind to --watch has a version here\./],
    [
      ["Deployment", "--watch"],
      /^Deployment: this is not a kind\. Write, for example, apps\/v1\/Deployment\.\n$/,
    ],
    [["apps/v1/Deployment", "report", "--watch"], /^report: with --watch, this is not a label/],
    [["apps/v1/Deployment", "--cluster", "--watch"], /^--cluster and --watch are both given/],
    [["apps/v1/Deploymet", "--watch"], /watch\.kind is "Deploymet".*Did you mean Deployment\?/],
    [["v1/Event", "--watch"], /watch\.kind is Event, which Argosy itself writes/],
    [["v1/ConfigMap", "--watch"], /every ConfigMap is watched: each object would create another/],
    [["shop.example.com/Cache", "Size:int"], /begins with a lower-case letter/],
    [["shop.example.com/Cache", "a:int", "a:bool"], /^a: the field is given twice\.\n$/],
    [
      ["shop.example.com/Cache", "--language", "go"],
      /no such language\. Known languages: .*, bash\. For any other: program\./,
    ],
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
