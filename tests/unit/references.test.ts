import assert from "node:assert/strict";
import fc from "fast-check";
import { formatPath } from "../../definition/checkUses";
import { readJson } from "../../runtime/base/json";
import { UseIndex } from "../../runtime/observe/uses/useIndex";
import type { Use } from "../../runtime/operator/definition";
import {
  EACH,
  isList,
  isSelected,
  isTooMany,
  type LabelReference,
  type NameReference,
  parseTerm,
  referenceOf,
  type Step,
  selectorOf,
} from "../../runtime/operator/uses";
import { widget } from "./support/objects";

const CONFIG_MAP = { apiVersion: "v1", kind: "ConfigMap", plural: "configmaps" };
const named = (name: string, more: Partial<Use> = {}): Use => ({ ...CONFIG_MAP, name, ...more });
const namesIn = (name: string, content: object, more: Partial<Use> = {}) =>
  (referenceOf(named(name, more), widget({}, content)) as NameReference).names;

describe("what an object refers to", () => {
  it("is a constant in quotes, whatever the object says", () => {
    assert.deepEqual(parseTerm("'settings'"), { constant: "settings" });
    assert.deepEqual(parseTerm('"settings"'), { constant: "settings" });
    assert.deepEqual(namesIn("'settings'", {}), ["settings"]);
  });

  it("is a field, the fields of a list's entries, or a key in quotes", () => {
    const spec = {
      name: "a",
      mounts: [{ map: "b" }, { other: "x" }, { map: "c" }, { map: "b" }],
      list: ["d"],
    };
    assert.deepEqual(namesIn("spec.name", { spec }), ["a"]);
    assert.deepEqual(namesIn("spec.mounts[*].map", { spec }), ["b", "c"]);
    assert.deepEqual(namesIn("spec.list[*]", { spec }), ["d"]);
    assert.deepEqual(namesIn("metadata.name", {}), ["widget"]);
    const object = widget({ annotations: { "example.com/uses": "e" } });
    const reference = referenceOf(named("metadata.annotations['example.com/uses']"), object);
    assert.deepEqual(reference, { namespace: "shop", names: ["e"] });
  });

  it("is nothing where the field is missing or holds no name", () => {
    const values = [
      undefined,
      null,
      3,
      readJson("20241126101602123"),
      true,
      {},
      ["a"],
      "",
      "a/b",
      "..",
      ".",
      "a%2fb",
      "a\nb",
      "x".repeat(254),
    ];
    for (const name of values) assert.deepEqual(namesIn("spec.name", { spec: { name } }), [], String(name));
  });

  it("is no more than what shows that it is too much", () => {
    const list = Array.from({ length: 200_000 }, (_, index) => `name-${index}`);
    const reference = referenceOf(named("spec.list[*]"), widget({}, { spec: { list } })) as NameReference;
    assert.equal(reference.names.length, 501);
    assert.ok(isTooMany(reference));
    const selecting: Use = { ...CONFIG_MAP, labels: { team: "spec.list[*]" } };
    const selected = referenceOf(selecting, widget({}, { spec: { list } })) as LabelReference;
    assert.equal(selected.labels["team"]?.length, 501);
    assert.ok(isTooMany(selected));
    const most = referenceOf(named("spec.list[*]"), widget({}, { spec: { list: list.slice(0, 500) } }));
    assert.ok(!isTooMany(most));
    // What is no name, or not allowed, is none of them.
    const names = ["name-199999"];
    assert.deepEqual(
      namesIn("spec.list[*]", { spec: { list: [...list.map((name) => `${name}/`), ...list] } }, { names }),
      names,
    );
  });

  it("is only what the definition lists, if it lists names", () => {
    const names = ["one", "two"];
    assert.deepEqual(namesIn("spec.list[*]", { spec: { list: ["two", "three"] } }, { names }), ["two"]);
  });

  it("is in the object's namespace or in the constant one, and the object has no say", () => {
    const content = { spec: { name: "a", namespace: "kube-system" } };
    assert.equal(referenceOf(named("spec.name"), widget({}, content)).namespace, "shop");
    const shared = named("spec.name", { namespace: "shared" });
    assert.equal(referenceOf(shared, widget({}, content)).namespace, "shared");
  });

  it("is a list for labels and for [*], and else one object", () => {
    assert.deepEqual([{ name: "'a'" }, { name: "spec.a" }, { name: "spec.a[*]" }, {}].map(isList), [
      false,
      false,
      true,
      true,
    ]);
  });

  it("selects by labels, by each value of a list, and nothing where a value is none", () => {
    const use: Use = {
      ...CONFIG_MAP,
      labels: { app: "metadata.name", team: "spec.teams[*]", part: "'web'" },
    };
    const reference = (teams: unknown) => referenceOf(use, widget({}, { spec: { teams } })) as LabelReference;
    assert.equal(selectorOf(reference(["a", "b"])), "app=widget,team in (a,b),part=web");
    assert.equal(selectorOf(reference(["a,b", "c d"])), undefined);
    assert.equal(selectorOf(reference("a")), undefined);
    const labels = { app: "widget", team: "b", part: "web" };
    assert.ok(isSelected(reference(["a", "b"]), labels));
    assert.ok(!isSelected(reference(["a"]), labels));
    assert.ok(!isSelected(reference(["a", "b"]), undefined));
  });

  const step = fc.oneof(
    fc.constant(EACH as Step),
    fc.stringMatching(/^[A-Za-z_][\w-]{0,8}$/),
    fc.stringMatching(/^[a-z./-]{1,12}$/),
  );

  it("has a path that is read as it was written", () => {
    fc.assert(
      fc.property(fc.constantFrom("spec", "metadata"), fc.array(step, { maxLength: 5 }), (root, more) => {
        const path = [root, ...more];
        assert.deepEqual(parseTerm(formatPath(path)), { path });
      }),
    );
  });

  it("never throws, and gives only names that fit into a URL, for any text and any object", () => {
    fc.assert(
      fc.property(fc.string(), fc.anything(), fc.array(step, { maxLength: 4 }), (text, spec, path) => {
        for (const name of [text, formatPath(["spec", ...path])]) {
          const { names } = referenceOf(named(name), widget({}, { spec })) as NameReference;
          assert.equal(new Set(names).size, names.length);
          for (const each of names)
            assert.ok(each !== "" && !/[/%]/.test(each) && each !== "." && each !== "..");
        }
      }),
    );
  });
});

