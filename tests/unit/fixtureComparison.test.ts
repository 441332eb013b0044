import assert from "node:assert/strict";
import fc from "fast-check";
import { compare } from "../../cli/fixtures/compare";

describe("an expectation and an answer", () => {
  const scalar = fc.oneof(fc.constantFrom("a", "b", 1, true, null));
  const content = fc.dictionary(
    fc.constantFrom("spec", "size", "b"),
    fc.oneof(scalar, fc.array(scalar, { maxLength: 2 })),
    {
      noNullPrototype: true,
    },
  );
  const child = fc.record(
    {
      kind: fc.constantFrom("Service", "Deployment"),
      metadata: fc.record(
        { name: fc.constantFrom("a", "b"), namespace: fc.constantFrom("n", "m") },
        { requiredKeys: ["name"], noNullPrototype: true },
      ),
      spec: content,
    },
    { requiredKeys: ["metadata"], noNullPrototype: true },
  );
  const answer = fc.record(
    {
      children: fc.array(child, { maxLength: 4 }),
      status: content,
      error: fc.constant({ message: "no" }),
    },
    { requiredKeys: [], noNullPrototype: true },
  );

  it("have no differences any more when the expectation is the one that the answer meets", () => {
    fc.assert(
      fc.property(answer, answer, fc.constantFrom("whole", "part"), (expected, answered, extent) => {
        const { differences, met } = compare(expected, answered, extent);
        if (differences.length === 0) return;
        if (met === undefined) assert.ok(answered.error && !expected.error);
        else assert.deepEqual(compare(met, answered, extent).differences, []);
      }),
    );
  });

  it("with an expected child that has no name, or twice: says what each child needs", () => {
    const answered = { children: [{ kind: "Service", metadata: { name: "a" } }] };
    const named = { kind: "Service", metadata: { name: "a" } };
    for (const children of [[{ kind: "Service" }], [{ kind: "Service", metadata: {} }], [named, named]])
      assert.deepEqual(compare({ children }, answered, "part").differences, [
        "children: each expected child needs kind and metadata.name, which say which one is meant, and each only once",
      ]);
  });

  it("in part: the expectation keeps its fields, and gets no others", () => {
    const expected = {
      children: [{ kind: "Service", metadata: { name: "a" }, spec: { size: 1 } }],
      status: { size: 1 },
    };
    const answered = {
      children: [
        { kind: "Service", metadata: { name: "a", namespace: "n" }, spec: { size: 2, b: 1 } },
        { kind: "Service", metadata: { name: "a" }, spec: { size: 3, b: 1 } },
      ],
    };
    assert.deepEqual(compare(expected, answered, "part").met, {
      children: [{ kind: "Service", metadata: { name: "a" }, spec: { size: 3 } }],
      status: null,
    });
  });
});
