import assert from "node:assert/strict";
import fc from "fast-check";
import { UseIndex } from "../../runtime/observe/uses/useIndex";
import type { Use } from "../../runtime/operator/definition";
import { isSelected, referenceOf } from "../../runtime/operator/uses";
import { widget } from "./support/objects";

const CONFIG_MAP = { apiVersion: "v1", kind: "ConfigMap", plural: "configmaps" };
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
