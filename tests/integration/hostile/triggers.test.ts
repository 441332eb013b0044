import assert from "node:assert/strict";
import { eventually } from "../../support/eventually";
import { configMap } from "../support/manifests";
import { answering, useOperator } from "../support/useOperator";

describe("what the handler is given of an object", function () {
  this.timeout(60_000);
  const bench = useOperator({ name: "labelled" });
  const last = (name: string) => bench.operator.calls(name).at(-1)?.object.metadata;

  it("reaches it when a label changes", async () => {
    const object = await bench.applied("label", answering(configMap("label")));
    await bench.api.patch(object, { metadata: { labels: { "example.com/tier": "gold" } } });
    await eventually(() => assert.equal(last("label")?.labels?.["example.com/tier"], "gold"));
    await bench.api.patch(object, { metadata: { labels: { "example.com/tier": null } } });
    await eventually(() => assert.equal(last("label")?.labels?.["example.com/tier"], undefined));
  });

  it("reaches it when an annotation of others changes", async () => {
    const object = await bench.applied("annotation", answering(configMap("annotation")));
    await bench.api.annotate(object, { "example.com/note": "new" });
    await eventually(() => assert.equal(last("annotation")?.annotations?.["example.com/note"], "new"));
  });
});
