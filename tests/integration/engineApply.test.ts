import assert from "node:assert/strict";
import type { KubernetesObject } from "../../runtime/base/objects";
import { eventually } from "../support/eventually";
import { configMap, deployment, inNamespace, namespace } from "./support/manifests";
import { answering, useOperator } from "./support/useOperator";

describe("the engine applies children", function () {
  this.timeout(60_000);
  const bench = useOperator({
    name: "apply-test",
    children: ["v1/ConfigMap", "v1/Namespace", "apps/v1/Deployment"],
  });
  const here = (name: string) => inNamespace(configMap(name), bench.namespace);
  const dataOf = async (name: string) => (await bench.api.get(here(name)))["data"];
  const changesOf = (name: string) => bench.engine.reportsOf(name).flatMap(({ changes }) => changes);

  it("by server-side apply, as the field manager argosy/<installation>.<operator>", async () => {
    await bench.applied("managed", answering(configMap("managed", { a: "1" })));
    const { managedFields = [] } = (await bench.api.get(here("managed"))).metadata;
    assert.deepEqual(
      managedFields.map(({ manager, operation }) => [manager, operation]),
      [["argosy/argosy.apply-test", "Apply"]],
    );
  });

  it("and a field that is removed from the answer stays as long as another field manager owns it too", async () => {
    await bench.applied("owned", answering(configMap("owned", { stays: "1", common: "1" })));
    await bench.api.apply(inNamespace(configMap("owned", { common: "1" }), bench.namespace));
    await bench.applied("owned", answering(configMap("owned", { stays: "1" })));
    assert.deepEqual(await dataOf("owned"), { stays: "1", common: "1" });
    await bench.api.apply(here("owned"));
    assert.deepEqual(await dataOf("owned"), { stays: "1" });
  });

  it("and labels, annotations and data of other field managers survive", async () => {
    await bench.applied("shared", answering(configMap("shared", { ours: "1" })));
    const labels = { theirs: "label" };
    const annotations = { "example.com/theirs": "annotation" };
    await bench.api.apply(inNamespace(configMap("shared", { theirs: "1" }, { labels }), bench.namespace));
    await bench.api.annotate(here("shared"), annotations);
    await bench.applied("shared", answering(configMap("shared", { ours: "2" })));
    const { metadata, data } = (await bench.api.get(here("shared"))) as KubernetesObject & { data: unknown };
    assert.deepEqual(data, { ours: "2", theirs: "1" });
    assert.equal(metadata.labels?.["theirs"], "label");
    assert.equal(metadata.annotations?.["example.com/theirs"], "annotation");
    assert.deepEqual(
      changesOf("shared").map(({ verb }) => verb),
      ["created", "patched"],
    );
  });

  it("and heals a field of ours that is edited, taken away or taken over", async () => {
    const object = await bench.applied("healed", answering(configMap("healed", { a: "1", b: "1" })));
    const healed = () => eventually(async () => assert.deepEqual(await dataOf("healed"), { a: "1", b: "1" }));
    await bench.api.patch(here("healed"), { data: { a: "edited" } });
    await healed();
    await bench.api.patch(here("healed"), { data: { b: null } });
    await healed();
    await bench.api.apply(inNamespace(configMap("healed", { a: "taken over" }), bench.namespace));
    await healed();
    await bench.api.patch(here("healed"), { metadata: { labels: { "argosy.dev/child-of": null } } });
    await eventually(async () => {
      const { labels } = (await bench.api.get(here("healed"))).metadata;
      assert.equal(labels?.["argosy.dev/child-of"], "argosy.apply-test");
    });
    await bench.ready(object);
  });

  it("and heals replicas that are set by the scale subresource", async () => {
    await bench.applied("rescaled", answering(deployment("rescaled", { replicas: 1 })));
    const child = inNamespace(deployment("rescaled"), bench.namespace);
    await bench.api.scale(child, 2);
    await eventually(async () => {
      const { spec } = await bench.api.get(child);
      assert.equal((spec as { replicas: number }).replicas, 1);
    });
  });

  it("in order of kind: a namespace before what is in it", async () => {
    const other = `${bench.namespace}-inner`;
    const child = inNamespace(configMap("inner"), other);
    await bench.applied("ordered", answering(child, deployment("ordered"), namespace(other)));
    await bench.api.get(child);
    await bench.idle();
    const [first] = bench.engine.reportsOf("ordered");
    assert.equal(first?.failure, undefined);
    assert.equal(first?.changes[0]?.kind, "Namespace");
  });
});
