import assert from "node:assert/strict";
import fc from "fast-check";
import { fakeOf } from "../../cli/diff/secretMask";
import type { Question } from "../../cli/record/draft";
import { Fakes } from "../../cli/record/fakes";
import { recorded } from "../../cli/record/lean";
import { withoutMade } from "../../cli/record/secretMade";
import type { JsonObject, KubernetesObject, Manifest } from "../../runtime/base/objects";
import type { HandlerAnswer } from "../../runtime/handler/contract";
import { bytesOfText, readingsOf } from "../../runtime/secrets/secretReadings";
import { FORMS, secretValues } from "./support/secretForms";

const base64 = (text: string) => Buffer.from(text).toString("base64");
const decoded = (text: unknown) => Buffer.from(String(text), "base64").toString();

function secret(name: string, data: Record<string, string>, more: object = {}): Manifest {
  const encoded = Object.entries(data).map(([key, text]) => [key, base64(text)]);
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, namespace: "shop", ...more },
    data: Object.fromEntries(encoded),
  };
}

function fakesOf(...secrets: Manifest[]): Fakes {
  const fakes = new Fakes();
  for (const each of secrets) fakes.learn(each);
  return fakes;
}

describe("the fakes of argosy record", () => {
  it("take the place of values in Secrets and in all other texts, in every form", () => {
    const password = 'p@ss "tulip"\n';
    const fakes = fakesOf(secret("db", { password }));
    const given = {
      used: secret("db", { password }),
      child: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "copy" }, data: { copy: password } },
      status: {
        url: `postgres://app:${encodeURIComponent(password.trim())}@db`,
        json: JSON.stringify({ password: password.trim() }),
        encoded: [base64(password), base64(password.trim())],
      },
    };
    const text = JSON.stringify(fakes.inside(given));
    for (const part of ["p@ss", "p%40ss", "tulip", base64(password).slice(0, 8)])
      assert.ok(!text.includes(part), text);
    const inside = fakes.inside(given);
    const fake = decoded(inside.used.data && (inside.used["data"] as Record<string, string>).password);
    assert.match(fake, /^argosy-fake-[0-9a-f]{20}$/);
    assert.equal(inside.child.data.copy, fake);
    assert.deepEqual(inside.status.encoded, [base64(fake), base64(fake)]);
  });

  it("take the place of a value however long it is, as a bundle of certificates is", () => {
    const bundle = "certificate ".repeat(50_000).trim();
    const { text, encoded } = fakesOf(secret("ca", { bundle })).inside({
      text: `<${bundle}>`,
      encoded: base64(bundle),
    });
    assert.match(text, /^<argosy-fake-[0-9a-f]{20}>$/);
    assert.equal(`<${decoded(encoded)}>`, text);
  });

  it("are the same for the same value, and the same each time", () => {
    const [mine, copy] = [
      secret("mine", { token: "secret-token" }),
      secret("copy", { other: "secret-token" }),
    ];
    const given = fakesOf(mine, copy).inside([mine, copy]) as Manifest[];
    const [one, other] = given.map((each) => Object.values(each["data"] as object)[0]);
    assert.equal(one, other);
    assert.deepEqual(fakesOf(mine, copy).inside([mine, copy]), given);
  });

  it("leave an empty value empty, short words outside of Secrets, keys, and what names an object", () => {
    const named = secret("db", { empty: "", short: "true", username: "postgres", password: "password" });
    const fakes = fakesOf(named);
    const other = {
      apiVersion: "postgres.example.com/v1",
      kind: "postgres",
      metadata: { name: "postgres", labels: { password: "postgres" } },
      spec: { password: "x", flag: "true" },
    };
    const inside = fakes.inside([named, other]) as Manifest[];
    const data = inside[0]?.["data"] as Record<string, string>;
    assert.deepEqual(Object.keys(data), ["empty", "short", "username", "password"]);
    assert.equal(data.empty, "");
    assert.notEqual(decoded(data.short), "true");
    assert.deepEqual(
      { ...inside[1], metadata: { name: "postgres" } },
      { ...other, metadata: { name: "postgres" } },
    );
    assert.match(inside[1]?.metadata.labels?.password ?? "", /^argosy-fake-/);
  });

  it("leave an answered Secret in the handler's form, and no value that was learnt in it", () => {
    const given = secret("db", { token: "secret-token" });
    const fakes = fakesOf(given);
    const answered = { apiVersion: "v1", kind: "Secret", metadata: { name: "own" } };
    const answer = {
      children: [{ ...answered, stringData: { url: "db://secret-token@db", own: "generated" } }],
      status: { token: base64("secret-token") },
    };
    const told = fakes.outside(answer);
    assert.match(told.children[0]?.stringData.url ?? "", /^db:\/\/argosy-fake-[0-9a-f]{20}@db$/);
    assert.equal(told.children[0]?.stringData.own, "generated");
    assert.match(decoded(told.status.token), /^argosy-fake-/);
  });

  it("take the place of what kubectl applied last", () => {
    const annotations = { "kubectl.kubernetes.io/last-applied-configuration": "secret-token", a: "b" };
    const given = secret("db", { token: "secret-token" }, { annotations });
    assert.deepEqual(fakesOf(given).inside(given).metadata.annotations, { a: "b" });
  });

  it("stay as they are, even if a value is a part of them", () => {
    const given = secret("db", { word: "argosy", other: "-fake-", third: "argosy-" });
    const fakes = fakesOf(given);
    const once = fakes.inside({ given, note: "argosy" });
    assert.deepEqual(fakes.inside({ note: once.note }), { note: once.note });
    assert.match(once.note, /^argosy-fake-/);
  });

  for (const [name, form] of Object.entries(FORMS))
    it(`leave no value, whatever its characters are: ${name}`, () => {
      fc.assert(
        fc.property(secretValues(), (value) => {
          const given = secret("db", { key: value });
          const text = fakesOf(given).inside(`= ${form(value)} =`);
          const bytes = [...readingsOf(bytesOfText(text))].map((reading) => reading.bytes);
          const says = (word: string) =>
            bytes.some((each) => each.includes(Buffer.from(word).toString("latin1")));
          assert.ok(!says(value) && says(fakeOf(given, "key")), text);
        }),
      );
    });

  it("are written as the value was, also within a longer base64", () => {
    const given = secret("db", { one: "the first", two: "the-second" });
    const made = ["one", "two"].map((key) => fakeOf(given, key));
    const written = ([first, second]: (string | undefined)[]) => {
      const basic = base64(`admin:${first}`);
      const config = JSON.stringify({ auths: { hub: { auth: basic } }, more: `${second}/${first}` });
      const path = Buffer.from(`${first}?${second}>`).toString("base64url");
      return [config, base64(config), `/api/${path}`, Buffer.from(`${first}`).toString("hex"), `<${first}…`];
    };
    const fakes = fakesOf(given);
    assert.deepEqual(fakes.inside(written(["the first", "the-second"])), written(made));
    assert.equal(fakes.inside("?t=the%20first+%22"), `?t=${made[0]}+%22`);
  });
});

