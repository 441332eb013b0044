import assert from "node:assert/strict";
import type { Manifest } from "../../runtime/base/objects";
import { always, eventually } from "../support/eventually";
import { answering, useOperator } from "./support/useOperator";

/** A ConfigMap with one value. */
function settings(
  name: string,
  namespace: string,
  value: string,
  labels: Record<string, string> = {},
): Manifest {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace, labels }, data: { value } };
}

type Shown = { metadata: { name: string }; data?: Record<string, string> } | null;

describe("what an object uses", function () {
  this.timeout(60_000);
  const bench = useOperator(
    {
      name: "uses",
      finalize: true,
      uses: {
        named: { apiVersion: "v1", kind: "ConfigMap", name: "spec.configMap" },
        each: { apiVersion: "v1", kind: "ConfigMap", name: "spec.mounts[*].configMap" },
        fixed: { apiVersion: "v1", kind: "ConfigMap", name: "'fixed'" },
        labelled: { apiVersion: "v1", kind: "ConfigMap", labels: { team: "spec.team", part: "'uses'" } },
        shared: { apiVersion: "v1", kind: "ConfigMap", name: "'shared'", namespace: "default" },
        gadget: { apiVersion: "gadgets.example.com/v1", kind: "Gadget", name: "spec.gadget" },
      },
    },
    {},
  );
  const plan = (more: object) => ({ ...answering(), ...more }) as never;
  const usedBy = (name: string, key: string) => bench.operator.calls(name).at(-1)?.used[key];
  const namesOf = (name: string, key: string) =>
    [usedBy(name, key)].flat().map((each) => (each as Shown)?.metadata.name);
  const shownValue = (name: string, key: string) => (usedBy(name, key) as Shown)?.data?.["value"];
  const shows = (name: string, key: string, value: string | undefined) =>
    eventually(() => assert.equal(shownValue(name, key), value));

  it("is null or [] where there is none, and a kind that is missing is told", async () => {
    const object = await bench.applied("nothing", plan({ configMap: "absent", gadget: "absent" }));
    const { used } = bench.operator.calls("nothing")[0] ?? {};
    assert.deepEqual(used, { named: null, each: [], fixed: null, labelled: [], shared: null, gadget: null });
    await eventually(async () => {
      const told = (await bench.eventsOf(object)).find(({ reason }) => reason === "UsedKindMissing");
      assert.match(told?.note ?? "", /uses\.gadget: the cluster serves no kind Gadget/);
    });
  });

  it("is given, and wakes the object when it comes, changes and goes", async () => {
    await bench.applied("wakes", plan({ configMap: "mine" }));
    assert.equal(usedBy("wakes", "named"), null);
    const mine = settings("mine", bench.namespace, "one");
    await bench.api.apply(mine);
    await shows("wakes", "named", "one");
    assert.ok(!("managedFields" in ((usedBy("wakes", "named") as Shown)?.metadata ?? {})));
    await bench.api.apply(settings("mine", bench.namespace, "two"));
    await shows("wakes", "named", "two");
    await bench.api.delete(mine);
    await eventually(() => assert.equal(usedBy("wakes", "named"), null));
  });

  it("follows the field that names it, and is not woken by what it used before", async () => {
    await bench.api.apply(settings("before", bench.namespace, "b"));
    await bench.api.apply(settings("after", bench.namespace, "a"));
    await bench.applied("moves", plan({ configMap: "before" }));
    assert.equal(shownValue("moves", "named"), "b");
    await bench.applied("moves", plan({ configMap: "after" }));
    assert.equal(shownValue("moves", "named"), "a");
    await bench.idle();
    const calls = bench.operator.calls("moves").length;
    await bench.api.apply(settings("before", bench.namespace, "changed"));
    await always(() => assert.equal(bench.operator.calls("moves").length, calls));
  });

  it("is a list in the order of the field, for a path into a list", async () => {
    for (const name of ["m1", "m2"]) await bench.api.apply(settings(name, bench.namespace, name));
    const mounts = ["m2", "gone", "m1", "m2"].map((configMap) => ({ configMap }));
    await bench.applied("lists", plan({ mounts }));
    const names = namesOf("lists", "each");
    assert.deepEqual(names, ["m2", "m1"]);
  });

  it("is selected by labels, and wakes by the old labels and by the new ones", async () => {
    await bench.applied("team", plan({ team: "red" }));
    const labels = { team: "red", part: "uses" };
    const names = () => namesOf("team", "labelled");
    await bench.api.apply(settings("l1", bench.namespace, "1", labels));
    await bench.api.apply(settings("l2", bench.namespace, "2", { team: "blue", part: "uses" }));
    await bench.api.apply(settings("l3", bench.namespace, "3", { team: "red", part: "other" }));
    await eventually(() => assert.deepEqual(names(), ["l1"]));
    await bench.api.apply(settings("l2", bench.namespace, "2", labels));
    await eventually(() => assert.deepEqual(names(), ["l1", "l2"]));
    await bench.api.apply(settings("l1", bench.namespace, "1", { team: "green", part: "uses" }));
    await eventually(() => assert.deepEqual(names(), ["l2"]));
  });

  it("is a constant, in the object's namespace or in the one that the definition names, and nowhere else", async () => {
    const other = await bench.api.newNamespace("elsewhere");
    await bench.api.apply(settings("fixed", other, "wrong"));
    await bench.applied("constant", plan({}));
    await bench.api.apply(settings("fixed", bench.namespace, "right"));
    await bench.api.apply(settings("shared", "default", "for all"));
    await shows("constant", "fixed", "right");
    await shows("constant", "shared", "for all");
    await bench.api.delete(settings("shared", "default", ""));
    await eventually(() => assert.equal(usedBy("constant", "shared"), null));
  });

  it("does not hold up finalizing, and is given then too", async () => {
    await bench.api.apply(settings("last", bench.namespace, "bye"));
    const object = await bench.applied("ends", plan({ configMap: "last" }));
    await bench.api.delete(object);
    await eventually(() => assert.equal(bench.operator.calls("ends").at(-1)?.event, "finalize"));
    assert.equal(shownValue("ends", "named"), "bye");
  });

  it("of a kind that comes later wakes the object, and is null again when the kind goes", async () => {
    await bench.applied("later", plan({ gadget: "g" }));
    const crd = gadgets();
    await bench.api.apply(crd);
    await eventually(async () => {
      const gadget = {
        apiVersion: "gadgets.example.com/v1",
        kind: "Gadget",
        metadata: { name: "g", namespace: bench.namespace },
      };
      await bench.api.apply({ ...gadget, spec: { size: 1 } });
    });
    await eventually(() => assert.ok(usedBy("later", "gadget")));
    await bench.api.delete(crd);
    await eventually(() => assert.equal(usedBy("later", "gadget"), null));
  });
});

function gadgets(): Manifest {
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "gadgets.gadgets.example.com" },
    spec: {
      group: "gadgets.example.com",
      scope: "Namespaced",
      names: { kind: "Gadget", plural: "gadgets" },
      versions: [{ name: "v1", served: true, storage: true, schema }],
    },
  };
}
