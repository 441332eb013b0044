import assert from "node:assert/strict";
import { always, eventually } from "../../support/eventually";
import { inNamespace } from "../support/manifests";
import { answering, useOperator } from "../support/useOperator";

describe("a Secret that the handler answers with stringData", function () {
  this.timeout(60_000);
  const bench = useOperator({ name: "string-data", children: ["v1/Secret"] });
  const secret = (name: string, stringData: Record<string, string>) => ({
    ...{ apiVersion: "v1", kind: "Secret", metadata: { name } },
    stringData,
  });
  const valuesOf = async (name: string) => {
    const { data } = await bench.api.get(inNamespace(secret(name, {}), bench.namespace));
    const decode = (value: string) => Buffer.from(value, "base64").toString();
    return Object.fromEntries(
      Object.entries((data ?? {}) as Record<string, string>).map(([key, value]) => [key, decode(value)]),
    );
  };

  it("has its values and no key more, is healed when a user changes or removes a value, and loses a key", async () => {
    const both = { user: "admin", password: "right" };
    await bench.applied("healed", answering(secret("healed", both)));
    assert.deepEqual(await valuesOf("healed"), both);
    for (const password of [Buffer.from("wrong").toString("base64"), null]) {
      await bench.api.patch(inNamespace(secret("healed", {}), bench.namespace), { data: { password } });
      await eventually(async () => assert.deepEqual(await valuesOf("healed"), both));
    }
    await bench.applied("healed", answering(secret("healed", { user: "admin" })));
    assert.deepEqual(await valuesOf("healed"), { user: "admin" });
  });

  it("keeps the keys of others, and data and stringData go together", async () => {
    const both = { ...secret("both", { text: "new" }), data: { binary: "AAEC" } };
    await bench.applied("both", answering(both));
    await bench.api.apply(
      inNamespace({ ...secret("both", {}), stringData: { theirs: "kept" } }, bench.namespace),
    );
    await bench.applied("both", answering({ ...both, stringData: { text: "newer" } }));
    assert.deepEqual(await valuesOf("both"), { binary: "\u0000\u0001\u0002", text: "newer", theirs: "kept" });
  });

  it("is written once, not at every reconcile", async () => {
    const object = await bench.applied("still", answering(secret("still", { user: "admin" })));
    const before = await bench.api.get(inNamespace(secret("still", {}), bench.namespace));
    await bench.reconcileAgain(object);
    await always(async () => assert.deepEqual(await bench.api.get(before), before));
  });
});
