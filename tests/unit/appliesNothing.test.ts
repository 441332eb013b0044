import assert from "node:assert/strict";
import fc from "fast-check";
import type { JsonObject, Manifest } from "../../runtime/base/objects";
import { appliesNothing } from "../../runtime/kubernetes/managedFields";
import { withinCpuTime } from "../support/cpuTime";

/** A manifest of another kind. */
const manifestOf = (body: object): Manifest => ({
  ...body,
  apiVersion: "v1",
  kind: "X",
  metadata: { name: "x" },
});

/** With their defaults. */
const PORTS = [
  { containerPort: 80, protocol: "TCP" },
  { containerPort: 81, protocol: "UDP" },
];
const CONTAINER = {
  name: "c",
  image: "i",
  args: ["-m", "64"],
  env: [{ name: "A", value: "1" }],
  volumeMounts: [{ name: "v", mountPath: "/v" }],
};

/** A Deployment as a handler answers it. */
function deployment(container: object = {}, spec: object = {}): Manifest {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: {
      name: "web",
      namespace: "shop",
      labels: { app: "web" },
      annotations: {},
      ownerReferences: [
        {
          apiVersion: "shop.example.com/v1",
          kind: "Widget",
          name: "widget",
          uid: "u-1",
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    spec: {
      replicas: 1,
      selector: { matchLabels: { app: "web" } },
      template: {
        metadata: { labels: { app: "web" } },
        spec: {
          nodeSelector: {},
          volumes: [{ name: "v", emptyDir: {} }],
          containers: [
            {
              ...CONTAINER,
              ports: [{ containerPort: 80 }, { containerPort: 81, protocol: "UDP" }],
              ...container,
            },
          ],
        },
      },
      ...spec,
    },
  };
}

/** `fieldsV1` of its apply, as the API server 1.34 gives it. */
const FIELDS: JsonObject = {
  "f:metadata": {
    "f:annotations": {},
    "f:labels": { "f:app": {} },
    "f:ownerReferences": { 'k:{"uid":"u-1"}': {} },
  },
  "f:spec": {
    "f:replicas": {},
    "f:selector": {},
    "f:template": {
      "f:metadata": { "f:labels": { "f:app": {} } },
      "f:spec": {
        "f:containers": {
          'k:{"name":"c"}': {
            ".": {},
            "f:args": {},
            "f:env": { 'k:{"name":"A"}': { ".": {}, "f:name": {}, "f:value": {} } },
            "f:image": {},
            "f:name": {},
            "f:ports": {
              'k:{"containerPort":80,"protocol":"TCP"}': { ".": {}, "f:containerPort": {} },
              'k:{"containerPort":81,"protocol":"UDP"}': {
                ".": {},
                "f:containerPort": {},
                "f:protocol": {},
              },
            },
            "f:volumeMounts": { 'k:{"mountPath":"/v"}': { ".": {}, "f:mountPath": {}, "f:name": {} } },
          },
        },
        "f:nodeSelector": {},
        "f:volumes": { 'k:{"name":"v"}': { ".": {}, "f:emptyDir": {}, "f:name": {} } },
      },
    },
  },
};

/** The Deployment as the API server has it: with defaults, without what is empty, with labels of others. */
function observed(container: object = {}, spec: object = {}): object {
  const { apiVersion, kind, metadata } = deployment();
  const { annotations: _, ...stored } = metadata;
  return {
    apiVersion,
    kind,
    metadata: {
      ...stored,
      labels: { app: "web", theirs: "1" },
      uid: "u",
      resourceVersion: "7",
      generation: 1,
    },
    spec: {
      replicas: 1,
      selector: { matchLabels: { app: "web" } },
      strategy: { type: "RollingUpdate" },
      template: {
        metadata: { labels: { app: "web" } },
        spec: {
          restartPolicy: "Always",
          volumes: [{ name: "v", emptyDir: {} }],
          containers: [
            {
              ...CONTAINER,
              imagePullPolicy: "Always",
              ports: PORTS,
              ...container,
            },
          ],
        },
      },
      ...spec,
    },
    status: { replicas: 1 },
  };
}

describe("appliesNothing", () => {
  it("says yes to what the API server has, with its defaults, without what is empty", () => {
    assert.equal(appliesNothing(deployment(), observed(), FIELDS), true);
  });

  const changes: readonly (readonly [what: string, container: object, spec?: object])[] = [
    ["another value", { image: "j" }],
    ["another entry of a list that is owned as a whole", { args: ["-m", "65"] }],
    ["another order of such a list", { args: ["64", "-m"] }],
    ["another entry of a list with keys", { env: [{ name: "B", value: "1" }] }],
    ["another value in such an entry", { env: [{ name: "A", value: "2" }] }],
    ["one entry less", { env: [] }],
    ["one entry more", { env: ["A", "B"].map((name) => ({ name, value: "1" })) }],
    ["a field less", { args: undefined }],
    ["a field more", { workingDir: "/" }],
    ["a key written that was a default", { ports: PORTS }],
    ["a key left to its default that was written", { ports: [{ containerPort: 80 }, { containerPort: 81 }] }],
    ["an empty map that was not", {}, { selector: {} }],
  ];
  for (const [what, container, spec = {}] of changes) {
    it(`says no to ${what} in the manifest`, () => {
      const { args, ...more } = { args: ["-m", "64"], ...container } as { args?: string[] };
      const manifest = deployment({ ...more, ...(args && { args }) }, spec);
      if (what === "a field less") delete containerOf(manifest)["args"];
      assert.equal(appliesNothing(manifest, observed(), FIELDS), false);
    });
  }

  it("says no to anything that another client changed in the object", () => {
    assert.equal(appliesNothing(deployment(), observed({ image: "j" }), FIELDS), false);
    assert.equal(appliesNothing(deployment(), observed({}, { replicas: 2 }), FIELDS), false);
    assert.equal(appliesNothing(deployment(), observed({ env: [] }), FIELDS), false);
    assert.equal(appliesNothing(deployment(), observed({ args: undefined }), FIELDS), false);
  });

  it("tells entries apart that share a key, of which one leaves the other key to its default", () => {
    const ports = (name: string) => [
      { containerPort: 80, name: "a" },
      { containerPort: 80, protocol: "UDP", name },
    ];
    const entry = { ".": {}, "f:containerPort": {}, "f:name": {} };
    const fields = {
      "f:ports": {
        'k:{"containerPort":80,"protocol":"TCP"}': entry,
        'k:{"containerPort":80,"protocol":"UDP"}': { ...entry, "f:protocol": {} },
      },
    };
    const [tcp, udp] = ports("a");
    const there = { ports: [{ ...tcp, protocol: "TCP" }, udp] };
    const manifest = (name: string) => manifestOf({ ports: ports(name) });
    assert.equal(appliesNothing(manifest("a"), there, fields), true);
    assert.equal(appliesNothing(manifest("b"), there, fields), false);
  });

  it("says no to another order of a list with keys, such as init containers, wherever the entries of others are", () => {
    const manifest = (...names: string[]) => manifestOf({ list: names.map((name) => ({ name })) });
    const entry = { ".": {}, "f:name": {} };
    const fields = { "f:list": { 'k:{"name":"a"}': entry, 'k:{"name":"b"}': entry } };
    const there = { list: [{ name: "theirs" }, { name: "b" }, { name: "others" }, { name: "a" }] };
    assert.equal(appliesNothing(manifest("b", "a"), there, fields), true);
    assert.equal(appliesNothing(manifest("a", "b"), there, fields), false);
  });

  it("knows a set by its values", () => {
    const manifest = (finalizers: string[]): Manifest => ({
      apiVersion: "v1",
      kind: "X",
      metadata: { name: "x", finalizers },
    });
    const there = { metadata: { finalizers: ["theirs", "a", "b"] } };
    const fields = { "f:metadata": { "f:finalizers": { 'v:"a"': {}, 'v:"b"': {} } } };
    assert.equal(appliesNothing(manifest(["b", "a"]), there, fields), true);
    assert.equal(appliesNothing(manifest(["a"]), there, fields), false);
    assert.equal(appliesNothing(manifest(["a", "c"]), there, fields), false);
    assert.equal(appliesNothing(manifest(["a", "b"]), { metadata: { finalizers: ["a"] } }, fields), false);
  });

  it("is found soon of a list of very many entries, which the author of an object may have written", () => {
    const names = Array.from({ length: 10_000 }, (_, index) => `name-${index}`);
    const entry = { ".": {}, "f:name": {}, "f:value": {} };
    const fields = {
      "f:list": Object.fromEntries(names.toReversed().map((name) => [`k:{"name":"${name}"}`, entry])),
      "f:set": Object.fromEntries(names.map((name) => [`v:"${name}"`, {}])),
    };
    const list = names.map((name) => ({ name, value: name }));
    const manifest = manifestOf({ list, set: names.toReversed() });
    // It takes some tens of milliseconds, and took seconds when each entry was looked for in all of the list.
    withinCpuTime(2_000, () => {
      assert.equal(appliesNothing(manifest, { list, set: names }, fields), true);
      assert.equal(appliesNothing(manifest, { list: list.toReversed(), set: names }, fields), false);
      assert.equal(appliesNothing(manifest, { list: list.slice(1), set: names }, fields), false);
    });
  });

  describe("if it says yes,", () => {
    const leaf = fc.oneof(fc.nat(2), fc.constantFrom("x", "y"), fc.boolean());
    const name = fc.constantFrom("a", "b", "c");
    const keyed = fc.uniqueArray(
      fc.record({ name, port: fc.nat(1), value: leaf }, { requiredKeys: ["name"] }),
      {
        selector: (entry) => entry.name,
        minLength: 1,
        maxLength: 2,
      },
    );
    const { value } = fc.letrec<{ value: unknown; map: Record<string, unknown> }>((tie) => ({
      value: fc.oneof({ depthSize: "small" }, leaf, fc.array(leaf, { maxLength: 2 }), tie("map"), keyed),
      map: fc.dictionary(name, tie("value"), { maxKeys: 3 }),
    }));
    const content = fc.dictionary(fc.constantFrom("spec", "data", "rules"), value, {
      minKeys: 1,
      maxKeys: 3,
    });

    it("nothing differs: the manifest is the one that was applied", () => {
      fc.assert(
        fc.property(content, content, (before, after) => {
          const fields = fieldsOf(before) as JsonObject;
          assert.equal(appliesNothing(manifestOf(before), before, fields), true);
          if (appliesNothing(manifestOf(after), before, fields))
            assert.deepEqual(sorted(after), sorted(before));
        }),
        { numRuns: 2_000 },
      );
    });

    it("what others added to the object is not ours", () => {
      fc.assert(
        fc.property(content, content, (ours, theirs) => {
          const there = { ...theirs, ...ours };
          assert.equal(appliesNothing(manifestOf(ours), there, fieldsOf(ours) as JsonObject), true);
        }),
      );
    });
  });
});

/** `fieldsV1` of an apply of a value, in which lists of objects are keyed by their names. */
function fieldsOf(value: unknown): object {
  if (typeof value !== "object" || value === null) return {};
  if (Array.isArray(value)) {
    if (!value.every((entry) => typeof entry === "object")) return {};
    return Object.fromEntries(
      value.map((entry) => [`k:${JSON.stringify({ name: entry.name })}`, { ".": {}, ...fieldsOf(entry) }]),
    );
  }
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [`f:${key}`, fieldsOf(inner)]));
}

/** The value with its keyed lists sorted by name: their order is not owned. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) {
    const entries = value.map(sorted);
    return entries.every((entry) => typeof entry === "object")
      ? entries.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
      : entries;
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, sorted(inner)]));
}

function containerOf(manifest: Manifest): Record<string, unknown> {
  const { spec } = manifest as Manifest & {
    spec: { template: { spec: { containers: Record<string, unknown>[] } } };
  };
  return spec.template.spec.containers[0] ?? {};
}
