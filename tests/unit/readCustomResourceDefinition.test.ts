import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { stringify } from "yaml";
import type { Json, JsonObject } from "../../runtime/base/objects";
import {
  addFiles,
  loadDefinition,
  problemsOf,
  widgetCrd,
  widgetDefinition,
  widgetVersion,
} from "./operatorFolder";
import { STATUS_SHAPES } from "./support/statusShapes";
import { useWidgetFolder } from "./support/widgetFolder";

const TEXT = { type: "string" };

describe("an operator's CRD", () => {
  const widget = useWidgetFolder();

  const crdProblems = (content: string | JsonObject): string[] => {
    addFiles(widget.folder, { "crd.yaml": content });
    return problemsOf(widget.folder, widgetDefinition, { file: "crd.yaml" });
  };

  it("may be missing", () => {
    const [problem] = problemsOf(
      widget.folder,
      { ...widgetDefinition, crd: "other.yaml" },
      { file: "other.yaml" },
    );
    assert.match(problem ?? "", /^the file is missing\. Name the CustomResourceDefinition's file/);
  });

  it("may be unreadable", () => {
    mkdirSync(path.join(widget.folder, "dir.yaml"));
    const [problem] = problemsOf(
      widget.folder,
      { ...widgetDefinition, crd: "dir.yaml" },
      { file: "dir.yaml" },
    );
    assert.match(problem ?? "", /^it is not a file\. Give a file/);
  });

  const status = (schema: JsonObject) => widgetCrd({ versions: [widgetVersion({}, { status: schema })] });
  const size = (schema: JsonObject[string]) =>
    widgetCrd({ versions: [widgetVersion({}, { spec: { type: "object", properties: { size: schema } } })] });
  /** The list of standard conditions, with these fields as well or instead. */
  const conditionsSchema = (
    fields: Record<string, Json | undefined>,
    item: JsonObject = {},
    list: JsonObject = {},
  ): JsonObject => {
    const texts = ["type", "status", "reason", "message", "lastTransitionTime"].map((name) => [name, TEXT]);
    const all = { ...Object.fromEntries(texts), observedGeneration: { type: "integer" }, ...fields };
    const properties = Object.fromEntries(Object.entries(all).filter(([, schema]) => schema !== undefined));
    const items = { type: "object", properties, ...item } as JsonObject;
    const keys = { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"] };
    return { type: "array", items, ...keys, ...list };
  };
  const conditions = (...given: Parameters<typeof conditionsSchema>) =>
    status({ type: "object", properties: { conditions: conditionsSchema(...given) } });
  it("may have an observed generation that is any number", () => {
    const schema = { type: "object", properties: { observedGeneration: { type: "number" } } };
    addFiles(widget.folder, { "crd.yaml": status(schema) });
    assert.equal(loadDefinition(widget.folder, widgetDefinition).name, "widget");
  });

  it("may require fields of any name where any are allowed, and those of every object", () => {
    const any = { type: "object", required: ["a"] };
    const properties = {
      map: { ...any, additionalProperties: TEXT },
      free: { ...any, "x-kubernetes-preserve-unknown-fields": true },
      pod: { type: "object", required: ["kind", "metadata"], "x-kubernetes-embedded-resource": true },
      choice: {
        type: "object",
        properties: { a: TEXT, b: TEXT },
        oneOf: [{ required: ["a"] }, { required: ["b"] }],
      },
    };
    const spec = { type: "object", properties };
    const version = widgetVersion({}, { spec }, { required: ["metadata", "kind", "spec"] });
    addFiles(widget.folder, { "crd.yaml": widgetCrd({ versions: [version] }) });
    assert.equal(loadDefinition(widget.folder, widgetDefinition).name, "widget");
  });

  const PATHS = {
    spec: {
      type: "object",
      properties: {
        replicas: { type: "integer" },
        "a.b": { type: "string" },
        limits: { type: "object", additionalProperties: { type: "string" } },
        free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
      },
    },
    status: { type: "object", properties: { ready: { type: "integer" } } },
  };
  const column = (jsonPath: string) =>
    widgetCrd({
      versions: [
        widgetVersion({ additionalPrinterColumns: [{ name: "A", type: "string", jsonPath }] }, PATHS),
      ],
    });
  for (const path of [
    ".status.ready",
    ".status.observedGeneration",
    '.status.conditions[?(@.type=="Ready")].status',
    ".metadata.creationTimestamp",
    ".spec.limits.cpu",
    ".spec.free.any.thing",
    ".spec.a\\.b",
    ".kind",
  ])
    it(`may show ${path}`, () => {
      addFiles(widget.folder, { "crd.yaml": column(path) });
      assert.equal(loadDefinition(widget.folder, widgetDefinition).name, "widget");
    });
  it("may show any status if it says nothing about it", () => {
    const additionalPrinterColumns = [{ name: "A", type: "string", jsonPath: ".status.ready" }];
    addFiles(widget.folder, {
      "crd.yaml": widgetCrd({ versions: [widgetVersion({ additionalPrinterColumns })] }),
    });
    assert.equal(loadDefinition(widget.folder, widgetDefinition).name, "widget");
  });

  const wrong: [string, string | JsonObject, RegExp][] = [
    ...[
      [".status.redy", "status\\.redy\\. Did you mean ready"],
      [".stauts.ready", "stauts\\. Did you mean status"],
      [".spec.replicas.min", "spec\\.replicas\\.min\\. Add it to the schema, or correct the path"],
    ].map(([path, missing]): [string, JsonObject, RegExp] => [
      `shows ${path}`,
      column(path ?? ""),
      new RegExp(
        `^spec\\.versions\\[0\\]\\.additionalPrinterColumns\\[0\\]\\.jsonPath is "${path}", and the CRD's schema has no ${missing}`,
      ),
    ]),
    [
      "is scaled by a field that it does not have",
      widgetCrd({
        versions: [widgetVersion({ subresources: { scale: { specReplicasPath: ".spec.replica" } } }, PATHS)],
      }),
      /^spec\.versions\[0\]\.subresources\.scale\.specReplicasPath is "\.spec\.replica", .* Did you mean replicas\?$/,
    ],
    [
      "selects by a field that it does not have",
      widgetCrd({ versions: [widgetVersion({ selectableFields: [{ jsonPath: ".spec.replica" }] }, PATHS)] }),
      /selectableFields\[0\]\.jsonPath is "\.spec\.replica", .* Did you mean replicas\?$/,
    ],
    ["is not YAML", "kind: [\n  a: b: c\n", /^the file is not YAML: .*\. Correct it there/],
    ["is empty", "# nothing\n", /^the file has no object in it\. Write a CustomResourceDefinition/],
    ["is a list", "- a\n", /^the file has no object in it\. /],
    ["is two documents", "kind: A\n---\nkind: B\n", /^the file has 2 documents\. Keep one/],
    [
      "is of another kind",
      widgetCrd({}, { kind: "Widget" }),
      /kind "Widget", not a CustomResourceDefinition\. /,
    ],
    [
      "is of an old version",
      widgetCrd({}, { apiVersion: "apiextensions.k8s.io/v1beta1" }),
      /^the document is "apiextensions.k8s.io\/v1beta1", kind .* Write apiVersion: apiextensions.k8s.io\/v1/,
    ],
    [
      "is named otherwise",
      widgetCrd({}, { metadata: { name: "widget" } }),
      /^metadata.name is "widget"\. It must be .*: name: widgets.shop.example.com\./,
    ],
    ["has no name", widgetCrd({}, { metadata: {} }), /^metadata.name is missing\. /],
    [
      "names no kind",
      widgetCrd({ names: { plural: "widgets" } }),
      /^spec.names.kind is missing\. Name the kind/,
    ],
    ["names no plural", widgetCrd({ names: { kind: "Widget" } }), /^spec.names.plural is missing\. /],
    [
      "has a capital letter in the plural",
      widgetCrd({ names: { kind: "Widget", plural: "Widgets" } }),
      /^spec\.names\.plural is "Widgets", not a DNS label\. Write lower-case letters, digits and "-", for example/,
    ],
    [
      "has a merge key",
      "spec: &spec { group: shop.example.com }\nother: { <<: *spec }\n",
      /^<< is a merge key, which YAML 1\.2 does not have\. Write the fields out\.$/,
    ],
    ["has a number for a group", widgetCrd({ group: 3 }), /^spec.group is 3, not a string\. Give a domain/],
    ["has no scope", widgetCrd({ scope: "" }), /^spec.scope is "", not a string\. Write scope: Namespaced/],
    ["has no versions", widgetCrd({ versions: [] }), /^spec.versions is missing or empty\. /],
    [
      "has no schema",
      widgetCrd({ versions: [widgetVersion({ schema: {} })] }),
      /^spec.versions\[0\].schema.openAPIV3Schema is missing\. Give the schema/,
    ],
    [
      "has no schema in a version that is not stored",
      widgetCrd({ versions: [widgetVersion(), { name: "v2", served: true, storage: false }] }),
      /^spec.versions\[1\].schema.openAPIV3Schema is missing\. /,
    ],
    [
      "has a type that the API server does not know",
      size({ type: "int" }),
      /^spec\.versions\[0\]\.schema\.openAPIV3Schema\.properties\.spec\.properties\.size\.type is "int", which is not a type\. Did you mean integer\?$/,
    ],
    [
      "has another word for a type",
      size({ type: "list" }),
      /size\.type is "list", which is not a type\. Write one of string, integer, number, boolean, array, object\.$/,
    ],
    [
      "misspells what limits a field",
      size({ type: "object", properties: { minimun: { type: "integer", minimun: 1 } } }),
      /size\.properties\.minimun\.minimun is not a known field\. Did you mean minimum\?$/,
    ],
    [
      "misspells what limits an entry of a list",
      size({ type: "array", items: { type: "string", "x-kubernetes-validation": [] } }),
      /size\.items\.x-kubernetes-validation is not a known field\. Did you mean x-kubernetes-validations\?$/,
    ],
    [
      "says how often a field must be given in words of its own",
      size({ type: "integer", optional: true }),
      /size\.optional is not a known field\. Correct it, or leave it out\.$/,
    ],
    [
      "requires a field that was renamed, so that no object can be created",
      size({ type: "object", required: ["min", "mx"], properties: { min: TEXT, max: TEXT } }),
      /properties\.size\.required\[1\] is "mx", which properties does not have\. Did you mean max\?$/,
    ],
    [
      "requires a field, and has none",
      size({ type: "array", items: { type: "object", required: ["name"] } }),
      /size\.items\.required\[0\] is "name", which properties does not have\. Add it to properties, or leave it out\.$/,
    ],
    [
      "has a field without a schema",
      size(null),
      /properties\.size has no value\. Write, for example, \{ type: string \}\.$/,
    ],
    [
      "has a field without a type",
      size({ minimum: 1 }),
      /properties\.spec\.properties\.size has no type\. Write, for example, type: string\.$/,
    ],
    [
      "has a list of what has no type",
      size({ type: "array", items: { maxLength: 5 } }),
      /properties\.size\.items has no type\. /,
    ],
    [
      "has a map of what has no type",
      size({ type: "object", additionalProperties: { maxLength: 5 } }),
      /properties\.size\.additionalProperties has no type\. /,
    ],
    [
      "has no type",
      widgetCrd({ versions: [widgetVersion({ schema: { openAPIV3Schema: {} } })] }),
      /openAPIV3Schema has no type\. Write type: object\.$/,
    ],
    [
      "has a type in place of a schema",
      size("integer"),
      /size is "integer", not a schema\. Write, for example, \{ type: string \}\.$/,
    ],
    [
      "has a text where a list belongs",
      size({ type: "object", anyOf: [{ required: "a" }] }),
      /properties\.size\.anyOf\[0\]\.required is "a", but must be array\. Correct it, or leave it out\.$/,
    ],
    [
      "refers to a schema elsewhere",
      size({ type: "array", anyOf: [{ items: { $ref: "#/definitions/size" } }] }),
      /properties\.size\.anyOf\[0\]\.items\.\$ref is "#\/definitions\/size", and the API server accepts no reference\. Write the schema out in its place\.$/,
    ],
    [
      "has a status that is no schema",
      status({ type: "object", properties: { ready: { type: "bool" } } }),
      /properties\.status\.properties\.ready\.type is "bool", which is not a type\. Did you mean boolean\?$/,
    ],
    [
      "has a version without name",
      widgetCrd({ versions: [widgetVersion({ name: "1" })] }),
      /^spec.versions\[0\].name is "1"\. Name the version/,
    ],
    [
      "stores no version",
      widgetCrd({ versions: [widgetVersion({ storage: false })] }),
      /^spec.versions has no version with storage: true\. Write it for exactly one/,
    ],
    [
      "stores two versions",
      widgetCrd({ versions: [widgetVersion(), widgetVersion({ name: "v2" })] }),
      /^spec.versions has 2 versions with storage: true\. /,
    ],
    [
      "stores a version that is not served",
      widgetCrd({ versions: [widgetVersion({ served: false })] }),
      /^version "v1" is stored, but is not served\. /,
    ],
    [
      "has a status that is a text",
      status({ type: "string" }),
      /properties.status.type is "string"\. Write type/,
    ],
    [
      "has a status in which conditions are texts",
      status({ type: "object", properties: { conditions: { type: "array", items: TEXT } } }),
      /properties\.conditions does not accept what Argosy writes: conditions\.0 must be string\. Leave/,
    ],
    [
      "has a field of the status that is the engine's",
      status({ type: "object", properties: { argosy: { type: "string" } } }),
      /properties\.status\.properties\.argosy is a reserved name\. Give it another name/,
    ],
    [
      "has an observed generation that is a text",
      status({ type: "object", properties: { observedGeneration: { type: "string" } } }),
      /properties\.status\.properties\.observedGeneration does not accept what Argosy writes: observedGeneration must be string\. Leave observedGeneration out, and Argosy adds it/,
    ],
    [
      "has conditions that are no list",
      status({ type: "object", properties: { conditions: { type: "object" } } }),
      /properties\.status\.properties\.conditions does not accept what Argosy writes: conditions must be object\. /,
    ],
    [
      "has conditions without a type",
      status({
        type: "object",
        properties: {
          conditions: { type: "array", items: { type: "object", properties: { status: TEXT } } },
        },
      }),
      /properties\.conditions does not accept what Argosy writes: its entries have no type or no status\. /,
    ],
  ];
  for (const [what, content, expected] of wrong) {
    it(`is refused where it ${what}`, () => {
      const problems = crdProblems(content);
      assert.match(problems[0] ?? "nothing was refused", expected);
      assert.equal(problems.length, 1, problems.join("\n"));
    });
  }

  it("may have conditions of its own only if Argosy's conditions fit them", () => {
    const complaintsOf = (content: JsonObject) => crdProblems(content).join("\n");
    assert.match(
      complaintsOf(conditions({ lastUpdateTime: TEXT }, { required: ["type", "lastUpdateTime"] })),
      /must have required property 'lastUpdateTime'/,
    );
    assert.match(
      complaintsOf(conditions({ type: { ...TEXT, enum: ["Ready", "Degraded"] } })),
      /conditions\.1\.type must be "Ready" or "Degraded"/,
    );
    assert.match(
      complaintsOf(conditions({ message: { ...TEXT, maxLength: 256 } })),
      /conditions\.0\.message/,
    );
    assert.match(
      complaintsOf(conditions({}, {}, { maxItems: 2 })),
      /conditions must NOT have more than 2 items/,
    );
    // Statuses are written in the stored version alone.
    const old = {
      type: "object",
      properties: { conditions: conditionsSchema({ type: { type: "integer" } }) },
    };
    const served = widgetVersion({ name: "v0", storage: false }, { status: old as JsonObject });
    assert.deepEqual(crdProblems(widgetCrd({ versions: [widgetVersion(), served] })), []);
    // What is no schema is said once, and not checked against.
    assert.equal(crdProblems(conditions({ reason: { type: "text" } })).length, 1);
  });

  describe("may have a status as well-known operators write it:", () => {
    for (const [shape, schema] of Object.entries(STATUS_SHAPES))
      it(shape, () => assert.deepStrictEqual(crdProblems(schema ? status(schema) : widgetCrd()), []));
  });

  it("may have bounds that are excluded, as OpenAPI writes them", () => {
    const bounded: JsonObject = { type: "integer", minimum: 0, exclusiveMinimum: true };
    for (const schema of [
      bounded,
      { type: "array", items: bounded },
      { additionalProperties: bounded, type: "object" },
    ])
      assert.deepStrictEqual(crdProblems(size(schema)), []);
  });

  it("needs no type where it keeps unknown fields", () => {
    const keeping: JsonObject = { "x-kubernetes-preserve-unknown-fields": true };
    const schema: JsonObject = { openAPIV3Schema: { ...keeping, properties: { spec: keeping } } };
    assert.deepEqual(crdProblems(widgetCrd({ versions: [widgetVersion({ schema })] })), []);
  });

  it("is refused in the line of the field that is wrong", () => {
    addFiles(widget.folder, { "crd.yaml": stringify(size({ type: "int" })) });
    assert.throws(() => loadDefinition(widget.folder, widgetDefinition), /crd\.yaml:\d+:\d+: spec\.versions/);
  });

  it("is without what a cluster has written into it", () => {
    const name = "widgets.shop.example.com";
    const kept = { name, labels: { app: "shop" }, annotations: { "example.com/a": "b" } };
    const exported = {
      ...{ uid: "6f1c2b58", resourceVersion: "44", generation: 2, creationTimestamp: "2026-01-02T03:04:05Z" },
      ...{ selfLink: "/apis", managedFields: [{ manager: "kubectl" }], ownerReferences: [{ uid: "1" }] },
      deletionTimestamp: "2026-01-02T03:04:05Z",
    };
    const annotations = {
      ...kept.annotations,
      "kubectl.kubernetes.io/last-applied-configuration": "{}",
    };
    const metadata = { ...exported, ...kept, annotations } as JsonObject;
    addFiles(widget.folder, { "crd.yaml": widgetCrd({}, { metadata, status: { storedVersions: ["v1"] } }) });
    assert.deepEqual(
      loadDefinition(widget.folder, widgetDefinition).crd,
      widgetCrd({}, { metadata: kept as JsonObject }),
    );
  });

  it("may be of a group of Kubernetes' if it says who approved it", () => {
    const annotations = { "api-approved.kubernetes.io": "unapproved, an experiment" };
    const metadata = { name: "widgets.shop.k8s.io", annotations };
    assert.deepStrictEqual(crdProblems(widgetCrd({ group: "shop.k8s.io" }, { metadata })), []);
  });

  for (const group of ["k8s.io", "shop.k8s.io", "kubernetes.io", "shop.kubernetes.io"]) {
    it(`may not be of the group ${group}`, () => {
      const [problem] = crdProblems(widgetCrd({ group }, { metadata: { name: `widgets.${group}` } }));
      assert.match(
        problem ?? "",
        /^spec.group is ".*", which is reserved for Kubernetes' own kinds\. Use a domain/,
      );
    });
  }

  it("may be of a group that only sounds like Kubernetes'", () => {
    const content = widgetCrd({ group: "shop.x-k8s.io" }, { metadata: { name: "widgets.shop.x-k8s.io" } });
    assert.deepStrictEqual(crdProblems(content), []);
  });

  it("must have a domain for a group", () => {
    const [problem] = crdProblems(widgetCrd({ group: "shop" }, { metadata: { name: "widgets.shop" } }));
    assert.match(problem ?? "", /^spec.group is "shop", not a domain\. /);
  });

  it("of cluster scope may not be handled in a list of namespaces", () => {
    addFiles(widget.folder, { "crd.yaml": widgetCrd({ scope: "Cluster" }) });
    assert.match(
      problemsOf(widget.folder, { ...widgetDefinition, namespaces: ["a"] })[0] ?? "",
      /^namespaces is a list, but the CRD's scope is Cluster\. /,
    );
    assert.equal(loadDefinition(widget.folder, widgetDefinition).customResource.namespaced, false);
  });

  it("gives the stored version and the author's schema of its status", () => {
    const schema = { type: "object", properties: { ready: { type: "boolean" } } };
    const versions = [widgetVersion({ storage: false }), widgetVersion({ name: "v2" }, { status: schema })];
    addFiles(widget.folder, { "crd.yaml": widgetCrd({ versions }) });
    const { customResource } = loadDefinition(widget.folder, widgetDefinition);
    assert.equal(customResource.version, "v2");
    assert.deepStrictEqual(customResource.statusSchema, schema);
  });
});
