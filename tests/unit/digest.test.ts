import assert from "node:assert/strict";
import fc from "fast-check";
import type { KubernetesObject } from "../../runtime/base/objects";
import { type HandlerQuestion, questionAbout } from "../../runtime/handler/contract";
import { digestOf } from "../../runtime/handler/digest";

/** A question as JSON carries it: a change of it is a change of a part of a map. */
type Draft = Record<string, Json>;
// biome-ignore lint/suspicious/noExplicitAny: the changes reach into any part
type Json = any;

const word = fc.stringMatching(/^[a-z]{1,6}$/);
const values = fc.dictionary(word, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3, noNullPrototype: true });
const condition = (types: fc.Arbitrary<string>) =>
  fc.record({ type: types, status: fc.constantFrom("True", "False"), message: word });

function object(kind: string): fc.Arbitrary<KubernetesObject> {
  return fc
    .record({
      name: word,
      labels: fc.dictionary(word, word, { maxKeys: 2, noNullPrototype: true }),
      spec: values,
      status: values,
    })
    .map(({ name, labels, spec, status }) => ({
      apiVersion: "example.com/v1",
      kind,
      metadata: { name, uid: `uid-${name}`, resourceVersion: "1", generation: 1, labels, managedFields: [] },
      spec,
      status,
    }));
}

const questions = fc
  .record({
    object: object("Shop"),
    conditions: fc.uniqueArray(condition(fc.constantFrom("Synced", "Backup", "Ready", "Stalled")), {
      selector: ({ type }) => type,
    }),
    children: fc.array(object("Child"), { minLength: 1, maxLength: 3 }),
    used: object("Used"),
    state: values,
  })
  .map(({ object, conditions, children, used, state }) => ({
    ...questionAbout({
      event: "reconcile",
      object: { ...object, status: { ...(object["status"] as object), conditions } },
      children,
      used: { one: used, many: [used], none: null },
      due: [{ name: "nightly", at: "2026-01-31T03:00:00Z" }],
      state,
      attempt: 1,
    }),
  }));

/** What no answer may follow from. */
const EXCLUDED: Readonly<Record<string, (question: Draft) => void>> = {
  "the attempt": (question) => (question["attempt"] = 2),
  "the trace": (question) => (question["trace"] = "00-1-2-01"),
  "the id": (question) => (question["id"] = "another"),
  "the object's version": ({ object }) => (object.metadata.resourceVersion = "2"),
  "the object's managedFields": ({ object }) => (object.metadata.managedFields = [{ manager: "kubectl" }]),
  "a child's version": ({ children }) => (children[0].metadata.resourceVersion = "2"),
  "a child's managedFields": ({ children }) =>
    (children[0].metadata.managedFields = [{ manager: "kubectl" }]),
  "the version of what it uses": ({ used }) => (used.one.metadata.resourceVersion = "2"),
  "the engine's memory": ({ object }) => (object.status.argosy = { kinds: [] }),
  "the engine's generation": ({ object }) => (object.status.observedGeneration = 7),
  "the engine's verdict": ({ object }) => {
    const others = object.status.conditions.filter(({ type }: Json) => type !== "Ready");
    object.status.conditions = [{ type: "Ready", status: "Unknown", message: "new" }, ...others];
  },
  "the order of conditions": ({ object }) => object.status.conditions.reverse(),
};

