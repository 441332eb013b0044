import assert from "node:assert/strict";
import fc from "fast-check";
import { childKey, contentOf } from "../../runtime/children/childOrder";
import type { DesiredChild } from "../../runtime/children/desiredChildren";
import { isSameMemory, memoryOf, NOTHING, remembered } from "../../runtime/memory/memory";
import { memoryAfter, wasCreated, wasReached } from "../../runtime/memory/rememberedChildren";
import { widget } from "./support/objects";

describe("the engine's memory of an object", () => {
  const texts = fc.array(fc.constantFrom("v1/Pod", "v1/Secret", "apps/v1/Deployment"));
  const text = fc.option(fc.string(), { nil: undefined });
  const memory = fc.record({
    kinds: texts,
    created: texts,
    namespaces: fc.option(fc.array(fc.constantFrom("shop", "other")), { nil: undefined }),
    told: fc.option(texts, { nil: undefined }),
    content: text,
    children: text,
    program: text,
    dueAt: text,
  });

  it("is read as it was written, sorted and without what comes twice", () => {
    fc.assert(
      fc.property(memory, (one) => {
        const read = memoryOf(widget({}, { status: { argosy: remembered(one) } }));
        const sorted = (list: readonly string[]) => [...new Set(list)].sort();
        assert.deepEqual([read.kinds, read.created], [sorted(one.kinds), sorted(one.created)]);
        assert.deepEqual(remembered(read), remembered(one));
        assert.ok(isSameMemory(read, one));
      }),
    );
  });

  it("leaves out what names no kind, and keeps no more than an operator can have had", () => {
    const forged = [
      "v1/namespaces/kube-system/secrets?watch=1/Secret",
      "../../api/v1/Secret",
      "Secret",
      "/Secret",
      "v1/",
      "apps/v1/Deployment/x",
    ];
    const many = Array.from({ length: 1_000 }, (_, at) => `v1/Kind${at}`);
    const read = (kinds: string[]) => memoryOf(widget({}, { status: { argosy: { kinds } } })).kinds;
    assert.deepEqual(read([...forged, "apps/v1/Deployment", "v1/ConfigMap"]), [
      "apps/v1/Deployment",
      "v1/ConfigMap",
    ]);
    assert.equal(read(many).length, 200);
  });

  it("knows a child that was created once also when the operator declares another version of its kind", () => {
    const child = (version: string, isAwaited: boolean): DesiredChild => {
      const apiVersion = `example.com/${version}`;
      const manifest = {
        apiVersion,
        kind: "Database",
        metadata: { name: "db", namespace: "shop" },
        spec: {},
      };
      const resource = { apiVersion, kind: "Database", plural: "databases", namespaced: true };
      return { resource, manifest, update: "apply", isOnce: true, isAwaited, ownerUid: "widget-uid" };
    };
    for (const isAwaited of [false, true]) {
      const before = child("v1beta1", isAwaited);
      const reached = new Map([[childKey(before), contentOf(before)]]);
      const memory = memoryAfter(NOTHING, [before], [], { waiting: [], going: new Set(), reached });
      for (const version of ["v1beta1", "v1"]) {
        assert.ok(wasCreated(memory, child(version, isAwaited)), version);
        assert.equal(wasReached(memory, child(version, isAwaited)), isAwaited);
      }
    }
  });

  it("is of one life of the object: of another one only the kinds count, which may have to be swept", () => {
    const memory = {
      ...{ kinds: ["v1/ConfigMap"], created: ["ConfigMap/shop/a"], told: ["x"], content: "y" },
      ...{ reached: { "Job/shop/b": "z" }, schedules: { nightly: { at: "2026-01-01T00:00:00Z", of: "c" } } },
    };
    const of = (uid?: string) => memoryOf(widget({}, { status: { argosy: { ...remembered(memory), uid } } }));
    assert.deepEqual(of("former-uid"), { kinds: ["v1/ConfigMap"], created: [] });
    assert.ok(isSameMemory(of("widget-uid"), memory));
    assert.ok(isSameMemory(of(), memory));
  });

  it("is nothing for an object without one, and of one that somebody forged it has the texts", () => {
    assert.ok(isSameMemory(memoryOf(widget()), NOTHING));
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (status, kinds) => {
        memoryOf(widget({}, { status }));
        const forged = memoryOf(widget({}, { status: { argosy: { kinds, content: kinds } } }));
        assert.ok(forged.kinds.every((kind) => typeof kind === "string"));
      }),
    );
  });
});
