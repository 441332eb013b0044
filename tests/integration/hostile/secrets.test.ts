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

  it("has its values, and no key more", async () => {
    await bench.applied("plain", answering(secret("plain", { user: "admin" })));
    assert.deepEqual(await valuesOf("plain"), { user: "admin" });
  });

  it("is healed when a user changes a value by hand", async () => {
    await bench.applied("healed", answering(secret("healed", { user: "admin", password: "right" })));
    await bench.api.patch(inNamespace(secret("healed", {}), bench.namespace), {
      data: { password: Buffer.from("wrong").toString("base64") },
    });
    await eventually(async () =>
      assert.deepEqual(await valuesOf("healed"), { user: "admin", password: "right" }),
    );
  });

  it("is healed when a user removes a value by hand", async () => {
    await bench.applied("emptied", answering(secret("emptied", { user: "admin", password: "right" })));
    await bench.api.patch(inNamespace(secret("emptied", {}), bench.namespace), { data: { password: null } });
    await eventually(async () =>
      assert.deepEqual(await valuesOf("emptied"), { user: "admin", password: "right" }),
    );
  });

  it("loses a key that is not answered any more", async () => {
    await bench.applied("shrinks", answering(secret("shrinks", { user: "admin", password: "old" })));
    await bench.applied("shrinks", answering(secret("shrinks", { user: "admin" })));
    assert.deepEqual(await valuesOf("shrinks"), { user: "admin" });
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