/** A Deployment as an API server gives it: defaults filled in, its status reported by its controller. */
const deployment: KubernetesObject = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: {
    name: "sessions",
    namespace: "shop",
    uid: "u1",
    resourceVersion: "7",
    generation: 2,
    creationTimestamp: "2026-01-01T00:00:00Z",
    labels: { app: "sessions", "argosy.dev/child-of": "argosy.cache", "argosy.dev/owner-uid": "u0" },
    annotations: { "deployment.kubernetes.io/revision": "1" },
    ownerReferences: [{ apiVersion: "v1", kind: "Cache", name: "sessions", uid: "u0" }],
    managedFields: [
      {
        manager: "argosy/argosy.cache",
        operation: "Apply",
        fieldsV1: {
          "f:spec": {
            "f:replicas": {},
            "f:template": {
              "f:spec": {
                "f:containers": {
                  'k:{"name":"main"}': { ".": {}, "f:name": {}, "f:image": {}, "f:args": {} },
                },
              },
            },
          },
        },
      },
      { manager: "kube-controller-manager", subresource: "status", fieldsV1: { "f:status": {} } },
    ],
  },
  spec: {
    replicas: 2,
    progressDeadlineSeconds: 600,
    template: {
      spec: {
        containers: [
          { name: "main", image: "a:1", args: ["-m", "64"], imagePullPolicy: "IfNotPresent" },
          { name: "injected", image: "b:1" },
        ],
        restartPolicy: "Always",
      },
    },
  },
  status: { replicas: 2, observedGeneration: 2 },
};

