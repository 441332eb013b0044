import assert from "node:assert/strict";
import { readJson } from "../../runtime/base/json";
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
