import assert from "node:assert/strict";
import { readJson } from "../../runtime/base/json";
import { triedAnswer } from "../../runtime/programs/workflows/runResult";
import { RunTargetError, runTargetOf } from "../../runtime/programs/workflows/runTarget";
import { observed, operator } from "./support/objects";

describe("the target of a run", () => {
  const named = (name: string) => {
    const parameters = [
      { name: "namespace", value: "shop" },
      { name: "name", value: name },
    ];
    return runTargetOf(observed("Workflow", { spec: { arguments: { parameters } } }), operator());
  };

  it("may have any name that Kubernetes takes for objects of some kind", () => {
    for (const name of ["demo", "shop.example.com", "system:reader", "Reader"]) {
      const target = named(name);
      assert.deepEqual(target.kind === "object" && target.name, { namespace: "shop", name });
    }
  });

  it("may have a name of many digits that its submitter wrote without quotes", () => {
    const workflow = readJson(
      '{"spec":{"arguments":{"parameters":[{"name":"namespace","value":"shop"},{"name":"name","value":20241126101602123}]}}}',
    );
    const target = runTargetOf(observed("Workflow", workflow as object), operator());
    assert.deepEqual(target.kind === "object" && target.name.name, "20241126101602123");
  });

  it("has no name that would lead to another path of the API", () => {
    for (const name of ["", "..", "a/b", "a%2fb", "a\nb", "x".repeat(254)])
      assert.throws(() => named(name), RunTargetError, name);
  });

  it("has no namespace if its kind has none: the lock of its runs would be another one", () => {
    const { customResource, ...rest } = operator();
    const given = (namespace: string) =>
      runTargetOf(
        observed("Workflow", {
          spec: {
            arguments: {
              parameters: [
                { name: "namespace", value: namespace },
                { name: "name", value: "demo" },
              ],
            },
          },
        }),
        { ...rest, customResource: { ...customResource, namespaced: false } },
      );
    const target = given("");
    assert.deepEqual(target.kind === "object" && target.name, { name: "demo" });
    assert.throws(() => given("shop"), {
      message: 'parameter "namespace" is "shop", and a Widget has no namespace: leave it empty',
    });
  });
});

/** How many bytes of etcd a text needs in an object of a CRD: Go escapes more than JavaScript does. */
function storedBytes(text: string): number {
  const escapedByGo = text.match(/[<>&\u2028\u2029]/g)?.length ?? 0;
  return Buffer.byteLength(JSON.stringify(text)) + 5 * escapedByGo;
}

describe("the answer of a trial", () => {
  const tried = (word: string, length: number) =>
    triedAnswer({ children: [], status: { text: word.repeat(length / word.length) } });

  it("is whole if it is not too long", () => {
    const { text, message } = tried("a", 200_000);
    assert.equal(message, "tried, nothing applied");
    assert.equal(JSON.parse(text).status.text.length, 200_000);
  });

  for (const word of ["漢", "😀", "<b>", '"', "\\", "\n", "a"])
    it(`has room in etcd if its text is of ${JSON.stringify(word)}`, () => {
      const { text, message } = tried(word, 1_200_000);
      const stored = storedBytes(text);
      assert.ok(stored <= 1_500 * 1024, `${stored} bytes`);
      assert.match(message, /; the answer has \d+ characters, and the first \d+ are shown here$/);
      assert.match(message, new RegExp(`first ${text.length} are`));
      assert.doesNotMatch(text, /\p{Surrogate}/u);
    });
});
