import assert from "node:assert/strict";
import type { Manifest } from "../../runtime/base/objects";
import { always, eventually } from "../support/eventually";
import { configMap, inNamespace } from "./support/manifests";
import { answering, useOperator } from "./support/useOperator";

function following(names: string, name: string, data: Record<string, string> = {}): Manifest {
  return configMap(name, data, { annotations: { "argosy.dev/after": names } });
}

describe("the engine deletes children in the reverse order of after", function () {
  this.timeout(60_000);
  const bench = useOperator({ name: "reverse-test", children: ["v1/ConfigMap"] });
  const HOLD = ["example.com/hold"];
  const here = (name: string) => inNamespace(configMap(name), bench.namespace);
  const finalizers = (name: string, list: string[] | null) =>
    bench.api.patch(here(name), { metadata: { finalizers: list } });
  const isGoing = async (name: string) =>
    (await bench.api.find(here(name)))?.metadata.deletionTimestamp !== undefined;
  const isThere = async (name: string) => (await bench.api.find(here(name))) !== undefined;

  /** An object with three children, one after the other, of which the last one is held. */
  async function held(name: string) {
    const names = ["a", "b", "c"].map((each) => `${name}-${each}`);
    const [a = "", b = "", c = ""] = names;
    const chain = [configMap(a), following(`ConfigMap/${a}`, b), following(`ConfigMap/${b}`, c)];
    const object = await bench.applied(name, answering(...chain));
    assert.deepEqual(object.metadata.finalizers, ["order.argosy.dev/argosy.reverse-test"]);
    await finalizers(c, HOLD);
    return { object, a, b, c };
  }

  it("with what each of them owns", async () => {
    const { object, b, c } = await held("owners");
    const { uid } = (await bench.api.get(here(c))).metadata;
    const reference = { apiVersion: "v1", kind: "ConfigMap", name: c, uid, blockOwnerDeletion: true };
    await bench.api.apply(here("owned"));
    await bench.api.patch(here("owned"), { metadata: { ownerReferences: [reference], finalizers: HOLD } });
    await finalizers(c, null);
    await bench.api.delete(object);
    await eventually(async () => assert.ok(await isGoing("owned")));
    await always(async () => assert.deepEqual([await isGoing(c), await isGoing(b)], [true, false]));
    await finalizers("owned", null);
    await eventually(() => bench.api.assertGone(object));
    await eventually(() => bench.api.assertGone(here(b)));
  });

  it("not in a foreground deletion, in which Kubernetes deletes them itself; the object waits for all the same", async () => {
    const { object, a, b, c } = await held("foreground");
    await bench.api.delete(object, "Foreground");
    await eventually(async () => assert.deepEqual([await isThere(a), await isThere(b)], [false, false]));
    assert.ok(await isGoing(c));
    assert.ok(await bench.api.find(object));
    await finalizers(c, null);
    await eventually(() => bench.api.assertGone(object));
  });
});
