import assert from "node:assert/strict";
import { ownerRangeOf } from "../../runtime/base/names";
import type { Json, Manifest } from "../../runtime/base/objects";
import { ownerMark } from "../../runtime/observe/ownership";
import { always, eventually } from "../support/eventually";
import { HOSTILE_TEXTS } from "../unit/support/hostile";
import { configMap, inNamespace } from "./support/manifests";
import { postText } from "./support/rawRequest";
import type { Plan } from "./support/testOperator";
import { answering, conditionOf, statusOf, useOperator } from "./support/useOperator";

/** A line with a child of any metadata and content, as text: no JSON of ours would write some of it. */
const child = (metadata: string, rest = "") =>
  `{"id":"$ID","children":[{"apiVersion":"v1","kind":"ConfigMap","metadata":${metadata}${rest}}]}`;
const kind = (apiVersion: string, name: string) =>
  `{"id":"$ID","children":[{"apiVersion":"${apiVersion}","kind":"${name}","metadata":{"name":"x"}}]}`;

describe("an attacker who writes custom resources, or what a handler answers,", function () {
  this.timeout(120_000);
  const bench = useOperator({
    name: "security-test",
    children: ["v1/ConfigMap", "v1/Secret", "apiextensions.k8s.io/v1/CustomResourceDefinition"],
  });
  const here = (manifest: Manifest) => inNamespace(manifest, bench.namespace);
  const secret = (name: string, stringData: Record<string, string>): Manifest => ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name },
    stringData,
  });

  const rbac = "rbac.authorization.k8s.io/v1";
  for (const [what, raw, expected] of [
    ["a path for a name", child('{"name":"../secrets/token"}'), /metadata\.name must be a Kubernetes name/],
    ["a role", kind(rbac, "ClusterRoleBinding"), /ClusterRoleBinding .*does not declare/],
    [
      "another owner",
      child('{"name":"a","ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n","uid":"u"}]}'),
      /names Node n as its owner/,
    ],
    ["an id that is no text", '{"children":[],"id":{"toString":1}}', /"id" is \{.*which no request had/],
    [
      "100,000 levels",
      `{"id":"$ID","children":[],"status":{"x":${"[".repeat(1e5)}${"]".repeat(1e5)}}}`,
      /500 levels deep/,
    ],
    [
      "10,000 children",
      JSON.stringify({ id: "$ID", children: Array.from({ length: 1e4 }, () => ({})) }),
      /10000 entries, more than the 5000/,
    ],
  ] as const) {
    it(`is refused ${what}, and nothing of that answer is applied`, async () => {
      const object = await bench.applyObject("hostile", { raw });
      const { message } = await bench.failed(object, "InvalidAnswer");
      assert.match(message, expected);
      assert.deepEqual(await bench.api.list({ apiVersion: "v1", kind: "Secret" }, bench.namespace), []);
      const found = await bench.api.list({ apiVersion: "v1", kind: "ConfigMap" }, bench.namespace);
      assert.deepEqual(
        found.map(({ metadata }) => metadata.name).filter((name) => name !== "kube-root-ca.crt"),
        [],
      );
    });
  }

  it("cannot stop other objects or a restart of the engine by an object of 9,000 levels, which says what is wrong", async () => {
    const { group, plural } = bench.operator.operator.customResource;
    const levels = 9_000;
    const deep = bench.operator.object("deep", {}, bench.namespace);
    const spec = `{"x":${'{"a":'.repeat(levels)}1${"}".repeat(levels)}}`;
    const path = `/apis/${group}/v1/namespaces/${bench.namespace}/${plural}`;
    const text = JSON.stringify(deep).replace('"spec":{}', `"spec":${spec}`);
    assert.equal(await postText(bench.operator.cluster.connection, path, text), 201);
    try {
      const condition = await bench.failed(deep, "HandlerNotStarted");
      assert.match(condition.message, /nested too deeply/);
      assert.equal(conditionOf(await bench.api.get(deep), "Stalled").status, "True");
      await bench.applied("shallow", answering(configMap("shallow")));
      const next = await bench.operator.start({ identity: "two" });
      await next.stop();
    } finally {
      await bench.api.delete(deep);
    }
  });

  it("finds templates, shell code and terminal codes carried as text, and never run", async () => {
    // A surrogate without its other half is no text that the API server could keep.
    const texts = HOSTILE_TEXTS.filter((text) => !/\p{Surrogate}/u.test(text));
    const data = Object.fromEntries(texts.map((text, index) => [`k${index}`, text]));
    await bench.applied("texts", answering(configMap("texts", data)));
    assert.deepEqual((await bench.api.get(here(configMap("texts"))))["data"], data);
  });

  it("cannot make a message forge a line or control a terminal: condition, Event and report", async () => {
    const message = 'red \u001b[31malert\u001b[0m \u009b2J\u202etxt\u2028{{=1+1}}\n{"level":"error"}';
    const object = await bench.applyObject("messages", { answer: { error: { message } } } as Plan);
    const condition = await bench.failed(object, "HandlerError");
    const harmless = 'red alert 2Jtxt{{=1+1}}\n{"level":"error"}';
    assert.equal(condition.message, harmless);
    await eventually(async () => {
      const events = await bench.api.list({ apiVersion: "events.k8s.io/v1", kind: "Event" }, bench.namespace);
      assert.ok(events.some(({ note }) => note === harmless));
    });
  });

  it("changes no prototype by __proto__ and constructor, which are fields like any other", async () => {
    const data = '"data":{"__proto__":"1","constructor":"2"}';
    const status =
      '"status":{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"toString":"x"}';
    const line = `${child('{"name":"proto"}', `,${data}`).slice(0, -1)},${status}}`;
    const object = await bench.ready(await bench.applyObject("proto", { raw: line }));
    const found = (await bench.api.get(here(configMap("proto"))))["data"] as object;
    assert.deepEqual(Object.entries(found), [
      ["__proto__", "1"],
      ["constructor", "2"],
    ]);
    assert.equal(({} as { polluted?: true }).polluted, undefined);
    assert.equal(statusOf(object)["toString"], "x");
    // A field that every object of JavaScript seems to have goes as well when it is no longer answered.
    const after = await bench.applied("proto", answering(configMap("proto")));
    assert.ok(!Object.hasOwn(statusOf(after), "toString"), "the field stays");
  });

  it("gets no answer with doubled keys applied, of which one could be checked and another applied", async () => {
    const pods = '"children":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"}}]';
    for (const [name, fields] of [
      ["last", `"children":[],${pods}`],
      ["first", `${pods},"children":[]`],
    ] as const)
      await bench.failed(await bench.applyObject(name, { raw: `{"id":"$ID",${fields}}` }), "InvalidAnswer");
  });

  it("cannot read or change a Secret of others by naming it as a child", async () => {
    const theirs = await bench.api.create(here(secret("theirs", { password: "hunter2" })));
    const object = await bench.applyObject("thief", answering(secret("theirs", { password: "mine" })));
    await bench.failed(object, "ChildConflict");
    await bench.reconcileAgain(object);
    for (const call of bench.operator.calls("thief")) assert.deepEqual(call.children, []);
    assert.deepEqual(await bench.api.get(theirs), theirs);
  });

  it("cannot change a CRD that is not the object's own child, not even the operator's", async () => {
    const { group, plural } = bench.operator.operator.customResource;
    const reference = {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: `${plural}.${group}` },
    };
    const before = await bench.api.get(reference);
    const object = await bench.applyObject(
      "owner",
      answering({ ...reference, spec: before["spec"] as Json }),
    );
    await bench.failed(object, "ChildConflict");
    assert.deepEqual((await bench.api.get(reference))["spec"], before["spec"]);
  });

  it("cannot make another's object a child by writing our labels and annotations", async () => {
    const victim = await bench.applied("victim", answering(configMap("real")));
    const { uid } = victim.metadata;
    const marks = {
      labels: { "argosy.dev/owner-uid": uid, "argosy.dev/child-of": "argosy.security-test" },
      annotations: { "argosy.dev/owner": ownerMark(victim, victim.metadata) },
    };
    const forged = await bench.api.create(here(configMap("forged", {}, marks)));
    await bench.reconcileAgain(victim);
    const seen = bench.operator
      .calls("victim")
      .at(-1)
      ?.children.map(({ metadata }) => metadata.name);
    assert.deepEqual(seen, ["real"]);
    await always(async () => assert.deepEqual(await bench.api.get(forged), forged));
  });

  it("cannot give a child another owner or operator, or adopt objects of others, by its own labels and annotations", async () => {
    const marks = {
      labels: {
        "argosy.dev/owner-uid": "another",
        "argosy.dev/owner-range": "another",
        "argosy.dev/child-of": "argosy.another",
      },
      annotations: { "argosy.dev/owner": "kube-system/another" },
    };
    const { metadata } = await bench.applied("marks", answering(configMap("marks", {}, marks)));
    const found = (await bench.api.get(here(configMap("marks")))).metadata;
    assert.deepEqual(found.labels, {
      "argosy.dev/child-of": "argosy.security-test",
      "argosy.dev/owner-range": ownerRangeOf(metadata.uid),
      "argosy.dev/owner-uid": metadata.uid,
    });
    assert.deepEqual(found.annotations, undefined);
    assert.deepEqual(
      found.ownerReferences?.map(({ uid }) => uid),
      [metadata.uid],
    );
  });

  for (const [what, bytes] of [
    ["what etcd takes", 2_000_000],
    ["what the API server takes", 3_500_000],
  ] as const) {
    it(`is told that a status or a child is larger than ${what}`, async () => {
      const x = "x".repeat(bytes);
      const object = await bench.applied("large", answering());
      bench.operator.plan("large", { answer: { children: [], status: { x } } });
      await bench.api.annotate(object, { "argosy.dev/reconcile-at": "status" });
      await bench.failed(object, "StatusRefused");
      bench.operator.plan("large", answering(configMap("large", { x })));
      await bench.api.annotate(object, { "argosy.dev/reconcile-at": "child" });
      const { message } = await bench.failed(object, "ChildRefused");
      assert.match(message, /ConfigMap .*large/);
      bench.operator.unplan("large");
    });
  }

  it("has a status of 1 MB written as any other", async () => {
    const x = "x".repeat(1_000_000);
    const object = await bench.applied("megabyte", {});
    bench.operator.plan("megabyte", { answer: { children: [], status: { x } } });
    await bench.api.annotate(object, { "argosy.dev/reconcile-at": "now" });
    await eventually(async () => assert.equal(statusOf(await bench.api.get(object))["x"], x));
    bench.operator.unplan("megabyte");
  });
});
