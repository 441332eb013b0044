import assert from "node:assert/strict";
import { stringify } from "yaml";
import { FixtureServer } from "../../cli/fixtures/fixtureServer";
import { runFixtures } from "../../cli/fixtures/runFixtures";
import type { Json } from "../../runtime/base/objects";
import {
  addFiles,
  loadDefinition,
  widgetCrd,
  widgetDefinition,
  widgetVersion,
  writeFolder,
} from "../unit/operatorFolder";
import { sharedCluster } from "./support/cluster";

const GROUP = "tried.example.com";

/** Its fields have rules that only an API server checks. */
const SPEC = {
  type: "object",
  properties: {
    min: { type: "integer" },
    max: { type: "integer" },
    fixed: { type: "string", "x-kubernetes-validations": [{ rule: "self == oldSelf", message: "is fixed" }] },
    every: { type: "string", format: "duration" },
    children: { type: "array", items: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
    status: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
  },
  "x-kubernetes-validations": [
    { rule: "!has(self.min) || !has(self.max) || self.min <= self.max", message: "min is more than max" },
  ],
};
const STATUS = {
  type: "object",
  properties: {
    size: { type: "integer", "x-kubernetes-validations": [{ rule: "self != 7", message: "is 7" }] },
  },
};

/** A kind of others. */
const gadget = widgetCrd(
  {
    group: `other.${GROUP}`,
    names: { kind: "Gadget", plural: "gadgets", singular: "gadget" },
    versions: [
      widgetVersion({}, { spec: { type: "object", properties: { size: { type: "integer", maximum: 3 } } } }),
    ],
  },
  { metadata: { name: `gadgets.other.${GROUP}` } },
);
const ofOthers = (kind: string, size: Json) => ({
  ...{ apiVersion: `other.${GROUP}/v1`, kind, metadata: { name: "g" } },
  spec: { size },
});
const pod = (fields: object) => ({
  ...{ apiVersion: "v1", kind: "Pod", metadata: { name: "p" } },
  spec: { containers: [{ name: "c", image: "a:1", ...fields }] },
});

describe("argosy test --server", function () {
  this.timeout(120_000);
  let server: FixtureServer;
  let folder: string;
  before(async function () {
    this.timeout(0);
    const { api } = await sharedCluster();
    server = new FixtureServer(api.client);
    const version = widgetVersion({}, { spec: SPEC, status: STATUS });
    const crd = widgetCrd({ group: GROUP, versions: [version] }, { metadata: { name: `widgets.${GROUP}` } });
    folder = writeFolder({
      "crd.yaml": crd,
      "main.js":
        "export const reconcile = ({ object: { spec = {} } }) => ({ children: spec.children ?? [], status: spec.status });\n",
      "fixtures/crds/gadget.yaml": gadget,
    });
    await server.install([operator()]);
  });

  const operator = () =>
    loadDefinition(folder, {
      ...widgetDefinition,
      name: "tried",
      handler: "main.js",
      children: ["v1/Pod", "v1/ConfigMap", `other.${GROUP}/v1/Gadget`, `other.${GROUP}/v1/Unknown`],
    });
  /** The results of one fixture, by step: whether it passed, and what is said. */
  const results = async (...specs: readonly object[]) => {
    const [first, ...later] = specs;
    const steps = [{ expect: {} }, ...later.map((spec) => ({ object: { spec }, expect: {} }))];
    const object = { metadata: { name: "a", namespace: "tried-fixtures" }, spec: first };
    addFiles(folder, { "fixtures/a.yaml": stringify({ object, steps }) });
    const found = await runFixtures(operator(), undefined, server);
    return found.map(
      ({ passed, differences, failure, unchecked }) =>
        [passed, [...differences, failure ?? "", ...(unchecked ?? [])].join("\n")] as const,
    );
  };

  const table: readonly (readonly [
    what: string,
    specs: readonly object[],
    ...said: readonly (RegExp | true)[],
  ])[] = [
    [
      "what every rule accepts",
      [
        { min: 1, max: 1, every: "5m", status: { size: 6 } },
        { min: 0, max: 1 },
      ],
      true,
      true,
    ],
    [
      "an object that breaks a rule in CEL",
      [{ min: 2, max: 1 }],
      /object: \.spec: Invalid value: .*min is more than max/,
    ],
    [
      "a format that only an API server knows",
      [{ every: "often" }],
      /object: \.spec\.every: Invalid value: .*duration/,
    ],
    [
      "a change that a rule forbids",
      [{ fixed: "a" }, { fixed: "b" }],
      true,
      /object: \.spec\.fixed: Invalid value: .*is fixed/,
    ],
    ["the status of an answer", [{ status: { size: 7 } }], /\.status\.size: Invalid value: .*is 7/],
    [
      "a child with a field of another type",
      [{ children: [pod({ tty: "always" })] }],
      /^Pod p: \.spec\.containers\[name="c"\]\.tty: expected boolean/,
    ],
    [
      "a child with an unknown field",
      [{ children: [pod({ containerPrt: 1 })] }],
      /^Pod p: \.spec\.containers\[name="c"\]\.containerPrt: field not declared in schema/,
    ],
    [
      "a child that lacks a field",
      [{ children: [pod({ image: "" })] }],
      /^Pod p: \.spec\.containers\[0\]\.image: Required value/,
    ],
    [
      "a child of a kind of others, of which fixtures/crds/ has the CRD",
      [{ children: [ofOthers("Gadget", 4)] }],
      /^Gadget g: \.spec\.size: Invalid value: 4/,
    ],
  ];
  for (const [what, specs, ...said] of table)
    it(`decides about ${what}`, async () => {
      const found = await results(...specs);
      assert.equal(found.length, said.length, JSON.stringify(found));
      for (const [index, each] of said.entries()) {
        const [passed, text] = found[index] ?? [];
        assert.equal(passed, each === true, text);
        if (each !== true) assert.match(text ?? "", each);
      }
    });

  it("says what it cannot check: a kind that it does not know, and a child that needs another object", async () => {
    assert.deepEqual(await results({ children: [ofOthers("Unknown", 1)] }), [
      [
        true,
        `\nUnknown (other.${GROUP}/v1): the API server does not serve this kind. Put its CRD into fixtures/crds/ of the operator`,
      ],
    ]);
    const needing = { ...pod({}), spec: { ...pod({}).spec, serviceAccountName: "none" } };
    const [[passed, text] = []] = await results({ children: [needing] });
    assert.equal(passed, true);
    assert.match(text ?? "", /Pod p: .*serviceaccount "none" not found$/);
  });

  it("names the operator whose CRD the API server refuses", async () => {
    const rule = { type: "object", "x-kubernetes-validations": [{ rule: "self.nothing > 1" }] };
    const root = writeFolder({
      "crd.yaml": widgetCrd(
        { group: `wrong.${GROUP}`, versions: [widgetVersion({}, { spec: rule })] },
        { metadata: { name: `widgets.wrong.${GROUP}` } },
      ),
      "main.js": "export const reconcile = () => ({ children: [] });\n",
    });
    const wrong = loadDefinition(root, { ...widgetDefinition, name: "wrong", handler: "main.js" });
    await assert.rejects(
      server.install([wrong]),
      /argosy-test-.*: the API server refused the CRD widgets\.wrong\..*undefined field 'nothing'/s,
    );
  });

  it("leaves none of the objects", async () => {
    await results({ min: 1 }, { min: 2 });
    const { api } = await sharedCluster();
    const { customResource } = operator();
    const resource = { ...customResource, apiVersion: `${GROUP}/v1` };
    assert.deepEqual(await api.client.listAll(resource, {}), []);
  });
});
