import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { flawsOfFields, KNOWN_RELEASE } from "../../cli/fixtures/builtInFields";
import { compare } from "../../cli/fixtures/compare";
import { runFixtures } from "../../cli/fixtures/runFixtures";
import { madeReady, merged, observedAfter } from "../../cli/fixtures/sequence";
import { OperatorError } from "../../definition/problems";
import { readJson } from "../../runtime/base/json";
import type { JsonObject, KubernetesObject, Manifest } from "../../runtime/base/objects";
import { readinessOf } from "../../runtime/observe/readiness";
import { type DesiredChild, desiredChildren } from "../../runtime/write/desiredChildren";
import {
  addFiles,
  loadDefinition,
  widgetCrd,
  widgetDefinition,
  widgetVersion,
  writeFolder,
} from "./operatorFolder";
import { FixtureFolder, handler } from "./support/fixtureFolder";
import { operator } from "./support/objects";

const child = (apiVersion: string, kind: string, more: JsonObject = {}): JsonObject => ({
  apiVersion,
  kind,
  metadata: { name: "a", namespace: "n" },
  ...more,
});

describe("a child that is made ready", () => {
  const declared = [
    { apiVersion: "shop.example.com/v1", kind: "Claim", ready: { field: "status.claim.open", in: [false] } },
    { apiVersion: "batch/v1", kind: "CronJob", ready: { condition: "Synced" } },
  ] as const;
  const why = (object: JsonObject) => readinessOf(declared)(object as unknown as KubernetesObject);
  for (const made of [
    child("apps/v1", "Deployment", { spec: { replicas: 3 } }),
    child("apps/v1", "StatefulSet"),
    child("apps/v1", "ReplicaSet"),
    child("apps/v1", "DaemonSet"),
    child("batch/v1", "Job"),
    child("v1", "Pod"),
    child("v1", "PersistentVolumeClaim"),
    child("v1", "Service", { spec: { type: "LoadBalancer" } }),
    child("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    child("apiregistration.k8s.io/v1", "APIService"),
    child("shop.example.com/v1", "Claim", { status: { claim: { open: true, size: 1 }, phase: "New" } }),
    child("batch/v1", "CronJob"),
    child("shop.example.com/v1", "Cache", { status: { conditions: [{ type: "Ready", status: "False" }] } }),
  ]) {
    it(`is so for the engine, as it was not before: ${made.kind}`, () => {
      assert.notEqual(why(made), undefined);
      assert.equal(why(madeReady(made, declared)), undefined);
    });
  }

  it("is as it was, if its kind has no status", () => {
    const configMap = child("v1", "ConfigMap");
    assert.equal(madeReady(configMap, declared), configMap);
  });
});

describe("what a step observes", () => {
  const kinds = [
    { apiVersion: "v1", kind: "ConfigMap", update: "apply", plural: "configmaps" },
    { apiVersion: "apps/v1", kind: "Deployment", update: "apply", plural: "deployments" },
    { apiVersion: "batch/v1", kind: "Job", update: "never", plural: "jobs" },
  ] as const;
  const definition = operator({ children: kinds });
  const { group, version, kind } = definition.customResource;
  const object = {
    apiVersion: `${group}/${version}`,
    kind,
    metadata: { name: "o", namespace: "n", uid: "u", resourceVersion: "1" },
  };
  const desired = (answered: readonly JsonObject[]): DesiredChild[] =>
    desiredChildren(
      answered as unknown as Manifest[],
      object,
      definition,
      kinds.map((each) => ({ ...each, namespaced: true })),
    );
  const named = (kind: string, name: string, annotations: JsonObject = {}): JsonObject => {
    const { apiVersion } = kinds.find((each) => each.kind === kind) ?? {};
    return { apiVersion: apiVersion ?? "", kind, metadata: { name, annotations } };
  };
  const names = (children: readonly JsonObject[]) =>
    children.map(({ metadata }) => (metadata as { name: string }).name);
  const NOTHING = { children: [], made: new Set<string>() };

  it("has a child that waits only when the one before it is ready", () => {
    const answered = [
      named("Deployment", "second", { "argosy.dev/after": "Deployment/first" }),
      named("Deployment", "first", { "argosy.dev/after": "ConfigMap/settings" }),
      named("ConfigMap", "settings"),
    ];
    const one = observedAfter(answered, desired(answered), NOTHING, kinds);
    // The ConfigMap is ready as soon as it exists.
    assert.deepEqual(names(one.children), ["first", "settings"]);
    const ready = { ...one, children: one.children.map((each) => madeReady(each, kinds)) };
    const two = observedAfter(answered, desired(answered), ready, kinds);
    assert.deepEqual(names(two.children), ["second", "first", "settings"]);
    // Existing children stay, whatever becomes of the other.
    const unready = { ...two, children: two.children.map(({ status: _, ...rest }) => rest) };
    const three = observedAfter(answered, desired(answered), unready, kinds);
    assert.deepEqual(names(three.children), ["second", "first", "settings"]);
  });

  it("has a child that is created once no more than once", () => {
    const answered = [
      named("Job", "once"),
      named("ConfigMap", "kept", { "argosy.dev/once": "true" }),
      named("ConfigMap", "other", { "argosy.dev/after": "ConfigMap/kept" }),
    ];
    const one = observedAfter(answered, desired(answered), NOTHING, kinds);
    assert.deepEqual(names(one.children), ["once", "kept", "other"]);
    const changed = [{ ...answered[0], spec: { a: 1 } }, ...answered.slice(1)] as JsonObject[];
    const two = observedAfter(changed, desired(changed), one, kinds);
    assert.equal(two.children[0]?.spec, undefined);
    const three = observedAfter(changed, desired(changed), { ...two, children: [] }, kinds);
    assert.deepEqual(names(three.children), ["other"]);
  });
});

describe("a merge patch", () => {
  it("replaces, adds and removes fields", () => {
    assert.deepEqual(
      merged({ a: { b: 1, c: [1] }, d: 2 }, { a: { b: null, c: [2], e: { f: null } }, g: 3 }),
      {
        a: { c: [2], e: {} },
        d: 2,
        g: 3,
      },
    );
  });
});

describe("an expectation and an answer", () => {
  const scalar = fc.oneof(fc.constantFrom("a", "b", 1, true, null));
  const content = fc.dictionary(
    fc.constantFrom("spec", "size", "b"),
    fc.oneof(scalar, fc.array(scalar, { maxLength: 2 })),
    {
      noNullPrototype: true,
    },
  );
  const child = fc.record(
    {
      kind: fc.constantFrom("Service", "Deployment"),
      metadata: fc.record(
        { name: fc.constantFrom("a", "b"), namespace: fc.constantFrom("n", "m") },
        { requiredKeys: ["name"], noNullPrototype: true },
      ),
      spec: content,
    },
    { requiredKeys: ["metadata"], noNullPrototype: true },
  );
  const answer = fc.record(
    {
      children: fc.array(child, { maxLength: 4 }),
      status: content,
      error: fc.constant({ message: "no" }),
    },
    { requiredKeys: [], noNullPrototype: true },
  );

  it("have no differences any more when the expectation is the one that the answer meets", () => {
    fc.assert(
      fc.property(answer, answer, fc.constantFrom("whole", "part"), (expected, answered, extent) => {
        const { differences, met } = compare(expected, answered, extent);
        if (differences.length === 0) return;
        if (met === undefined) assert.ok(answered.error && !expected.error);
        else assert.deepEqual(compare(met, answered, extent).differences, []);
      }),
    );
  });

  it("with an expected child that has no name, or twice: says what each child needs", () => {
    const answered = { children: [{ kind: "Service", metadata: { name: "a" } }] };
    const named = { kind: "Service", metadata: { name: "a" } };
    for (const children of [[{ kind: "Service" }], [{ kind: "Service", metadata: {} }], [named, named]])
      assert.deepEqual(compare({ children }, answered, "part").differences, [
        "children: each expected child needs kind and metadata.name, which say which one is meant, and each only once",
      ]);
  });

  it("in part: the expectation keeps its fields, and gets no others", () => {
    const expected = {
      children: [{ kind: "Service", metadata: { name: "a" }, spec: { size: 1 } }],
      status: { size: 1 },
    };
    const answered = {
      children: [
        { kind: "Service", metadata: { name: "a", namespace: "n" }, spec: { size: 2, b: 1 } },
        { kind: "Service", metadata: { name: "a" }, spec: { size: 3, b: 1 } },
      ],
    };
    assert.deepEqual(compare(expected, answered, "part").met, {
      children: [{ kind: "Service", metadata: { name: "a" }, spec: { size: 3 } }],
      status: null,
    });
  });
});

describe("runFixtures", () => {
  let folder: FixtureFolder;
  beforeEach(() => {
    folder = new FixtureFolder();
  });

  describe("with a schema", () => {
    const properties = {
      size: { type: "integer", minimum: 1 },
      plan: { type: "object", default: {}, properties: { name: { type: "string", default: "small" } } },
    };
    const spec = { type: "object", required: ["size"], properties };
    const version = widgetVersion({}, { spec }, { required: ["spec"] });
    beforeEach(() => addFiles(folder.root, { "crd.yaml": widgetCrd({ versions: [version] }) }));
    const object = (spec: string, more = "") =>
      `object: { metadata: { name: a }, spec: ${spec}${more} }\nanswer: { children: [], status: { spec: { size: 2, plan: { name: small } } } }\n`;

    it("fills in the CRD's defaults, as the API server does", async () => {
      const [result] = await folder.run(handler("{ children: [], status: { spec: request.object.spec } }"), {
        "a.yaml": object("{ size: 2 }"),
      });
      assert.deepStrictEqual([result?.failure, result?.differences], [undefined, []]);
    });

    for (const [what, text, complaint] of [
      ["of a wrong type", object("{ size: two }"), "object: spec.size must be integer"],
      ["that the schema refuses", object("{ size: 0 }"), "object: spec.size must be >= 1"],
      ["that is missing", object("{}"), "object: spec must have required property 'size'"],
      [
        "that the schema does not know",
        object("{ size: 1, sise: 2 }"),
        "object: spec.sise is not in the CRD's schema",
      ],
      [
        "of another kind",
        object("{ size: 1 }", ", kind: Gadget"),
        "object: is Gadget (shop.example.com/v1), not Widget (shop.example.com/v1)",
      ],
      [
        "of another version",
        object("{ size: 1 }", ", apiVersion: shop.example.com/v2"),
        "object: is of shop.example.com/v2, and the CRD serves v1",
      ],
    ] as const) {
      it(`refuses an object ${what}`, async () => {
        const [result] = await folder.run(handler("{ children: [] }"), { "a.yaml": text });
        assert.equal(result?.failure, complaint);
      });
    }
  });
});

describe("fixtures of events", () => {
  let root: string;
  beforeEach(() => {
    const spec = { type: "object", properties: { text: { type: "string" }, count: { type: "integer" } } };
    root = writeFolder({ "crd.yaml": widgetCrd({ versions: [widgetVersion({}, { spec })] }), "main.py": "" });
  });

  const run = async (...documents: string[]) => {
    addFiles(root, { "fixtures/events.yaml": documents.join("\n---\n") });
    const webhook = { endpoint: "/a", method: "POST", port: "12000", authSecret: { name: "a", key: "b" } };
    const create = { kind: "Widget", namespace: "shop", spec: { text: "body.text", count: "body.count?" } };
    const on = { hook: { webhook, id: ["body.id"], when: { "body.kind": "x" }, create } };
    const operator = loadDefinition(root, { ...widgetDefinition, name: "widget", on });
    return (await runFixtures(operator)).map(({ passed, differences }) =>
      passed ? true : differences.join(),
    );
  };
  const event = (body: string) => `on: hook\nevent: { body: { kind: x, id: 1, ${body} } }`;

  it("pass if the event becomes what they say, as far as they say it", async () => {
    assert.deepEqual(
      await run(
        `${event('text: a, count: "3"')}\nobject: { apiVersion: shop.example.com/v1, kind: Widget, metadata: { namespace: shop }, spec: { text: a, count: 3 } }`,
        `${event("text: a")}\nobject: { spec: { count: null } }`,
        "on: hook\nevent: { body: { kind: z } }\nobject: null",
        `${event("text: null")}\nrefused: body.text`,
        `${event("text: a, count: many")}\nrefused: spec.count`,
      ),
      [true, true, true, true, true],
    );
  });

  it("fail if it becomes something else, and say what", async () => {
    const [other, nothing, something, refused, unknown] = await run(
      `${event("text: a")}\nobject: { spec: { text: b } }`,
      `${event("text: a")}\nobject: null`,
      "on: hook\nevent: { body: { kind: z } }\nobject: { spec: { text: a } }",
      `${event("text: a")}\nrefused: body.text`,
      "on: hok\nevent: {}\nobject: null",
    );
    assert.match(String(other), /spec: \.text: expected "?b"?, got "?a"?/);
    assert.match(String(nothing), /expected no object, but it became hook-[0-9a-f]{20}/);
    assert.match(String(something), /expected an object, but it does not meet `when`/);
    assert.match(String(refused), /expected to be refused for body\.text, but it became/);
    assert.match(String(unknown), /the operator has no event hok\. Known events: hook/);
  });

  it("say one thing that is expected", async () => {
    for (const document of ["on: hook\nevent: {}", "on: hook\nevent: {}\nobject: null\nrefused: a"]) {
      await assert.rejects(run(document), (error: Error) => {
        assert.ok(error instanceof OperatorError);
        assert.match(error.message, /fixtures\/events\.yaml.*object or refused must be given, and not both/);
        return true;
      });
    }
  });
});

const object = (apiVersion: string, kind: string, content: object): Manifest => ({
  apiVersion,
  kind,
  metadata: { name: "a" },
  ...content,
});
const container = (fields: object) =>
  object("apps/v1", "Deployment", {
    spec: { template: { spec: { containers: [{ name: "c", ...fields }] } } },
  });
const service = (port: object) => object("v1", "Service", { spec: { ports: [port] } });
const there = ".spec.template.spec.containers[0]";

describe("flawsOfFields", () => {
  const wrong: readonly [Manifest, string][] = [
    [
      container({ containerPrt: 8080 }),
      `${there}.containerPrt: Kubernetes ${KNOWN_RELEASE} has no such field. If your cluster is newer, let argosy test --server decide.`,
    ],
    [
      container({ imagePullpolicy: "Always" }),
      `${there}.imagePullpolicy: Kubernetes ${KNOWN_RELEASE} has no such field. Did you mean imagePullPolicy?`,
    ],
    [service({ port: "80a" }), '.spec.ports[0].port: expected an integer, got "80a"'],
    [service({ port: 1.5 }), ".spec.ports[0].port: expected an integer, got 1.5"],
    [container({ env: [{ name: "A", value: 5 }] }), `${there}.env[0].value: expected a text, got 5`],
    [container({ tty: "true" }), `${there}.tty: expected true or false, got "true"`],
    [container({ args: { a: 1 } }), `${there}.args: expected a list, got {"a":1}`],
    [container({ resources: [] }), `${there}.resources: expected a map, got []`],
    [
      object("v1", "ConfigMap", { metadata: { name: "a", labels: { "a.b/c": 1 } } }),
      '.metadata.labels["a.b/c"]: expected a text, got 1',
    ],
    [object("v1", "ConfigMap", { data: { a: true } }), ".data.a: expected a text, got true"],
    [object("v1", "Secret", { stringData: { a: 5 } }), ".stringData.a: expected a text"],
    [object("v1", "Secret", { data: { a: "YQ" } }), ".data.a: expected base64"],
    [
      object("v1", "Event", { regarding: {}, involvedObject: {} }),
      `.regarding: Kubernetes ${KNOWN_RELEASE} has no such field. If your cluster is newer, let argosy test --server decide.`,
    ],
  ];
  for (const [manifest, flaw] of wrong)
    it(`finds ${flaw}`, async () => assert.deepEqual(await flawsOfFields(manifest), [flaw]));

  const right: readonly [string, Manifest][] = [
    ["null for what is left out", container({ args: null })],
    ["quantities as numbers", container({ resources: { limits: { cpu: 1, memory: "1Gi" } } })],
    ["a port by its name, and by its number", service({ port: 80, targetPort: "http" })],
    [
      "an integer of 64 bits",
      object(
        "policy/v1",
        "PodDisruptionBudget",
        readJson('{ "metadata": { "generation": 9007199254740993 } }') as object,
      ),
    ],
    [
      "the other kind Event",
      object("events.k8s.io/v1", "Event", { regarding: {}, eventTime: "2026-01-31T03:00:00.000000Z" }),
    ],
    [
      "a claim of devices",
      object("resource.k8s.io/v1", "ResourceClaim", { spec: { devices: { requests: [] } } }),
    ],
    [
      "any default in a schema",
      object("apiextensions.k8s.io/v1", "CustomResourceDefinition", {
        spec: {
          versions: [{ schema: { openAPIV3Schema: { default: { a: 1 }, items: { type: "string" } } } }],
        },
      }),
    ],
    ["base64 in lines", object("v1", "Secret", { data: { a: "YWJj\nYWJj" } })],
    [
      "a kind of others, by the name of one of Kubernetes'",
      object("serving.knative.dev/v1", "Service", { spec: { a: 1 } }),
    ],
    ["a version that Kubernetes does not have", object("apps/v9", "Deployment", { spec: { a: 1 } })],
  ];
  for (const [what, manifest] of right)
    it(`accepts ${what}`, async () => assert.deepEqual(await flawsOfFields(manifest), []));

  it("names the release of Kubernetes that the package has", () => {
    const file = require.resolve("@kubernetes/client-node/dist/gen/models/V1Pod.js");
    assert.match(readFileSync(file, "utf8"), new RegExp(`OpenAPI spec version: v${KNOWN_RELEASE}\\.`));
  });
});
