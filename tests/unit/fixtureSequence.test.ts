import assert from "node:assert/strict";
import { madeReady, merged, observedAfter } from "../../cli/fixtures/sequence";
import type { JsonObject, KubernetesObject, Manifest } from "../../runtime/base/objects";
import { readinessOf } from "../../runtime/observe/readiness";
import { type DesiredChild, desiredChildren } from "../../runtime/write/desiredChildren";
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
