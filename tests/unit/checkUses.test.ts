import assert from "node:assert/strict";
import path from "node:path";
import type { JsonObject } from "../../runtime/base/objects";
import {
  loadDefinition,
  problemsOf,
  removeFolder,
  widgetCrd,
  widgetDefinition,
  widgetVersion,
  writeFolder,
} from "./operatorFolder";

const text = { type: "string" };
const SPEC: JsonObject = {
  type: "object",
  properties: {
    credentialsSecret: text,
    size: { type: "integer" },
    mounts: { type: "array", items: { type: "object", properties: { configMap: text } } },
    byName: { type: "object", additionalProperties: text },
    open: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
  },
};

describe("what a definition says that its objects use", () => {
  let root: string;
  let folder: string;
  const crd = (more: JsonObject = {}) =>
    widgetCrd({ versions: [widgetVersion({}, { spec: SPEC })], ...more });
  const write = (more: JsonObject = {}) => {
    root = writeFolder({ "widget/crd.yaml": crd(more), "widget/main.py": "" });
    folder = path.join(root, "widget");
  };
  beforeEach(() => write());
  const problems = (uses: object, more: object = {}) =>
    problemsOf(folder, { ...widgetDefinition, uses, ...more });
  const secret = (more: object) => ({ creds: { apiVersion: "v1", kind: "Secret", ...more } });
  const map = (more: object) => ({ map: { apiVersion: "v1", kind: "ConfigMap", ...more } });

  it("is taken with paths, constants, labels, a namespace and names", () => {
    const uses = {
      credentials: { apiVersion: "v1", kind: "Secret", name: "spec.credentialsSecret", names: ["a"] },
      settings: { apiVersion: "v1", kind: "ConfigMap", name: "'settings'", namespace: "shared" },
      peers: {
        apiVersion: "shop.example.com/v1",
        kind: "Widget",
        labels: { app: "metadata.name", x: "'y'" },
      },
      each: { apiVersion: "v1", kind: "ConfigMap", name: "spec.mounts[*].configMap" },
      key: { apiVersion: "v1", kind: "ConfigMap", name: "spec.byName.any" },
      open: { apiVersion: "v1", kind: "ConfigMap", name: "spec.open.whatever[*].it" },
      note: { apiVersion: "v1", kind: "ConfigMap", name: "metadata.annotations['example.com/uses']" },
    };
    const { uses: loaded } = loadDefinition(folder, { ...widgetDefinition, uses });
    assert.deepEqual(loaded["credentials"], { ...uses.credentials, plural: "secrets" });
    assert.equal(loaded["peers"]?.plural, "widgets");
  });

  const refused: readonly [what: string, uses: object, expected: RegExp, more?: object][] = [
    [
      "a path that names no field",
      secret({ name: "spec.credentialSecret" }),
      /^uses\.creds\.name is spec\.credentialSecret, and the CRD's schema has no spec\.credentialSecret\. Did you mean credentialsSecret\?$/,
    ],
    [
      "a path beyond a field",
      map({ name: "spec.mounts[*].configMpa" }),
      /has no spec\.mounts\[\*\]\.configMpa\. Did you mean configMap\?/,
    ],
    [
      "a path into a list",
      map({ name: "spec.mounts.configMap" }),
      /is a path into spec\.mounts, a list\. Write spec\.mounts\[\*\]\./,
    ],
    [
      "a list as a name",
      map({ name: "spec.mounts" }),
      /is spec\.mounts, which is of type array, not a string\. Write spec\.mounts\[\*\]/,
    ],
    ["a number as a name", map({ name: "spec.size" }), /is of type integer, not a string/],
    ["[*] of no list", map({ name: "spec.byName[*]" }), /has \[\*\] after spec\.byName, which is not a list/],
    [
      "a path into the status",
      map({ name: "status.map" }),
      /is status\.map, which is not in spec or metadata/,
    ],
    [
      "a word without quotes",
      map({ name: "settings" }),
      /Is it a constant\? Then write it in quotes of its own: "'settings'"/,
    ],
    [
      "a field that metadata has not",
      map({ name: "metadata.nmae" }),
      /is metadata\.nmae, which is not a field\. Did you mean name\?/,
    ],
    ["all labels as a name", map({ name: "metadata.labels" }), /which is not a string\. Name one of them/],
    ["no path at all", map({ name: "spec..x" }), /is not a field path/],
    ["an empty constant", map({ name: "''" }), /cannot be the name of an object/],
    ["a constant that is a path of a URL", map({ name: "'a/b'" }), /cannot be the name of an object/],
    [
      "name and labels",
      map({ name: "spec.size", labels: { a: "'b'" } }),
      /^uses\.map\.labels is given together with name/,
    ],
    ["neither name nor labels", map({}), /^uses\.map has neither name nor labels/],
    [
      "no labels in labels",
      map({ labels: {} }),
      /^uses\.map\.labels is empty, and would select every object/,
    ],
    ["a label that no label can be", map({ labels: { a: "'b c'" } }), /cannot be the value of a label/],
    ["a label of no name", map({ labels: { "a b": "'c'" } }), /not the name of a label/],
    [
      "a namespace that is a path",
      map({ name: "'a'", namespace: "spec.namespace" }),
      /^uses\.map\.namespace is "spec\.namespace", not the name of a namespace/,
    ],
    [
      "names together with a constant",
      map({ name: "'a'", names: ["a"] }),
      /is only for a name that is the path of a field/,
    ],
    [
      "a kind under a wrong group",
      { x: { apiVersion: "apps/v1", kind: "Secret", name: "'a'" } },
      /which has no Secret/,
    ],
    [
      "a namespace of a kind that is in none",
      { x: { apiVersion: "v1", kind: "Node", name: "'a'", namespace: "b" } },
      /is given for Node, which is cluster-scoped/,
    ],
    [
      "a kind in no namespace, of an operator of some",
      { x: { apiVersion: "v1", kind: "Node", name: "'a'" } },
      /is Node, which is cluster-scoped/,
      { namespaces: ["a"] },
    ],
    [
      "Secrets by labels in all namespaces",
      secret({ labels: { a: "'b'" } }),
      /anyone who may list those may read every Secret\. Give namespace, or/,
    ],
    ["a key that is no name", { "a-b": map({ name: "'a'" }).map }, /"a-b", not a name of letters and digits/],
    ["a misspelt field", map({ nmae: "'a'", name: "'a'" }), /Did you mean name\?/],
  ];
  for (const [what, uses, expected, more] of refused) {
    it(`is refused with ${what}`, () => {
      const [problem = "nothing was refused", ...others] = problems(uses, more);
      assert.match(problem, expected);
      if (!/name and labels/.test(what)) assert.deepEqual(others, []);
    });
  }

  it("is refused with line and column", () => {
    const file = path.join(folder, "operator.yaml");
    assert.throws(
      () => loadDefinition(folder, { ...widgetDefinition, uses: secret({ name: "spec.nothing" }) }),
      new RegExp(`${path.basename(file)}:\\d+:\\d+: uses\\.creds\\.name is spec\\.nothing`),
    );
  });

  it("needs a namespace where the custom resource has none", () => {
    removeFolder(root);
    write({ scope: "Cluster" });
    assert.match(problems(map({ name: "'a'" }))[0] ?? "", /the CRD's scope is Cluster\. Give the namespace/);
    assert.deepEqual(problems(map({ name: "'a'", namespace: "shared" })), []);
  });
});