const USES: Record<string, Use> = {
  named: { ...CONFIG_MAP, name: "spec.names[*]" },
  labelled: { ...CONFIG_MAP, labels: { team: "spec.team", part: "spec.parts[*]" } },
};
const word = fc.constantFrom("a", "b", "c");
const namespace = fc.constantFrom("one", "two");
const spec = fc.record({
  names: fc.array(word, { maxLength: 2 }),
  team: word,
  parts: fc.array(word, { maxLength: 2 }),
});
const change = fc.record({
  key: fc.constantFrom("k1", "k2", "k3"),
  namespace,
  spec: fc.option(spec, { nil: undefined }),
});
const labels = fc.record({ team: word, part: word }, { requiredKeys: [] });

describe("UseIndex", () => {
  it("finds exactly the objects that refer to a name or to labels, whatever they referred to before", () => {
    fc.assert(
      fc.property(
        fc.array(change),
        fc.boolean(),
        namespace,
        word,
        labels,
        (changes, isClusterWide, at, name, its) => {
          const index = new UseIndex(USES);
          const objects = new Map<string, ReturnType<typeof widget>>();
          changes.forEach(({ key, namespace, spec }, step) => {
            if (step === 1 || step === 2)
              for (const use of Object.keys(USES)) index.setClusterWide(use, isClusterWide === (step === 2));
            const object = spec && widget({ namespace }, { spec });
            if (object) objects.set(key, object);
            else objects.delete(key);
            index.set(key, object);
          });
          const hasTurned = changes.length > 1 && isClusterWide === changes.length > 2;
          for (const [use, definition] of Object.entries(USES)) {
            const expected = [...objects].flatMap(([key, object]) => {
              const reference = referenceOf(definition, object);
              if (!hasTurned && reference.namespace !== at) return [];
              const isUser =
                "names" in reference ? reference.names.includes(name) : isSelected(reference, its);
              return isUser ? [key] : [];
            });
            const found = index.usersOf(use, { namespace: hasTurned ? undefined : at, name }, its);
            assert.deepEqual(found.sort(), expected.sort());
          }
        },
      ),
    );
  });

  it("knows all users of a use, and each name that is in use once", () => {
    const index = new UseIndex(USES);
    const keys = ["shop/k1", "shop/k2", "other/k3"];
    for (const key of ["shop/k1", "shop/k2"]) index.set(key, widget({}, { spec: { names: ["a", "b"] } }));
    index.set("other/k3", widget({}, { spec: {} }));
    assert.deepEqual(index.usersOfAll("named"), ["shop/k1", "shop/k2"]);
    assert.deepEqual(
      ["shop", "other"].map((namespace) => index.usersOfAll("named", namespace).length),
      [2, 0],
    );
    const both = ["a", "b"].map((name) => ({ namespace: "shop", name }));
    assert.deepEqual(index.namesOf("named").get("shop"), both);
    // Each name may be read again all the time: too many of them are not.
    const names = Array.from({ length: 10_000 }, (_, number) => `name-${number}`);
    index.set("other/k3", widget({}, { spec: { names } }));
    assert.equal(index.namesOf("named").get("shop")?.length, 2);
    assert.ok((index.namesOf("named").get("other")?.length ?? 0) <= 501);
    for (const key of keys) index.set(key, undefined);
    assert.deepEqual([index.usersOfAll("named"), index.namesOf("named")], [[], new Map()]);
  });
});
