import assert from "node:assert/strict";
import fc from "fast-check";
import type { JsonObject, KubernetesObject, ManagedFieldsEntry, Manifest } from "../../runtime/base/objects";
import { appliesNothing, applyEntry, ownedValues } from "../../runtime/kubernetes/managedFields";
import { withinCpuTime } from "../support/cpuTime";
import { configMap, entryOf, MANAGER, observed } from "./support/objects";

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
function stored(container: object = {}, spec: object = {}): object {
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
    assert.equal(appliesNothing(deployment(), stored(), FIELDS), true);
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
      // Without what is undefined.
      const manifest = JSON.parse(JSON.stringify(deployment(container, spec))) as Manifest;
      assert.equal(appliesNothing(manifest, stored(), FIELDS), false);
    });
  }

  it("says no to anything that another client changed in the object", () => {
    assert.equal(appliesNothing(deployment(), stored({ image: "j" }), FIELDS), false);
    assert.equal(appliesNothing(deployment(), stored({}, { replicas: 2 }), FIELDS), false);
    assert.equal(appliesNothing(deployment(), stored({ env: [] }), FIELDS), false);
    assert.equal(appliesNothing(deployment(), stored({ args: undefined }), FIELDS), false);
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

describe("ownedValues", () => {
  const ours = (fieldsV1: ManagedFieldsEntry["fieldsV1"]): ManagedFieldsEntry => ({
    manager: MANAGER,
    operation: "Apply",
    ...(fieldsV1 && { fieldsV1 }),
  });
  const theirs = (fieldsV1: ManagedFieldsEntry["fieldsV1"]): ManagedFieldsEntry => ({
    manager: "kubectl",
    operation: "Update",
    ...(fieldsV1 && { fieldsV1 }),
  });

  function of(content: object, entry: ManagedFieldsEntry, ...others: ManagedFieldsEntry[]): string {
    const object: KubernetesObject = observed("Thing", content, { managedFields: [entry, ...others] });
    return JSON.stringify(ownedValues(object, entry));
  }

  const fields = ours({
    "f:spec": { "f:a": {}, "f:list": { 'k:{"name":"x"}': { "f:v": {} } }, "f:set": { 'v:"s"': {} } },
  });
  const spec = { a: 1, list: [{ name: "x", v: 1 }], set: ["s"] };

  it("stay what they are if others write fields of their own", () => {
    const more = {
      ...spec,
      b: 2,
      list: [
        { name: "y", v: 9 },
        { name: "x", v: 1, w: 2 },
      ],
      set: ["t", "s"],
    };
    assert.equal(of({ spec: more }, fields, theirs({ "f:spec": { "f:b": {} } })), of({ spec }, fields));
  });

  for (const [what, changed] of Object.entries({
    "a value": { ...spec, a: 2 },
    "a value in an entry": { ...spec, list: [{ name: "x", v: 2 }] },
    "an entry that is gone": { ...spec, list: [] },
    "a member of a set that is gone": { ...spec, set: [] },
    "a field that is gone": { list: spec.list, set: spec.set },
  })) {
    it(`differ by ${what}`, () => assert.notEqual(of({ spec: changed }, fields), of({ spec }, fields)));
  }

  it("have the order that the object has, and not that of managedFields", () => {
    const entry = { ".": {}, "f:name": {} };
    const list = ours({ "f:list": { 'k:{"name":"a"}': entry, 'k:{"name":"b"}': entry } });
    const named = (...names: string[]) => ({ list: names.map((name) => ({ name })) });
    assert.equal(of(named("b", "theirs", "a"), list), JSON.stringify(named("b", "a")));
  });

  it("do not count what others put into an empty map of ours", () => {
    const empty = ours({ "f:data": {} });
    const put = theirs({ "f:data": { ".": {}, "f:b": {} } });
    assert.equal(of({ data: { b: "1" } }, empty, put), of({ data: { b: "2" } }, empty, put));
    assert.notEqual(of({ data: { b: "1" } }, empty), of({ data: { b: "2" } }, empty));
  });

  it("are found soon in a list of very many entries, which the author of an object may have written", () => {
    const names = Array.from({ length: 20_000 }, (_, index) => `name-${index}`);
    const owned = ours({
      "f:list": Object.fromEntries(
        names.toReversed().map((name) => [`k:{"name":"${name}"}`, { "f:value": {} }]),
      ),
      "f:set": Object.fromEntries(names.toReversed().map((name) => [`v:"${name}"`, {}])),
    });
    const list = names.map((name) => ({ name, value: name }));
    // It takes some tens of milliseconds, and took ten seconds when each entry was looked for in all of the list.
    const values = withinCpuTime(3_000, () => of({ list, set: names }, owned));
    assert.ok(values === JSON.stringify({ list: names.map((value) => ({ value })), set: names }));
    assert.ok(values !== of({ list: list.slice(1), set: names }, owned));
    assert.ok(values !== of({ list, set: names.slice(1) }, owned));
  });

  it("tell the entries of a list apart by all their keys, and by the types of these", () => {
    const owned = ours({ "f:ports": { 'k:{"port":80,"protocol":"UDP"}': { "f:name": {} } } });
    const port = (name: string, more: object) => ({ name, port: 80, protocol: "UDP", ...more });
    const others = [
      port("tcp", { protocol: "TCP" }),
      port("text", { port: "80" }),
      port("map", { port: {} }),
      1,
    ];
    const value = of({ ports: [...others, port("dns", {}), port("again", {})] }, owned);
    assert.match(value, /"dns"/);
    assert.doesNotMatch(value, /tcp|text|map|again/);
  });

  it("are nothing without an entry", () => {
    assert.equal(ownedValues(observed("Thing"), undefined), undefined);
  });

  it("differ for any two manifests that differ, and are the same for the same", () => {
    const data = fc.dictionary(fc.constantFrom("a", "b"), fc.constantFrom("1", "2"), { minKeys: 1 });
    const valuesOf = (content: object) => {
      const manifest = configMap({}, { data: content });
      const entry = entryOf(manifest, MANAGER);
      return JSON.stringify([entry.fieldsV1, ownedValues(observed("ConfigMap", { data: content }), entry)]);
    };
    fc.assert(
      fc.property(data, data, (one, other) => {
        const isSame = Object.keys({ ...one, ...other }).every((key) => one[key] === other[key]);
        const sorted = (map: Record<string, string>) => Object.fromEntries(Object.entries(map).sort());
        assert.equal(valuesOf(sorted(one)) === valuesOf(sorted(other)), isSame);
      }),
    );
  });
});

describe("applyEntry", () => {
  const find = (entry: ManagedFieldsEntry, subresource?: string) =>
    applyEntry(
      observed("ConfigMap", {}, { managedFields: [{ manager: "kubectl" }, entry] }),
      MANAGER,
      subresource,
    );
  const entry: ManagedFieldsEntry = { manager: MANAGER, operation: "Apply" };

  it("finds what we applied, and none of our other writes", () => {
    assert.equal(find(entry), entry);
    assert.equal(find({ ...entry, operation: "Update" }), undefined);
    assert.equal(find({ ...entry, subresource: "status" }), undefined);
    assert.equal(find({ ...entry, manager: "argosy/other" }), undefined);
  });

  it("finds what we have applied to a subresource, and not to the object itself", () => {
    const ofStatus = { ...entry, subresource: "status" };
    assert.equal(find(ofStatus, "status"), ofStatus);
    assert.equal(find(entry, "status"), undefined);
  });
});