/** What an answer may follow from. */
const INCLUDED: Readonly<Record<string, (question: Draft) => void>> = {
  "the event": (question) => (question["event"] = "finalize"),
  "the specification": ({ object }) => (object.spec.Changed = 1),
  "the generation": ({ object }) => object.metadata.generation++,
  "a label": ({ object }) => (object.metadata.labels.Changed = "yes"),
  "a finalizer": ({ object }) => (object.metadata.finalizers = ["example.com/hold"]),
  "the handler's own status": ({ object }) => (object.status.Changed = 1),
  "another controller's condition": ({ object }) =>
    object.status.conditions.push({ type: "Other", status: "True", message: "" }),
  "a child": ({ children }) => children.pop(),
  "a child's status": ({ children }) => (children[0].status.Changed = 1),
  "a child's Ready": ({ children }) => (children[0].status.conditions = [{ type: "Ready", status: "False" }]),
  "a child's uid": ({ children }) => (children[0].metadata.uid = "another"),
  "a child's deletion": ({ children }) => (children[0].metadata.deletionTimestamp = "2026-01-31T03:00:00Z"),
  "what it uses": ({ used }) => (used.one.spec.Changed = 1),
  "one of what it uses": ({ used }) => used.many.push(used.one),
  "what it does not find": ({ used }) => (used.none = used.one),
  "a due schedule": (question) => (question["due"] = []),
  "when it is due": ({ due }) => (due[0].at = "2026-02-01T03:00:00Z"),
  "the state": ({ state }) => (state.Changed = 1),
};

describe("the digest of a question", () => {
  it("is the same in whatever order the keys come", () => {
    check(questions, (question) => assert.equal(of(permuted(question)), of(question)));
  });

  it("does not depend on what differs each time", () => {
    check(fc.tuple(questions, fc.constantFrom(...Object.keys(EXCLUDED))), ([question, what]) =>
      assert.equal(of(changed(question, EXCLUDED[what])), of(question), what),
    );
  });

  it("differs with everything else", () => {
    check(fc.tuple(questions, fc.constantFrom(...Object.keys(INCLUDED))), ([question, what]) =>
      assert.notEqual(of(changed(question, INCLUDED[what])), of(question), what),
    );
  });

  it("depends on the whole status of an object of others", () => {
    check(questions, (question) => {
      const other = changed(question, EXCLUDED["the engine's verdict"]);
      assert.notEqual(digestOf(other, false), digestOf(question, false));
    });
  });

  it("counts a status that only the engine wrote as none", () => {
    const bare = { apiVersion: "v1", kind: "Shop", metadata: { name: "a", uid: "1", resourceVersion: "1" } };
    const ask = (object: KubernetesObject) =>
      digestOf(questionAbout({ event: "reconcile", object, children: [], attempt: 1 }), true);
    const conditions = [{ type: "Ready", status: "True" }];
    assert.equal(ask({ ...bare, status: { conditions, observedGeneration: 1, argosy: {} } }), ask(bare));
  });

  it("tells nothing about the values of a Secret, and differs with each write of it", () => {
    const secret = (password: string, resourceVersion: string) => ({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "db", namespace: "shop", uid: "2", resourceVersion, annotations: { password } },
      data: { password },
    });
    check(questions, (question) => {
      for (const place of ["children", "used"] as const) {
        const given = (each: KubernetesObject) =>
          of({ ...question, ...(place === "children" ? { children: [each] } : { used: { db: each } }) });
        assert.equal(given(secret("MQ==", "1")), given(secret("Mg==", "1")));
        assert.notEqual(given(secret("MQ==", "1")), given(secret("MQ==", "2")));
      }
    });
  });
});

const of = (question: HandlerQuestion) => digestOf(question, true);

function check<Input>(input: fc.Arbitrary<Input>, holds: (input: Input) => void): void {
  fc.assert(fc.property(input, holds), { numRuns: 100 });
}

function changed(
  question: HandlerQuestion,
  change: ((question: Draft) => void) | undefined,
): HandlerQuestion {
  const draft = structuredClone(question);
  change?.(draft as unknown as Draft);
  return draft;
}

/** The same value with the keys of each map in the reverse order. */
function permuted<Value>(value: Value): Value {
  if (Array.isArray(value)) return value.map(permuted) as Value;
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).reverse();
  return Object.fromEntries(entries.map(([key, inner]) => [key, permuted(inner)])) as Value;
}