describe("what argosy record leaves of an object", () => {
  it("lean: what a client has set, and the status, without what the API server and Argosy count", () => {
    assert.deepEqual(recorded(deployment, "lean", false), {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "sessions", namespace: "shop", generation: 2, labels: { app: "sessions" } },
      spec: {
        replicas: 2,
        template: { spec: { containers: [{ name: "main", image: "a:1", args: ["-m", "64"] }] } },
      },
      status: { replicas: 2, observedGeneration: 2 },
    });
  });

  it("lean: that a handler is given only the metadata", () => {
    const annotations = { "argosy.dev/truncated": "true", "argosy.dev/owner": "shop/sessions" };
    const { apiVersion, kind, metadata } = deployment;
    const child = { apiVersion, kind, metadata: { ...metadata, annotations } };
    const { metadata: left } = recorded(child, "lean", false) as unknown as KubernetesObject;
    assert.deepEqual(left.annotations, { "argosy.dev/truncated": "true" });
  });

  it("identified: with uid, times and owners too", () => {
    const { metadata } = recorded(deployment, "identified", false) as unknown as KubernetesObject;
    assert.equal(metadata.uid, "u1");
    assert.equal(metadata.creationTimestamp, "2026-01-01T00:00:00Z");
    assert.equal(metadata.ownerReferences?.[0]?.uid, "u0");
    assert.equal(metadata.resourceVersion, undefined);
  });

  it("whole: everything but managedFields", () => {
    const { managedFields: _, ...metadata } = deployment.metadata;
    assert.deepEqual(recorded(deployment, "whole", false), { ...deployment, metadata });
  });

  it("of a custom resource the handler's own status and conditions, without the engine's", () => {
    const own = { type: "Backed", status: "True", observedGeneration: 1 };
    const ready = { type: "Ready", status: "True", observedGeneration: 1 };
    const object = (status: object, finalizers?: string[]): KubernetesObject => ({
      apiVersion: "shop.example.com/v1",
      kind: "Cache",
      metadata: { name: "a", uid: "u", resourceVersion: "1", ...(finalizers && { finalizers }) },
      spec: { size: 1 },
      status,
    });
    const memory = { kinds: [] };
    const finalizers = [
      "argosy.dev/argosy.cache",
      "other.example.com/keep",
      "elsewhere.argosy.dev/argosy.cache",
    ];
    const both = { observedGeneration: 1, ready: 2, conditions: [ready, own], argosy: memory };
    assert.deepEqual(recorded(object(both, finalizers), "lean", true), {
      apiVersion: "shop.example.com/v1",
      kind: "Cache",
      metadata: { name: "a", finalizers: ["other.example.com/keep"] },
      spec: { size: 1 },
      status: { ready: 2, conditions: [own] },
    });
    assert.equal(recorded(object({ conditions: [ready], argosy: memory }), "lean", true).status, undefined);
    // What others report stays as it is, whatever they call it.
    assert.deepEqual(recorded(object(both), "lean", false).status, both);
  });
});

describe("what a fixture has of things that are made of Secrets", () => {
  const child = (name: string, content: JsonObject, namespace?: string): JsonObject => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, ...(namespace !== undefined && { namespace }) },
    ...content,
  });
  const question = (more: Partial<Question>): Question => ({
    event: "reconcile",
    object: { metadata: { name: "a", namespace: "shop" } },
    children: [],
    used: {},
    ...more,
  });
  const answer = (hash: string, list: string[] = [hash, "x"]) =>
    ({
      children: [child("made", { data: { hash, kept: "answered" }, list, both: { deep: hash } })],
      status: { hash, kept: "answered" },
      state: { hash },
    }) as unknown as HandlerAnswer;

  it("is what the handler makes of the fakes, and all else is as it was", () => {
    const live = (hash: string) => ({
      data: { hash, kept: "live", own: "live" },
      list: [hash, "live"],
      both: { deep: hash },
    });
    const status = (hash: string) => ({ hash, kept: "live", own: "live" });
    const of = (hash: string) =>
      question({
        object: { metadata: { name: "a", namespace: "shop" }, status: status(hash) },
        children: [child("made", live(hash), "shop"), child("foreign", live("real"), "shop")],
        state: { hash, more: 1 },
      });
    assert.deepEqual(withoutMade(of("real"), answer("one"), answer("two")), of("one"));
  });

  it("is all of a list that has another length, and of what only one answer has", () => {
    const given = question({ children: [child("made", { list: ["real", "x", "y"] }, "shop")] });
    const { children } = withoutMade(given, answer("one"), answer("two"));
    assert.deepEqual(children[0]?.["list"], ["one", "x"]);
    const none = { children: [] } as unknown as HandlerAnswer;
    assert.deepEqual(withoutMade(given, answer("one"), none).children[0]?.["list"], ["one", "x"]);
  });

  it("is not known of an answer that is an error, or that was not asked for", () => {
    const given = question({
      children: [child("made", { data: { hash: "real" } })],
      state: { hash: "real" },
    });
    const failed: HandlerAnswer = { error: { message: "no" } };
    for (const [one, other] of [
      [failed, failed],
      [undefined, undefined],
    ])
      assert.deepEqual(withoutMade(given, one, other), given);
  });
});
