import assert from "node:assert/strict";
import path from "node:path";
import { checkOperators } from "../../definition/checkOperators";
import { loadOperator } from "../../definition/loadOperator";
import type { OperatorError } from "../../definition/problems";
import type { JsonObject } from "../../runtime/base/objects";
import {
  addFiles,
  loadDefinition,
  problemsOf,
  widgetCrd,
  widgetDefinition,
  writeFolder,
} from "./operatorFolder";
import { titleOf } from "./support/titles";

const WATCH = { apiVersion: "apps/v1", kind: "Deployment", labels: { notify: "true" } };

describe("a definition with watch", () => {
  let root: string;
  let folder: string;

  beforeEach(() => {
    root = writeFolder({ "notify/main.py": "", "notify/crd.yaml": widgetCrd() });
    folder = path.join(root, "notify");
  });

  const { crd: _, ...others } = widgetDefinition;
  const definition = (more: JsonObject = {}) => ({
    ...others,
    children: ["v1/ConfigMap"],
    watch: WATCH,
    ...more,
  });
  const watching = (watch: JsonObject, more: JsonObject = {}) => definition({ watch, ...more });

  it("has the watched kind in the place of its own, and every change counts by default", () => {
    const operator = loadDefinition(folder, definition());
    assert.deepEqual(operator.customResource, {
      group: "apps",
      version: "v1",
      kind: "Deployment",
      plural: "deployments",
      namespaced: true,
    });
    assert.deepEqual(operator.watch, { labels: { notify: "true" }, on: ["spec", "status", "labels"] });
    assert.deepEqual(operator.crd, {});
    assert.equal(operator.namespaces, "all");
  });

  it("may name the core group, a plural, the parts that count, and namespaces in either place", () => {
    const pods = loadDefinition(folder, watching({ apiVersion: "v1", kind: "Pod", on: ["labels", "spec"] }));
    assert.deepEqual([pods.customResource.group, pods.customResource.version], ["", "v1"]);
    assert.deepEqual(pods.watch, { labels: {}, on: ["spec", "labels"] });
    const foreign = { apiVersion: "data.example.com/v1", kind: "Index", plural: "indices" };
    assert.equal(loadDefinition(folder, watching(foreign)).customResource.plural, "indices");
    for (const given of [watching({ ...WATCH, namespaces: ["a"] }), definition({ namespaces: ["a"] })])
      assert.deepEqual(loadDefinition(folder, given).namespaces, ["a"]);
    const overrides = { notify: { namespaces: ["b"] } };
    loadDefinition(folder, watching({ ...WATCH, namespaces: ["a"] }));
    assert.deepEqual(loadOperator(folder, { overrides }).namespaces, ["b"]);
  });

  const refused: readonly [definition: object, problem: RegExp][] = [
    [
      { ...definition(), crd: "crd.yaml" },
      /^watch is given together with crd\. Keep crd for a kind of your own/,
    ],
    [others, /^crd is missing\. .* Or give watch\./],
    [definition({ finalize: true }), /^finalize has no meaning with watch: nothing is written on objects/],
    [
      definition({
        on: {
          comment: {
            webhook: { port: "12000", endpoint: "/c", method: "POST", authSecret: { name: "a", key: "b" } },
            id: ["body.id"],
            create: { kind: "Deployment", namespace: "a", spec: {} },
          },
        },
      }),
      /^on\.comment\.create has no meaning with watch: only their owners create such objects\. /,
    ],
    [
      definition({ userRoles: true }),
      /^userRoles has no meaning with watch: the kind belongs to others, and so do its roles\. Leave it out\./,
    ],
    [
      definition({ formerNames: ["shop.notify"] }),
      /^formerNames\[0\] is "shop\.notify", a name in another installation, whose memories/,
    ],
    [watching({ apiVersion: "apps/v1", kind: "*" }), /^watch\.kind is "\*", not a kind\. /],
    [watching({ apiVersion: "*", kind: "Pod" }), /^watch\.apiVersion is "\*", not a group/],
    [
      watching({ ...WATCH, labels: { app: "*" } }),
      /^watch\.labels\.app is "\*", a wildcard: a label has one value\. /,
    ],
    [watching({ ...WATCH, labels: { "a b": "" } }), /^watch\.labels\.a b is "a b", not the name/],
    [
      watching({ ...WATCH, labels: { notify: true } }),
      /^watch\.labels\.notify must be a string, not true: write it in quotes\. /,
    ],
    [watching({ ...WATCH, on: ["data"] }), /^watch\.on\[0\] is "data", not one of "spec", "status", /],
    [watching({ ...WATCH, on: [] }), /^watch\.on is empty\. /],
    [watching({ apiVersion: "v1", kind: "Deployment" }), /^watch\.apiVersion is "v1", which has no D/],
    [
      watching({ apiVersion: "v1", kind: "ConfigMap" }),
      /^children\[0\] is ConfigMap, and every ConfigMap is watched: each object would create another one without end\. /,
    ],
    [
      watching({ ...WATCH, labels: { "argosy.dev/child-of": "argosy.notify" } }),
      /^watch\.labels\.argosy\.dev\/child-of has the value "argosy\.notify", which the operator's own children have/,
    ],
    [watching({ apiVersion: "v1", kind: "Event" }), /^watch\.kind is Event, which Argosy itself writes/],
    [
      watching({ apiVersion: "coordination.k8s.io/v1", kind: "Lease" }),
      /^watch\.kind is Lease, which Argosy itself writes/,
    ],
    [
      watching({ apiVersion: "argosy.dev/v1", kind: "Memory" }),
      /^watch\.apiVersion is "argosy\.dev\/v1", a group of Argosy's own/,
    ],
    [
      watching({ apiVersion: "v1", kind: "Secret" }),
      /^watch\.kind is Secret, and the runner could read every Secret of the cluster\. /,
    ],
    [
      watching({ apiVersion: "v1", kind: "Node" }, { namespaces: ["a"], children: [] }),
      /^namespaces is a list, but a Node is cluster-scoped\. Write all\./,
    ],
    [
      watching({ ...WATCH, namespaces: ["a"] }, { namespaces: ["a"] }),
      /^namespaces is given in watch as well\. Keep one of the two\./,
    ],
  ];
  for (const [given, expected] of refused) {
    it(`is refused: ${titleOf(expected)}`, () => {
      const problems = problemsOf(folder, given);
      assert.equal(problems.length, 1, problems.join("\n"));
      assert.match(problems[0] ?? "", expected);
    });
  }

  it("may have children of its own kind if a label distinguishes them from the watched ones", () => {
    const given = watching({ apiVersion: "v1", kind: "ConfigMap", labels: { copy: "me" } });
    assert.deepEqual(problemsOf(folder, given), []);
  });

  it("may watch what another operator watches, and not the own kind of another", () => {
    const load = (name: string, given: object) => {
      addFiles(root, { [`${name}/main.py`]: "", [`${name}/crd.yaml`]: widgetCrd() });
      return loadDefinition(path.join(root, name), given);
    };
    checkOperators([load("one", definition()), load("two", definition())]);
    const own = load("own", widgetDefinition);
    const prying = load("prying", watching({ apiVersion: "shop.example.com/v1", kind: "Widget" }));
    for (const operators of [
      [own, prying],
      [prying, own],
    ]) {
      assert.throws(
        () => checkOperators(operators),
        (error: OperatorError) =>
          /watch\.kind is Widget, which .*own\/operator\.yaml/.test(error.message) &&
          error.problems.length === 1,
      );
    }
  });
});
