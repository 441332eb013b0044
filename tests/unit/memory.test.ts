import assert from "node:assert/strict";
import fc from "fast-check";
import type { AnsweredEvent } from "../../runtime/handler/contract";
import {
  memoryAfter,
  memoryOfPart,
  type Progress,
  wasCreated,
  wasReady,
} from "../../runtime/reconcile/remember";
import { newEventsIn } from "../../runtime/reconcile/report";
import { isSameMemory, type Memory, memoryOf, NOTHING, remembered } from "../../runtime/remember/memory";
import { childKey, contentOf, type DesiredChild } from "../../runtime/write/desiredChildren";
import { widget } from "./support/objects";

/** A memory with every key that this engine knows. */
const ALL: Required<Omit<Memory, "unknown" | "digest">> = {
  ...{
    kinds: ["v1/Pod"],
    created: ["a"],
    readyOnce: { a: "b" },
    reportedEvents: ["a"],
    state: {},
    elsewhere: true,
  },
  ...{ schedules: { nightly: { at: "2026-01-01T00:00:00Z", of: "a" } }, namespaces: ["shop"] },
  ...{ content: "a", children: "a", used: "a", program: "a", dueAt: "a", retryAt: "a" },
};

describe("the engine's memory of an object", () => {
  const texts = fc.array(fc.constantFrom("v1/Pod", "v1/Secret", "apps/v1/Deployment"));
  const text = fc.option(fc.string(), { nil: undefined });
  const memory = fc.record({
    kinds: texts,
    created: texts,
    namespaces: fc.option(fc.array(fc.constantFrom("shop", "other")), { nil: undefined }),
    reportedEvents: fc.option(texts, { nil: undefined }),
    content: text,
    children: text,
    program: text,
    dueAt: text,
  });

  it("is read as it was written, sorted and without what comes twice", () => {
    fc.assert(
      fc.property(memory, (one) => {
        const read = memoryOf(widget({}, { status: { argosy: { ...remembered(one), uid: "widget-uid" } } }));
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

  it("knows a child that was created once even when the operator declares another version of its kind", () => {
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
      const ready = new Map([[childKey(before), contentOf(before)]]);
      const memory = memoryAfter(NOTHING, [before], [], { waiting: [], going: new Set(), ready });
      for (const version of ["v1beta1", "v1"]) {
        assert.ok(wasCreated(memory, child(version, isAwaited)), version);
        assert.equal(wasReady(memory, child(version, isAwaited)), isAwaited);
      }
    }
  });

  it("is of one life of the object: of another one only the kinds count, which may have to be swept", () => {
    const memory = {
      ...{ kinds: ["v1/ConfigMap"], created: ["ConfigMap/shop/a"], reportedEvents: ["x"], content: "y" },
      ...{
        readyOnce: { "Job/shop/b": "z" },
        schedules: { nightly: { at: "2026-01-01T00:00:00Z", of: "c" } },
      },
    };
    const of = (uid?: string) => memoryOf(widget({}, { status: { argosy: { ...remembered(memory), uid } } }));
    assert.deepEqual(of("former-uid"), { kinds: ["v1/ConfigMap"], created: [] });
    assert.ok(isSameMemory(of("widget-uid"), memory));
    assert.deepEqual(of(), of("former-uid"));
  });

  describe("with keys of a newer engine", () => {
    const later = { promised: { "Job/shop/a": ["x", null, 9] }, level: 7 };
    const written = { ...later, uid: "widget-uid", kinds: ["v1/ConfigMap"], dueAt: "2026-01-01T00:00:00Z" };
    const of = (argosy: object) => memoryOf(widget({}, { status: { argosy } }));

    it("carries them on, and writes its own next to them", () => {
      const before = of(written);
      assert.deepEqual({ ...remembered(before), uid: "widget-uid" }, written);
      const progress: Progress = { waiting: [], going: new Set(), ready: new Map() };
      const ran = [memoryAfter(before, [], [], progress), memoryOfPart(before, [], [], () => true, progress)];
      for (const after of ran) assert.deepEqual(remembered(after), { ...later, kinds: after.kinds });
      assert.deepEqual(of({ ...written, ...remembered(before) }), before);
    });

    it("has none of them in a new life of the object, nor of a memory that does not say of which life it is", () => {
      for (const uid of ["former-uid", undefined])
        assert.deepEqual(of({ ...written, uid }), { ...NOTHING, kinds: ["v1/ConfigMap"] });
    });

    it("carries on no more than 64 KiB, and nothing that is nested too deeply to be written", () => {
      const long = (bytes: number) => of({ uid: "widget-uid", a: "é".repeat((bytes - 8) / 2) });
      assert.ok(long(64 * 1024).unknown);
      assert.deepEqual(long(64 * 1024 + 2), NOTHING);
      const deep = JSON.parse(`${'{"a":['.repeat(5_000)}1${"]}".repeat(5_000)}`) as object;
      assert.deepEqual(of({ uid: "widget-uid", deep }), NOTHING);
    });

    it("takes no key of its own for one of them, however wrong the value is", () => {
      const keys = Object.keys(remembered(ALL));
      assert.equal(keys.length, Object.keys(ALL).length);
      const wrong = Object.fromEntries(keys.map((key) => [key, 1]));
      assert.deepEqual(of({ ...wrong, uid: "widget-uid" }), NOTHING);
    });
  });

  it("is nothing for an object without one, and has the texts of one that a user forged", () => {
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

const one = (note: string): AnsweredEvent => ({ type: "Normal", reason: "BackedUp", note });
const notes = fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 4 });
const steps = fc.array(fc.record({ notes, isNext: fc.boolean() }), { maxLength: 8 });

describe("newEventsIn", () => {
  it("tells Events apart by type, reason, note and generation", () => {
    const { fingerprints } = newEventsIn([one("a")], 1);
    for (const other of [
      one("b"),
      { ...one("a"), type: "Warning" },
      { ...one("a"), reason: "Other" },
    ] as const)
      assert.deepEqual(newEventsIn([other], 1, fingerprints).events, [other]);
    assert.deepEqual(newEventsIn([one("a")], 2, fingerprints).events, [one("a")]);
  });

  it("gives an Event exactly if the answer before did not have it, or was about another generation", () => {
    fc.assert(
      fc.property(steps, (all) => {
        let [reported, generation, before]: [readonly string[], number, string[]] = [[], 1, []];
        for (const { notes, isNext } of all) {
          if (isNext) generation++;
          const news = newEventsIn(notes.map(one), generation, reported);
          const expected = [...new Set(notes)].filter((note) => isNext || !before.includes(note));
          assert.deepEqual(
            news.events.map(({ note }) => note),
            expected,
          );
          [reported, before] = [news.fingerprints, notes];
        }
      }),
    );
  });
});
